"""Logs for developers: one line per event, the same for our own and for every library, and no secret in any.

`configure_logs` is called once by each entrypoint. Whatever is bound with `structlog.contextvars` (`trace_id`,
`request_id`, `run_id`) stands in every line. `redact` takes secrets out of a text; `redacted` out of any value.
Both are also for what is written to `events`.
"""

import logging
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from enum import Enum
from functools import lru_cache
from pathlib import PurePath
from typing import TextIO, cast
from uuid import UUID

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

MASK = "***"

_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}

#: Libraries that say more than anybody wants to read at our own level.
_QUIETER = {"uvicorn.error": logging.WARNING, "asyncio": logging.WARNING, "aiohttp": logging.WARNING}
_SILENT = ("uvicorn.access", "aiohttp.access")


def configure_logs(level: str = "info", format: str = "auto", stream: TextIO | None = None) -> None:  # noqa: A002 - the setting's name
    """`format` is pretty, json or auto: pretty on a terminal and json elsewhere. The stream is stderr by default."""
    out = sys.stderr if stream is None else stream
    on_terminal = out.isatty()
    pretty = format == "pretty" or (format == "auto" and on_terminal)
    processors: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="%H:%M:%S" if pretty else "iso", utc=not pretty, key="ts"),
        structlog.processors.format_exc_info,
        _redact_event,
    ]
    if pretty:
        processors += [
            _without_control_characters,
            structlog.dev.ConsoleRenderer(
                colors=on_terminal, timestamp_key="ts", exception_formatter=structlog.dev.plain_traceback
            ),
        ]
    else:
        processors.append(structlog.processors.JSONRenderer(ensure_ascii=False))
    threshold = _LEVELS[level]
    structlog.configure(
        processors=processors,
        wrapper_class=structlog.make_filtering_bound_logger(threshold),
        logger_factory=lambda *_: _Lines(out),
        cache_logger_on_first_use=False,  # a logger made before this call obeys it too
    )
    root = logging.getLogger()
    root.handlers = [_FromLibraries()]
    root.setLevel(threshold)
    for name, own_threshold in _QUIETER.items():
        logging.getLogger(name).setLevel(max(own_threshold, threshold))
    for name in _SILENT:
        logging.getLogger(name).disabled = True
    logging.captureWarnings(True)


def redact(text: str) -> str:
    """The text with every secret in it masked; what only looks similar stays. Twice is the same as once."""
    if len(text) < _SHORTEST:
        return text
    lower = text.lower()
    for needle, shape in _BY_NEEDLE:
        if needle in lower:
            text = shape.pattern.sub(shape.replacement, text)
    return text


def redacted(value: object) -> object:
    """The same for any value, of plain types only: what a log cannot say as itself becomes its text."""
    match value:
        case None | bool() | int() | float() if not isinstance(value, Enum):
            return value
        case str() if not isinstance(value, Enum):
            return redact(value)
        case bytes() | bytearray():
            return redact(value.decode(errors="replace"))
        case Mapping():
            fields = cast("Mapping[object, object]", value)
            return {redact(str(name)): _redacted_field(str(name), inner) for name, inner in fields.items()}
        case list() | tuple() | set() | frozenset():
            return [redacted(inner) for inner in cast("Sequence[object]", value)]
        case UUID() | date() | datetime() | time() | timedelta() | PurePath() | Enum():
            return redact(str(value))
        case _:
            return redact(repr(value))


@lru_cache(maxsize=2048)
def is_sensitive(name: str) -> bool:
    """Whether a field, header, parameter or variable of this name holds a secret."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).replace("-", "_").lower()
    return words not in _HARMLESS_NAMES and _SENSITIVE_NAME.search(words) is not None


_SENSITIVE_NAME = re.compile(
    r"(?:^|_)(?:token|secrets?|passwords?|passwd|passphrase|pwd|authorization|api_?key|access_key|secret_keys?"
    r"|private_key|signing_key|encryption_key|cookie|credentials?)$"
)
#: Marks of a claim and of a page open nothing; operators need to read them.
_HARMLESS_NAMES = frozenset({"claim_token", "page_token", "next_page_token"})


def _redacted_field(name: str, value: object) -> object:
    if is_sensitive(name) and not isinstance(value, (bool, int, float)) and value is not None and value != "":
        return MASK
    return redacted(value)


Replacement = str | Callable[[re.Match[str]], str]


@dataclass(frozen=True, slots=True)
class _Shape:
    """How one kind of secret looks. Only a text with one of the needles, in lower case, is searched for it."""

    needles: tuple[str, ...]
    pattern: re.Pattern[str]
    replacement: Replacement


def _shape(needles: str, pattern: str, replacement: Replacement, flags: int = 0) -> _Shape:
    return _Shape(tuple(needles.split(" ")), re.compile(pattern, flags), replacement)


def _mask_assigned(match: re.Match[str]) -> str:
    """`name=value`, `name='value'`, `"name": "value"`: masked when the name says that it is a secret."""
    if not is_sensitive(match["name"]) or match["value"] in _NOTHING:
        return match[0]
    return (
        match[0][: match.start("value") - match.start()] + MASK + match[0][match.end("value") - match.start() :]
    )


def _mask_header(match: re.Match[str]) -> str:
    """`Name: value` of a header dump; a sentence such as `token: revoked` says no secret."""
    value = match["value"]
    looks_random = len(value) >= 20 or (len(value) >= 6 and any(character.isdigit() for character in value))
    if not is_sensitive(match["name"]) or not looks_random:
        return match[0]
    return match[0][: -len(value)] + MASK


_NOTHING = frozenset({MASK, "None", "null", "true", "false", "True", "False"})
_RANDOM = r"(?=[A-Za-z0-9._~+/=-]*\d|[A-Za-z0-9._~+/=-]{20})"
_NAME = r"(?P<name>[A-Za-z][A-Za-z0-9_-]{2,60})"
_OUR_HEADERS = "(?:x-pressroom-secret|x-telegram-bot-api-secret-token|x-max-bot-api-secret)"
_SHORTEST = 8

_SHAPES = (
    _shape("private ", r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", MASK, re.DOTALL),
    _shape("ingest/", r"(/ingest/+push/)[^\s\"'<>]+", rf"\g<1>{MASK}", re.IGNORECASE),
    _shape("-secret", rf"(\b{_OUR_HEADERS}(?:[\"']?\s*[:=]\s*(?:b?[\"'])?|[\"'],\s*b?[\"']))(?!\s*[<$`])[^\s\"'`]+", rf"\g<1>{MASK}", re.IGNORECASE),
    _shape("=", r"(?<=[A-Za-z0-9._-]:)[A-Za-z0-9+/]{43}=(?![A-Za-z0-9+/=])", MASK),  # what seals the others
    _shape("/bot", r"(/bot\d+)(?::|%3A)[^\s/?#\"'<>]+", rf"\g<1>:{MASK}", re.IGNORECASE),
    _shape(": %3a", r"(?<!\d)(\d{6,})(?::|%3A)[A-Za-z0-9_-]{30,}", rf"\g<1>:{MASK}", re.IGNORECASE),
    _shape("prs_", r"\bprs_[A-Za-z0-9_-]{6,}", f"prs_{MASK}"),
    _shape("authorization", r"(\bauthorization[\"']?\s*[:=]\s*(?:b?[\"'])?)(?!(?:bearer|basic)?\s*[<$`])(?:(?:bearer|basic)\s+)?[^\s\"',;`]+", rf"\g<1>{MASK}", re.IGNORECASE),
    _shape("bearer basic", rf"\b(bearer|basic)(\s+){_RANDOM}[A-Za-z0-9._~+/=-]{{6,}}", rf"\g<1>\g<2>{MASK}", re.IGNORECASE),
    _shape("postgres", r"(postgres(?:ql)?(?:\+\w+)?://[^\s:/@]*:)[^\s\"'<>]*@", rf"\g<1>{MASK}@", re.IGNORECASE),
    _shape("://", r"(://[^\s:/@\"'<>]*:)[^\s/@\"'<>]+@", rf"\g<1>{MASK}@"),
    _shape("eyj", r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*", MASK),
    _shape("akia asia", r"\b(AKIA|ASIA)[A-Z0-9]{16}\b", rf"\g<1>{MASK}"),
    _shape("sk- pk-", r"\b([sp]k-)(?=[A-Za-z0-9_-]*\d)[A-Za-z0-9_-]{16,}", rf"\g<1>{MASK}"),
    _shape("vk1.", r"\bvk1\.[a-z]\.[A-Za-z0-9_-]{20,}", f"vk1.{MASK}"),
    # MAX: bot tokens. Links to people's profiles look alike and are public.
    _shape("f9lhodd0c", r"(?<!/u/)\bf9LHodD0c[A-Za-z0-9_-]{50,}", f"f9LHodD0c{MASK}"),
    _shape(
        "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ xox aiza glpat- pina_",
        r"\b(gh[pousr]_|github_pat_|xox[abprs]-|AIza|glpat-|pina_)(?=[A-Za-z0-9_-]*\d)[A-Za-z0-9_-]{20,}",
        rf"\g<1>{MASK}",
    ),
    _shape("live_ test_", r"\b(live_|test_)(?=[A-Za-z0-9-]*\d)[A-Za-z0-9-]{32,}", rf"\g<1>{MASK}"),  # payments
    _shape("=", rf"{_NAME}=(?P<quote>[\"']?)(?P<value>[^\s\"'&,;}}\])]+)", _mask_assigned),
    _shape(":", rf"[\"']{_NAME}[\"']\s*:\s*b?(?P<quote>[\"'])(?P<value>.*?)(?P=quote)", _mask_assigned),
    _shape(": ", rf"\b{_NAME}:[ \t]*(?P<value>[^\s\"'&,;{{}}\[\]()<>]+)", _mask_header),
)  # fmt: skip
_BY_NEEDLE = tuple((needle, shape) for shape in _SHAPES for needle in shape.needles)

_OUR_OWN = frozenset({"ts", "level"})


def _redact_event(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    for name, value in event.items():
        if name not in _OUR_OWN:
            event[name] = _redacted_field(name, value)
    return event


def _without_control_characters(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """A terminal obeys escape sequences: what a peer sent must not move the cursor or begin a line."""
    for name, value in event.items():
        if isinstance(value, str) and name != "exception":
            event[name] = _printable(value)
    return event


def _printable(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)


class _Lines:
    """Writes finished lines. A log that cannot be written stops nobody's work."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def msg(self, line: str) -> None:
        try:
            self._write(line)
        except (OSError, ValueError):  # the reader of the pipe has gone, or the stream is closed
            return

    debug = info = warning = error = critical = msg

    def _write(self, line: str) -> None:
        try:
            self._stream.write(line + "\n")
        except UnicodeEncodeError:
            encoding = self._stream.encoding or "ascii"
            self._stream.write(line.encode(encoding, "backslashreplace").decode(encoding) + "\n")
        self._stream.flush()


class _FromLibraries(logging.Handler):
    """What libraries say through `logging` goes the same way as what we say."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            message = record.getMessage()
        except (TypeError, ValueError):
            message = str(record.msg)
        level = min((known for known in _LEVELS.values() if known >= record.levelno), default=logging.ERROR)
        fields: dict[str, object] = {"logger": record.name}
        if record.exc_info:
            fields["exc_info"] = record.exc_info
        structlog.get_logger().log(level, message, **fields)
