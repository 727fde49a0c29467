"""Which method of the Bot API a request means."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple

from pressroom.sandbox.max.errors import Refusal
from pressroom.sandbox.max.request import Asked

Handler = Callable[[Asked], dict[str, Any] | Awaitable[dict[str, Any]]]


class Found(NamedTuple):
    method: str  # "PUT /chats/{chatId}/pin": how faults and calls name it
    handler: Handler
    path: Mapping[str, str]


class Routes:
    """Paths by their segments; `{name}` stands for any one segment. Literal segments come first."""

    def __init__(self, handlers: Mapping[str, Handler]) -> None:
        self._literal: dict[str, dict[str, Handler]] = {}
        self._patterns: list[tuple[list[str], str, dict[str, Handler]]] = []
        for method, handler in handlers.items():
            verb, _, path = method.partition(" ")
            self._verbs(path)[verb] = handler
        self._patterns.sort(key=lambda pattern: pattern[1].count("{"))

    def _verbs(self, path: str) -> dict[str, Handler]:
        if "{" not in path:
            return self._literal.setdefault(path, {})
        for _, known, verbs in self._patterns:
            if known == path:
                return verbs
        verbs: dict[str, Handler] = {}
        self._patterns.append((path.split("/"), path, verbs))
        return verbs

    def find(self, verb: str, path: str) -> Found:
        template, verbs, values = self._match(path)
        handler = verbs.get(verb)
        if handler is None:
            raise Refusal(405, "method.not.allowed", f"Method {verb[:20]} is not allowed for {template}")
        return Found(f"{verb} {template}", handler, values)

    def _match(self, path: str) -> tuple[str, dict[str, Handler], dict[str, str]]:
        if path in self._literal:
            return path, self._literal[path], {}
        segments = path.split("/")
        for pattern, template, verbs in self._patterns:
            if len(pattern) == len(segments):
                values = _values(pattern, segments)
                if values is not None:
                    return template, verbs, values
        raise Refusal(404, "not.found", f"Path {path[:200]} is not recognized")


def _values(pattern: list[str], segments: list[str]) -> dict[str, str] | None:
    values: dict[str, str] = {}
    for wanted, given in zip(pattern, segments, strict=True):
        if wanted.startswith("{"):
            if not given:
                return None
            values[wanted[1:-1]] = given
        elif wanted != given:
            return None
    return values
