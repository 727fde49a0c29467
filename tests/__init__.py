"""The suite mirrors src/pressroom; stories/ holds the promises of the README from the door to the sandbox."""
