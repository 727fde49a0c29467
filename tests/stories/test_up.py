"""What the README promises of `make up`: it starts, posts arrive, it stops without a trace, it goes on."""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

import psutil
import pytest

from pressroom.db import embedded
from tests.stories.conftest import PATIENCE, StartUp, servers_of


async def test_a_post_arrives_in_both_channels_and_ctrl_c_leaves_nothing_behind(
    start_up: StartUp, tmp_path: Path
):
    up = await start_up()

    receipt = await up.push({"text": "Hello from the story"})
    arrived = await up.arrivals(2)
    health = await up.health()
    children = psutil.Process(up.process.pid).children(recursive=True)
    code = await up.stop()

    assert (receipt["status"], receipt["deliveries"]["queued"]) == (202, 2)
    assert arrived == [("Example deals", "Hello from the story"), ("Example news", "Hello from the story")]
    assert health == (200, {"status": "ok"})
    assert code == 0
    assert [child for child in children if child.is_running()] == []
    assert servers_of(tmp_path) == []


async def test_started_again_it_goes_on_with_the_same_data_and_the_same_secret(start_up: StartUp):
    first = await start_up()
    await first.push({"text": "Once"})
    await first.arrivals(2)
    await first.stop(signal.SIGTERM)

    second = await start_up()
    again = await second.push({"text": "Once"})

    assert second.where["push"]["secret"] == first.where["push"]["secret"]
    assert again["deliveries"] == {"queued": 0, "suppressed": 2, "failed_permanent": 0, "send_mode_skipped": 0}
    assert await second.stop() == 0


async def test_killed_with_its_database_it_loses_nothing_that_it_had_acknowledged(
    start_up: StartUp, tmp_path: Path
):
    first = await start_up(PRESSROOM_DISPATCH_PARALLEL="1")
    receipts = [await first.push({"text": f"Post {n}"}) for n in range(20)]
    for server in servers_of(tmp_path):
        server.kill()
    first.process.kill()
    await first.process.wait()

    second = await start_up()
    again = [await second.push({"text": f"Post {n}"}) for n in range(20)]

    assert {receipt["status"] for receipt in receipts} == {202}
    assert [receipt["message_id"] for receipt in again] == [receipt["message_id"] for receipt in receipts]
    assert {receipt["deliveries"]["suppressed"] for receipt in again} == {2}
    assert await second.stop() == 0


async def test_when_the_database_dies_under_it_health_says_so_and_it_recovers_by_itself(
    start_up: StartUp, tmp_path: Path
):
    up = await start_up()
    await up.push({"text": "Before"})
    await up.arrivals(2)
    for server in servers_of(tmp_path):
        server.kill()

    async def pushed() -> dict[str, object]:
        while (receipt := await up.push({"text": "After"}))["status"] != 202:
            assert receipt["status"] == 503
            await asyncio.sleep(0.1)  # the outside world waits and tries again
        return receipt

    receipt = await asyncio.wait_for(pushed(), PATIENCE)

    assert receipt["deliveries"] == {
        "queued": 2,
        "suppressed": 0,
        "failed_permanent": 0,
        "send_mode_skipped": 0,
    }
    assert [text for _, text in await up.arrivals(2)] == ["After", "After"]
    assert await up.stop() == 0


async def test_a_command_shares_the_server_of_a_running_up_and_leaves_it_running(
    start_up: StartUp, tmp_path: Path
):
    up = await start_up()

    status = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "pressroom", "status", "--json", "--data", str(tmp_path / "data"),
        stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    out, _ = await asyncio.wait_for(status.communicate(), PATIENCE)

    assert status.returncode == 0
    assert json.loads(out)
    assert embedded.status(tmp_path / "data").running
    assert await up.stop() == 0


async def test_check_beside_a_running_up_passes_and_a_second_up_is_refused(start_up: StartUp, tmp_path: Path):
    up = await start_up()
    data = str(tmp_path / "data")

    checks = [await run_pressroom("up", "--check", "--json", "--data", data) for _ in range(3)]
    code, _, said = await run_pressroom("up", "--port", "0", "--data", data)

    assert [check[0] for check in checks] == [0, 0, 0]
    assert code == 10
    assert f"up already on {data}: {up.where['api']}" in said
    assert await up.stop() == 0


async def test_it_starts_without_the_secret_of_the_example_when_that_was_rotated(
    start_up: StartUp, tmp_path: Path
):
    rotated = await run_pressroom("endpoint", "rotate", "example-push", "--data", str(tmp_path / "data"))

    up = await start_up()

    assert rotated[0] == 0
    assert up.where["push"]["secret"] is None
    assert await up.stop() == 0


@pytest.mark.parametrize("signals", [1, 2, 4])
@pytest.mark.parametrize("after", [0.35, 0.6, 0.9])
async def test_ctrl_c_at_any_moment_of_the_first_start_leaves_no_server(
    tmp_path: Path, signals: int, after: float
):
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "pressroom", "up", "--port", "0", "--data", str(tmp_path / "data"),
        stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    await asyncio.sleep(after)  # a person does not wait for anything in particular
    for _ in range(signals):
        if process.returncode is None:
            process.send_signal(signal.SIGINT)
            await asyncio.sleep(0.05)
    await asyncio.wait_for(process.wait(), PATIENCE)

    assert servers_of(tmp_path) == []


async def run_pressroom(*arguments: str) -> tuple[int | None, str, str]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "pressroom",
        *arguments,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await asyncio.wait_for(process.communicate(), PATIENCE)
    return process.returncode, out.decode(), err.decode()


async def test_check_starts_delivers_and_stops(tmp_path: Path):
    check = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "pressroom", "up", "--check", "--json", "--data", str(tmp_path / "Данные и пробел"),
        stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    out, _ = await asyncio.wait_for(check.communicate(), PATIENCE)

    assert check.returncode == 0
    assert json.loads(out)["deliveries"]["queued"] == 2
    assert servers_of(tmp_path) == []


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may read what others use"
)
async def test_it_stays_small(start_up: StartUp, tmp_path: Path):
    up = await start_up()
    await up.push({"text": "Small"})
    await up.arrivals(2)

    servers = sum(process.memory_full_info().pss for process in servers_of(tmp_path))
    itself = psutil.Process(up.process.pid).memory_full_info().pss

    assert servers < 256 * 2**20
    assert servers + itself < 350 * 2**20
    print(f"PSS: Postgres {servers >> 20} MiB, all {(servers + itself) >> 20} MiB")
    await up.stop()
