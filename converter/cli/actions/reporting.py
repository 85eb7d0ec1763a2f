"""``traceconv report IN``: every event as a line of text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from converter.cli.actions.converting import print_warnings
from converter.cli.output.progress import Progress
from converter.cli.output.report_rows import csv_lines, json_lines
from converter.cli.output.selected_part import part_of
from converter.formats.table import format_of
from converter.ir.kinds import Kind
from converter.ir.trace import Trace
from converter.jobs.reading import open_trace
from converter.printing.event_lines import print_lines
from converter.printing.lines import BLOCK, Write, write_lines
from converter.selection.selection import Selection
from converter.storage.interrupts import expect_last
from converter.storage.locations import shown_input
from converter.storage.outputs import open_sink
from converter.storage.sink import Sink
from converter.streaming.pipeline import Pipeline


def run(
    source: str,
    source_format: str | None,
    reader_options: dict[str, str],
    target: str,
    *,
    force: bool,
    quiet: bool,
    form: str | None = None,
    selection: Selection | None = None,
) -> None:
    """Read the trace and write its report to a file, or "-" for standard output: as text, as "json" or as "csv".

    Raises:
        TraceError: it cannot be read, or the output cannot be written.

    """
    expect_last()
    with open_trace(source, source_format, reader_options) as whole:
        trace, say = part_of(whole, selection)
        with (
            Progress(shown=not quiet and target != "-") as progress,
            open_sink(target, force=force, avoid=source) as sink,
        ):
            progress.watch(trace)
            own = format_of(trace.format)
            may_grow = own is not None and own.is_live is not None
            write = partial(_write_now, sink) if may_grow else partial(sink.write, handover=True)
            with Pipeline(trace, decodes=False) as read:
                if form is not None:
                    write_lines(_FORMS[form](read), write)
                else:
                    write_report(read, write)
        if not quiet:
            print_warnings(trace, shown_input(source))
            say(shown_input(source))


def _write_now(sink: Sink, data: bytes | memoryview) -> None:
    """Write lines. A block that is not full is the last one for now: the input may still be being written."""
    sink.write(data, handover=True)
    if len(data) < BLOCK:
        sink.flush()


def write_report(trace: Trace, write: Write) -> None:
    """Write the report as the trace's own tools print it, if the format has such a report."""
    own = format_of(trace.format)
    if own is None or not own.print_report(trace, write):
        if trace.describe is None and trace.semantics.may_have(Kind.SAMPLE):
            from converter.projection.passes.sample_weights import with_weights

            trace = with_weights(trace)
        print_lines(trace, write)


#: The functions that yield the lines for programs, by format.
_FORMS: dict[str, Callable[[Trace], Iterator[str]]] = {"json": json_lines, "csv": csv_lines}
