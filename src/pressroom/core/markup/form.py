"""Entities as JSON, in the form of our measurements: the Bot API's names, and beside a date what TDLib says of it.

The Bot API itself writes `date_time_format` instead, and a whole `user` for the `user_id` of a mention.
"""

from pressroom.core.markup.model import Entity

_PRECISIONS = {"t": "Short", "T": "Long", "d": "Short", "D": "Long"}


def as_json(entity: Entity) -> dict[str, object]:
    said: dict[str, object] = {"type": entity.type.value, "offset": entity.offset, "length": entity.length}
    for name in ("url", "user_id", "language", "custom_emoji_id", "unix_time"):
        value = getattr(entity, name)
        if value is not None:
            said[name] = value
    if entity.unix_time is not None:
        said["raw"] = {"unix_time": entity.unix_time, **_formatting(entity.date_time_format or "")}
    return said


def _formatting(shown: str) -> dict[str, object]:
    if not shown:
        return {}
    if shown == "r":
        return {"formatting_type": {"@type": "dateTimeFormattingTypeRelative"}}
    return {
        "formatting_type": {
            "@type": "dateTimeFormattingTypeAbsolute",
            "time_precision": {"@type": f"dateTimePartPrecision{_precision(shown, 'tT')}"},
            "date_precision": {"@type": f"dateTimePartPrecision{_precision(shown, 'dD')}"},
            "show_day_of_week": "w" in shown,
        }
    }


def _precision(shown: str, signs: str) -> str:
    return next((_PRECISIONS[sign] for sign in shown if sign in signs), "None")
