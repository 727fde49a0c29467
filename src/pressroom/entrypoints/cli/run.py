"""`pressroom run PASS --once`: one pass of one loop, for cron jobs and orchestrators."""

from typing import Annotated

import typer

from pressroom.core.errors import InvalidInput
from pressroom.entrypoints.cli.options import Data, Json
from pressroom.entrypoints.cli.output import Facts, answer
from pressroom.entrypoints.cli.session import product_of
from pressroom.entrypoints.worker.passes import PASSES, one


async def command(
    name: Annotated[str, typer.Argument(help="Any of: " + ", ".join(PASSES) + ".", metavar="PASS")],
    once: Annotated[bool, typer.Option("--once", help="Make one pass and end.")] = False,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Make one pass of one loop: for cron jobs, orchestrators and a look at what it does.

    `pressroom serve` repeats passes by itself.

    Examples:
    pressroom run dispatch --once
    pressroom run leases --once --json
    """
    if not once:
        raise InvalidInput("say --once", hint="`pressroom serve dispatch` repeats passes until it is stopped")
    async with product_of(data) as product:
        passed = await one(product, name).one_pass()
    answer(
        as_json,
        {"pass": name, "worked": passed.worked, "more": passed.more, "next_in": passed.next_in},
        Facts([("pass", name), ("worked", _said(passed.worked)), ("more to do", _said(passed.more))]),
    )


def _said(fact: bool) -> str:
    return "yes" if fact else "no"
