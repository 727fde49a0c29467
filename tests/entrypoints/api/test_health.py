import asyncio
import time
from datetime import timedelta

import pytest

from pressroom import __version__
from pressroom.core.errors import Unavailable
from pressroom.core.ids import WorkspaceId
from pressroom.db.database import Database
from pressroom.entrypoints.api import health
from pressroom.entrypoints.api.server import serve_api
from pressroom.ops.health import Health, HealthReport
from pressroom.settings import Settings
from pressroom.wiring import Product
from tests.conftest import add_workspace
from tests.entrypoints.api.conftest import KEYRING, Api, Serve

TOKEN = "the health token"
WITH_TOKEN = {"Authorization": f"Bearer {TOKEN}"}


class Away(Database):
    """A database that does not answer; counts who asked."""

    def __init__(self, *, hangs: bool = False) -> None:
        self.asked = 0
        self._hangs = hangs

    def system(self):  # type: ignore[no-untyped-def,override]
        self.asked += 1
        if self._hangs:
            return _Hanging()
        raise Unavailable("the database does not answer")


class _Hanging:
    async def __aenter__(self) -> None:
        await asyncio.Event().wait()

    async def __aexit__(self, *_: object) -> None: ...


async def test_everybody_gets_the_status_and_nothing_else(serve: Serve):
    api = await serve(health_check_token=TOKEN)

    for headers in (
        {},
        {"Authorization": "Bearer wrong"},
        {"Authorization": "Bearer"},
        {"Authorization": TOKEN},
    ):
        async with api.http.get(api.url + "/api/health", headers=headers) as answer:
            assert (answer.status, await answer.read()) == (200, b'{"status": "ok"}')


async def test_the_token_opens_the_details(serve: Serve):
    api = await serve(health_check_token=TOKEN)

    status, _, report = await api.call("GET", "/api/health", headers=WITH_TOKEN)

    assert status == 200
    assert (report["status"], report["version"]) == ("ok", __version__)
    assert report["uptime_seconds"] >= 0
    assert report["checks"]["database"]["status"] == "ok"
    assert report["checks"]["database"]["latency_ms"] > 0


async def test_an_empty_setting_opens_nothing(serve: Serve):
    api = await serve(health_check_token="")

    for headers in ({"Authorization": "Bearer "}, {"Authorization": "Bearer"}, {}):
        assert (await api.call("GET", "/api/health", headers=headers))[2] == {"status": "ok"}


async def test_without_its_database_it_is_down(api: Api):
    product = Product(Settings(drain_seconds=1, health_check_token=TOKEN), Away(), KEYRING, {})
    async with serve_api(product, host="127.0.0.1", port=0) as url:
        down = Api(url, product, api.http)

        async with api.http.get(url + "/api/health") as public:
            assert (public.status, await public.read()) == (503, b'{"status": "down"}')
            assert public.headers["Retry-After"]
        status, _, report = await down.call("GET", "/api/health", headers=WITH_TOKEN)

    assert (status, report["status"], report["checks"]["database"]["status"]) == (503, "down", "down")


async def test_a_check_that_hangs_is_down_after_its_bound(api: Api, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(health, "CHECK_SECONDS", 0.1)
    product = Product(Settings(drain_seconds=1), Away(hangs=True), KEYRING, {})
    async with serve_api(product, host="127.0.0.1", port=0) as url:
        begun = time.monotonic()

        async with api.http.get(url + "/api/health") as answer:
            assert answer.status == 503

    assert time.monotonic() - begun < 2


async def test_many_who_ask_at_once_cost_one_check(api: Api):
    away = Away()
    product = Product(Settings(drain_seconds=1), away, KEYRING, {})
    async with serve_api(product, host="127.0.0.1", port=0) as url:
        down = Api(url, product, api.http)

        answers = await asyncio.gather(*(down.call("GET", "/api/health") for _ in range(20)))

    assert {status for status, _, _ in answers} == {503}
    assert away.asked == 1


@pytest.mark.parametrize(("status", "kept"), [(Health.OK, 10), (Health.DEGRADED, 1), (Health.DOWN, 1)])
async def test_a_good_answer_is_kept_ten_seconds_and_a_bad_one_only_one(
    monkeypatch: pytest.MonkeyPatch, status: Health, kept: int
):
    asked: list[timedelta] = []

    async def check(_db: object, *, stall: timedelta, folder: object) -> HealthReport:
        asked.append(stall)
        return HealthReport(status)

    now = 1000.0
    monkeypatch.setattr(health, "check_health", check)
    monkeypatch.setattr(health.time, "monotonic", lambda: now)
    checked = health.HealthCheck(Product(Settings(), Away(), KEYRING, {}))

    await checked.report()
    now += kept - 0.1
    await checked.report()
    assert len(asked) == 1
    now += 0.2
    await checked.report()
    assert len(asked) == 2


async def test_degraded_is_ok_for_the_public(serve: Serve, monkeypatch: pytest.MonkeyPatch):
    async def check(_db: object, *, stall: timedelta, folder: object) -> HealthReport:
        return HealthReport(Health.DEGRADED, {"loops": {"status": "degraded"}})

    monkeypatch.setattr(health, "check_health", check)
    api = await serve(health_check_token=TOKEN)

    public = await api.call("GET", "/api/health")
    private = await api.call("GET", "/api/health", headers=WITH_TOKEN)

    assert (public[0], public[2]) == (200, {"status": "ok"})
    assert (private[0], private[2]["status"]) == (200, "degraded")


async def test_work_that_does_not_move_makes_it_fail(own_db: Database, api: Api):
    """A delivery has been due for an hour, and no dispatcher runs."""
    settings = Settings(database_url=own_db.dsn, drain_seconds=1, stall_seconds=60)  # type: ignore[arg-type]
    product = Product(settings, own_db, KEYRING, {"telegram": object()})  # type: ignore[dict-item]
    async with serve_api(product, host="127.0.0.1", port=0) as url:
        own = Api(url, product, api.http)
        workspace_id = await _workspace_with_a_channel(own_db)
        door = {"X-Pressroom-Secret": await own.new_door(workspace_id)}
        assert (await own.call("POST", "/ingest/push", json={"text": "x"}, headers=door))[2]["deliveries"][
            "queued"
        ] == 1
        async with own_db.system() as tx:
            await tx.execute("update delivery_queue set due_at = now() - interval '1 hour'")

        status, _, body = await own.call("GET", "/api/health")

    assert (status, body) == (503, {"status": "down"})


async def _workspace_with_a_channel(db: Database) -> WorkspaceId:
    workspace_id = await add_workspace(db)
    async with db.system() as tx:
        await tx.execute(
            """insert into channels (workspace_id, channel_id, platform, target_id, auth_ref, rate_group)
               values ($1, 'tg', 'telegram', '@news', 'bot', 'bot')""",
            workspace_id,
        )
    return workspace_id


class TestMetrics:
    async def test_requests_are_counted_by_template_and_never_by_path(self, serve: Serve, tenant: WorkspaceId):
        api = await serve()
        token = await api.new_token(tenant)

        await api.call("GET", f"/api/v1/workspaces/{tenant}", token=token)
        await api.call("POST", "/ingest/push/hunter2", json={})
        await api.call("GET", "/wp-login.php")
        _, headers, text = await api.call("GET", "/metrics")

        assert headers["Content-Type"].startswith("text/plain; version=")
        counted = {line for line in text.splitlines() if line.startswith("pressroom_http_requests_total")}
        assert counted == {
            'pressroom_http_requests_total{method="GET",route="/api/v1/workspaces/{workspace_id}",status="200"} 1.0',
            'pressroom_http_requests_total{method="POST",route="/ingest/push/{secret}",status="401"} 1.0',
            'pressroom_http_requests_total{method="GET",route="none",status="404"} 1.0',
        }
        assert "hunter2" not in text and str(tenant) not in text
        assert 'pressroom_http_request_seconds_count{method="GET",route="none"} 1.0' in text
        assert f'version="{__version__}"' in text

    async def test_a_strange_method_makes_no_series_of_its_own(self, serve: Serve):
        api = await serve()

        await api.call("PROPFIND", "/")
        _, _, text = await api.call("GET", "/metrics")

        assert 'method="other"' in text and "PROPFIND" not in text

    async def test_two_apps_count_apart(self, serve: Serve):
        one, another = await serve(), await serve()

        await one.call("GET", "/nowhere")

        assert 'route="none"' not in (await another.call("GET", "/metrics"))[2]

    @pytest.mark.parametrize("token", [None, ""])
    @pytest.mark.parametrize("header", ["X-Forwarded-For", "Forwarded", "X-Real-IP", "Via"])
    async def test_without_a_token_it_is_open_to_this_machine_but_not_through_a_proxy(
        self, serve: Serve, token: str | None, header: str
    ):
        api = await serve(health_check_token=token)

        assert (await api.call("GET", "/metrics"))[0] == 200
        assert (await api.call("GET", "/metrics", headers={header: "203.0.113.9"}))[0] == 401

    async def test_where_a_token_is_set_everybody_needs_it(self, serve: Serve):
        api = await serve(health_check_token=TOKEN)
        proxied = {"X-Forwarded-For": "203.0.113.9"}

        assert (await api.call("GET", "/metrics"))[0] == 401
        assert (await api.call("GET", "/metrics", headers={"Authorization": "Bearer wrong"}))[0] == 401
        assert (await api.call("GET", "/metrics", headers=WITH_TOKEN))[0] == 200
        assert (await api.call("GET", "/metrics", headers=proxied | WITH_TOKEN))[0] == 200
