"""Which bot hears which message: its own dialogs, its channels, and in groups what privacy mode lets through."""

from pressroom.core.markup import Entity, EntityType
from pressroom.sandbox.telegram.model import Bot, Chat, Message, User
from pressroom.sandbox.telegram.state import State

INSIDE = ("creator", "administrator", "member", "restricted")

#: What a bot hears of although it did it itself.
_OWN_DEEDS = {
    "new_chat_title", "new_chat_photo", "delete_chat_photo", "left_chat_member", "pinned_message",
    "forum_topic_created", "forum_topic_edited", "forum_topic_closed", "forum_topic_reopened",
    "general_forum_topic_hidden", "general_forum_topic_unhidden",
}  # fmt: skip


def speaks_to_itself(message: Message) -> bool:
    service = None if message.more is None else message.more.service
    return service is not None and not _OWN_DEEDS.isdisjoint(service)


def is_inside(state: State, bot: Bot, chat: Chat, statuses: tuple[str, ...] = INSIDE) -> bool:
    return state.member(chat, bot).status in statuses


def hears(state: State, bot: Bot, chat: Chat, message: Message, by: User | None) -> bool:
    """In a channel or a group, of what another one did."""
    service = None if message.more is None else message.more.service
    if not is_inside(state, bot, chat):
        return service is not None and service.get("left_chat_member", {}).get("id") == bot.id
    if chat.type == "channel" or service is not None:
        return True
    if by is not None and by.is_bot:
        return False
    return (
        bot.reads_groups
        or state.member(chat, bot).status in ("creator", "administrator")
        or _is_meant(bot, chat, message)
    )


def _word(text: str, entity: Entity) -> str:
    units = text.encode("utf-16-le")
    return units[2 * entity.offset : 2 * (entity.offset + entity.length)].decode("utf-16-le", errors="replace")


def _is_meant(bot: Bot, chat: Chat, message: Message) -> bool:
    """A reply to the bot, a mention of it, or a command that names it, or that names nobody and is the bot's turn."""
    replied = None if message.more is None or message.more.reply_to is None else message.more.reply_to
    if replied is not None and (original := chat.messages.get(replied)) is not None and original.author is bot:
        return True
    if message.more is not None and message.more.via_bot == bot.id:
        return True
    mine = f"@{bot.username}".lower()
    for entity in message.entities:
        if entity.type is EntityType.TEXT_MENTION and entity.user_id == bot.id:
            return True
        if entity.type not in (EntityType.MENTION, EntityType.BOT_COMMAND):
            continue
        word = _word(message.text, entity).lower()
        if word == mine or word.endswith(mine):
            return True
        if entity.type is EntityType.BOT_COMMAND and entity.offset == 0 and "@" not in word:
            return chat.extra.get("last_bot", bot.id) == bot.id
    return False
