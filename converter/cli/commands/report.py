"""The declaration of ``traceconv report``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from converter.cli.options.selecting import EXAMPLES, selects
from converter.cli.options.shared import (
    NAME,
    SETTINGS,
    input_argument,
    no_sync,
    reader_options,
    source_format,
)

if TYPE_CHECKING:
    from converter.selection.selection import Selection

_EPILOG = f"""\b
Examples:
  traceconv report trace.dat
  traceconv report trace.dat -o trace.txt.gz
  traceconv report trace.dat --last 1s --event "irq:*"
  traceconv report trace.pftrace --json --where "duration > 5ms" | jq .fields.name

{EXAMPLES}"""


@click.command(context_settings=SETTINGS, epilog=_EPILOG)
@input_argument
@source_format
@reader_options
@click.option(
    "-o", "--output", "target", metavar="FILE", type=NAME, default="-", help="Write to FILE."
)
@click.option("--force", is_flag=True, help="Replace FILE if it exists.")
@no_sync
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object for each event.")
@click.option("--csv", "as_csv", is_flag=True, help="Print comma-separated values.")
@click.option("-q", "--quiet", is_flag=True, help="Print no warnings.")
@selects
def report(
    source: str,
    source_format: str | None,
    reader_options: dict[str, str],
    target: str,
    force: bool,
    as_json: bool,
    as_csv: bool,
    quiet: bool,
    selection: Selection | None,
) -> None:
    """Print the events of the trace IN as text, a line each.

    Events are printed as the trace's own tools print them: a trace.dat as trace-cmd report does, a
    uftrace recording as uftrace replay, an AIX trace as trcrpt.
    """
    from converter.cli.actions.reporting import run
    from converter.cli.options.paths import check_output

    if as_json and as_csv:
        raise click.UsageError("--json and --csv exclude each other")
    form = "json" if as_json else "csv" if as_csv else None
    if form is None and target.lower().endswith((".csv", ".csv.gz")):
        raise click.UsageError("without --csv the report is text: name it .txt, or add --csv")
    if form is None and target.lower().endswith((".json", ".jsonl", ".json.gz", ".jsonl.gz")):
        raise click.UsageError("without --json the report is text: name it .txt, or add --json")
    check_output("report writes text", target, [f".{form or 'txt'}", ".dat"], others=True)

    run(
        source,
        source_format,
        reader_options,
        target,
        force=force,
        form=form,
        quiet=quiet,
        selection=selection,
    )
