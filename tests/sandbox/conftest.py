from tests.sandbox.stage import telegram, telegram_stage

__all__ = ["telegram", "telegram_stage"]
