"""Reads ftrace text: blocks of lines are scanned, and the records that their texts were printed from made again."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.errors import TraceError, TraceWarning, note
from converter.formats.ftrace.lines.event_texts import (
    EventTexts,
)
from converter.formats.ftrace.lines.invented_symbols import InventedSymbols
from converter.formats.ftrace.lines.line_reader import LineReader
from converter.formats.ftrace.lines.named_formats import NamedFormats, named_formats
from converter.formats.ftrace.lines.scan.graph_lines import GraphClock
from converter.formats.ftrace.lines.scan.line_scan import (
    FORM_BARE,
    FORM_RAW,
    FORM_USUAL,
    LINE_COMMENT,
    LINE_EVENT,
    LINE_LOST,
    LINE_OTHER,
    Lines,
    count_lines,
)
from converter.formats.ftrace.lines.table_remarks import parsed, read_tables
from converter.formats.ftrace.lines.text_blocks import text_blocks
from converter.formats.ftrace.lines.text_classes import TextClasses
from converter.formats.ftrace.lines.text_formats import declared_program
from converter.formats.ftrace.lines.text_mapping import EVENT_REMARK, OWN, TABLES_REMARK
from converter.formats.ftrace.lines.tracer_texts import DURATION_OFFSET, leaf_programs
from converter.formats.ftrace.mapping import KINDS
from converter.formats.ftrace_text import sniff
from converter.formats.ftrace_text.layout import OF_TOOLS, Heading, heading
from converter.formats.ftrace_text.reading.tasks import Tasks
from converter.formats.ftrace_text.recognition import EVENT_LINE
from converter.formats.ftrace_text.search import text_of_json, text_of_page
from converter.ir.events import Batch, NativeRecords
from converter.ir.locations import Locations
from converter.ir.semantics import Semantics
from converter.ir.trace import ClockDomain, Trace, Track
from converter.kernels.batches.gather import Segments
from converter.kernels.batches.union import number_rows
from converter.kernels.tables.strings import StringTable
from converter.storage.source import Source

#: Bytes of text of a batch: some 40,000 lines.
WINDOW: Final = 4 << 20
#: Enough for the header of any tracer, and the first events.
_HEAD: Final = 1 << 16
_LAST: Final = (1 << 63) - 1
_LONGEST_CALL: Final = 1 << 60
_FRAME: Final = re.compile(rb"(?:\[[ \d.]{1,20}\](?:\[ *[CT]\d{1,10}\])?)?[ \t]*=>")
#: A kernel's address space does not have more memory for a line than this.
_LONGEST_LINE: Final = 16 << 20


def read(
    source: Source,
    *,
    clock: str | None = None,
    formats: str | None = None,
    machine: str | None = None,
) -> Trace:
    """Open ftrace text. Its events are decoded by `Trace.batches`, block by block.

    Args:
        source: the text.
        clock: the name of the clock of its times (tracefs/trace_clock), which the text does not say.
        formats: path of a trace.dat file of the same kernel, or of a directory with its events/*/*/format, which say
            what fields texts have.
        machine: the output of ``uname -m`` there, which says what numbers system calls have.

    Raises:
        TraceError: the source has no line of ftrace near its start.

    """
    try:
        return _Reader(source, clock, named_formats(formats), machine).trace
    except TraceError as error:
        raise error.within(format="ftrace_text", path=source.name) from error


class _Reader(LineReader):
    def __init__(
        self, source: Source, clock: str | None, formats: NamedFormats, machine: str | None
    ) -> None:
        head = source.read(0, _HEAD)
        page = text_of_page(source, head) or text_of_json(source, head)
        if page is not None:
            source, head = page, page.read(0, _HEAD)
        if not sniff(head):
            expected = "lines of ftrace, such as 'bash-1977 [000] d..2. 17284.993652: event: text'"
            raise TraceError(offset=0, field="header", expected=expected, found=repr(head[:40]))
        self.source = source
        self.heading = heading(head)
        self.own = OWN in head
        super().__init__(EventTexts(formats.of, escaped=self.own))
        #: By event of the current block: the program of the end of a call that returns on its line, -1 for others;
        #: None if there is no such call.
        self._leaves: NDArray[np.int32] | None = None
        #: Of a function graph: the CPUs as far as this pass has come.
        self._graph: GraphClock | None = None
        self.trace = Trace(
            "ftrace_text",
            semantics=Semantics(kinds=KINDS),
            clock=_clock(self.heading, clock),
            environment=_environment(self.heading, machine or formats.machine),
            symbols=InventedSymbols(self.texts.symbols),
            make_batches=self._batches,
            describe=self.describe,
            progress=lambda: (self.done, source.size),
        )
        self.trace.clock_domains = [self.trace.clock]
        self.tables = read_tables(source) if self.own else None
        self.table = None if self.tables is None else parsed(self.tables)
        if self.table is not None:
            self.trace.clock = self.table.clock
            self.trace.clock_domains = self.table.clock_domains
            self.trace.environment = self.table.environment
        event = EVENT_LINE.search(head)
        remarks = head[: event.start() if event else len(head)].split(b"\n")
        self.kept: dict[str, Any] = {
            "head": b"".join(one + b"\n" for one in remarks if _is_header(one)),
            "remarks": [],
            "tables": self.tables or b"",
        }
        self.trace.sidecar = {"ftrace_text": self.kept}
        self.trace.source_batches = self.trace.make_batches
        if self.heading.untimed or self.heading.form != FORM_USUAL:
            note(self.trace.warnings, _warning(source.name, self.heading.form))
        #: Of a report of trace-cmd: the names of buffers, each of which has a track.
        self._buffers = StringTable() if self.heading.of_report and not self.own else None
        self.classes = TextClasses(self.trace, self.texts)
        self.tasks = Tasks(self.trace, self.table)

    def _batches(self) -> Iterator[Batch]:
        self.done = 0
        self._graph = GraphClock() if self.heading.graph else None
        last_ts = 0
        begun = False
        for offset, block in blocks(self.source, self.trace.bytes_of_a_window(WINDOW)):
            lines = self._scanned(block, last_ts)
            if self.own:
                self._declare(block, lines)
            rows = np.flatnonzero(_wanted(block, lines, begun=begun))
            begun = begun or bool((lines.kind[: lines.count] == LINE_EVENT).any())
            if not begun:
                self.warn_of_others(
                    block, lines, self.source.name, "no line is an event; all are kept as messages"
                )
            self.done = offset + len(block)
            if lines.count:
                last_ts = int(lines.ts[lines.count - 1])
            if len(rows):
                yield self._batch(block, lines, rows.astype(np.int64))

    def _scanned(self, block: memoryview, last_ts: int) -> Lines:
        lines = Lines(
            count_lines(block),
            self.texts.names,
            self.heading.flags,
            ticks=self.heading.ticks,
            of_report=self.heading.of_report,
            graph=self._graph,
            form=self.heading.form,
            buffers=self._buffers,
        )
        lines.scan(block, last_ts)
        _date_lost_events(lines)
        return lines

    def _declare(self, block: memoryview, lines: Lines) -> None:
        """Take the formats of events that remarks declare."""
        kind = lines.kind[: lines.count]
        for row in np.flatnonzero(kind == LINE_COMMENT).tolist():
            line = bytes(block[int(lines.start[row]) : int(lines.end[row])])
            if not line.startswith(EVENT_REMARK):
                continue
            label, _, form = line[len(EVENT_REMARK) :].partition(b" ")
            name = label.decode("utf-8", "surrogateescape")
            if name not in self.texts.declared:
                self.texts.declared[name] = declared_program(form)
                self.kept["remarks"].append(line + b"\n")

    def _batch(self, block: memoryview, lines: Lines, rows: NDArray[np.int64]) -> Batch:
        kind = lines.kind[rows]
        class_id: NDArray[np.int32] = np.empty(len(rows), np.int32)
        location: NDArray[np.int64] = np.empty(len(rows), np.int64)
        size: NDArray[np.uint32] = np.empty(len(rows), np.uint32)
        segments: list[memoryview | NDArray[np.uint8]] = []
        for here, (ids, at, sizes, segment) in (
            (kind == LINE_EVENT, self._events(block, lines, rows[kind == LINE_EVENT], segments)),
            (kind == LINE_LOST, self._lost(lines, rows[kind == LINE_LOST])),
            (kind == LINE_OTHER, self._others(block, lines, rows[kind == LINE_OTHER])),
        ):
            if not len(at):
                continue
            class_id[here] = ids
            location[here], size[here] = at, sizes
            if segment is not None:
                location[here] += len(segments) << 32
                segments.append(segment)
        found = class_id, location, size, lines.ts[rows]
        if self._leaves is not None:
            events = np.flatnonzero(kind == LINE_EVENT)
            is_leaf = self._leaves >= 0
            leaves = events[is_leaf], self._leaves[is_leaf], segments
            rows, found = self._with_ends(lines, rows, found, leaves)
        return self._of_columns(block, lines, rows, found, segments)

    def _with_ends(
        self,
        lines: Lines,
        rows: NDArray[np.int64],
        found: _Columns,
        leaves: tuple[NDArray[np.intp], NDArray[np.int32], list[memoryview | NDArray[np.uint8]]],
    ) -> tuple[NDArray[np.int64], _Columns]:
        """Add the ends of calls that return on the line of the call, right after it."""
        class_id, location, size, ts = found
        at, ends, segments = leaves
        duration: NDArray[np.int64] = np.empty(len(at), np.int64)
        Segments(segments).integers(
            location[at], size[at], DURATION_OFFSET, 8, False, duration.view(np.uint8)
        )
        key = ends.astype(np.int64) * 2 + (lines.flags[rows[at]] >= 0)
        ids: NDArray[np.int32] = np.empty(len(at), np.int32)
        for one in np.flatnonzero(np.bincount(key)).tolist():
            ids[key == one] = self.classes.of_program(one >> 1, flags=bool(one & 1))
        # What takes longer than any trace is damage.
        times = np.minimum(ts[at], _LAST - _LONGEST_CALL) + np.clip(duration, 0, _LONGEST_CALL)
        after = at + 1
        return np.insert(rows, after, rows[at]), (
            np.insert(class_id, after, ids),
            np.insert(location, after, location[at]),
            np.insert(size, after, size[at]),
            np.insert(ts, after, times),
        )

    def _of_columns(
        self,
        block: memoryview,
        lines: Lines,
        rows: NDArray[np.int64],
        found: _Columns,
        segments: list[memoryview | NDArray[np.uint8]],
    ) -> Batch:
        class_id, location, size, ts = found
        row: NDArray[np.int32] = np.empty(len(rows), np.int32)
        counts: NDArray[np.int32] = np.zeros(len(self.trace.event_classes), np.int32)
        number_rows(class_id, row, counts)
        locations = Locations(class_id, row, location, size, counts)
        held = Segments(segments)
        tables = {
            id: self.classes.table(
                id, int(counts[id]), locations.of_class(id), held, big_endian=False
            )
            for id in np.flatnonzero(counts).tolist()
        }
        starts, ends = lines.start[rows], lines.end[rows]
        self.described = block, lines.text[rows], ends
        return Batch(
            ts=ts,
            class_id=class_id,
            row=row,
            tables=tables,
            thread=self.tasks.threads_of(block, lines, rows),
            cpu=lines.cpu[rows],
            track=self._tracks(lines, rows),
            native=NativeRecords("ftrace_text", block, starts, ends - starts),
        )

    def _tracks(self, lines: Lines, rows: NDArray[np.int64]) -> NDArray[np.int32] | None:
        if self._buffers is None:
            return None
        # The first of the strings is the empty one.
        for number in range(len(self.trace.tracks) + 1, len(self._buffers)):
            name = self._buffers[number].decode("utf-8", "surrogateescape")
            self.trace.tracks.append(Track(name))
        tracks: NDArray[np.int32] = np.maximum(lines.buffer[rows] - 1, np.int32(-1))
        return tracks

    def _events(
        self,
        block: memoryview,
        lines: Lines,
        rows: NDArray[np.int64],
        segments: list[memoryview | NDArray[np.uint8]],
    ) -> _Found:
        """Return classes, locations and sizes of the records of events, whose memory is added to `segments` first."""
        program, location, size, memory = self.inverted(block, lines, rows)
        segments += memory
        program = program[rows]
        self._leaves = self._ends_of_leaves(program)
        key = program.astype(np.int64) * 2 + (lines.flags[rows] >= 0)
        ids: NDArray[np.int32] = np.zeros(2 * len(self.texts.programs), np.int32)
        for one in np.flatnonzero(np.bincount(key, minlength=1)).tolist():
            ids[one] = self.classes.of_program(one >> 1, flags=bool(one & 1))
        return ids[key], location[rows], size[rows], None

    def _ends_of_leaves(self, program: NDArray[np.int32]) -> NDArray[np.int32] | None:
        ends: NDArray[np.int32] = np.full(len(program), -1, np.int32)
        for leaf, end in leaf_programs():
            number = self.texts.number_of(leaf)
            if number >= 0 and (here := program == number).any():
                ends[here] = self.texts.add_program(end)
        return ends if (ends >= 0).any() else None

    def _lost(self, lines: Lines, rows: NDArray[np.int64]) -> _Found:
        if not len(rows):
            return _NOTHING
        counts = lines.text[rows].astype("<i8")
        ids: NDArray[np.int32] = np.full(len(rows), self.classes.lost(), np.int32)
        at: NDArray[np.int64] = 8 * np.arange(len(rows), dtype=np.int64)
        sizes: NDArray[np.int64] = np.full(len(rows), 8, np.int64)
        return ids, at, sizes, counts.view(np.uint8)

    def _others(self, block: memoryview, lines: Lines, rows: NDArray[np.int64]) -> _Found:
        if not len(rows):
            return _NOTHING
        ids: NDArray[np.int32] = np.full(len(rows), self.classes.other(), np.int32)
        return ids, lines.start[rows], lines.end[rows] - lines.start[rows], block


#: Class, location, size and time of events.
_Columns = tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.uint32], NDArray[np.int64]]
_Found = tuple[
    NDArray[np.int32],
    NDArray[np.int64],
    NDArray[np.int64],
    memoryview | NDArray[np.uint8] | None,
]
_NONE: Final[NDArray[np.int64]] = np.zeros(0, np.int64)
_NOTHING: Final[_Found] = (np.zeros(0, np.int32), _NONE, _NONE, None)


def _date_lost_events(lines: Lines) -> None:
    """Give reports of lost events, which have no time, that of the event that follows."""
    kind = lines.kind[: lines.count]
    # Those that this converter wrote have a time.
    lost = np.flatnonzero((kind == LINE_LOST) & (lines.pid[: lines.count] < 0))
    events = np.flatnonzero(kind == LINE_EVENT)
    if len(lost) and len(events):
        following = np.searchsorted(events, lost)
        dated = following < len(events)
        lines.ts[lost[dated]] = lines.ts[events[following[dated]]]


def _wanted(block: memoryview, lines: Lines, *, begun: bool) -> NDArray[np.bool_]:
    """Return the lines that are not remarks, and not those of tools before the first event."""
    kind = lines.kind[: lines.count]
    wanted: NDArray[np.bool_] = (kind == LINE_EVENT) | (kind == LINE_LOST) | (kind == LINE_OTHER)
    if begun:
        return wanted
    events = np.flatnonzero(kind == LINE_EVENT)
    first = int(events[0]) if len(events) else lines.count
    for row in np.flatnonzero(kind[:first] == LINE_OTHER).tolist():
        line = bytes(block[int(lines.start[row]) : int(lines.end[row])])
        wanted[row] = OF_TOOLS.fullmatch(line[:200]) is None
    return wanted


def _is_header(line: bytes) -> bool:
    is_remark = line.startswith(b"#") and not line.startswith((EVENT_REMARK, TABLES_REMARK))
    return is_remark or line.startswith(b"cpus=")


def blocks(source: Source, window: int) -> Iterator[tuple[int, memoryview]]:
    """Yield the text in blocks of whole lines, with their offsets. The frames of a stack stay with their event."""
    yield from text_blocks(source, window, _whole_lines, _LONGEST_LINE)


def _whole_lines(block: memoryview) -> int:
    """Return where the last event starts whose line is whole: what follows may be frames of its stack."""
    tail = 1 << 16
    while True:
        text = bytes(block[-tail:])
        base = len(block) - len(text)
        at = text.rfind(b"\n")
        while (end := text.rfind(b"\n", 0, max(at, 0))) >= 0:
            before = text.rfind(b"\n", 0, end) + 1
            # Lost events have the time of the event after them.
            if not (_FRAME.match(text, end + 1) or text.startswith(b"CPU:", before)):
                return base + end + 1
            at = end
        if base == 0:
            return 0
        tail *= 16


def _clock(found: Heading, name: str | None) -> ClockDomain:
    if found.ticks and found.form != FORM_RAW:
        return ClockDomain(name or "counter", None)
    return ClockDomain(name or "local")


#: Machines in names of releases of distributions, and Debian's names for them.
_IN_RELEASE: Final = re.compile(r"[.-](x86_64|amd64|aarch64|arm64|riscv64|s390x|ppc64le)$")
_MACHINES: Final = {"amd64": "x86_64", "arm64": "aarch64"}
#: By the form of lines: what they do not say.
_UNTOLD: Final = {
    FORM_USUAL: "the function graph says no times: they are made of durations, for each CPU from 0 on; "
    "record with 'echo 1 > options/funcgraph-abstime' to have them",
    FORM_BARE: "the lines say no times, tasks and CPUs: events are numbered; "
    "read with 'echo 1 > options/context-info' to have them",
    FORM_RAW: "the lines say no names of tasks and events, and no fields; "
    "read with 'echo 0 > options/raw' to have them",
}


def _warning(path: str, form: int) -> TraceWarning:
    return TraceWarning(
        message=_UNTOLD[form], format="ftrace_text", path=path, field="lines", is_damage=False
    )


def _environment(found: Heading, machine: str) -> dict[str, str | int]:
    environment: dict[str, str | int] = {}
    if found.release:
        environment["kernel_release"] = found.release
    if not machine and (in_release := _IN_RELEASE.search(found.release)):
        machine = _MACHINES.get(in_release[1], in_release[1])
    if machine:
        environment["machine"] = machine
    if found.cpus is not None:
        environment["cpus"] = found.cpus
    if found.tracer:
        environment["tracer"] = found.tracer
    return environment
