"""The HTTP API as an ASGI app: routes, and around them ids, bounds and problems."""

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import RedirectResponse

from pressroom import __version__
from pressroom.entrypoints.api import docs, health, openapi, push
from pressroom.entrypoints.api.access import Tokens
from pressroom.entrypoints.api.bounds import Bounded
from pressroom.entrypoints.api.observed import Observed
from pressroom.entrypoints.api.parts import PlainRoute
from pressroom.entrypoints.api.problems import answer_errors
from pressroom.entrypoints.api.routes import credentials, deliveries, endpoints, tokens, workspaces
from pressroom.entrypoints.metrics import Metrics
from pressroom.wiring import Product


def create_app(product: Product) -> FastAPI:
    """Everything that it keeps hangs on `app.state`; the caller closes the product."""
    app = FastAPI(
        title="Pressroom",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,  # a redirect of the push door would repeat its secret
        telemetry={
            "tracing": False,
            "metrics": False,
            "logs": False,
            "auto_configure": False,
        },  # it records paths
    )
    app.state.product = product
    app.state.tokens = Tokens(product.db)
    app.state.metrics = Metrics()
    app.state.health = health.HealthCheck(product)

    app.router.routes.extend((*push.ROUTES, *health.ROUTES))  # the busiest first
    for part in (workspaces, endpoints, tokens, credentials, deliveries):
        app.router.routes.extend(part.router.routes)  # not include_router, which would look each one up twice
    app.router.routes.extend((PlainRoute("/", _to_docs), *openapi.routes(app), *docs.routes(app)))

    answer_errors(app)
    app.add_middleware(
        Bounded, body_bytes=product.settings.api_max_body_bytes, seconds=product.settings.api_request_seconds
    )
    app.add_middleware(Observed, metrics=app.state.metrics)
    return app


async def _to_docs(_request: Request) -> RedirectResponse:
    return RedirectResponse("/api/docs", 307)
