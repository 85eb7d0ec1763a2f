"""The declarations of ``traceconv check`` and ``traceconv recover``."""

from __future__ import annotations

import click

from converter.cli.options.shared import (
    SETTINGS,
    input_argument,
    no_sync,
    reader_options,
    source_format,
    target_format,
)

_CHECK_EPILOG = """\b
Examples:
  traceconv check trace.dat
  traceconv check damaged.dat -q || traceconv recover damaged.dat -o saved.dat
"""


@click.command(context_settings=SETTINGS, epilog=_CHECK_EPILOG)
@input_argument
@source_format
@reader_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing; the exit code says.")
def check(
    source: str,
    source_format: str | None,
    reader_options: dict[str, str],
    as_json: bool,
    quiet: bool,
) -> None:
    """Say what is wrong with the trace IN, where, and what can be saved: exit code 1 if it is damaged.

    Events that the recorder itself lost are told, too; a trace that says so is not damaged.
    """
    from converter.cli.actions.rescuing import run_check

    if run_check(source, source_format, reader_options, as_json=as_json, quiet=quiet):
        raise click.exceptions.Exit(1)


_RECOVER_EPILOG = """\b
Examples:
  traceconv recover damaged.dat -o saved.dat
  traceconv recover damaged.pftrace.gz -o saved.json
"""


@click.command(context_settings=SETTINGS, epilog=_RECOVER_EPILOG)
@input_argument
@click.option(
    "-o",
    "--output",
    "target",
    metavar="OUT",
    required=True,
    type=click.Path(),
    help="What to write.",
)
@source_format
@reader_options
@target_format("Format of OUT; by default by suffix.")
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
