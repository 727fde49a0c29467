"""The sandbox: an emulator of each provider, in this process, with faults on demand.

Each is an ASGI app written from the provider's documents and never from our plug, which it does not import, so
that it can contradict it. Anybody may point any other client at it. What an emulator does not do it refuses
with 501 and says so.
"""
