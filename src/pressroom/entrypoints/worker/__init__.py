"""Loops over passes: a use case makes one pass, the runtime here repeats it, and only here anything sleeps.

`runtime` turns passes into loops; `passes` says which passes there are and which role of a process runs them.
"""
