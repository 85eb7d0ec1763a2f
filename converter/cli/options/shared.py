"""Options that several commands have."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import click

from converter.cli.options import completing

if TYPE_CHECKING:
    from converter.selection.parts import Division, TimeLength

_Command = TypeVar("_Command", bound=Callable[..., Any])

#: The values of --strict.
Strict = Literal["shown", "kept", "all"]

SETTINGS = {"help_option_names": ["-h", "--help"]}


class _Name(click.Path):
    """The name of an input or an output, which is never empty."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> str | bytes | os.PathLike[str]:
        """Return the name as it is."""
        if not value:
            self.fail("the name is empty (is a variable of the shell not set?)", param, ctx)
        return super().convert(value, param, ctx)


NAME = _Name()
FOLDER = _Name(file_okay=False)

input_argument = click.argument("source", metavar="IN", type=NAME)
inputs_argument = click.argument("sources", metavar="IN...", nargs=-1, required=True, type=NAME)
source_format = click.option(
    "-f",
    "--from-format",
    "source_format",
    metavar="FORMAT",
    shell_complete=completing.offered(completing.formats),
    help="Format of IN, if it is not recognised.",
)


def target_format(meaning: str, *, required: bool = False) -> Callable[[_Command], _Command]:
    """Return the option for the format of the output."""
    return click.option(
        "-t",
        "--to-format",
        "target_format",
        metavar="FORMAT",
        shell_complete=completing.offered(completing.formats),
        required=required,
        help=meaning,
    )


def _as_division(
    _context: click.Context, _parameter: click.Parameter, given: str | None
) -> TimeLength | int | Division | None:
    if given is None:
        return None
    from converter.errors import SelectionError
    from converter.selection.parts import parse_division

    try:
        return parse_division(given)
    except SelectionError as error:
        raise click.BadParameter(error.detail) from None


split = click.option(
    "--split",
    metavar="LENGTH|SIZE|cpu|process",
    shell_complete=completing.offered(lambda: ("cpu", "process")),
    callback=_as_division,
    help="Write parts of 10s or 1GB each, or one for each CPU or process: OUT-0001, OUT-cpu0.",
)


def _as_mapping(
    _context: click.Context, _parameter: click.Parameter, given: tuple[str, ...]
) -> dict[str, str]:
    parsed: dict[str, str] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise click.BadParameter(f"{text!r} is not NAME=VALUE")
        parsed[name] = value
    return parsed


def _as_limits(context: click.Context, _parameter: click.Parameter, given: tuple[str, ...]) -> None:
    """Apply limits until the command is done."""
    from converter.limits import LIMITS, limited, shown

    if "help" in given:
        width = max(map(len, LIMITS))
        for name, one in LIMITS.items():
            click.echo(f"{name:{width}}  {shown(name, one.default)} {one.guards}")
        context.exit()
    try:
        context.with_resource(limited(_as_mapping(context, _parameter, given)))
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


limits = click.option(
    "--limit",
    metavar="NAME=VALUE",
    multiple=True,
    expose_value=False,
    is_eager=True,
    callback=_as_limits,
    shell_complete=completing.offered(completing.limits),
    help='Safety limit, such as unpacked=1G for decompression; "help" lists all.',
)


def _without_sync(context: click.Context, _parameter: click.Parameter, given: bool) -> None:
    """Disable syncing of outputs until the command is done."""
    if given:
        from converter.storage.writing.durability import left_to_the_system

        context.with_resource(left_to_the_system())


no_sync = click.option(
    "--no-sync",
    is_flag=True,
    expose_value=False,
    callback=_without_sync,
    help="Do not wait for the disk: faster, but a power failure can lose what was written.",
)


_reader_option = click.option(
    "-O",
    "--option",
    "reader_options",
    metavar="NAME=VALUE",
    multiple=True,
    callback=_as_mapping,
    shell_complete=completing.reader_options,
    help="Option for the input format, such as trcfmt=FILE; may be repeated.",
)


def reader_options(command: _Command) -> _Command:
    """Add the option for options of the input's reader."""
    return _reader_option(limits(command))


class WithStrictness(click.Command):
    """A command with an option that may have no value, and then does not consume the next argument."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the command line."""
        end = args.index("--") if "--" in args else len(args)
        arguments = ["--strict=shown" if arg == "--strict" else arg for arg in args[:end]]
        return super().parse_args(ctx, arguments + args[end:])


strict = click.option(
    "--strict",
    type=click.Choice(["shown", "kept", "all"]),
    metavar="[=shown|kept|all]",
    help="Fail if viewers would miss something, if other programs would, or if anything is lost, and on "
    "damaged input.",
)
