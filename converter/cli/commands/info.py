"""The declaration of ``traceconv info``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from converter.cli.options.selecting import EXAMPLES, selects
from converter.cli.options.shared import SETTINGS, input_argument, reader_options, source_format

if TYPE_CHECKING:
    from converter.selection.selection import Selection

_EPILOG = f"""\b
Examples:
  traceconv info trace.dat
  traceconv info trace.dat --events 5 --event sched_switch
  traceconv info trace.dat --stats --timeline --last 1s

{EXAMPLES}"""


@click.command(context_settings=SETTINGS, epilog=_EPILOG)
@input_argument
@source_format
@reader_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option(
    "--events", metavar="N", type=click.IntRange(min=0), help="Also print the first N events."
)
@click.option(
    "--stats",
    is_flag=True,
    help="Also print rates, CPU time, slices by time, gaps and lost events.",
)
@click.option("--timeline", is_flag=True, help="Also draw how busy CPUs and threads are.")
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
    """Show what the trace IN contains: clock, CPUs, processes, threads, events."""
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
