"""Reads the text of perf script: blocks of lines are scanned, and tracepoints become the records that were printed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.errors import TraceError
from converter.formats.ftrace.lines.invented_symbols import InventedSymbols
from converter.formats.ftrace.lines.line_reader import LineReader, LineRecords
from converter.formats.ftrace.lines.named_formats import named_formats
from converter.formats.ftrace.lines.scan.line_scan import (
    LINE_COMMENT,
    LINE_EVENT,
    LINE_OTHER,
    count_lines,
)
from converter.formats.ftrace.lines.text_formats import declared_program
from converter.formats.perf.script import sniff
from converter.formats.perf.script.layout import environment, header, is_timed, variant
from converter.formats.perf.script.mapping import KINDS
from converter.formats.perf.script.reading.blocks import blocks
from converter.formats.perf.script.reading.classes import Part, ScriptClasses
from converter.formats.perf.script.reading.columns import Stacks, texts_at
from converter.formats.perf.script.reading.frames import StackTexts
from converter.formats.perf.script.reading.scan import LINE_RECORD, LINE_SAMPLE, ScriptLines
from converter.formats.perf.script.reading.tasks import Task, Tasks
from converter.formats.perf.script.reading.texts import ScriptTexts
from converter.formats.perf.script.recognition import EVENT_OR_ADDRESS
from converter.formats.perf.script.side_table import Tables, parse_tables, read_tables
from converter.ir.columns import Column
from converter.ir.events import Batch, NativeRecords, Table
from converter.ir.locations import Locations
from converter.ir.semantics import Semantics
from converter.ir.trace import ClockDomain, Trace
from converter.kernels.batches.gather import Segments
from converter.kernels.batches.union import number_rows
from converter.storage.source import Source, View

#: Bytes of text of a batch: some 60,000 lines.
WINDOW: Final = 4 << 20
#: Enough for perf's header, which lists the attributes of all events, and the first samples.
_HEAD: Final = 1 << 18
_FORMAT: Final = "perf_script"


def read(source: Source, *, formats: str | None = None) -> Trace:
    """Open the text of perf script. Its events are decoded by `Trace.batches`, block by block.

    Args:
        source: the text.
        formats: path of a recording of the same kernel, or of a directory with its events/*/*/format, which say what
            fields tracepoints have.

    Raises:
        TraceError: the source has no line of perf script near its start.

    """
    try:
        return _Reader(source, formats).trace
    except TraceError as error:
        raise error.within(format=_FORMAT, path=source.name) from error


class _Reader(LineReader):
    def __init__(self, source: Source, formats: str | None) -> None:
        head = source.read(0, _HEAD)
        tables = read_tables(source)
        # A file that is said to be of this format may lack what others are recognised by.
        known = tables is not None or sniff(head)
        if not known and (b"\0" in head or not EVENT_OR_ADDRESS.search(head)):
            expected = (
                "lines of perf script, such as 'bash 1977 [000] 17284.993652: 250000 cycles: '"
            )
            raise TraceError(offset=0, field="header", expected=expected, found=repr(head[:40]))
        if tables is not None:
            source = View(source.name, source, 0, tables.offset)
        self.source = source
        self.timed = is_timed(head)
        super().__init__(ScriptTexts(named_formats(formats).of, escaped=tables is not None))
        self.trace = Trace(
            _FORMAT,
            variant=variant(head),
            semantics=Semantics(kinds=KINDS),
            clock=ClockDomain("perf"),
            environment=environment(head),
            symbols=InventedSymbols(self.texts.symbols),
            make_batches=self._batches,
            describe=self.describe,
            progress=lambda: (self.done, source.size),
        )
        self.trace.clock_domains = [self.trace.clock]
        kept = {"head": header(head), "tables": b"" if tables is None else tables.text}
        self.trace.sidecar = {_FORMAT: {name: data for name, data in kept.items() if data}}
        self.trace.source_batches = self.trace.make_batches
        self.stacks = StackTexts(self.trace.strings)
        self.tasks = Tasks(self.trace, self._read_tables(tables))
        self.classes = ScriptClasses(self.trace, self.texts)
        #: By the number of an event's name: whether it is a tracepoint.
        self._tracepoint: NDArray[np.uint8] = np.zeros(1, np.uint8)

    def _read_tables(self, tables: Tables | None) -> dict[Task, int] | None:
        """Take what the side table says; return the threads by what names them in lines."""
        if tables is None:
            return None
        from converter.formats.side_table import side_table_of
        from converter.ir.table_forms import DAMAGE

        content = parse_tables(tables.text)
        for name, form in content["events"].items():
            self.texts.declared[name] = declared_program(form)
        try:
            table = side_table_of(content, numbered=False)
            tasks: dict[Task, int] = {
                (number, process, name.encode("utf-8", "surrogateescape")): index
                for index, (name, process, number) in enumerate(content["tasks"])
            }
            if len(tasks) != len(table.threads):
                raise ValueError("a name for each thread")
        except DAMAGE as error:
            raise TraceError(f"not the tables of a trace: {error}", field="tables") from error
        table.add_tasks(self.trace)
        self.trace.clock = table.clock
        self.trace.clock_domains = table.clock_domains
        self.trace.environment = table.environment
        return tasks

    def _batches(self) -> Iterator[Batch]:
        self.done = 0
        last_ts = 0
        for offset, block in blocks(self.source, self.trace.bytes_of_a_window(WINDOW)):
            lines = self._scanned(block, last_ts)
            self.warn_of_others(
                block, lines, self.source.name, "lines that are no samples are kept as messages"
            )
            self.done = offset + len(block)
            if lines.count:
                last_ts = int(lines.ts[lines.count - 1])
            rows = np.flatnonzero(lines.kind[: lines.count] != LINE_COMMENT)
            if len(rows):
                yield self._batch(block, lines, rows)

    def _scanned(self, block: memoryview, last_ts: int) -> ScriptLines:
        count = max(count_lines(block), 1)
        known = len(self.texts.names)
        if known + count > len(self._tracepoint):
            larger: NDArray[np.uint8] = np.zeros(2 * (known + count), np.uint8)
            larger[:known] = self._tracepoint[:known]
            self._tracepoint = larger
        self.tasks.texts.reserve(count)
        lines = ScriptLines(
            count,
            self.texts.names,
            self.tasks.texts,
            self.stacks,
            self._tracepoint,
            timed=self.timed,
        )
        lines.scan(block, last_ts)
        return lines

    def _batch(self, block: memoryview, lines: ScriptLines, rows: NDArray[np.intp]) -> Batch:
        kind = lines.kind[rows]
        records = self.inverted(
            block, lines, rows[(kind == LINE_EVENT) | (kind == LINE_RECORD)].astype(np.int64)
        )
        others = rows[kind == LINE_OTHER]
        if len(others):
            records.location[others] = lines.start[others] + (len(records.segments) << 32)
            records.size[others] = lines.end[others] - lines.start[others]
            records.segments.append(block)
        stacks = Stacks(self.stacks)
        parts = self._parts(lines, rows, kind, stacks)
        class_id = self.classes.of_lines(lines, rows, kind, parts, records.program)
        row: NDArray[np.int32] = np.empty(len(rows), np.int32)
        counts: NDArray[np.int32] = np.zeros(len(self.trace.event_classes), np.int32)
        number_rows(class_id, row, counts)
        locations = Locations(
            class_id, row, records.location[rows], records.size[rows].astype(np.uint32), counts
        )
        held = Segments(records.segments)
        tables: dict[int, Table] = {}
        for id in np.flatnonzero(counts).tolist():
            own = rows[np.flatnonzero(class_id == id)]
            known = self.classes.parts[id]
            extra = [self._column(block, lines, own, stacks, part) for part in known]
            if self.classes.is_sample[id]:
                tables[id] = Table(len(own), extra)
                continue
            table: Table = self.classes.table(
                id, len(own), locations.of_class(id), held, big_endian=False
            )
            if extra:
                table = Table(len(own), [*table.lazy_columns(), *extra])
            tables[id] = table
        starts, sizes = _native(block, lines, rows)
        self.described = block, lines.text[rows], lines.end[rows]
        self._learn_processes(lines, rows, kind, records)
        return Batch(
            ts=lines.ts[rows],
            class_id=class_id,
            row=row,
            tables=tables,
            thread=self.tasks.threads_of(block, lines.task[rows]),
            cpu=lines.cpu[rows],
            native=NativeRecords(_FORMAT, block, starts, sizes),
        )

    def _parts(
        self,
        lines: ScriptLines,
        rows: NDArray[np.intp],
        kind: NDArray[np.uint8],
        stacks: Stacks,
    ) -> NDArray[np.int64]:
        """Return the parts that each line has, as bits."""
        stack = lines.stack[rows]
        bits = np.where(lines.flags[rows] == 1, 0, 1 << Part.NO_TIME)
        has_stack = stack >= 0
        for part, found in (
            (Part.WEIGHT, lines.period[rows] >= 0),
            (Part.MISC, lines.misc[rows] >= 0),
            (Part.BEFORE, lines.before[rows] >= 0),
            (Part.AFTER, lines.after[rows] >= 0),
            (Part.STACK, has_stack & (kind != LINE_SAMPLE)),
            (Part.OFFSETS, stacks.distant[np.maximum(stack, 0)] != 0),
            (Part.LINES, stacks.rest[np.maximum(stack, 0)] >= 0),
        ):
            bits |= found.astype(np.int64) << part
        return bits

    def _column(
        self,
        block: memoryview,
        lines: ScriptLines,
        rows: NDArray[np.intp],
        stacks: Stacks,
        part: Part,
    ) -> Column | Callable[[], Column]:
        match part:
            case Part.WEIGHT:
                column: Column = lines.period[rows]
                return column
            case Part.MISC:
                return texts_at(block, lines.misc[rows], lines.misc_size[rows])
            case Part.BEFORE:
                return texts_at(block, lines.before[rows], lines.before_size[rows])
            case Part.AFTER:
                return texts_at(block, lines.after[rows], lines.after_size[rows])
            case Part.LINES:
                found: Column = stacks.rest[lines.stack[rows]]
                return found
        return stacks.columns(lines.stack[rows])[part is Part.OFFSETS]

    def _learn_processes(
        self,
        lines: ScriptLines,
        rows: NDArray[np.intp],
        kind: NDArray[np.uint8],
        records: LineRecords,
    ) -> None:
        """Take the processes of tasks that records say."""
        some = rows[kind == LINE_RECORD]
        some = some[self.classes.says_process(records.program[some])]
        if not len(some):
            return
        numbers: list[Any] = []
        for offset in self.classes.task_offsets:
            values: NDArray[np.int32] = np.empty(len(some), np.int32)
            Segments(records.segments).integers(
                records.location[some],
                records.size[some].astype(np.uint32),
                offset,
                4,
                False,
                values.view(np.uint8),
            )
            numbers.append(values.tolist())
        self.tasks.processes.update(zip(numbers[1], numbers[0], strict=True))


def _native(
    block: memoryview, lines: ScriptLines, rows: NDArray[np.intp]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where the text of each event starts, and its size up to the next one."""
    starts = lines.start[rows]
    bounds = np.append(lines.start[: lines.count], len(block))
    sizes = bounds[rows + 1] - starts
    return starts, sizes
