"""One normal form for posts of every source, and the hash that says when two are the same.

`content_hash` is computed here and nowhere else. Raise HASH_VERSION when the input of the hash changes and
NORMALIZATION_VERSION when the stored payload does.
"""

import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

HASH_VERSION = 1
NORMALIZATION_VERSION = 1

_SPACES = re.compile(r"[^\S\n]+")
_BLANK_LINES = re.compile(r"\n{3,}")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


@dataclass(frozen=True, slots=True)
class Post:
    """A post in normal form: what is stored, and what the dedup key is made of."""

    payload: dict[str, Any]
    tags: tuple[str, ...]
    content_hash: str

    @property
    def text(self) -> str:
        return str(self.payload["text"])

    @property
    def links(self) -> tuple[str, ...]:
        return tuple(self.payload.get("links", ()))


def normalise_text_post(
    text: str, *, links: Iterable[str] = (), tags: Iterable[str] = (), disable_preview: bool | None = None
) -> Post:
    """Tags route and are not hashed, so that one post with other tags is still the same post."""
    payload: dict[str, Any] = {"type": "text", "text": tidy(text)}
    kept = list(dict.fromkeys(link.strip() for link in links if link.strip()))
    if kept:
        payload["links"] = kept
    if disable_preview is not None:
        payload["meta"] = {"disable_preview": disable_preview}
    return Post(payload, _canonical_tags(tags), content_hash(payload))


def tidy(text: str) -> str:
    """Sendable text: lines kept, runs of spaces collapsed, at most one blank line, no control characters."""
    text = _CONTROL.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    lines = (_SPACES.sub(" ", line).strip() for line in text.split("\n"))
    return _BLANK_LINES.sub("\n\n", "\n".join(lines)).strip()


def content_hash(payload: dict[str, Any]) -> str:
    """sha256 of the payload with sorted keys, every run of white space in its text counting as one space."""
    hashed = payload | {"text": " ".join(str(payload.get("text", "")).split())}
    canonical = json.dumps(hashed, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def _canonical_tags(tags: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(tag for tag in (tag.strip().lower() for tag in tags) if tag))
