"""From one message to every channel: at least once, once per channel and window, at the allowed pace.

A message is stored once; each channel that it goes to has a delivery, whose status is true at every moment
and whose every step is a row of `events`. What is due stands in `delivery_queue`. Claims, attempts and
transitions are decided in sql/; the call to the platform happens between two transactions, never inside one.
"""
