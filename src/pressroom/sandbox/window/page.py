"""Serves the page, its files and the control API at one port.

The files are read once, when the app is made. A browser asks for each again and is told "unchanged" by its ETag, so
that a new version is seen at the next look. Texts come from bots and strangers: the policy lets nothing run or load
that is not one of these files, whatever a message says.
"""

import hashlib
from dataclasses import dataclass
from importlib.resources import files
from pathlib import PurePath

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route

from pressroom.sandbox.control import control_app, local_only
from pressroom.sandbox.core.world import World

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
POLICY = "; ".join(
    (
        "default-src 'self'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' blob:",
        "media-src 'self' blob:",
        "object-src 'none'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",  # the browser itself refuses innerHTML and its kin
        "trusted-types 'none'",
    )
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-cache",
}
PAGE = "index.html"


@dataclass(frozen=True, slots=True)
class Asset:
    content: bytes
    type: str
    etag: str


def read_assets() -> dict[str, Asset]:
    """By name: every file of the package that a page may be made of."""
    return {
        file.name: _asset(file.name, file.read_bytes())
        for file in files("pressroom.sandbox.window").iterdir()
        if PurePath(file.name).suffix in TYPES
    }


def _asset(name: str, content: bytes) -> Asset:
    etag = f'"{hashlib.sha256(content).hexdigest()[:20]}"'
    return Asset(content, TYPES[PurePath(name).suffix], etag)


def window_app(world: World) -> Starlette:
    assets = read_assets()

    async def page(request: Request) -> Response:
        return _answer(request, assets[PAGE])

    async def asset(request: Request) -> Response:
        found = assets.get(request.path_params["name"])
        if found is None:
            return Response("There is no such file.", 404, media_type="text/plain", headers=HEADERS)
        return _answer(request, found)

    door = local_only(world)
    return Starlette(
        routes=[
            Route("/", door(page), methods=["GET"]),
            Route("/assets/{name}", door(asset), methods=["GET"]),
            Mount("/", control_app(world)),
        ]
    )


def _answer(request: Request, asset: Asset) -> Response:
    headers = HEADERS | {"ETag": asset.etag}
    if asset.etag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(asset.content, media_type=asset.type, headers=headers)
