"""The declarations of ``traceconv info``, ``report`` and ``formats``. Their actions are imported when they run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from converter.cli.options.selecting import EXAMPLES, selects
from converter.cli.options.shared import SETTINGS as _SETTINGS
from converter.cli.options.shared import input_argument as _input
from converter.cli.options.shared import no_sync as _no_sync
from converter.cli.options.shared import reader_options as _reader_options
from converter.cli.options.shared import source_format as _source_format

if TYPE_CHECKING:
    from converter.selection.selection import Selection

_INFO_EPILOG = f"""\b
Examples:
  traceconv info trace.dat
  traceconv info trace.dat --events 5 --event sched_switch
  traceconv info trace.dat --stats --timeline --last 1s

{EXAMPLES}"""


@click.command(context_settings=_SETTINGS, epilog=_INFO_EPILOG)
@_input
@_source_format
@_reader_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option(
    "--events", metavar="N", type=click.IntRange(min=0), help="Print the first N events, too."
)
@click.option(
    "--stats", is_flag=True, help="Print rates, CPU time, slices by time, gaps, lost events, too."
)
@click.option("--timeline", is_flag=True, help="Draw how busy CPUs and threads are, too.")
@selects
def info(
    source: str,
    source_format: str | None,
    reader_options: dict[str, str],
    as_json: bool,
    events: int | None,
    stats: bool,
    timeline: bool,
    selection: Selection | None,
) -> None:
    """Say what the trace IN contains: clock, CPUs, processes, threads, events."""
    from converter.cli.actions.inspecting import run

    run(
        source,
        source_format,
        reader_options,
        as_json=as_json,
        events=events,
        stats=stats,
        timeline=timeline,
        selection=selection,
    )


_REPORT_EPILOG = f"""\b
Examples:
  traceconv report trace.dat
  traceconv report trace.dat -o trace.txt.gz
  traceconv report trace.dat --last 1s --event "irq:*"
  traceconv report trace.pftrace --json --where "duration > 5ms" | jq .fields.name

{EXAMPLES}"""


@click.command(context_settings=_SETTINGS, epilog=_REPORT_EPILOG)
@_input
@_source_format
@_reader_options
@click.option("-o", "--output", "target", metavar="FILE", default="-", help="Write to FILE.")
@click.option("--force", is_flag=True, help="Replace FILE if it exists.")
@_no_sync
@click.option(
    "--json", "form", flag_value="json", help="Print a JSON object for each event, one a line."
)
@click.option("--csv", "form", flag_value="csv", help="Print comma-separated values.")
@click.option("-q", "--quiet", is_flag=True, help="Print no warnings.")
@selects
def report(
    source: str,
    source_format: str | None,
    reader_options: dict[str, str],
    target: str,
    force: bool,
    form: str | None,
    quiet: bool,
    selection: Selection | None,
) -> None:
    """Print the events of the trace IN as text, a line each.

    The text of an event is that of the trace's own tools, where it has one. The report of a
    trace.dat file is that of trace-cmd, the report of an AIX trace is like that of trcrpt.
    """
    from converter.cli.actions.reporting import run

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


_FORMATS_EPILOG = """\b
Examples:
  traceconv formats
  traceconv formats --json
"""


@click.command(context_settings=_SETTINGS, epilog=_FORMATS_EPILOG)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def formats(as_json: bool) -> None:
    """List the formats: names, variants, suffixes, and which can be read and written."""
    from converter.cli.actions.listing import run

    run(as_json=as_json)
