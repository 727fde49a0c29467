"""The options that many commands share, so that each means the same everywhere."""

from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
Data = Annotated[
    str | None,
    typer.Option(
        "--data",
        metavar="DIR",
        help="Folder of the embedded database, else PRESSROOM_DATA.",
        show_default=False,
    ),
]
OfWorkspace = Annotated[
    str | None,
    typer.Option(
        "--workspace",
        "-w",
        metavar="NAME",
        help="Name or id of the workspace.",
        show_default="the example workspace",
    ),
]
