"""``traceconv report IN``: every event as a line of text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from typing import Any

from converter.cli.converting import print_warnings
from converter.cli.first_events import seconds
from converter.cli.progress import Progress
from converter.cli.report_rows import csv_lines, json_lines
from converter.cli.selected_part import part_of
from converter.conversion import open_trace
from converter.ir.columns import value
from converter.ir.events import Batch, EventClass
from converter.ir.kinds import Role
from converter.ir.latency import latency_letters
from converter.ir.text import class_label, printable, text_of_value
from converter.ir.trace import Trace
from converter.printing.lines import Write, write_lines
from converter.selection.selection import Selection
from converter.storage.outputs import open_sink

#: Formats with a report of their own: a module whose ``print_report(trace, write)`` writes it, or gives False.
_OWN_REPORTS = {
    "aix": "converter.formats.aix.report_lines",
    "trace_cmd": "converter.formats.trace_cmd.report_lines",
}

#: Shown in front of the event, not among its fields.
_IN_FRONT = frozenset({Role.CONTEXT_FLAGS, Role.CONTEXT_PREEMPT_COUNT})


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
        TraceError: it cannot be read, or the output not be written.

    """
    with open_trace(source, source_format, reader_options) as whole:
        trace, say = part_of(whole, selection)
        with (
            Progress(shown=not quiet and target != "-") as progress,
            open_sink(target, force=force, avoid=source) as sink,
        ):
            progress.watch(trace)
            write = partial(sink.write, handover=True)
            if form is not None:
                write_lines(_FORMS[form](trace), write)
            elif not _own_report(trace, write):
                for batch in trace.batches():
                    write_lines(_event_lines(trace, batch), write)
        if not quiet:
            print_warnings(trace, source)
            say(source)


def _own_report(trace: Trace, write: Write) -> bool:
    """Write the report as the trace's own tools print it, if there is such a form."""
    module = _OWN_REPORTS.get(trace.format)
    if module is None:
        return False
    done: bool = import_module(module).print_report(trace, write)
    return done


#: What makes the lines of the forms for programs.
_FORMS: dict[str, Callable[[Trace], Iterator[str]]] = {"json": json_lines, "csv": csv_lines}


def _event_lines(trace: Trace, batch: Batch) -> Iterator[str]:
    """``task-tid [cpu] flags time: event: text``, as ftrace prints events."""
    describe = trace.describe(batch) if trace.describe is not None else None
    shown = [_Shown(trace, batch, number) for number in range(len(trace.event_classes))]
    places: dict[int, str] = {}
    clock = trace.clock
    rows = zip(
        batch.ts.tolist(),
        batch.class_id.tolist(),
        batch.row.tolist(),
        batch.thread.tolist(),
        batch.cpu.tolist(),
        batch.track.tolist(),
        strict=True,
    )
    for position, (ts, number, row, thread, cpu, track) in enumerate(rows):
        place = places.get(thread) if thread >= 0 else _track_name(trace, track)
        if place is None:
            place = places[thread] = _thread_name(trace, thread)
        event = shown[number]
        text = describe(position) if describe is not None else None
        text = event.text(row) if text is None else printable(text)
        time = seconds(ts, clock) if event.timed else "-"
        on = f"[{cpu:03}]" if cpu >= 0 else "[---]"
        yield f"{place:>23} {on} {event.flags(row)}{time:>16}: {event.label}: {text}\n"


class _Shown:
    """How the events of a class in a batch are shown."""

    def __init__(self, trace: Trace, batch: Batch, number: int) -> None:
        event_class = trace.event_classes[number]
        self.timed = event_class.timed
        self.label = printable(event_class.name or class_label(event_class))
        self._trace = trace
        self._table = batch.tables.get(number)
        self._fields = [
            (index, f"{printable(field.name)}=", field.type)
            for index, field in enumerate(event_class.fields)
            if field.role not in _IN_FRONT
        ]
        self._flags = self._numbers(event_class, Role.CONTEXT_FLAGS)
        self._count = self._numbers(event_class, Role.CONTEXT_PREEMPT_COUNT)

    def _numbers(self, event_class: EventClass, role: Role) -> Callable[[int], Any] | None:
        index = event_class.index_of(role)
        if index is None or self._table is None:
            return None
        column, held = self._table.column(index), event_class.fields[index].type
        return lambda row: value(column, held, row, self._trace.strings)

    def flags(self, row: int) -> str:
        """The letters of the latency format, and a blank, where events have them."""
        bits = None if self._flags is None else self._flags(row)
        if not isinstance(bits, int):
            return ""
        count = 0 if self._count is None else self._count(row)
        return f"{latency_letters(bits, count if isinstance(count, int) else 0)} "

    def text(self, row: int) -> str:
        """Every field as ``name=value``."""
        assert self._table is not None
        trace, table = self._trace, self._table
        return " ".join(
            name
            + text_of_value(
                held, value(table.column(index), held, row, trace.strings), trace.symbols
            )
            for index, name, held in self._fields
        )


def _thread_name(trace: Trace, index: int) -> str:
    thread = trace.threads[index]
    name = thread.name or trace.processes[thread.process].name or "<...>"
    return printable(f"{name}-{thread.tid}")


def _track_name(trace: Trace, index: int) -> str:
    return printable(trace.tracks[index].name) if index >= 0 else "-"
