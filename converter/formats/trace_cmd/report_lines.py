"""The report of a trace.dat file, as `trace-cmd report -t` of trace-cmd 3.4 prints it."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from converter.formats.trace_cmd.container import Buffer
from converter.formats.trace_cmd.event_fields import EventFields, TextOf, signed
from converter.formats.trace_cmd.function_graph import Entry, Exit
from converter.formats.trace_cmd.plugin_texts import plugin_text
from converter.formats.trace_cmd.report_context import ReportContext
from converter.formats.trace_cmd.tasks import command_lines
from converter.ir.events import Batch, EventClass
from converter.ir.kinds import Kind, Role
from converter.ir.latency import HARDIRQ, IRQS_OFF, NEED_RESCHED, NEED_RESCHED_LAZY, SOFTIRQ
from converter.ir.trace import Trace

_ENTRY: Final = ("ftrace", "funcgraph_entry")
_EXIT: Final = ("ftrace", "funcgraph_exit")
_LABEL_WIDTH: Final = 21
#: Control characters, which must not reach a terminal: all but line ends, tabs, and bytes that are not UTF-8.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def report_lines(trace: Trace) -> Iterator[str] | None:
    """The lines of the report with their ends; None for a trace that is not read from such a file."""
    if "trace_cmd" not in trace.sidecar or trace.describe is None:
        return None
    return _Report(trace).lines()


@dataclass(slots=True)
class _Line:
    """A line of the report; `text` is None while that depends on the next event."""

    front: str
    text: str | None


class _Call(NamedTuple):
    """A call that waits for the next event of its buffer, which says whether it is a leaf."""

    line: _Line
    thread: int
    entry: Entry
    row: int

    def ends_with(self, thread: int, returning: Exit, row: int) -> bool:
        """Finish the line; whether the exit is on it."""
        if thread != self.thread or returning.function(row) != self.entry.function(self.row):
            self.nests()
            return False
        self.line.text = self.entry.leaf(self.row, returning.duration(row))
        return True

    def nests(self) -> None:
        """Finish the line of a call in which something else happens."""
        self.line.text = self.entry.nested(self.row)


class _Shown:
    """How the events of one class in a batch are shown."""

    def __init__(self, report: _Report, batch: Batch, number: int, printed: TextOf) -> None:
        trace = report.trace
        event_class = trace.event_classes[number]
        table = batch.tables[number]
        fields = EventFields(event_class, table, trace.strings, printed)
        point = (event_class.category, event_class.name)
        self.is_lost = event_class.kind is Kind.DISCARDED
        self.entry = Entry(fields, report.context) if point == _ENTRY else None
        self.exit = Exit(fields) if point == _EXIT else None
        self.counts = fields.numbers("count") if self.is_lost else None
        self.text = plugin_text(event_class, fields, report.context) or printed
        self.label = f"{event_class.name}:".ljust(_LABEL_WIDTH) if event_class.name else ""
        if event_class.kind is Kind.NATIVE:
            self.label = f"[UNKNOWN EVENT] {event_class.name}:"
            data = fields.lists("payload") or []
            self.text = lambda row, _: bytes(data[row]).hex()
        elif not event_class.native and not self.is_lost:
            # A line of a text buffer.
            messages = fields.texts("message") or []
            self.text = lambda row, _: messages[row]
        self._flags = self._numbers(event_class, fields, Role.CONTEXT_FLAGS)
        self._depths = self._numbers(event_class, fields, Role.CONTEXT_PREEMPT_COUNT)

    @staticmethod
    def _numbers(event_class: EventClass, fields: EventFields, role: Role) -> list[int] | None:
        index = event_class.index_of(role)
        return None if index is None else fields.numbers(event_class.fields[index].name)

    def flags(self, row: int) -> str:
        """Interrupts off, reschedule, context, and how often preemption and migration are disabled, as letters.

        trace-cmd has fewer letters than the kernel for its flags (`latency.latency_letters`).
        """
        bits = 0 if self._flags is None else self._flags[row]
        depths = 0 if self._depths is None else self._depths[row]
        off = "d" if bits & IRQS_OFF else "."
        reschedule = "N" if bits & NEED_RESCHED else "L" if bits & NEED_RESCHED_LAZY else "."
        within = ".hsH"[bool(bits & HARDIRQ) + 2 * bool(bits & SOFTIRQ)]
        counts = "".join([f"{depth:x}" if depth else "." for depth in (depths & 15, depths >> 4)])
        return f"{off}{reschedule}{within}{counts}"


class _Report:
    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        kept = trace.sidecar["trace_cmd"]
        names = command_lines(kept["sections"], big_endian=kept["big_endian"])
        shown = {pid: name.decode("utf-8", "surrogateescape") for pid, name in names.items()}
        self.context = ReportContext(shown, trace.symbols, trace.clock)
        #: Lines that are not printed yet: those behind a call whose next event has not come.
        self._pending: deque[_Line] = deque()
        #: By buffer: the call that waits for its next event.
        self._calls: dict[int, _Call] = {}
        #: By track (-1: none): what stands in front of lines where there are instances.
        self._instances = {-1: ""}

    def lines(self) -> Iterator[str]:
        """All lines."""
        yield f"cpus={self._cpu_count()}\n"
        pending = self._pending
        names = [buffer.name.decode("utf-8", "surrogateescape") for buffer in self._buffers()]
        width = max(map(len, names), default=0)
        if width:
            self._instances = {-1: " " * (width + 2)}
            self._instances |= {
                number: f"{track.name:>{width}}: " for number, track in enumerate(self.trace.tracks)
            }
        for batch in self.trace.batches():
            for line in self._events(batch):
                pending.append(line)
                while pending and pending[0].text is not None:
                    yield _printed(pending.popleft())
        for call in self._calls.values():
            call.nests()
        for line in pending:
            yield _printed(line)

    def _buffers(self) -> list[Buffer]:
        buffers: list[Buffer] = self.trace.sidecar["trace_cmd"]["buffers"]
        return buffers

    def _cpu_count(self) -> int:
        cpus = [data.cpu for buffer in self._buffers() for data in buffer.cpus]
        stated = self.trace.environment.get("cpu_count", 0)
        return max(max(cpus, default=-1) + 1, stated if isinstance(stated, int) else 0)

    def _events(self, batch: Batch) -> Iterator[_Line]:
        trace = self.trace
        assert trace.describe is not None
        describe = trace.describe(batch)

        def printed(_: int, position: int) -> str:
            return describe(position) or ""

        cpus = self.context.cpus = batch.cpu.tolist()
        times = self.context.times = batch.ts.tolist()
        shown = {number: _Shown(self, batch, number, printed) for number in batch.tables}
        rows = zip(
            times,
            batch.class_id.tolist(),
            batch.row.tolist(),
            batch.thread.tolist(),
            cpus,
            batch.track.tolist(),
            strict=True,
        )
        for position, (ts, number, row, thread, cpu, track) in enumerate(rows):
            event = shown[number]
            instance = self._instances[track]
            if event.is_lost:
                yield _Line(f"{instance}{_lost(cpu, event.counts, row)}", "")
                continue
            call = self._calls.pop(track, None)
            if event.exit is not None and call is not None:
                if call.ends_with(thread, event.exit, row):
                    continue
            elif call is not None:
                call.nests()
            pid = trace.threads[thread].tid if thread >= 0 else 0
            front = (
                f"{instance}{self.context.task(pid):>16}-{pid:<5} [{cpu:03}] {event.flags(row)} "
                f"{self.context.time(ts)}: {event.label} "
            )
            line = _Line(front, None)
            if event.entry is not None:
                self._calls[track] = _Call(line, thread, event.entry, row)
            elif event.exit is not None:
                line.text = event.exit.text(row)
            else:
                line.text = event.text(row, position)
            yield line


def _lost(cpu: int, counts: list[int] | None, row: int) -> str:
    count = -1 if counts is None else signed(counts[row], 64)
    return f"CPU:{cpu} [EVENTS DROPPED]" if count < 0 else f"CPU:{cpu} [{count} EVENTS DROPPED]"


def _printed(line: _Line) -> str:
    text = f"{line.front}{line.text}"
    if not text.isprintable():
        text = _UNPRINTABLE.sub(lambda found: found[0].encode("unicode_escape").decode(), text)
    return f"{text}\n"
