"""The declaration of ``traceconv recover``."""

from __future__ import annotations

import click

from converter.cli.options.shared import (
    NAME,
    SETTINGS,
    input_argument,
    no_sync,
    reader_options,
    source_format,
    target_format,
)

_EPILOG = """\b
Examples:
  traceconv recover damaged.dat -o saved.dat
  traceconv recover damaged.pftrace.gz -o saved.json
"""


@click.command(context_settings=SETTINGS, epilog=_EPILOG)
@input_argument
@click.option(
    "-o",
    "--output",
    "target",
    metavar="OUT",
    required=True,
    type=NAME,
    help="Output.",
)
@source_format
@reader_options
@target_format("Format of OUT; by default that of its suffix.")
@click.option("-y", "--force", "--yes", is_flag=True, help="Replace OUT if it exists.")
@no_sync
@click.option("-q", "--quiet", is_flag=True, help="Print errors only.")
def recover(
    source: str,
    target: str,
    source_format: str | None,
    reader_options: dict[str, str],
    target_format: str | None,
    force: bool,
    quiet: bool,
) -> None:
    """Write what can be saved of the damaged trace IN to OUT, and list what was lost, when and where."""
    from converter.cli.actions.rescuing import run_recover

    run_recover(
        source, target, source_format, reader_options, target_format, force=force, quiet=quiet
    )
