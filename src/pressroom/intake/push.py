"""Take in one pushed post: know the sender by its secret, check every key, put it to work.

What the door does not do yet is refused by name and never ignored.
"""

import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pressroom.core.errors import InvalidInput
from pressroom.core.ids import RunId, TraceId, WorkspaceId
from pressroom.core.storable import parse_json, require_storable
from pressroom.db.database import Database
from pressroom.delivery.enqueue import enqueue
from pressroom.delivery.model import Enqueued, Origin
from pressroom.delivery.normalise import normalise_text_post
from pressroom.ports.platform import ParseMode
from pressroom.workspaces.endpoints import resolve_endpoint
from pressroom.workspaces.model import EndpointKind

#: Keys of the body that belong to it and are not served yet, with what to do instead.
LATER = {
    "media": "send text and links; media comes with the object store",
    "buttons": "leave them out; they come with rendering",
    "scheduled_for": "send the post when it is due; schedules come with the delivery capability",
    "not_after": "leave it out; it comes with schedules",
}
NO_HINTS: Mapping[str, str] = MappingProxyType({})


class PushBody(BaseModel):
    """The body of `POST /ingest/push`."""

    model_config = ConfigDict(extra="forbid", strict=True)

    text: str = Field("", max_length=100_000, description="The post.", examples=["Good morning!"])
    links: list[str] = Field([], max_length=50, description="Appended below the text unless it contains them.")
    media: list[dict[str, Any]] | None = Field(None, description="Not served yet.")
    parse_mode: str = Field(ParseMode.NONE, description="`None`; `HTML` and `Markdown` are not served yet.")
    disable_preview: bool | None = Field(None, description="No preview of links.")
    buttons: list[Any] | None = Field(None, description="Not served yet.")
    tags: list[str] = Field([], max_length=100, description="What channels filter by; lower-cased.")
    source_ref: str | None = Field(
        None, min_length=1, max_length=500, description="The sender's id of this post."
    )
    channel_ids: list[str] | None = Field(
        None, max_length=10_000, description="Only these of the matching channels."
    )
    scheduled_for: str | None = Field(None, description="Not served yet.")
    not_after: str | None = Field(None, description="Not served yet.")
    meta: dict[str, Any] = Field({}, description="Kept with the message.")
    workspace_id: str | None = Field(None, description="A hint, kept in `meta`; the secret decides.")


@dataclass(frozen=True, slots=True)
class PushReceipt:
    """What the sender is answered."""

    enqueued: Enqueued
    trace_id: TraceId
    run_id: RunId

    def as_json(self) -> dict[str, Any]:
        return {
            "message_id": str(self.enqueued.message_id),
            "trace_id": self.trace_id,
            "run_id": self.run_id,
            "deliveries": {
                "queued": self.enqueued.queued,
                "suppressed": self.enqueued.suppressed,
                "failed_permanent": self.enqueued.failed_permanent,
                "send_mode_skipped": self.enqueued.send_mode_skipped,
            },
        }


async def push(
    db: Database,
    platforms: Iterable[str],
    *,
    secret: str,
    body: bytes,
    trace_id: TraceId,
    run_id: RunId,
    idempotency_key: str | None = None,
    workflow_run_id: str | None = None,
    hints: Mapping[str, str] = NO_HINTS,
) -> PushReceipt:
    """`idempotency_key` serves as `source_ref` when the body has none. `hints` is what the request said beside
    its body: kept in `meta`, where the body does not say the same, and never looked at."""
    endpoint = await resolve_endpoint(db, kind=EndpointKind.WEBHOOK_PUSH, secret=secret)
    return await accept(
        db,
        platforms,
        workspace_id=endpoint.workspace_id,
        endpoint_id=endpoint.endpoint_id,
        pushed=parse(body),
        trace_id=trace_id,
        run_id=run_id,
        idempotency_key=idempotency_key,
        workflow_run_id=workflow_run_id,
        hints=hints,
    )


async def accept(
    db: Database,
    platforms: Iterable[str],
    *,
    workspace_id: WorkspaceId,
    endpoint_id: str,
    pushed: PushBody,
    trace_id: TraceId,
    run_id: RunId,
    idempotency_key: str | None = None,
    workflow_run_id: str | None = None,
    hints: Mapping[str, str] = NO_HINTS,
) -> PushReceipt:
    """For senders who are known already."""
    kept = {**hints, **pushed.meta}
    if pushed.workspace_id is not None:
        kept["workspace_id"] = pushed.workspace_id
    enqueued = await enqueue(
        db,
        platforms,
        workspace_id=workspace_id,
        post=normalise_text_post(
            pushed.text, links=pushed.links, tags=pushed.tags, disable_preview=pushed.disable_preview
        ),
        origin=Origin(
            endpoint_id=endpoint_id,
            kind="push",
            trace_id=trace_id,
            run_id=run_id,
            source_ref=pushed.source_ref or idempotency_key,
            workflow_run_id=workflow_run_id,
            channel_ids=None if pushed.channel_ids is None else tuple(pushed.channel_ids),
            hints=kept,
        ),
    )
    return PushReceipt(enqueued, trace_id, run_id)


def parse(body: bytes) -> PushBody:
    """The body, or InvalidInput that names the key."""
    try:
        raw = parse_json(body)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"the body is not JSON: {error}", hint='send {"text": "..."}') from error
    require_storable(raw)
    try:
        pushed = PushBody.model_validate(raw)
    except ValidationError as error:
        raise _refused(error) from None
    _refuse_what_comes_later(pushed)
    if not _visible(pushed.text) and not any(map(_visible, pushed.links)):
        raise InvalidInput("the post is empty", hint="give text or links", field="text")
    return pushed


def _visible(text: str) -> bool:
    """Something that a reader sees: no white space, no control or formatting character."""
    return any(unicodedata.category(sign)[0] not in "CZ" for sign in text)


def _refuse_what_comes_later(pushed: PushBody) -> None:
    for key, instead in LATER.items():
        if getattr(pushed, key) is not None:
            raise InvalidInput(f"{key} is not served yet", hint=instead, field=key)
    if pushed.parse_mode not in set(ParseMode):
        raise InvalidInput(
            f"parse_mode is HTML, Markdown or None, not {pushed.parse_mode!r}", field="parse_mode"
        )
    if pushed.parse_mode != ParseMode.NONE:
        raise InvalidInput(
            f"parse_mode {pushed.parse_mode} is not served yet",
            hint="send plain text; formatting comes with rendering",
            field="parse_mode",
        )


def _refused(error: ValidationError) -> InvalidInput:
    problem = error.errors(include_url=False, include_input=False)[0]
    field = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in problem["loc"]).lstrip(".")
    if problem["type"] == "extra_forbidden":
        return InvalidInput(
            f"unknown key {field!r}",
            hint="known keys: " + ", ".join(sorted(PushBody.model_fields)),
            field=field,
        )
    if not field:
        return InvalidInput("the body is not a JSON object", hint='send {"text": "..."}')
    return InvalidInput(f"{field}: {problem['msg']}", field=field)
