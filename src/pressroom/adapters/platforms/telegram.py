"""Telegram, by its Bot API. One bot token serves many chats; a text has up to 4096 characters.

What it cannot do yet it refuses: media, buttons.
"""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

import aiohttp
from pydantic import BaseModel, ConfigDict, Field

from pressroom.adapters.http import (
    baseline,
    puzzling,
    read_json,
    read_settings,
    refused_here,
    seconds,
    unreachable,
)
from pressroom.core.errors import Category, ProviderError, Scope
from pressroom.core.http import within
from pressroom.ports.platform import (
    Channel,
    Credential,
    Limits,
    Media,
    ParseMode,
    PlatformContext,
    PlatformPlug,
    Receipt,
    SendMeta,
)

# What a 400 says when it is the chat that is wrong and not the post: the next post would fail just the same.
CHAT_IS_WRONG = (
    "chat not found",
    "chat_id is empty",
    "chat was upgraded",
    "chat was deactivated",
    "chat was deleted",
    "bot was kicked",
    "bot was blocked",
    "bot is not a member",
    "user is deactivated",
    "need administrator rights",
    "not enough rights",
    "have no rights to send",
    "have no write access",
    "message thread not found",
    "topic_closed",
    "topic_deleted",
    "chat_write_forbidden",
    "chat_send_plain_forbidden",
    "chat_admin_required",
    "channel_private",
    "peer_id_invalid",
)


class TelegramSettings(BaseModel):
    """Of a channel; the keys that hold for all platforms, such as `parse_mode`, stand beside them."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    base_url: str = Field(default="https://api.telegram.org", pattern=r"^https?://[^\s?#]+$")
    disable_notification: bool = False
    protect_content: bool = False
    message_thread_id: int | None = None


class Telegram:
    def __init__(self, context: PlatformContext) -> None:
        self._http = context.http
        self._defaults = context.defaults

    async def send_text(self, channel: Channel, text: str, meta: SendMeta) -> Receipt:
        return await self._call(channel, "sendMessage", {"text": text, **_how(meta)}, meta)

    async def send_media(
        self, channel: Channel, media: Sequence[Media], text: str | None, links: Sequence[str], meta: SendMeta
    ) -> Receipt:
        raise refused_here(Scope.DELIVERY, "unsupported", "Telegram posts are text only for now")

    async def _call(self, channel: Channel, method: str, what: Mapping[str, Any], meta: SendMeta) -> Receipt:
        settings = read_settings(TelegramSettings, self._defaults, channel)
        if not channel.token:
            raise refused_here(
                Scope.CHANNEL, "no_credential", "the channel has no bot token", hint=PLUG.credential.hint
            )
        # The token is part of the address, and so of the client's errors: hence `from None`.
        url = f"{settings.base_url.rstrip('/')}/bot{quote(channel.token, safe=':')}/{method}"
        body = {"chat_id": channel.target_id, **what, **_where(settings)}
        try:
            async with self._http.post(url, json=body, timeout=within(meta.timeout)) as response:
                answer = await read_json(response, hide=channel.token)
        except (aiohttp.ClientError, TimeoutError) as error:
            raise unreachable(error) from None
        except ValueError:  # UnicodeError among them: an address that no name can be made of
            raise refused_here(
                Scope.CHANNEL,
                "bad_url",
                f"{settings.base_url} is no address",
                hint="correct the channel's base_url",
            ) from None
        if not response.ok:
            raise classify(response, answer)
        match answer:
            case {"ok": True, "result": {"message_id": int(message_id)}}:
                return Receipt(provider_message_id=str(message_id), raw=answer)
            case _:
                raise puzzling(response, answer)


def classify(response: aiohttp.ClientResponse, answer: Mapping[str, Any]) -> ProviderError:
    """The baseline, refined by what Telegram's descriptions say (AP-273, AP-280).

    A 429 counts against the platform, that is, the bot: the answer does not say whether the chat's or the bot's
    limit was hit, and asking on while limited makes the wait longer.
    """
    description = _text(answer.get("description"))
    parameters = _object(answer.get("parameters"))
    error = baseline(
        response,
        _text(answer.get("error_code")),
        description,
        retry_after=seconds(parameters.get("retry_after")),
        raw=answer,
    )
    if error.category is Category.PERMANENT and any(phrase in description.lower() for phrase in CHAT_IS_WRONG):
        error.scope = Scope.CHANNEL
    if (moved_to := parameters.get("migrate_to_chat_id")) is not None:
        error.category, error.scope = Category.PERMANENT, Scope.CHANNEL
        error.message = f"{description}; its id is now {moved_to}"
        error.hint = f"set the channel's target_id to {moved_to}"
    return error


def _how(meta: SendMeta) -> dict[str, Any]:
    if meta.buttons:
        raise refused_here(Scope.DELIVERY, "unsupported", "buttons are not sent to Telegram yet")
    how: dict[str, Any] = {}
    match meta.parse_mode:
        case ParseMode.HTML:
            how["parse_mode"] = "HTML"
        case ParseMode.MARKDOWN:  # Telegram's dialects are stricter than ours
            raise refused_here(
                Scope.DELIVERY,
                "unsupported",
                "Markdown has to be rendered to HTML before it is sent to Telegram",
            )
        case ParseMode.NONE:
            pass
    if meta.disable_preview:
        how["link_preview_options"] = {"is_disabled": True}
    return how


def _where(settings: TelegramSettings) -> dict[str, Any]:
    where: dict[str, Any] = {}
    if settings.disable_notification:
        where["disable_notification"] = True
    if settings.protect_content:
        where["protect_content"] = True
    if settings.message_thread_id is not None:
        where["message_thread_id"] = settings.message_thread_id
    return where


def _text(value: object) -> str:
    return "" if value is None else str(value)


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}  # pyright: ignore[reportUnknownVariableType] - JSON keys are text


PLUG = PlatformPlug(
    name="telegram",
    title="Telegram",
    limits=Limits(text=4096, caption=1024, album=10),
    settings=TelegramSettings,
    credential=Credential(
        title="Bot token",
        hint="ask @BotFather for a bot, make it an administrator of the channel, and give its token",
    ),
    open=Telegram,
)
