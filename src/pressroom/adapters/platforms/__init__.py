"""Where posts go: one module per platform, each with `PLUG = PlatformPlug(...)`.

A plug sends once and returns a `Receipt` or raises `ProviderError` (`ports/platform.py`). The conformance suite
in `tests/adapters/platforms/` runs on every plug found here and in installed distributions.
"""
