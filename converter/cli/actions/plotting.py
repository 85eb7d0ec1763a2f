"""``traceconv plot IN -o FILE``."""

from __future__ import annotations

import io
import os
from functools import partial
from typing import Any

from converter.analysis.statistics.distributions import field_values, wakeup_latencies
from converter.analysis.viewing import plots
from converter.analysis.viewing.shares import shares_of
from converter.cli.actions.converting import print_warnings
from converter.cli.options.merging import Relations
from converter.cli.output import messages
from converter.cli.output.progress import Progress
from converter.cli.output.selected_part import part_of
from converter.errors import UnsupportedError
from converter.ir.trace import Trace
from converter.jobs.reading import open_merged
from converter.selection.selection import Selection
from converter.storage.interrupts import expect_last
from converter.storage.locations import name_of, shown_input, shown_output
from converter.storage.outputs import open_sink


def run(
    sources: tuple[str, ...],
    source_format: str | None,
    reader_options: dict[str, str],
    selection: Selection | None,
    relations: Relations,
    *,
    target: str,
    show: str,
    field: str | None,
    force: bool,
    quiet: bool,
) -> None:
    """Draw a figure of a trace.

    Raises:
        TraceError: the trace cannot be read, has nothing to draw, or the figure cannot be written.

    """
    name = shown_input(sources[0]) if len(sources) == 1 else shown_output(target)
    format = "svg" if target == "-" else os.path.splitext(target)[1][1:].lower()
    titles = [name_of(one) if one != "-" else "trace" for one in sources]
    expect_last()
    with (
        Progress(shown=not quiet) as progress,
        open_merged(
            sources,
            source_format,
            reader_options,
            **relations,
            looked_through=progress.look_through,
        ) as whole,
        open_sink(target, force=force, avoid=sources) as sink,
    ):
        trace, say = part_of(whole, selection)
        progress.watch(trace)
        out = io.BytesIO()
        try:
            plots.save(_figure(trace, ", ".join(titles), show, field), out, format)
        except UnsupportedError:
            # The selection may name nothing.
            say(name)
            raise
        sink.write(out.getvalue())
    if not quiet:
        print_warnings(trace, name)
        say(name)
        if target != "-":
            messages.note(f"{shown_output(target)}: {progress.events:,} events")


def _figure(trace: Trace, title: str, show: str, field: str | None) -> Any:
    if field is not None:
        event, _, name = field.rpartition(".")
        found = field_values(trace, event, name)
        return plots.distribution_figure(found, f"{title}: {found.total:,} values", field)
    if show == "wakeups":
        found = wakeup_latencies(trace)
        heading = f"{title}: {found.total:,} wakeups, the longest {found.highest / 1000:,.1f} µs"
        label = "from wakeup to CPU (µs)"
        return plots.distribution_figure(found, heading, label, times=True)
    draw = partial(plots.cpu_figure if show == "cpu" else plots.timeline_figure, title=title)
    return draw(shares_of(trace, plots.INTERVALS))
