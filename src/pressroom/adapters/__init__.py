"""The plugs: everything that speaks to somebody outside, one file each.

A plug declares itself in the constant `PLUG` and is found by being there (`core/plugins.py`). It knows the
socket in `ports/` that it fits and the provider's protocol, and neither the rooms nor the database. One plug
never imports another; what two share stands in `adapters/http.py`.
"""
