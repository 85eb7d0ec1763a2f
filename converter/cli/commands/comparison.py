"""The declarations of ``traceconv diff`` and ``traceconv roundtrip``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from converter.cli.options.selecting import EXAMPLES, selects
from converter.cli.options.shared import (
    SETTINGS,
    input_argument,
    limits,
    reader_options,
    source_format,
)

if TYPE_CHECKING:
    from converter.selection.selection import Selection

_ASPECTS = ("clock-offset", "native", "names", "environment", "types", "places")


def _as_aspects(
    _context: click.Context, _parameter: click.Parameter, given: str | None
) -> list[str]:
    names = [name.strip() for name in given.split(",")] if given else []
    for name in names:
        if name not in _ASPECTS:
            raise click.BadParameter(f"unknown {name!r}; there are {', '.join(_ASPECTS)}")
    return names


_ignore = click.option(
    "--ignore",
    metavar="ASPECT[,ASPECT]",
    callback=_as_aspects,
    help=f"What is not compared: {', '.join(_ASPECTS)}.",
)
_quiet_comparison = click.option(
    "-q", "--quiet", is_flag=True, help="Print nothing; the exit code says."
)
_comparison_as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


_DIFF_EPILOG = f"""\b
Examples:
  traceconv diff trace.dat trace.pftrace --ignore native,environment
  traceconv diff before/ after/ --json
  traceconv diff trace.dat trace.pftrace --event "sched:*"

{EXAMPLES}"""


@click.command(context_settings=SETTINGS, epilog=_DIFF_EPILOG)
@click.argument("first", metavar="A")
@click.argument("second", metavar="B")
@click.option("--format-a", metavar="FORMAT", help="Format of A, where not recognised.")
@click.option("--format-b", metavar="FORMAT", help="Format of B, where not recognised.")
@limits
@_ignore
@_comparison_as_json
@_quiet_comparison
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
    from converter.cli.actions.comparing import run_diff

    formats = (format_a, format_b)
    if run_diff(first, second, formats, ignore, as_json=as_json, quiet=quiet, selection=selection):
        raise click.exceptions.Exit(1)


_ROUNDTRIP_EPILOG = """\b
Examples:
  traceconv roundtrip trace.dat --via perfetto
  traceconv roundtrip trace.dat --via fxt,chrome --lossless
"""


@click.command(context_settings=SETTINGS, epilog=_ROUNDTRIP_EPILOG)
@input_argument
@click.option(
    "--via", metavar="FORMAT[,FORMAT]", required=True, help="The formats to go through, in order."
)
@click.option("--lossless", is_flag=True, help="Let what does not fit travel along.")
@source_format
@reader_options
@_ignore
@_comparison_as_json
@_quiet_comparison
def roundtrip(
    source: str,
    via: str,
    lossless: bool,
    source_format: str | None,
    reader_options: dict[str, str],
    ignore: list[str],
    as_json: bool,
    quiet: bool,
) -> None:
    """Convert the trace IN to other formats and back: exit code 1 if anything has changed."""
    from converter.cli.actions.comparing import run_roundtrip

    changed = run_roundtrip(
        source,
        source_format,
        reader_options,
        [name.strip() for name in via.split(",")],
        ignore,
        lossless=lossless,
        as_json=as_json,
        quiet=quiet,
    )
    if changed:
        raise click.exceptions.Exit(1)
