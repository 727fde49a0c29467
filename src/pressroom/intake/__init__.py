"""How content comes in: each inbound item is accepted once, or refused with a reason.

The push door takes what others send to us; a secret resolves to exactly one endpoint, and the endpoint alone
decides the workspace.
"""
