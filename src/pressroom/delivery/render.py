"""What a channel will be sent: made once, at enqueue, and kept with the delivery."""

from dataclasses import dataclass
from typing import Any

from pressroom.delivery.normalise import Post
from pressroom.ports.platform import ParseMode


@dataclass(frozen=True, slots=True)
class Rendering:
    text: str
    meta: dict[str, Any]
    template_version: str = "default/1"

    def as_json(self) -> dict[str, Any]:
        return {"text": self.text, "meta": self.meta, "template_version": self.template_version}


def render(post: Post) -> Rendering:
    """The text as it is, then the links that it does not contain yet, one per line."""
    missing = [link for link in post.links if link not in post.text]
    meta: dict[str, Any] = {"parse_mode": ParseMode.NONE} | post.payload.get("meta", {})
    return Rendering("\n".join([post.text, *missing]) if post.text else "\n".join(missing), meta)
