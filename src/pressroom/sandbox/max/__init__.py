"""MAX's Bot API on your own machine: written from its documents, with faults on demand.

Bots come with their tokens, people act by `person()` or over the control API, and every effect stands in the
ledger. What is faithful, simplified or unknown is said method by method in docs/guides/sandbox.md.
"""

from pressroom.sandbox.max.app import MaxSandbox
from pressroom.sandbox.max.model import ChatKind, NewChat
from pressroom.sandbox.max.people import Person
from pressroom.sandbox.max.provider import EXAMPLE_BOT, EXAMPLE_CHATS, EXAMPLE_TOKEN

__all__ = ["EXAMPLE_BOT", "EXAMPLE_CHATS", "EXAMPLE_TOKEN", "ChatKind", "MaxSandbox", "NewChat", "Person"]
