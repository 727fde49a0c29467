"""How commands are put together: loaded when called, with help that ends in examples.

A command is a function, `async` where it waits for something, whose docstring is its help; what follows the line
`Examples:` stands at the end of the help as it is written. A file per noun makes a `Noun` and registers verbs.
"""

import importlib
import inspect
from collections.abc import Callable
from functools import wraps
from textwrap import dedent, indent
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from pressroom import __version__
from pressroom.entrypoints.cli import COMMANDS

Function = Callable[..., Any]

HELP_OPTIONS = {"help_option_names": ["-h", "--help"]}


class Command(TyperCommand):
    """One verb."""

    def __init__(self, name: str | None, *, help: str | None = None, **rest: Any) -> None:  # noqa: A002 - Typer's name
        text, self.examples = _text_and_examples(help)
        super().__init__(name, help=text, **rest)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        _write_examples(self.examples, formatter)


def _text_and_examples(help: str | None) -> tuple[str, str]:  # noqa: A002 - Typer's name
    text, _, examples = (help or "").partition("\nExamples:\n")
    return text.strip(), dedent(examples).strip("\n")


def _write_examples(examples: str, formatter: Any) -> None:
    if examples:
        with formatter.section("Examples"):
            formatter.write(indent(examples, "  ") + "\n")


class Group(TyperGroup):
    """Several verbs, or nouns. Called without one it shows its help."""

    def __init__(self, *, help: str | None = None, **rest: Any) -> None:  # noqa: A002 - Typer's name
        text, self.examples = _text_and_examples(help)
        super().__init__(help=text, **rest)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        _write_examples(self.examples, formatter)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args and not ctx.resilient_parsing and not self.invoke_without_command:
            typer.echo(ctx.get_help(), err=True)
            raise typer.Exit(2)
        return super().parse_args(ctx, args)


class Root(Group):
    """Every noun, by section, known by its line in `COMMANDS` until it is called."""

    def __init__(self, **rest: Any) -> None:
        super().__init__(**rest)
        for name, entry in COMMANDS.items():
            self.add_command(_Unloaded(name, help=entry.help))

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        width = max(map(len, COMMANDS))
        for section in dict.fromkeys(entry.section for entry in COMMANDS.values()):
            with formatter.section(section):
                formatter.write_dl(
                    [
                        (name.ljust(width), entry.help)
                        for name, entry in COMMANDS.items()
                        if entry.section == section
                    ]
                )


class _Unloaded(Command):
    """Stands in the list of commands; whoever calls it gets the real one."""

    def make_context(self, info_name: Any, args: Any, parent: Any = None, **extra: Any) -> Any:
        return load(str(self.name)).make_context(info_name, args, parent=parent, **extra)


class Noun(typer.Typer):
    """The verbs of one noun."""

    def __init__(self, help: str | None = None, *, itself: Function | None = None) -> None:  # noqa: A002 - Typer's name
        """`itself` is what the noun does when no verb follows; its docstring is then the help.

        It takes the context first, and has nothing to do when that has an `invoked_subcommand`.
        """
        super().__init__(
            cls=Group, help=help, add_completion=False, rich_markup_mode=None,
            invoke_without_command=itself is not None,
        )  # fmt: skip
        self.callback()(itself or _no_options)

    def verb(self, name: str, **settings: Any) -> Callable[[Function], Function]:
        """Registers a function. `settings` are Typer's, for what its signature cannot say."""

        def register(function: Function) -> Function:
            self.command(name, cls=Command, **settings)(_to_its_end(function))
            return function

        return register


def load(name: str) -> Any:
    """The command of this name, its module imported."""
    module, _, attribute = COMMANDS[name].place.partition(":")
    found: object = getattr(importlib.import_module(f"pressroom.entrypoints.cli.{module}"), attribute)
    if isinstance(found, typer.Typer):
        command = get_command(found)
    else:
        assert callable(found)
        single = typer.Typer(add_completion=False, rich_markup_mode=None)
        single.command(name, cls=Command)(_to_its_end(found))
        command = get_command(single)
    command.name = name
    return command


def root() -> Any:
    """The whole command line."""
    app = typer.Typer(cls=Root, rich_markup_mode=None, context_settings=HELP_OPTIONS)
    app.callback()(_pressroom)
    return get_command(app)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


def _pressroom(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of a fault in Pressroom.")] = False,
) -> None:
    """Takes content in, understands it, writes more of it, delivers it and answers back.

    Every command has --help with examples; those that answer have --json for programs. Start with `pressroom up`.
    """


def _no_options() -> None:
    """A noun has none of its own."""


def _to_its_end(function: Function) -> Function:
    """An `async` command runs in a loop of its own; its signature stays."""
    if not inspect.iscoroutinefunction(function):
        return function

    @wraps(function)
    def runs(*arguments: Any, **options: Any) -> Any:
        from pressroom.entrypoints.cli.session import run

        return run(function(*arguments, **options))

    return runs
