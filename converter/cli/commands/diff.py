"""The declaration of ``traceconv diff``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from converter.cli.options import comparing, completing
from converter.cli.options.selecting import EXAMPLES, selects
from converter.cli.options.shared import NAME, SETTINGS, limits

if TYPE_CHECKING:
    from converter.selection.selection import Selection

_FORMATS = completing.offered(completing.formats)
_EPILOG = f"""\b
Examples:
  traceconv diff trace.dat trace.pftrace --ignore native,environment
  traceconv diff before/ after/ --json
  traceconv diff trace.dat trace.pftrace --event "sched:*"

{EXAMPLES}"""


@click.command(context_settings=SETTINGS, epilog=_EPILOG)
@click.argument("first", metavar="A", type=NAME)
@click.argument("second", metavar="B", type=NAME)
@click.option(
    "--format-a",
    metavar="FORMAT",
    shell_complete=_FORMATS,
    help="Format of A, if it is not recognised.",
)
@click.option(
    "--format-b",
    metavar="FORMAT",
    shell_complete=_FORMATS,
    help="Format of B, if it is not recognised.",
)
@limits
@comparing.ignore
@comparing.as_json
@comparing.quiet
@selects
def diff(
    first: str,
    second: str,
    format_a: str | None,
    format_b: str | None,
    ignore: list[str],
    as_json: bool,
    quiet: bool,
    selection: Selection | None,
) -> None:
    """Compare the traces A and B, of any formats: exit code 1 if they differ."""
    if as_json and quiet:
        raise click.UsageError("--json and -q exclude each other")
    from converter.cli.actions.comparing import run_diff

    formats = (format_a, format_b)
    if run_diff(first, second, formats, ignore, as_json=as_json, quiet=quiet, selection=selection):
        raise click.exceptions.Exit(1)
