"""The declaration of ``traceconv check``."""

from __future__ import annotations

import click

from converter.cli.options.shared import SETTINGS, input_argument, reader_options, source_format

_EPILOG = """\b
Examples:
  traceconv check trace.dat
  traceconv check damaged.dat -q || traceconv recover damaged.dat -o saved.dat
"""


@click.command(context_settings=SETTINGS, epilog=_EPILOG)
@input_argument
@source_format
@reader_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing; only set the exit code.")
def check(
    source: str,
    source_format: str | None,
    reader_options: dict[str, str],
    as_json: bool,
    quiet: bool,
) -> None:
    """Report what is wrong with the trace IN, where, and what can be saved.

    The exit code is 1 if it is damaged, and 4 if no event of it can be read.

    Events that the recorder itself lost are reported too; they are no damage.
    """
    if as_json and quiet:
        raise click.UsageError("--json and -q exclude each other")
    from converter.cli.actions.rescuing import run_check

    code = run_check(source, source_format, reader_options, as_json=as_json, quiet=quiet)
    if code:
        raise click.exceptions.Exit(code)
