"""Asks a running sandbox and tells it what to do, from any thread and any event loop: its control API in Python.

`SandboxClient(url)` takes the address of the window, or of either emulator. Every method makes one short request.
"""

import base64
import json
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from pressroom.core.errors import InvalidInput, NotFound, Unavailable

SECONDS = 30
PAGE = 1_000  # effects; as many as the control API gives at once


class SandboxClient:
    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")

    def provider(self, name: str) -> "ProviderClient":
        return ProviderClient(self, name)

    def overview(self) -> dict[str, Any]:
        """What there is: the clock, the number of effects, of each provider its bots and the number of its chats."""
        return self.ask("GET", "/sandbox")

    def ledger(self, after: int = 0, **scope: Any) -> list[dict[str, Any]]:
        """What the world saw, in order; `scope` is provider, actor, method, chat."""
        found: list[dict[str, Any]] = []
        while True:
            wanted = {"after": after, "limit": PAGE}
            wanted |= {name: value for name, value in scope.items() if value is not None}
            page: list[dict[str, Any]] = self.ask("GET", f"/sandbox/ledger?{urlencode(wanted)}")["effects"]
            found += page
            if len(page) < PAGE:
                return found
            after = page[-1]["seq"]

    def follow(self, after: int | None = None) -> Iterator[dict[str, Any]]:
        """Each effect as it happens, until the sandbox stops."""
        query = "" if after is None else f"?after={after}"
        with self._open("GET", f"/sandbox/events{query}", None, seconds=None) as stream:
            for line in stream:
                if line.startswith(b"data:"):
                    said = json.loads(line[5:])
                    if "seq" in said:
                        yield said

    def calls(self) -> list[dict[str, Any]]:
        """The newest requests to the emulators, and how they were answered."""
        return self.ask("GET", "/sandbox/calls")["calls"]

    def faults(self) -> list[dict[str, Any]]:
        return self.ask("GET", "/sandbox/faults")["faults"]

    def plan(self, kind: str, **wish: Any) -> dict[str, Any]:
        """A fault: `kind` is fail, drop, slow, duplicate or reorder; docs/guides/sandbox.md lists the rest."""
        wish = {name: _plain(value) for name, value in wish.items()}
        return self.ask("POST", "/sandbox/faults", {"kind": kind, **wish})

    def heal(self, number: int | None = None) -> int:
        """How many faults were forgotten."""
        return self.ask("DELETE", "/sandbox/faults" if number is None else f"/sandbox/faults/{number}")[
            "healed"
        ]

    def clock(self, **move: Any) -> dict[str, Any]:
        """`advance` and `set` in seconds, `freeze` true or false; without any it only tells the time."""
        move = {name: _plain(value) for name, value in move.items() if value is not None}
        return self.ask("POST", "/sandbox/clock", move) if move else self.ask("GET", "/sandbox/clock")

    def ask(self, verb: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """Raises NotFound and InvalidInput with the sandbox's own sentence, Unavailable when nobody answers."""
        with self._open(verb, path, body, seconds=SECONDS) as response:
            return json.loads(response.read())

    def _open(self, verb: str, path: str, body: Mapping[str, Any] | None, *, seconds: float | None) -> Any:
        try:
            request = urllib.request.Request(  # noqa: S310 - the address is the caller's own sandbox
                self.url + path,
                method=verb,
                data=None if body is None else json.dumps(body).encode(),
                headers={"Content-Type": "application/json"},
            )
            return _opener.open(request, timeout=seconds)
        except urllib.error.HTTPError as error:
            with error:
                raise _refused(error.code, error.read()) from None
        except (OSError, ValueError) as error:
            reason = getattr(error, "reason", error)
            raise Unavailable(
                f"no sandbox answers at {self.url}: {reason}", hint="start one with: pressroom sandbox"
            ) from error


#: Proxies of the environment lead elsewhere than to this machine.
_opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def _refused(status: int, body: bytes) -> Exception:
    try:
        said = json.loads(body)
        text = str(said.get("error") or said.get("description") or said)
    except (ValueError, AttributeError):
        text = f"the sandbox answered {status}"
    return NotFound(text) if status == 404 else InvalidInput(text)


class ProviderClient:
    """One emulator of a sandbox."""

    def __init__(self, sandbox: SandboxClient, name: str) -> None:
        self.sandbox, self.name = sandbox, name

    def chats(self, q: str = "") -> list[dict[str, Any]]:
        """Those with that in their title or name, the ones with the newest message first."""
        found: list[dict[str, Any]] = []
        while True:
            query = urlencode({"q": q, "offset": len(found)})
            page = self.sandbox.ask("GET", f"/sandbox/{self.name}/chats?{query}")
            found += page["chats"]
            if not page["chats"] or len(found) >= page["total"]:
                return found

    def messages(self, chat: int | str, limit: int = 50) -> list[dict[str, Any]]:
        """The newest ones, oldest first, as the window shows them."""
        path = f"/sandbox/{self.name}/chats/{quote(str(chat), safe='')}/messages?limit={limit}"
        return self.sandbox.ask("GET", path)["messages"]

    def texts(self, chat: int | str, limit: int = 50) -> list[str]:
        return [message["text"] for message in self.messages(chat, limit)]

    def bots(self) -> list[dict[str, Any]]:
        return self.sandbox.ask("GET", f"/sandbox/{self.name}/bots")["bots"]

    def people(self) -> list[dict[str, Any]]:
        return self.sandbox.ask("GET", f"/sandbox/{self.name}/people")["people"]

    def add_chat(self, title: str, **wish: Any) -> dict[str, Any]:
        return self.sandbox.ask("POST", f"/sandbox/{self.name}/chats", {"title": title, **wish})

    def add_bot(self, token: str, username: str, **wish: Any) -> dict[str, Any]:
        return self.sandbox.ask(
            "POST", f"/sandbox/{self.name}/bots", {"token": token, "username": username, **wish}
        )

    def person(self, name: str, **wish: Any) -> "PersonClient":
        """The person of that name, made when there is none."""
        known = [person for person in self.people() if person["name"] == name]
        if not known:
            self.sandbox.ask("POST", f"/sandbox/{self.name}/people", {"name": name, **wish})
        return PersonClient(self, name)

    def act(self, verb: str, **wish: Any) -> dict[str, Any]:
        wish = {name: value for name, value in wish.items() if value is not None}
        return self.sandbox.ask("POST", f"/sandbox/{self.name}/act/{verb}", wish)

    def fail_next(self, code: int | None = None, **wish: Any) -> dict[str, Any]:
        """Refuse the next sends: with a code, or `name="blocked"`, `retry_after=timedelta(...)`, `chat=`, `times=`."""
        return self._plan("fail", code=code, **wish)

    def drop_next(self, *, before_effect: bool, **wish: Any) -> dict[str, Any]:
        """Cut the connection of the next sends, before or after they had their effect."""
        return self._plan("drop", before_effect=before_effect, **wish)

    def slow_next(self, seconds: float, **wish: Any) -> dict[str, Any]:
        return self._plan("slow", seconds=seconds, **wish)

    def _plan(self, kind: str, **wish: Any) -> dict[str, Any]:
        wish.setdefault("method", SENDING[self.name])
        wish = {name: value for name, value in wish.items() if value is not None or name == "times"}
        return self.sandbox.plan(kind, provider=self.name, **wish)


#: What "the next sends" are, in each provider's words.
SENDING = {"telegram": "send*", "max": "POST /messages"}


class PersonClient:
    """Somebody who uses the messenger."""

    def __init__(self, provider: ProviderClient, name: str) -> None:
        self._provider, self.name = provider, name

    def starts(self, bot: str, payload: str | None = None) -> dict[str, Any]:
        return self._act("starts", bot=bot, payload=payload)

    def writes(
        self, text: str = "", *, bot: str | None = None, chat: int | str | None = None,
        files: Sequence[Path] = (), **wish: Any,
    ) -> dict[str, Any]:  # fmt: skip
        """To a bot, in their dialog, or into a chat."""
        media = [_media(file) for file in files] or None
        return self._act("writes", bot=bot, chat=chat, text=text or None, media=media, **wish)

    def presses(self, chat: int | str, message_id: int | str, data: str) -> dict[str, Any]:
        """An inline button, by what it sends or by what stands on it."""
        return self._act("presses", chat=chat, message_id=message_id, data=data)

    def blocks(self, bot: str) -> dict[str, Any]:
        return self._act("blocks", bot=bot)

    def unblocks(self, bot: str) -> dict[str, Any]:
        return self._act("unblocks", bot=bot)

    def joins(self, chat: int | str) -> dict[str, Any]:
        return self._act("joins", chat=chat)

    def leaves(self, chat: int | str) -> dict[str, Any]:
        return self._act("leaves", chat=chat)

    def _act(self, verb: str, **wish: Any) -> dict[str, Any]:
        return self._provider.act(verb, person=self.name, **wish)


def _media(file: Path) -> dict[str, str]:
    from mimetypes import guess_type

    kind = guess_type(file.name)[0] or "application/octet-stream"
    family = kind.partition("/")[0]
    sort = {"image": "photo", "video": "video", "audio": "audio"}.get(family, "document")
    content = base64.b64encode(file.read_bytes()).decode()
    return {"kind": sort, "name": file.name, "type": kind, "data": content}


def _plain(value: Any) -> Any:
    return value.total_seconds() if isinstance(value, timedelta) else value
