"""Put one post to work: the message once, a delivery for each channel that it reaches."""

from collections.abc import Iterable
from typing import Any

from pressroom.core.ids import WorkspaceId
from pressroom.db.database import Database
from pressroom.delivery import store
from pressroom.delivery.model import Enqueued, Origin
from pressroom.delivery.normalise import HASH_VERSION, NORMALIZATION_VERSION, Post
from pressroom.delivery.render import render


async def enqueue(
    db: Database, platforms: Iterable[str], *, workspace_id: WorkspaceId, post: Post, origin: Origin
) -> Enqueued:
    """Routing, dedup and all rows are one function call, so one commit: all of it or nothing."""
    rendering = render(post).as_json()
    raw_payload: dict[str, Any] = {
        "trace_id": origin.trace_id,
        "run_id": origin.run_id,
        "workflow_run_id": origin.workflow_run_id,
        "source_ref": origin.source_ref,
        "source": {"kind": origin.kind, "endpoint_id": origin.endpoint_id, "meta": dict(origin.hints)},
        "prepared": {
            "payload": post.payload,
            "hash_version": HASH_VERSION,
            "content_hash": post.content_hash,
            "normalization_version": NORMALIZATION_VERSION,
            "tags": list(post.tags),
            "renderings": dict.fromkeys(platforms, rendering),
        },
    }
    if origin.channel_ids is not None:
        raw_payload["channel_ids"] = list(origin.channel_ids)
    async with db.transaction(workspace_id) as tx:
        return await store.enqueue_messages_and_deliveries(
            tx, workspace_id, origin.endpoint_id, origin.kind, raw_payload
        )
