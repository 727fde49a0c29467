"""The sockets: what rooms ask of the outside world, and what a plug has to be to answer.

A port holds values and protocols, no behaviour. Rooms depend on it, plugs in `adapters/` implement it, and
only `wiring.py` knows both.
"""
