"""What the emulators share: one clock, one ledger of effects, one list of faults, one source of chance.

No provider is known here. An emulator takes a `World` and puts itself into it; the control API and the window see
every emulator through `view.Provider`.
"""
