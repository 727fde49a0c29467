"""`pressroom sandbox`: the emulators without the rest of the product, and what one does with a running one."""

import asyncio
import json
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any

import typer

from pressroom.core.errors import InvalidInput
from pressroom.entrypoints.cli.options import Json
from pressroom.entrypoints.cli.output import (
    Facts,
    Table,
    answer,
    note,
    print_parts,
    printable,
    quiet,
)
from pressroom.entrypoints.cli.shape import Noun
from pressroom.sandbox.client import SandboxClient
from pressroom.sandbox.core.faults import SENDS
from pressroom.sandbox.core.view import VERBS
from pressroom.settings import load

Port = Annotated[int | None, typer.Option("--port", min=0, max=0, help="0 picks free ports for all of them.")]
At = Annotated[
    str | None,
    typer.Option(
        "--at", metavar="URL", help="The running sandbox.", show_default="http://127.0.0.1:8803, its window"
    ),
]
Provider = Annotated[str | None, typer.Option("--provider", "-p", metavar="NAME", help="telegram or max.")]
Chat = Annotated[str | None, typer.Option("--chat", "-c", metavar="CHAT", help="A chat: its id or @name.")]

UNITS = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400}


def start(
    context: typer.Context,
    port: Port = None,
    telegram_port: Annotated[int | None, typer.Option("--telegram-port", min=0, max=65535)] = None,
    max_port: Annotated[int | None, typer.Option("--max-port", min=0, max=65535)] = None,
    window_port: Annotated[int | None, typer.Option("--window-port", min=0, max=65535)] = None,
    host: Annotated[
        str, typer.Option("--host", help="Address to listen on; anybody who reaches it may do anything.")
    ] = "127.0.0.1",
    chats: Annotated[
        int, typer.Option("--chats", min=0, max=100_000, help="Channels to make, of each messenger.")
    ] = 0,
    state: Annotated[
        Path | None,
        typer.Option(
            "--state", metavar="FILE", help="Keep everything in this file between runs.", dir_okay=False
        ),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Equal seeds make equal ids, tokens and chances.")] = 0,
    starts_at: Annotated[
        datetime | None,
        typer.Option("--clock", help="Start the clock at this time (UTC), standing still until it is moved."),
    ] = None,
    ledger: Annotated[
        int, typer.Option("--ledger", min=1, max=10_000_000, help="Effects to remember; bounds the memory.")
    ] = 100_000,
    known_tokens: Annotated[
        bool, typer.Option("--known-tokens", help="Refuse tokens of bots that were not made before.")
    ] = False,
    strict_webhooks: Annotated[
        bool, typer.Option("--strict-webhooks", help="Take webhooks at https and the real ports only.")
    ] = False,
    rate_limits: Annotated[
        bool, typer.Option("--rate-limits", help="Answer 429 as the real servers do when one is too quick.")
    ] = False,
    silent: Annotated[
        bool,
        typer.Option("--quiet", "-q", help="Do not print what happens; the ledger and the window have it."),
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the addresses as JSON, then one document per effect.")
    ] = False,
) -> None:
    """A Telegram Bot API and a MAX Bot API on this machine, and a window to look through. Point any bot at them.

    Everything is in memory, and gone at Ctrl-C unless --state names a file. The verbs ask a running sandbox and tell
    it what to do. Any well-formed token works; at Telegram the number before its colon is the bot.

    Examples:
    pressroom sandbox
    pressroom sandbox --chats 40 --state sandbox.json
    pressroom sandbox --port 0 --json
    pressroom sandbox fault fail --code 429 --retry-after 5 --chat @pressroom_example_news
    """
    if context.invoked_subcommand is not None:
        return
    from pressroom.entrypoints.cli.serve import run_fast
    from pressroom.sandbox.run import Options

    given = [telegram_port, max_port, window_port]
    telegram, max_, window = (0 if port == 0 and one is None else one for one in given)
    settings = load(sandbox_telegram_port=telegram, sandbox_max_port=max_, sandbox_window_port=window)
    options = Options(
        host=host,
        telegram_port=settings.sandbox_telegram_port,
        max_port=settings.sandbox_max_port,
        window_port=settings.sandbox_window_port,
        seed=seed,
        ledger_size=ledger,
        chats=chats,
        any_token=not known_tokens,
        strict_webhooks=strict_webhooks,
        rate_limits=rate_limits,
        starts_at=None if starts_at is None else _unix(starts_at, "clock"),
        state=state,
    )
    run_fast(_run(options, as_json=as_json, silent=silent), settings)


async def _run(options: Any, *, as_json: bool, silent: bool) -> None:
    from pressroom.entrypoints.cli.serve import stop_on_signal
    from pressroom.sandbox.run import run_sandbox
    from pressroom.sandbox.telegram import EXAMPLE_TOKEN

    async with stop_on_signal() as stop, run_sandbox(options) as sandbox:
        if sandbox.goes_on:
            note(f"Going on with {options.state}: its seed, its clock and its chats.")
        if as_json:
            print(json.dumps({**sandbox.urls, "token": EXAMPLE_TOKEN}), flush=True)
        else:
            print_parts(
                Facts(
                    [
                        ("Telegram", sandbox.urls["telegram"]),
                        ("MAX", sandbox.urls["max"]),
                        (
                            "Window",
                            f"{sandbox.urls['window']}   look here, write to your bot, press its buttons",
                        ),
                    ]
                ),
                quiet("Any token does. Try:"),
                f"  {sandbox.world.example}",
                quiet("Each bot library's setting: docs/guides/sandbox.md. Stop: Ctrl-C"),
            )
            sys.stdout.flush()
        showing = None if silent else asyncio.create_task(_show(sandbox, as_json=as_json))
        await stop.wait()
        if showing is not None:
            showing.cancel()


async def _show(sandbox: Any, *, as_json: bool) -> None:
    async for effect in sandbox.world.ledger.watch():
        if as_json:
            print(json.dumps(effect.as_json(), ensure_ascii=False), flush=True)
        else:
            print(_line(effect.as_json()), flush=True)


def _line(effect: dict[str, Any]) -> str:
    at = time.strftime("%H:%M:%S", time.localtime(effect["at"]))
    who = printable(f"{effect['actor']} {effect['method']}")
    said = printable(" ".join(_said(effect).split()))
    return f"{at}  {effect['provider']:8} {effect['chat']:>15}  {who}: {said}"


def _said(effect: dict[str, Any]) -> str:
    more = ", ".join(_beside(effect.get("details") or {}))
    return f"{effect['text']} [{more}]" if more else effect["text"]


def _beside(details: dict[str, Any]) -> list[str]:
    media = [str(one.get("kind", "file")) for one in details.get("media", ())]
    buttons = sum(len(row) for row in details.get("buttons", ()))
    return [*media, *([f"{buttons} buttons"] if buttons else [])]


app = Noun(itself=start)


def _sandbox(at: str | None) -> SandboxClient:
    """A port alone means this machine."""
    if at is None or at.isdigit():
        at = f"http://127.0.0.1:{at or load().sandbox_window_port}"
    if not at.startswith(("http://", "https://")):
        raise InvalidInput(f"{at!r} is no address", hint="as http://127.0.0.1:8803, or 8803", field="at")
    return SandboxClient(at)


@app.verb("bots")
def bots(provider: Provider = None, at: At = None, as_json: Json = False) -> None:
    """List the bots. Any well-formed token makes one when it first calls; `add bot` makes one before.

    Examples:
    pressroom sandbox bots
    """
    _list_actors("bots", "No bots.", provider, at, as_json=as_json)


@app.verb("people")
def people(provider: Provider = None, at: At = None, as_json: Json = False) -> None:
    """List the people who use the messengers.

    Examples:
    pressroom sandbox people --provider max
    """
    _list_actors(
        "people",
        "Nobody yet: `pressroom sandbox act starts person=Anna bot=...` makes one.",
        provider,
        at,
        as_json=as_json,
    )


def _list_actors(what: str, empty: str, provider: str | None, at: str | None, *, as_json: bool) -> None:
    sandbox = _sandbox(at)
    names = [provider] if provider else sorted(sandbox.overview()["providers"])
    found = [
        {"provider": name, **one}
        for name in names
        for one in sandbox.ask("GET", f"/sandbox/{name}/{what}")[what]
    ]
    rows = [(one["name"], one["provider"], str(one["id"]), one.get("username", "")) for one in found]
    answer(as_json, found, Table(("Name", "Where", "Id", "User name"), rows, empty=empty))


@app.verb("add")
def add(
    what: Annotated[str, typer.Argument(help="chat, bot or person.")],
    wishes: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME=VALUE]...", help="What it is like.")
    ] = None,
    provider: Provider = None,
    at: At = None,
    as_json: Json = False,
) -> None:
    """Make a chat, a bot or a person.

    A chat takes title and kind (channel, group, supergroup; at MAX channel or chat); a bot username and token; a
    person name. What else they take, a wrong word tells.

    Examples:
    pressroom sandbox add bot username=my_bot token=42:my-secret
    pressroom sandbox add chat title='Night shift' kind=supergroup
    pressroom sandbox add person name=Anna --provider max
    """
    places = {"chat": "chats", "bot": "bots", "person": "people"}
    if what not in places:
        raise InvalidInput(f"{what!r} cannot be made", hint="chat, bot or person", field="what")
    wish = dict(_wish(one) for one in wishes or [])
    made = _sandbox(at).ask("POST", f"/sandbox/{provider or 'telegram'}/{places[what]}", wish)
    shown = [(name, str(value)) for name, value in made.items() if not isinstance(value, list)]
    answer(as_json, made, Facts(shown))


@app.verb("chats")
def chats(provider: Provider = None, at: At = None, as_json: Json = False) -> None:
    """List the chats, those with the newest message first.

    Examples:
    pressroom sandbox chats
    pressroom sandbox chats --provider max --json
    """
    sandbox = _sandbox(at)
    names = [provider] if provider else sorted(sandbox.overview()["providers"])
    found = [{"provider": name, **chat} for name in names for chat in sandbox.provider(name).chats()]
    rows = [
        (chat["title"], chat["provider"], chat["kind"], str(chat["id"]), chat["messages"]) for chat in found
    ]
    answer(as_json, found, Table(("Chat", "Where", "Kind", "Id", "Messages"), rows, empty="No chats."))


@app.verb("messages", context_settings={"ignore_unknown_options": True})  # ids of chats begin with a minus
def messages(
    chat: Annotated[str, typer.Argument(help="Its id or @name.")],
    provider: Provider = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=1000)] = 50,
    at: At = None,
    as_json: Json = False,
) -> None:
    """Show the newest messages of a chat, oldest first.

    Examples:
    pressroom sandbox messages @pressroom_example_news
    pressroom sandbox messages --provider max -70000000000001
    """
    found = _sandbox(at).provider(provider or "telegram").messages(chat, limit)
    rows = [
        (str(one["id"]), _time(one["at"]), one["sender"]["name"], one["text"] or _kinds(one)) for one in found
    ]
    answer(as_json, found, Table(("Id", "At", "From", "Text"), rows, empty="No messages."))


def _kinds(message: dict[str, Any]) -> str:
    return ", ".join(one["kind"] for one in message.get("media", ()))


def _time(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))


@app.verb("ledger")
def ledger(
    after: Annotated[int | None, typer.Option("--after", help="Only those after this number.")] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with what happens.")] = False,
    provider: Provider = None,
    chat: Chat = None,
    method: Annotated[str | None, typer.Option("--method", help="Of this method, as sendMessage.")] = None,
    at: At = None,
    as_json: Json = False,
) -> None:
    """What the world saw, in order: every message, edit, deletion, and what people did.

    With --follow each effect is printed as it happens; with --json then one document per line.

    Examples:
    pressroom sandbox ledger
    pressroom sandbox ledger --follow --json
    pressroom sandbox ledger --chat @pressroom_example_news --method sendMessage
    """
    sandbox = _sandbox(at)
    if follow:
        if provider or chat or method:
            raise InvalidInput("--follow shows everything", hint="leave out --provider, --chat and --method")
        for effect in sandbox.follow(after):
            print(json.dumps(effect) if as_json else _line(effect), flush=True)
        return
    effects = sandbox.ledger(after or 0, provider=provider, chat=chat, method=method)
    rows = [
        (
            str(one["seq"]),
            _time(one["at"]),
            one["provider"],
            str(one["chat"]),
            one["actor"],
            one["method"],
            str(one["message_id"]),
            _said(one),
        )
        for one in effects
    ]
    columns = ("Number", "At", "Where", "Chat", "Who", "Did", "Message", "Text")
    answer(as_json, effects, Table(columns, rows, empty="Nothing has happened."))


@app.verb("calls")
def calls(at: At = None, as_json: Json = False) -> None:
    """The newest requests to the emulators, refused ones included: what a bot really did.

    Examples:
    pressroom sandbox calls
    """
    found = _sandbox(at).calls()
    rows = [(_time(one["at"]), one["provider"], one["bot"], one["method"], one["status"], one["description"]) for one in found]  # fmt: skip
    answer(as_json, found, Table(("At", "Where", "Bot", "Asked", "Status", "Said"), rows, empty="No calls."))


@app.verb("fault")
def fault(
    kind: Annotated[str, typer.Argument(help="fail, drop, slow, duplicate or reorder.")],
    name: Annotated[
        str | None, typer.Option("--name", help="An error by name: flood, blocked, kicked, not_ready ...")
    ] = None,
    code: Annotated[int | None, typer.Option("--code", min=400, max=599, help="HTTP status.")] = None,
    description: Annotated[str | None, typer.Option("--description", help="The text of the error.")] = None,
    retry_after: Annotated[float | None, typer.Option("--retry-after", min=0, help="Seconds.")] = None,
    seconds: Annotated[float | None, typer.Option("--seconds", min=0, help="How slow.")] = None,
    after_effect: Annotated[
        bool, typer.Option("--after-effect", help="It happens, and the answer is an error, lost or late.")
    ] = False,
    provider: Provider = None,
    bot: Annotated[str | None, typer.Option("--bot", help="Its user name.")] = None,
    chat: Chat = None,
    method: Annotated[
        str | None,
        typer.Option(
            "--method", help="As edit* or 'POST /answers'; * is any, webhook the updates.", show_default="sends"
        ),
    ] = None,
    times: Annotated[int, typer.Option("--times", min=0, help="How often; 0 means until it is healed.")] = 1,
    skip: Annotated[int, typer.Option("--skip", min=0, help="So many pass before.")] = 0,
    probability: Annotated[
        float, typer.Option("--probability", min=0, max=1, help="Of a hit; chance comes from --seed.")
    ] = 1.0,
    since: Annotated[
        datetime | None, typer.Option("--since", help="Not before, on the sandbox's clock, in UTC.")
    ] = None,
    until: Annotated[datetime | None, typer.Option("--until", help="Not from then on.")] = None,
    at: At = None,
    as_json: Json = False,
) -> None:
    """Plan what goes wrong: which requests are hit (those that send, unless --method says otherwise), and how.

    fail answers with an error; drop cuts the connection, before the effect or with --after-effect after it; slow
    waits; duplicate and reorder do that to the updates of a webhook.

    Examples:
    pressroom sandbox fault fail --code 429 --retry-after 5
    pressroom sandbox fault fail --name kicked --chat @pressroom_example_news --times 0
    pressroom sandbox fault drop --after-effect --probability 0.1 --times 0
    pressroom sandbox fault slow --seconds 30 --provider max
    pressroom sandbox fault fail --code 500 --method '*' --bot my_bot
    """
    wish = {
        "name": name, "code": code, "description": description, "retry_after": retry_after, "seconds": seconds,
        "provider": provider, "bot": bot, "chat": chat, "method": method,
        "since": None if since is None else _unix(since, "since"),
        "until": None if until is None else _unix(until, "until"),
    }  # fmt: skip
    given = {field: value for field, value in wish.items() if value is not None}
    if method is None and kind in ("fail", "drop", "slow"):
        given["method"] = SENDS
    if after_effect:
        given["before_effect"] = False
    planned = _sandbox(at).plan(kind, **given, times=times or None, skip=skip, probability=probability)
    answer(
        as_json,
        planned,
        f"Fault {planned['id']} is planned. `pressroom sandbox heal {planned['id']}` forgets it.",
    )


@app.verb("faults")
def faults(at: At = None, as_json: Json = False) -> None:
    """List what is planned to go wrong.

    Examples:
    pressroom sandbox faults
    """
    found = _sandbox(at).faults()
    rows = [
        (str(one["id"]), one["kind"], one.get("name") or one.get("code") or "", _scope(one), one.get("times") or "always", one["hits"])
        for one in found
    ]  # fmt: skip
    columns = ("Number", "Kind", "Error", "Where", "Times left", "Hits")
    answer(as_json, found, Table(columns, [tuple(map(str, row)) for row in rows], empty="Nothing is planned."))


def _scope(fault: dict[str, Any]) -> str:
    return (
        " ".join(str(fault[name]) for name in ("provider", "bot", "chat", "method") if name in fault)
        or "anywhere"
    )


@app.verb("heal")
def heal(
    number: Annotated[int | None, typer.Argument(help="One fault.", show_default="all of them")] = None,
    at: At = None,
    as_json: Json = False,
) -> None:
    """Forget a planned fault, or all.

    Examples:
    pressroom sandbox heal
    pressroom sandbox heal 3
    """
    healed = _sandbox(at).heal(number)
    answer(as_json, {"healed": healed}, f"{healed} forgotten.")


@app.verb("clock")
def clock(
    advance: Annotated[
        str | None, typer.Option("--advance", metavar="TIME", help="Move it: 90, 5m, 2h, 1d; -1h goes back.")
    ] = None,
    to: Annotated[datetime | None, typer.Option("--set", help="Set it, in UTC.")] = None,
    freeze: Annotated[bool | None, typer.Option("--freeze/--thaw", help="Stop it, or let it go on.")] = None,
    at: At = None,
    as_json: Json = False,
) -> None:
    """Tell the sandbox's time, or move it: what expires, expires; what was to be repeated, is.

    Examples:
    pressroom sandbox clock
    pressroom sandbox clock --advance 1h
    pressroom sandbox clock --set 2027-01-01T00:00:00 --freeze
    """
    shown = _sandbox(at).clock(
        advance=None if advance is None else _seconds(advance),
        set=None if to is None else _unix(to, "set"),
        freeze=freeze,
    )
    stands = ", standing still" if shown["frozen"] else ""
    now = datetime.fromtimestamp(shown["now"], UTC)
    answer(as_json, shown, f"{now:%Y-%m-%d %H:%M:%S} UTC{stands}")


def _unix(at: datetime, option: str) -> float:
    seconds = at.replace(tzinfo=UTC).timestamp()
    if seconds < 0:
        raise InvalidInput(f"{at} is out of reach", hint="from 1970 on", field=option)
    return seconds


def _seconds(text: str) -> timedelta:
    number = text.rstrip("".join(UNITS))
    try:
        return timedelta(seconds=float(number) * UNITS[text[len(number) :] or "s"])
    except (ValueError, KeyError, OverflowError):
        raise InvalidInput(f"{text!r} is no time", hint="as 90, 5m, 2h or 1d", field="advance") from None


@app.verb("act")
def act(
    verb: Annotated[str, typer.Argument(help="What somebody does: writes, presses, blocks, joins, posts ...")],
    wishes: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME=VALUE]...", help="The rest of the sentence.")
    ] = None,
    provider: Provider = None,
    at: At = None,
    as_json: Json = False,
) -> None:
    """Let somebody do something: write to a bot, press a button, block it, post in a channel.

    A person who is not there yet is made. `pressroom sandbox verbs` says what each verb takes.

    Examples:
    pressroom sandbox act starts person=Anna bot=my_bot
    pressroom sandbox act writes person=Anna bot=my_bot text='How much?'
    pressroom sandbox act presses person=Anna chat=5000000001 message_id=2 data=Buy
    pressroom sandbox act posts chat=@pressroom_example_news text=News
    """
    wish = dict(_wish(one) for one in wishes or [])
    of = _sandbox(at).provider(provider or "telegram")
    person = wish.get("person")
    if verb in VERBS and isinstance(person, str) and not any(_is_called(one, person) for one in of.people()):
        of.person(person)
    done = of.act(verb, **wish)
    answer(as_json, done, Facts([(name, str(value)) for name, value in done.items()]) if done else "Done.")


def _is_called(one: dict[str, Any], name: str) -> bool:
    wanted, first = name.removeprefix("@").casefold(), one["name"].partition(" ")[0]
    return wanted in (
        one["name"].casefold(),
        first.casefold(),
        one.get("username", "").casefold(),
        str(one["id"]),
    )


def _wish(given: str) -> tuple[str, Any]:
    """Values are texts, but for those that are JSON objects, lists or numbers."""
    name, equals, value = given.partition("=")
    if not equals:
        raise InvalidInput(f"{given!r} has no =", hint="as in: person=Anna")
    try:
        read = json.loads(value)
    except (ValueError, RecursionError):
        return name, value
    return name, value if name in _TEXTS and not isinstance(read, str) else read


#: Fields whose values are texts even when they look like numbers.
_TEXTS = {"text", "data", "payload", "title", "name", "username", "token", "person", "bot"}


@app.verb("verbs")
def verbs(as_json: Json = False) -> None:
    """What people can do, and what happens to chats.

    Examples:
    pressroom sandbox verbs
    """
    answer(as_json, dict(VERBS), Table(("Verb", "Takes"), list(VERBS.items())))
