"""Deliveries and events: where each post stands in each channel, and what has happened."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from pressroom.core.errors import InvalidInput
from pressroom.core.ids import ChannelId, DeliveryId
from pressroom.delivery import read
from pressroom.delivery.model import Action, Status
from pressroom.entrypoints.api.access import Readable
from pressroom.entrypoints.api.idempotency import ApiRoute
from pressroom.entrypoints.api.parts import (
    After,
    Db,
    Limit,
    Page,
    answer,
    answer_page,
    cursor,
    position,
    require_workspace,
)

router = APIRouter(prefix="/api/v1/workspaces/{workspace_id}", tags=["Deliveries"], route_class=ApiRoute)

_DELIVERY = "0191f2a4-7c1e-7000-8000-00000000d001"
_MESSAGE = "0191f2a4-7c1e-7000-8000-00000000a001"
_TIME = "2026-11-18T09:30:00Z"


class DeliveryView(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    delivery_id: DeliveryId = Field(examples=[_DELIVERY])
    message_id: UUID = Field(examples=[_MESSAGE])
    channel_id: ChannelId = Field(examples=["tg-news"])
    channel_title: str | None = Field(examples=["News"])
    platform: str = Field(examples=["telegram"])
    status: Status = Field(examples=["sent"])
    attempt: int = Field(examples=[1])
    not_before: datetime = Field(examples=[_TIME])
    next_retry_at: datetime | None = Field(examples=[None])
    sent_at: datetime | None = Field(examples=[_TIME])
    provider_message_id: str | None = Field(examples=["4711"])
    last_error: dict[str, Any] | None = Field(examples=[None])
    rendered_text: str | None = Field(examples=["Good morning!"])
    trace_id: str | None = Field(examples=["4bf92f3577b34da6a3ce929d0e0e4736"])
    created_at: datetime = Field(examples=[_TIME])
    updated_at: datetime = Field(examples=[_TIME])


class EventView(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    id: UUID = Field(examples=["0191f2a4-7c1e-7000-8000-00000000e001"])
    ts: datetime = Field(examples=[_TIME])
    action: Action = Field(examples=["sent"])
    result: Literal["ok", "error"] = Field(examples=["ok"])
    attempt: int = Field(examples=[1])
    delivery_id: UUID | None = Field(examples=[_DELIVERY])
    message_id: UUID | None = Field(examples=[_MESSAGE])
    channel_id: str | None = Field(examples=["tg-news"])
    error: dict[str, Any] | None = Field(examples=[None])
    meta: dict[str, Any] = Field(examples=[{}])


class DeliveryWithEvents(DeliveryView):
    events: list[EventView]


@router.get("/deliveries", response_model=Page[DeliveryView], summary="List deliveries")
async def list_deliveries(
    request: Request,
    db: Db,
    workspace_id: Readable,
    status: Annotated[Status | None, Query(description="Only those that stand here.")] = None,
    channel_id: Annotated[
        str | None, Query(max_length=200, pattern=r"^[^\x00]*$", description="Only those for this channel.")
    ] = None,
    message_id: Annotated[UUID | None, Query(description="Only those of this message.")] = None,
    limit: Limit = 50,
    after: After = None,
) -> Response:
    """The newest first."""
    page = await read.list_deliveries(
        db,
        workspace_id=workspace_id,
        status=status,
        channel_id=channel_id,
        message_id=message_id,
        after=position(after, UUID),
        limit=limit,
    )
    await require_workspace(db, workspace_id, page.items)
    views = [DeliveryView.model_validate(item) for item in page.items]
    following = None if page.next is None else cursor(page.next)
    return answer_page(request, Page[DeliveryView](items=views, next=following))


@router.get(
    "/deliveries/{delivery_id}", response_model=DeliveryWithEvents, summary="Show a delivery and its history"
)
async def get_delivery(request: Request, db: Db, workspace_id: Readable, delivery_id: UUID) -> Response:
    history = await read.get_delivery(db, workspace_id=workspace_id, delivery_id=delivery_id)
    delivery = DeliveryView.model_validate(history.delivery).model_dump()
    events = [EventView.model_validate(event) for event in history.events]
    return answer(request, DeliveryWithEvents(**delivery, events=events))


@router.get("/events", response_model=Page[EventView], summary="List events")
async def list_events(
    request: Request,
    db: Db,
    workspace_id: Readable,
    since: Annotated[
        datetime | None, Query(description="The oldest of interest; a month back when left out.")
    ] = None,
    result: Annotated[Literal["ok", "error"] | None, Query(description="Only these.")] = None,
    limit: Limit = 50,
    after: After = None,
) -> Response:
    """The newest first."""
    if since is not None and since.tzinfo is None:
        raise InvalidInput("since has no time zone", hint="for example 2026-11-18T09:30:00Z", field="since")
    page = await read.list_events(
        db,
        workspace_id=workspace_id,
        since=since,
        result=result,
        after=position(after, tuple[datetime, UUID]),
        limit=limit,
    )
    await require_workspace(db, workspace_id, page.items)
    views = [EventView.model_validate(item) for item in page.items]
    following = None if page.next is None else cursor(page.next)
    return answer_page(request, Page[EventView](items=views, next=following))
