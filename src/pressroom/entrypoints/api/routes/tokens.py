"""API tokens: who may do what in a workspace, until when."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from pressroom.core.errors import Forbidden, NotFound
from pressroom.core.ids import EVERY_WORKSPACE, WorkspaceId
from pressroom.entrypoints.api.access import Administered, Bearer
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
    require_workspace,
)
from pressroom.workspaces import tokens
from pressroom.workspaces.model import ApiToken, TokenId, Verb

router = APIRouter(prefix="/api/v1/workspaces/{workspace_id}/tokens", tags=["Tokens"], route_class=ApiRoute)


class TokenView(BaseModel):
    token_id: TokenId = Field(examples=["news-bot"])
    title: str = Field(examples=["The newsroom's bot"])
    verbs: list[Verb] = Field(examples=[["read", "write"]])
    workspaces: list[WorkspaceId] | Literal["all"] = Field(
        examples=["all"], description="Of those, what this workspace may know."
    )
    created_at: datetime = Field(examples=["2026-11-18T09:30:00Z"])
    expires_at: datetime | None = Field(examples=[None])
    revoked_at: datetime | None = Field(examples=[None])


class TokenWithSecret(TokenView):
    secret: str = Field(examples=["prs_api_…"], description="Shown this once; only its hash is kept.")


class NewToken(BaseModel):
    model_config = ConfigDict(extra="forbid")

    token_id: str = Field(examples=["news-bot"], description="Readable, unique.")
    verbs: list[Verb] = Field(
        examples=[["read", "write"]], description="`admin` includes the others; no other verb includes one."
    )
    title: str = Field("", examples=["The newsroom's bot"])
    expires_in_days: float | None = Field(
        None, gt=0, le=3650, examples=[90], description="Without it the token lasts until it is revoked."
    )


@router.get("", response_model=Page[TokenView], summary="List tokens")
async def list_tokens(
    request: Request, db: Db, workspace_id: Administered, limit: Limit = 50, after: After = None
) -> Response:
    """The oldest first, expired and revoked ones among them."""
    from_here = position(after, tuple[datetime, str])
    found = await tokens.list_tokens(db, only=[workspace_id])
    await require_workspace(db, workspace_id, found)
    items, following = page_of(found, _place, from_here, limit)
    return answer_page(request, Page[TokenView](items=[_view(item) for item in items], next=following))


@router.post("", response_model=TokenWithSecret, status_code=201, summary="Create a token")
async def create_token(db: Db, workspace_id: Administered, body: NewToken) -> Response:
    """It opens this workspace only; the command line makes tokens for several or all."""
    made, secret = await tokens.create_token(
        db,
        token_id=body.token_id,
        workspaces=[workspace_id],
        verbs=body.verbs,
        expires_in=None if body.expires_in_days is None else timedelta(days=body.expires_in_days),
        title=body.title,
    )
    return answer_once(TokenWithSecret(**_view(made).model_dump(), secret=secret))


@router.delete("/{token_id}", response_model=TokenView, summary="Revoke a token")
async def revoke_token(
    request: Request,
    db: Db,
    access: Bearer,
    workspace_id: Administered,
    token_id: Annotated[str, Path(examples=["news-bot"])],
) -> Response:
    """It opens nothing any more, in none of its workspaces; so it takes `admin` in each of them."""
    token = await tokens.get_token(db, token_id=token_id)
    opened: Sequence[WorkspaceId] = [EVERY_WORKSPACE] if token.workspaces == "all" else token.workspaces
    if workspace_id not in opened and not access.everywhere:
        raise NotFound(f"there is no token {token_id} in this workspace", hint="see the list of tokens")
    if not all(access.allows(one, Verb.ADMIN) for one in opened):
        raise Forbidden(
            f"token {token_id} opens other workspaces too",
            hint="revoke it with a token that administers all of them",
        )
    revoked = await tokens.revoke_token(db, token_id=token_id)
    request.app.state.tokens.forget()
    return answer(request, _view(revoked))


def _view(token: ApiToken) -> TokenView:
    return TokenView(
        token_id=token.token_id,
        title=token.title,
        verbs=sorted(token.verbs),
        workspaces="all" if token.workspaces == "all" else list(token.workspaces),
        created_at=token.created_at,
        expires_at=token.expires_at,
        revoked_at=token.revoked_at,
    )


def _place(token: ApiToken) -> tuple[datetime, str]:
    return token.created_at, token.token_id
