"""The doors: HTTP, command line and worker loops. They validate, call one use case and render its result."""
