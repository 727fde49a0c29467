"""Tenants and what opens them: nobody sees another tenant, and every secret is sealed or hashed.

A workspace has endpoints (secrets that senders present to the push door), API tokens (verbs on workspaces,
until they expire) and credentials (what we present to platforms, by a logical key that can be rotated). It has
settings that functions read, over defaults for all workspaces; and the stored answers of writes that carried
an idempotency key.
"""
