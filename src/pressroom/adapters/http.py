"""What plugs share: reading an answer, and turning what went wrong into a `ProviderError`.

Nothing here repeats what the HTTP client says in its own words. Its errors contain the URL, and some platforms
want their token in the URL; so a plug raises `unreachable(error) from None`.
"""

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import Any, TypeVar, cast

import aiohttp
from pydantic import BaseModel, ValidationError

from pressroom.core.errors import Category, Outcome, ProviderError, Scope
from pressroom.core.http import RedirectRefused, has_left
from pressroom.core.storable import flaw_of, parse_json
from pressroom.ports.platform import Channel

ANSWER_LIMIT = 1 << 20  # bytes; a longer answer is none of an API that we know
SNIPPET = 300
STRUCK_OUT = "***"
LONGEST_WAIT = timedelta(days=1)

S = TypeVar("S", bound=BaseModel)


def read_settings(kind: type[S], defaults: Mapping[str, Any], channel: Channel) -> S:
    """The channel's settings for this platform; where it says nothing, the installation's, then the plug's."""
    try:
        return kind.model_validate({**defaults, **channel.settings})
    except ValidationError as error:
        faults = "; ".join(
            f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}"
            for fault in error.errors(include_url=False, include_input=False, include_context=False)
        )
        raise refused_here(
            Scope.CHANNEL, "bad_settings", f"the channel's settings are wrong: {faults}"
        ) from None


def refused_here(scope: Scope, code: str, message: str, *, hint: str | None = None) -> ProviderError:
    """What the plug itself refuses: nothing was sent, and trying again cannot help."""
    return ProviderError(Category.PERMANENT, scope, code, message, outcome=Outcome.NOT_SENT, hint=hint)


async def read_json(response: aiohttp.ClientResponse, *, hide: str = "") -> dict[str, Any]:
    """The answer's JSON object. Anything else comes back as `{"unreadable": its beginning}`, never as an error.

    `hide` is the secret that the request carried; wherever the answer repeats it, it is struck out. So is what
    Postgres cannot store: NUL, half surrogate pairs, numbers without end.
    """
    body = bytearray()
    async for chunk in response.content.iter_any():
        body += chunk
        if len(body) > ANSWER_LIMIT:
            response.close()
            break
    text = body.decode(errors="replace")
    try:
        answer = _clean(parse_json(text), hide)
    except (ValueError, RecursionError):
        answer = None
    if isinstance(answer, dict):
        return cast("dict[str, Any]", answer)
    return {"unreadable": _clean_text(text, hide)[:SNIPPET]}


def redact(text: str, secret: str) -> str:
    """Strikes the secret out, as it is and as it may stand in a URL."""
    if not secret:
        return text
    text = text.replace(secret, STRUCK_OUT)
    return _in_a_url(secret).sub(STRUCK_OUT, text) if "%" in text else text


@lru_cache(maxsize=256)
def _in_a_url(secret: str) -> re.Pattern[str]:
    """Everybody escapes other characters: each may be itself or its bytes in hex."""
    return re.compile("".join(f"(?:{re.escape(char)}|(?i:{_in_hex(char)}))" for char in secret))


def _in_hex(char: str) -> str:
    return "".join(f"%{byte:02x}" for byte in char.encode())


def _clean(value: object, secret: str) -> object:
    match value:
        case str():
            return _clean_text(value, secret)
        case float():
            return None if flaw_of(value) else value
        case dict():
            fields = cast("dict[str, object]", value)
            return {_clean_text(name, secret): _clean(field, secret) for name, field in fields.items()}
        case list():
            return [_clean(item, secret) for item in cast("list[object]", value)]
        case _:
            return value


def _clean_text(text: str, secret: str) -> str:
    text = redact(text, secret)
    return text.replace("\0", "\ufffd").encode(errors="replace").decode() if flaw_of(text) else text


def unreachable(error: aiohttp.ClientError | TimeoutError) -> ProviderError:
    """No complete answer (AP-271). The outcome says whether the request may have arrived."""
    if isinstance(error, (aiohttp.InvalidURL, aiohttp.NonHttpUrlClientError)):
        return refused_here(Scope.CHANNEL, "bad_url", "base_url is not an http or https address")
    left = has_left(error)
    code, message = _what_broke(error, left=left)
    outcome = Outcome.UNKNOWN if left else Outcome.NOT_SENT
    return ProviderError(Category.TRANSIENT, Scope.PLATFORM, code, message, outcome=outcome)


def baseline(
    response: aiohttp.ClientResponse,
    code: str,
    message: str,
    *,
    retry_after: timedelta | None = None,
    raw: Mapping[str, Any] | None = None,
) -> ProviderError:
    """What an HTTP status means on every platform (AP-271, AP-274 to AP-276); a plug refines it.

    `code` and `message` are the platform's, the status serves where they are empty. `retry_after` is what the
    body said, else the header counts.

    A server's failure (500, and the gateways' 502 and 504) may come after the effect, so its outcome is unknown.
    """
    category, scope = _by_status(response.status)
    outcome = Outcome.REFUSED
    if response.status >= 500 and response.status not in (501, 503):
        outcome = Outcome.UNKNOWN
    return ProviderError(
        category,
        scope,
        code or str(response.status),
        message or f"answered {response.status}",
        retry_after if retry_after is not None else _retry_after(response.headers.get("Retry-After")),
        outcome,
        snippet(raw),
    )


def puzzling(response: aiohttp.ClientResponse, answer: Mapping[str, Any]) -> ProviderError:
    """A success that does not look like this platform's: a proxy, a login page, a half answer."""
    return ProviderError(
        Category.TRANSIENT,
        Scope.PLATFORM,
        "unreadable_answer",
        f"answered {response.status}, but not with what this platform answers; is base_url right?",
        outcome=Outcome.UNKNOWN,
        raw=snippet(answer),
    )


def snippet(answer: Mapping[str, Any] | None) -> str | None:
    return None if answer is None else json.dumps(answer, ensure_ascii=False, default=str)[:SNIPPET]


def seconds(value: object) -> timedelta | None:
    """A provider's waiting time, made safe: none of an odd value, a day at most."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value >= 0:
        return None
    return timedelta(seconds=min(value, LONGEST_WAIT.total_seconds()))


def _by_status(status: int) -> tuple[Category, Scope]:
    match status:
        case 408 | 425 | 429:
            return Category.TRANSIENT, Scope.PLATFORM
        case 401 | 403 | 404:
            return Category.PERMANENT, Scope.CHANNEL
        case _ if 400 <= status < 500:
            return Category.PERMANENT, Scope.DELIVERY
        case _:
            return Category.TRANSIENT, Scope.PLATFORM


def _what_broke(error: aiohttp.ClientError | TimeoutError, *, left: bool) -> tuple[str, str]:
    match error:
        case RedirectRefused():
            return str(error.status), f"{error}; redirects are not followed, is base_url right?"
        case aiohttp.ClientConnectorDNSError():
            return "dns", f"cannot find {error.host}: {error.strerror}"
        case aiohttp.ClientSSLError() | aiohttp.ServerFingerprintMismatch():
            return "tls", f"no secure connection to {getattr(error, 'host', 'it')}: {_reason(error)}"
        case aiohttp.ClientConnectorError():
            return "connect", f"cannot connect to {error.host}: {error.strerror}"
        case TimeoutError():
            return "timeout", "no complete answer in time" if left else "no connection in time"
        case _:
            return "disconnected", f"the connection ended without a complete answer ({type(error).__name__})"


def _reason(error: BaseException) -> str:
    return str(getattr(error, "verify_message", "") or getattr(error, "strerror", "") or type(error).__name__)


def _retry_after(header: str | None) -> timedelta | None:
    if header is None:
        return None
    if header.isascii() and header.isdigit():
        return seconds(int(header))
    try:
        at = parsedate_to_datetime(header)
    except ValueError:
        return None
    wait = at.replace(tzinfo=at.tzinfo or UTC) - datetime.now(UTC)
    return seconds(max(wait.total_seconds(), 0.0))
