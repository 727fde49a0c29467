from tests.sandbox.telegram.api import anna, api, stored_bot_api
from tests.sandbox.telegram.hearing import bot, hook, sandbox

__all__ = ["anna", "api", "bot", "hook", "sandbox", "stored_bot_api"]
