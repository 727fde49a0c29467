"""Credentials: what a workspace presents to platforms, by a key that outlives each secret."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Path, Request
from pydantic import BaseModel, ConfigDict, Field, SecretStr
from starlette.responses import Response

from pressroom.core.errors import InvalidInput
from pressroom.entrypoints.api.access import Administered, Bearer, require_everywhere
from pressroom.entrypoints.api.idempotency import ApiRoute
from pressroom.entrypoints.api.parts import (
    After,
    Db,
    Limit,
    Page,
    Works,
    answer,
    answer_page,
    page_of,
    position,
)
from pressroom.settings import environment
from pressroom.workspaces import credentials
from pressroom.workspaces.credentials import CredentialState
from pressroom.workspaces.model import CredentialBinding, Verb

router = APIRouter(
    prefix="/api/v1/workspaces/{workspace_id}/credentials", tags=["Credentials"], route_class=ApiRoute
)


class CredentialView(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    auth_ref: str = Field(examples=["news-bot"])
    platform: str = Field(examples=["telegram"])
    secret_ref: str = Field(
        examples=["sealed:telegram/news-bot"], description="Where the secret is; never the secret."
    )
    rotated_at: datetime | None = Field(examples=[None])
    updated_at: datetime = Field(examples=["2026-11-18T09:30:00Z"])


class CheckedCredential(CredentialView):
    problem: str | None = Field(
        examples=[None], description="Why the secret cannot be had just now; null when it can."
    )


class NewCredential(BaseModel):
    model_config = ConfigDict(extra="forbid")

    auth_ref: str = Field(examples=["news-bot"], description="The key that channels name.")
    platform: str = Field(examples=["telegram"])
    secret: SecretStr | None = Field(None, examples=["123456789:AA…"], description="Sealed here.")
    secret_ref: str | None = Field(
        None,
        examples=[None],
        description="Instead of `secret`: `env:NAME` or `file:/path` on the server; for those who administer all workspaces.",
    )


@router.get("", response_model=Page[CheckedCredential], summary="List credentials")
async def list_credentials(
    request: Request, works: Works, workspace_id: Administered, limit: Limit = 50, after: After = None
) -> Response:
    """Each with whether its secret can be had. No secret is ever shown."""
    from_here = position(after, tuple[str, str])
    found = await credentials.list_credentials(
        works.db, works.keyring, environment(), workspace_id=workspace_id
    )
    items, following = page_of(found, _place, from_here, limit)
    return answer_page(
        request, Page[CheckedCredential](items=[_checked(item) for item in items], next=following)
    )


@router.post("", response_model=CredentialView, status_code=201, summary="Bind a credential")
async def bind_credential(
    request: Request, works: Works, access: Bearer, workspace_id: Administered, body: NewCredential
) -> Response:
    """Bound again, the new one takes the old one's place."""
    if body.platform not in works.platforms:
        known = ", ".join(sorted(works.platforms))
        raise InvalidInput(f"there is no platform {body.platform!r}", hint=f"known: {known}", field="platform")
    if body.secret_ref is not None:
        require_everywhere(access, Verb.ADMIN, "a credential that is kept on the server's machine")
    bound = await credentials.bind_credential(
        works.db,
        works.keyring,
        workspace_id=workspace_id,
        auth_ref=body.auth_ref,
        platform=body.platform,
        secret=None if body.secret is None else body.secret.get_secret_value(),
        secret_ref=body.secret_ref,
    )
    return answer(request, CredentialView.model_validate(bound), 201)


@router.delete("/{platform}/{auth_ref}", status_code=204, summary="Unbind a credential")
async def unbind_credential(
    db: Db,
    workspace_id: Administered,
    platform: Annotated[str, Path(examples=["telegram"])],
    auth_ref: Annotated[str, Path(examples=["news-bot"])],
) -> Response:
    """A sealed secret goes with it; what a reference names stays where it is."""
    await credentials.unbind_credential(db, workspace_id=workspace_id, auth_ref=auth_ref, platform=platform)
    return Response(status_code=204)


def _checked(state: CredentialState) -> CheckedCredential:
    binding: CredentialBinding = state.binding
    return CheckedCredential(**CredentialView.model_validate(binding).model_dump(), problem=state.problem)


def _place(state: CredentialState) -> tuple[str, str]:
    return state.binding.platform, state.binding.auth_ref
