"""Endpoints: the doors through which senders push into a workspace."""

from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from pressroom.core.ids import EndpointId
from pressroom.entrypoints.api.access import Administered, Readable
from pressroom.entrypoints.api.idempotency import ApiRoute
from pressroom.entrypoints.api.parts import (
    After,
    Db,
    Limit,
    Page,
    answer,
    answer_once,
    answer_page,
    page_of,
    position,
)
from pressroom.workspaces import endpoints
from pressroom.workspaces.model import Endpoint, EndpointKind

router = APIRouter(
    prefix="/api/v1/workspaces/{workspace_id}/endpoints", tags=["Endpoints"], route_class=ApiRoute
)

Named = Annotated[str, Path(description="The endpoint's id in this workspace.", examples=["my-site"])]


class EndpointView(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    endpoint_id: EndpointId = Field(examples=["my-site"])
    kind: EndpointKind
    title: str = Field(examples=["Our web site"])
    enabled: bool
    ingress_rps: Decimal = Field(examples=["5"], description="Requests per second, on average.")
    max_payload_bytes: int = Field(examples=[262144])
    hash_drop_window_sec: int = Field(examples=[10])
    meta: dict[str, Any] = Field(examples=[{"title": "Our web site"}])
    created_at: datetime = Field(examples=["2026-11-18T09:30:00Z"])
    updated_at: datetime = Field(examples=["2026-11-18T09:30:00Z"])


class EndpointWithSecret(EndpointView):
    secret: str = Field(
        examples=["prs_push_…"],
        description="Shown this once; only its hash is kept. Senders present it to the push door.",
    )


class NewEndpoint(BaseModel):
    model_config = ConfigDict(extra="forbid")

    endpoint_id: str = Field(examples=["my-site"], description="Readable, unique in the workspace.")
    kind: EndpointKind = EndpointKind.WEBHOOK_PUSH
    title: str = Field("", examples=["Our web site"])
    ingress_rps: Decimal | None = Field(None, examples=[5], description="Requests per second; 5 when left out.")
    max_payload_bytes: int | None = Field(None, examples=[262144], description="262144 when left out.")
    hash_drop_window_sec: int | None = Field(
        None, examples=[10], description="How long the same body without `source_ref` counts as a repetition."
    )
    meta: dict[str, Any] = Field({}, examples=[{}], description="Describes it; holds no secrets.")


@router.get("", response_model=Page[EndpointView], summary="List endpoints")
async def list_endpoints(
    request: Request, db: Db, workspace_id: Readable, limit: Limit = 50, after: After = None
) -> Response:
    """The oldest first, disabled ones among them."""
    from_here = position(after, tuple[datetime, str])
    found = await endpoints.list_endpoints(db, workspace_id=workspace_id)
    items, following = page_of(found, _place, from_here, limit)
    views = [EndpointView.model_validate(item) for item in items]
    return answer_page(request, Page[EndpointView](items=views, next=following))


@router.post("", response_model=EndpointWithSecret, status_code=201, summary="Create an endpoint")
async def create_endpoint(db: Db, workspace_id: Administered, body: NewEndpoint) -> Response:
    made, secret = await endpoints.create_endpoint(db, workspace_id=workspace_id, **body.model_dump())
    return answer_once(_with_secret(made, secret))


@router.post(
    "/{endpoint_id}/rotate",
    response_model=EndpointWithSecret,
    status_code=201,
    summary="Replace an endpoint's secret",
)
async def rotate_endpoint(db: Db, workspace_id: Administered, endpoint_id: Named) -> Response:
    """Makes a successor with a new secret; the old one is refused at once and its row stays for audit."""
    made, secret = await endpoints.rotate_endpoint(db, workspace_id=workspace_id, endpoint_id=endpoint_id)
    return answer_once(_with_secret(made, secret))


@router.post("/{endpoint_id}/disable", response_model=EndpointView, summary="Disable an endpoint")
async def disable_endpoint(
    request: Request, db: Db, workspace_id: Administered, endpoint_id: Named
) -> Response:
    """Its secret opens nothing until it is enabled again."""
    changed = await endpoints.disable_endpoint(db, workspace_id=workspace_id, endpoint_id=endpoint_id)
    return answer(request, EndpointView.model_validate(changed))


@router.post("/{endpoint_id}/enable", response_model=EndpointView, summary="Enable an endpoint again")
async def enable_endpoint(request: Request, db: Db, workspace_id: Administered, endpoint_id: Named) -> Response:
    """Conflict when another enabled endpoint has the same secret."""
    changed = await endpoints.enable_endpoint(db, workspace_id=workspace_id, endpoint_id=endpoint_id)
    return answer(request, EndpointView.model_validate(changed))


def _with_secret(endpoint: Endpoint, secret: str) -> EndpointWithSecret:
    return EndpointWithSecret(**EndpointView.model_validate(endpoint).model_dump(), secret=secret)


def _place(endpoint: Endpoint) -> tuple[datetime, str]:
    return endpoint.created_at, endpoint.endpoint_id
