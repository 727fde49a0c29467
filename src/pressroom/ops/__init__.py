"""What runs, what is stuck and what is wrong: heartbeats of the loops, health, the state at a glance.

Health means that work moves, not that a port is open.
"""
