"""Webhooks: setWebhook, deleteWebhook, getWebhookInfo, and what is delivered, repeated and answered there.

Plain HTTP and any port are allowed, unless the sandbox is strict. Certificates and fixed addresses are accepted and
shown, but deliveries go to the host of the URL, whose certificate nobody checks.
"""

import ipaddress
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

from starlette.types import Message as Event
from starlette.types import Scope

from pressroom.sandbox.core.courier import Courier, Failure, Parcel, Reply
from pressroom.sandbox.telegram.model import Bot
from pressroom.sandbox.telegram.parameters import Parameters, read_parameters
from pressroom.sandbox.telegram.refusal import Refusal, bad_request, too_many_requests
from pressroom.sandbox.telegram.request import Answer, Method, Request
from pressroom.sandbox.telegram.state import PROVIDER, State
from pressroom.sandbox.telegram.updates import BY_DEFAULT, KINDS, WEBHOOK_SET, Inbox, Updates

CONNECTIONS, MOST_CONNECTIONS = 40, 100
SECRET_LENGTH = 256
CERTIFICATE_BYTES = 3 << 20
PORTS = (443, 88, 80, 8443)
IDLE_SECONDS = 60
LONGEST_PAUSE = (60, 120)  # seconds between repetitions, by chance
GONE_SECONDS = 23 * 60 * 60

#: What a webhook's answer may not ask for, besides everything that only reads.
UNANSWERABLE = {"deletewebhook", "setwebhook", "close", "logout"}

_PART = re.compile(r"(?:[A-Za-z0-9.\-_!$,~*'();&+=]|%[0-9A-Fa-f]{2}|[^\x00-\x7f])*")
_USER_PART = re.compile(r"(?:[A-Za-z0-9.\-_!$,~*'();&+=:]|%[0-9A-Fa-f]{2}|[^\x00-\x7f])*")

#: Does what a method does; nobody waits for the result.
Call = Callable[[Bot, str, Parameters], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Settings:
    """As the bot gave them. Without a URL there is no webhook."""

    url: str = ""
    max_connections: int = 0
    secret_token: str = field(default="", repr=False)
    ip_address: str = ""
    has_certificate: bool = False


@dataclass(slots=True)
class Webhook:
    bot: Bot
    settings: Settings
    inbox: Inbox
    courier: Courier
    next_number: int  # of the first update that was not given to the courier
    given: set[int] = field(default_factory=set[int])
    last_error_at: int = 0
    last_error: str = ""
    gone_since: float | None = None  # the first of an unbroken row of 410s


class Webhooks:
    def __init__(self, state: State, updates: Updates, call: Call, *, strict: bool = False) -> None:
        self._state, self._updates, self._call, self._strict = state, updates, call, strict
        self._world = state.world
        self._webhooks: dict[int, Webhook] = {}
        self._next_change: dict[int, float] = {}
        self.methods: dict[str, Method] = {
            "setWebhook": self.set_webhook,
            "deleteWebhook": self.delete_webhook,
            "getWebhookInfo": self.get_webhook_info,
        }

    # The methods

    def set_webhook(self, request: Request) -> Answer:
        url = request.parameters.text("url")
        if url and self._strict:
            self._slow_down(request.bot)
        return self._change(request, _settings(request.parameters) if url else Settings())

    def delete_webhook(self, request: Request) -> Answer:
        return self._change(request, Settings())

    def _change(self, request: Request, wanted: Settings) -> Answer:
        """The old webhook is gone before the new one is looked at."""
        bot, parameters = request.bot, request.parameters
        inbox = self._updates.asks(bot)
        allowed = parameters.text("allowed_updates")
        drop = parameters.truth("drop_pending_updates")
        known = self._webhooks.get(bot.id)
        if wanted == (known.settings if known else Settings()) and not (wanted.has_certificate or drop):
            inbox.allow(allowed)
            return Answer(b"true", "Webhook is already set" if wanted.url else "Webhook is already deleted")
        if wanted.url:
            inbox.end_poll(WEBHOOK_SET)
        self._remove(bot)
        if drop:
            inbox.clear()
        if not wanted.url:
            return Answer(b"true", "Webhook was deleted" if known else "Webhook is already deleted")
        url = _check(wanted, parameters)
        inbox.allow(allowed)
        self._check_address(url, wanted)
        self._install(bot, wanted, url)
        return Answer(b"true", "Webhook was set")

    def _slow_down(self, bot: Bot) -> None:
        now = self._world.clock.now()
        if now < self._next_change.get(bot.id, 0):
            raise too_many_requests(1)
        self._next_change[bot.id] = now + 1

    def _check_address(self, url: "Url", wanted: Settings) -> None:
        if self._strict and url.scheme != "https":
            raise bad_webhook("An HTTPS URL must be provided for webhook")
        if self._strict and url.port not in PORTS:
            raise bad_webhook("Webhook can be set up only on ports 80, 88, 443 or 8443")
        if not wanted.ip_address:
            return
        try:
            address = ipaddress.ip_address(wanted.ip_address)
        except ValueError:
            raise bad_webhook("Invalid IP address specified") from None
        if self._strict and address.version == 6:
            raise bad_webhook("IPv6-only addresses are not allowed")
        if self._strict and not address.is_global:
            raise bad_webhook(f"IP address {address} is reserved")

    def get_webhook_info(self, request: Request) -> dict[str, Any]:
        webhook = self._webhooks.get(request.bot.id)
        inbox = self._updates.inbox(request.bot)
        settings = webhook.settings if webhook else Settings()
        said: dict[str, Any] = {
            "url": settings.url,
            "has_custom_certificate": settings.has_certificate,
            "pending_update_count": inbox.waiting(int(self._world.clock.now())),
        }
        if webhook is not None:
            if webhook.last_error_at:
                said |= {"last_error_date": webhook.last_error_at, "last_error_message": webhook.last_error}
            said["max_connections"] = settings.max_connections
            said["ip_address"] = settings.ip_address or _shown_address(webhook.courier.url)
        if inbox.allowed != BY_DEFAULT:
            said["allowed_updates"] = [kind for kind in KINDS if kind in inbox.allowed]
        return said

    # Delivery

    def _install(self, bot: Bot, settings: Settings, url: "Url") -> Webhook:
        inbox = self._updates.inbox(bot)
        secret = {"X-Telegram-Bot-Api-Secret-Token": settings.secret_token} if settings.secret_token else {}

        def taken(parcel: Parcel, reply: Reply) -> None:
            self._taken(webhook, parcel, reply)

        def failed(parcel: Parcel, failure: Failure) -> None:
            self._failed(webhook, failure)

        def dropped(parcel: Parcel) -> None:
            self._done(webhook, parcel)

        courier = Courier(
            self._world,
            url.whole,
            provider=PROVIDER,
            bot=bot.username or "",
            headers=secret,
            parallel=settings.max_connections,
            seconds=IDLE_SECONDS,
            backoff=self._pause,
            taken=taken,
            failed=failed,
            dropped=dropped,
        )
        webhook = Webhook(bot, settings, inbox, courier, inbox.head)
        self._webhooks[bot.id] = webhook
        inbox.on_news = partial(self._load, webhook)
        self._load(webhook)
        return webhook

    def _remove(self, bot: Bot) -> None:
        webhook = self._webhooks.pop(bot.id, None)
        if webhook is not None:
            webhook.inbox.on_news = None
            webhook.courier.stop()

    def _load(self, webhook: Webhook) -> None:
        """Twice as many as there are connections; those of a source that is stuck keep others out, as they really do."""
        inbox, now = webhook.inbox, self._world.clock.now()
        if webhook.next_number > inbox.next_number:
            webhook.next_number = inbox.head
        while (
            len(webhook.given) < 2 * webhook.settings.max_connections
            and webhook.next_number < inbox.next_number
        ):
            update = inbox.get(webhook.next_number)
            webhook.next_number = max(webhook.next_number + 1, inbox.head)
            if update is None:
                continue
            if update.expires_at < now:
                inbox.forget(update.number)
                continue
            webhook.given.add(update.number)
            webhook.courier.offer(
                Parcel(update.number, update.source, update.as_json(), update.expires_at, update.chat)
            )

    def _pause(self, attempt: int) -> float:
        """Before a repetition: none at first, then 2, 4, 8 ... seconds."""
        if attempt == 1:
            return 0.0
        return min(self._world.chance.randint(*LONGEST_PAUSE), 2 ** min(attempt - 1, 10))

    def _taken(self, webhook: Webhook, parcel: Parcel, reply: Reply) -> None:
        webhook.gone_since = None
        self._done(webhook, parcel)
        if reply.body:
            self._world.run(
                self._answered(webhook.bot, reply), f"what the webhook of {webhook.bot.username} asks"
            )

    def _failed(self, webhook: Webhook, failure: Failure) -> None:
        now = self._world.clock.now()
        webhook.last_error_at = int(now)
        webhook.last_error = (
            f"Wrong response from the webhook: {failure.status} {failure.phrase}"
            if failure.status
            else failure.phrase
        )
        if failure.status == 410:
            webhook.gone_since = now if webhook.gone_since is None else webhook.gone_since
            if now > webhook.gone_since + GONE_SECONDS:
                self._remove(webhook.bot)
        elif failure.status:
            webhook.gone_since = None

    def _done(self, webhook: Webhook, parcel: Parcel) -> None:
        """Taken, or given up."""
        if isinstance(parcel.key, int):
            webhook.inbox.forget(parcel.key)
            webhook.given.discard(parcel.key)
        self._load(webhook)

    async def _answered(self, bot: Bot, reply: Reply) -> None:
        """An answer may hold a call: parameters in any encoding that a request may have, the method among them."""

        async def receive() -> Event:
            return {"type": "http.request", "body": reply.body}

        headers = [(b"content-type", reply.kind.encode("latin-1", "replace"))]
        scope: Scope = {"type": "http", "method": "POST", "query_string": b"", "headers": headers}
        try:
            parameters = await read_parameters(scope, receive)
        except Refusal:
            return  # no call that anybody could read, and the update was taken
        method = parameters.text("method").lower()
        if method and method not in UNANSWERABLE and not method.startswith("get"):
            await self._call(bot, method, parameters)

    # Saved state

    def state(self) -> dict[str, Any]:
        return {
            str(number): {
                "settings": asdict(webhook.settings),
                "last_error_at": webhook.last_error_at,
                "last_error": webhook.last_error,
                "gone_since": webhook.gone_since,
            }
            for number, webhook in self._webhooks.items()
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Deliveries go on at once, so that this needs a running event loop."""
        for number, saved in state.items():
            settings = Settings(**saved["settings"])
            url = read_url(settings.url)
            if url is None:
                raise ValueError(f"{settings.url!r} is no address of a webhook")
            webhook = self._install(self._state.bots_by_id[int(number)], settings, url)
            webhook.last_error_at, webhook.last_error = saved["last_error_at"], saved["last_error"]
            webhook.gone_since = saved["gone_since"]

    def clear(self) -> None:
        for webhook in list(self._webhooks.values()):
            self._remove(webhook.bot)

    async def aclose(self) -> None:
        for webhook in list(self._webhooks.values()):
            webhook.inbox.on_news = None
            await webhook.courier.close()
        self._webhooks.clear()


def bad_webhook(reason: str) -> Refusal:
    return bad_request(f"bad webhook: {reason}")


def _settings(parameters: Parameters) -> Settings:
    return Settings(
        parameters.text("url"),
        parameters.integer("max_connections", CONNECTIONS, 1, MOST_CONNECTIONS),
        parameters.text("secret_token"),
        parameters.text("ip_address"),
        _certificate_size(parameters) is not None,
    )


def _certificate_size(parameters: Parameters) -> int | None:
    given = parameters.text("certificate")
    name = given.removeprefix("attach://") if given.startswith("attach://") else "certificate"
    upload = parameters.files.get("certificate") or parameters.files.get(name)
    return None if upload is None else len(upload.content)


def _check(wanted: Settings, parameters: Parameters) -> "Url":
    url = read_url(wanted.url)
    if url is None:
        raise bad_request("invalid webhook URL specified")
    if len(wanted.secret_token.encode("utf-8", "surrogatepass")) > SECRET_LENGTH:
        raise bad_request("secret token is too long")
    if not re.fullmatch(r"[A-Za-z0-9_-]*", wanted.secret_token):
        raise bad_request("secret token contains unallowed characters")
    size = _certificate_size(parameters)
    if size is not None and size > CERTIFICATE_BYTES:
        raise bad_request(f"certificate size is too big ({size} bytes)")
    return url


@dataclass(frozen=True, slots=True)
class Url:
    scheme: str
    host: str
    port: int
    whole: str


def read_url(given: str) -> Url | None:
    """As TDLib reads addresses: https where no scheme is named. None when it is none."""
    scheme, found, rest = given.partition("://")
    if not found or re.search(r"[:/?#@\[\]]", scheme):
        scheme, rest = "https", given
    scheme = scheme.lower()
    if scheme not in ("http", "https"):
        return None
    place = re.split(r"[/?#]", rest, maxsplit=1)[0]
    path = rest[len(place) :].rstrip(" \t\r\n\0\x0b") or "/"
    user, _, host_and_port = place.rpartition("@")
    host, port = _port(host_and_port, 80 if scheme == "http" else 443)
    if not host or host == "." or port is None or not _USER_PART.fullmatch(user):
        return None
    if host[0] == "[" and host[-1] == "]":
        if not _is_ipv6(host[1:-1]):
            return None
    elif not _PART.fullmatch(host):
        return None
    path = re.sub(r"[\x00-\x20]", lambda found: f"%{ord(found[0]):02X}", path)
    return Url(scheme, host.lower(), port, f"{scheme}://{place}{'' if path[0] == '/' else '/'}{path}")


def _port(place: str, default: int) -> tuple[str, int | None]:
    host, colon, port = place.rpartition(":")
    if not colon or "]" in port or not host:
        return place, default
    if not re.fullmatch(r"\d{1,9}", port, re.ASCII) or not 0 < int(port) < 65_536:
        return host, None
    return host, int(port)


def _is_ipv6(host: str) -> bool:
    try:
        ipaddress.IPv6Address(host)
    except ValueError:
        return False
    return True


def _shown_address(url: str) -> str:
    found = read_url(url)
    host = "" if found is None else found.host.strip("[]")
    if host == "localhost":
        return "127.0.0.1"
    try:
        return str(ipaddress.ip_address(host))
    except ValueError:
        return "<unknown>"
