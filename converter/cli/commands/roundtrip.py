"""The declaration of ``traceconv roundtrip``."""

from __future__ import annotations

import click

from converter.cli.options import comparing, completing
from converter.cli.options.shared import SETTINGS, input_argument, reader_options, source_format

_EPILOG = """\b
Examples:
  traceconv roundtrip trace.dat --via perfetto
  traceconv roundtrip trace.dat --via fxt,chrome --lossless
"""


@click.command(context_settings=SETTINGS, epilog=_EPILOG)
@input_argument
@click.option(
    "--via",
    metavar="FORMAT[,FORMAT]",
    required=True,
    shell_complete=completing.offered(completing.formats, listed=True),
    help="The formats to go through, in order.",
)
@click.option("--lossless", is_flag=True, help="Also embed the trace in each file.")
@source_format
@reader_options
@comparing.ignore
@comparing.as_json
@comparing.quiet
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
    if as_json and quiet:
        raise click.UsageError("--json and -q exclude each other")
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
