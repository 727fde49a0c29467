"""The HTTP door: every capability under one roof, each request bounded, counted, logged and answered as documented.

`app.py` puts it together, `server.py` serves it. Around every request stand `observed.py` (ids, log, metrics) and
`bounds.py` (size and time), below them `connection.py` (the head of the request). Routes are in `routes/`; the
hot ones, which go without FastAPI, are `push.py` and `health.py`. Refusals are made in `problems.py`, from the
table in `entrypoints/errors.py`.
"""
