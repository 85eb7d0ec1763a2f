"""Writes a projected trace as compact JSON, batch by batch."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.errors import UnsupportedError
from converter.formats.chrome.layout import (
    BIND_POINT,
    DISPLAY_TIME_UNIT,
    ENVIRONMENT,
    HEADER,
    HEADER_VERSION,
    SYSTEM_TRACE_EVENTS,
    TRACE_EVENTS,
)
from converter.formats.chrome.metadata import Tables, process_name, thread_name
from converter.formats.chrome.native import wrapped
from converter.formats.chrome.times import Scale
from converter.formats.chrome.writing.programs import Outline, ambiguous_rows
from converter.formats.chrome.writing.scheduling import LinePrinter, SchedulingText
from converter.formats.json_values.emit import TEXT_PADDING, Emitter
from converter.formats.json_values.emit_programs import Program, bind_plain, release_all
from converter.formats.json_values.programs import Bindable, bindable
from converter.ir.display.text import is_unicode
from converter.ir.events import Batch
from converter.ir.kinds import Kind
from converter.ir.semantics import FlowBinding
from converter.ir.trace import Trace
from converter.kernels.batches.event_arrays import EventArrays
from converter.kernels.batches.union import mark
from converter.projection.losses import LossReport
from converter.projection.passes.clock_rates import starts_of
from converter.projection.timeline_fields import DURATION
from converter.storage.sink import Sink
from converter.streaming.block_emission import (
    MOST_HELD,
    BlockEmission,
    emitter_count,
    parts_of,
)

_NANOSECOND_RATE = Fraction(10**9)
#: From about 48 days on (2**22 seconds) a double no longer holds every nanosecond; readers use doubles.
_EXACT_MICROSECONDS = 10**6 << 22
#: The unit, in seconds (24 days), that all times are moved by: the same for traces of about one time.
#: What is left is exact for another 24 days.
_MOVED_SECONDS = 1 << 21
_MAX_TICKS = (1 << 63) - 1
MOVED: Final = "times-moved"
#: Bytes of text that a part of a batch should become, less than a block: each part costs calls of the interpreter.
_PART = 7 << 18
_MOST_AT_ONCE = 1 << 15


#: Text of events, the lines of their scheduling, and the latest time of these.
_Block = tuple[memoryview, memoryview | None, int]
#: The text of events, and the number of the next event.
_Emitted = tuple[list[_Block], int]


def write(trace: Trace, sink: Sink, variant: str) -> LossReport:  # noqa: ARG001 - there is one
    """Write a trace that was projected to `capabilities.CAPABILITIES`.

    Returns:
        How far all times were moved, if they were.

    Raises:
        UnsupportedError: a time of a clock that is not of nanoseconds does not fit 64 bits.

    """
    writer = _Writer(trace, sink)
    try:
        writer.write()
        return writer.losses
    finally:
        writer.close()


class _Writer:
    def __init__(self, trace: Trace, sink: Sink) -> None:
        self._trace = trace
        self._sink = sink
        rate = trace.clock.ticks_per_second
        self._scale = Scale.of_rate(_NANOSECOND_RATE if rate is None else rate)
        # Texts of events do not depend on one another, so that several parts of a batch are emitted at once.
        self._scheduling = SchedulingText(trace)
        decimals = self._scale.decimals
        self._emission: BlockEmission[tuple[Emitter, LinePrinter], _Block] = BlockEmission(
            [
                (
                    Emitter(trace.strings, decimals),
                    LinePrinter(self._scheduling, trace.strings, decimals),
                )
                for _ in range(emitter_count())
            ]
        )
        # Prints for the batches that other threads write.
        self._printer = LinePrinter(self._scheduling, trace.strings, decimals)
        self._sidecar: dict[str, Any] = trace.sidecar.get("chrome", {})
        # The tables as the sidecar's metadata events define them, without changing the trace.
        self._replayed = Trace(format="chrome", sidecar={"chrome": {}})
        self._known = Tables(self._replayed)
        # A trace of this format has these in its sidecar.
        self._foreign = trace.format != "chrome"
        self._outlines: list[Outline] = []
        self._programs: dict[int, Program] = {}
        #: Classes whose programs use the columns unchanged.
        self._plain: set[int] = set()
        self._texts = _ThreadTexts(trace, self._known)
        # The number of events emitted at a time, once their size is known.
        self._at_once: int | None = None
        # By thread; the last entry is for -1, which is no thread.
        self._used = np.zeros(1, np.uint8)
        self._environment: dict[str, str | int] = {}
        self._first = True
        self.losses = LossReport()

    def write(self) -> None:
        opened = False
        for batch in self._trace.batches():
            if not opened and len(batch):
                self._open(batch)
                opened = True
            self._write_batch(batch)
        if not opened:
            self._open(None)
        self._sink.begin_batch(None)
        self._write_metadata()
        self._finish()

    def close(self) -> None:
        """Release the temporary file of scheduling."""
        self._emission.close()
        self._scheduling.close()

    # The outer object

    def _open(self, batch: Batch | None) -> None:
        if batch is not None:
            self._scale = replace(self._scale, offset=self._offset(batch))
        clock = self._trace.clock
        header: dict[str, Any] = {
            "version": HEADER_VERSION,
            "clock": {
                "ticks_per_second": str(self._scale.rate),
                "decimals": self._scale.decimals,
            },
            "added": self._added(),
        }
        if self._trace.environment:
            self._environment = dict(self._trace.environment)
            header[ENVIRONMENT] = self._environment
        if clock.epoch_ns is not None:
            header["clock"]["epoch_ns"] = clock.epoch_ns
        if self._scale.offset:
            header["offset"] = str(self._scale.offset)
            seconds = self._scale.offset // 10 ** (6 + self._scale.decimals)
            self.losses.add(MOVED, seconds=seconds)
        self._put(f'{{"{HEADER}":{_json(header)},\n"{TRACE_EVENTS}":[')

    def _added(self) -> list[str]:
        """Return the members that the file has in addition to the trace."""
        added = [BIND_POINT] if self._trace.semantics.flows is FlowBinding.ENCLOSING else []
        return [*added, DISPLAY_TIME_UNIT] if self._foreign else added

    def _offset(self, batch: Batch) -> int:
        """Return the offset subtracted from all times so that readers, which use doubles, see every nanosecond."""
        timed = np.ones(len(batch), np.bool_)
        for class_id in batch.tables:
            if not self._trace.event_classes[class_id].timed:
                timed[batch.positions(class_id)] = False
        units = self._scale.to_file(batch.ts[timed])
        if not len(units):
            return 0
        microsecond = int(10**self._scale.decimals)
        lowest = int(units.min())
        if max(abs(lowest), abs(int(units.max()))) < _EXACT_MICROSECONDS * microsecond:
            return 0
        if not (units % microsecond).any() and not self._has_switches():
            return 0
        step = microsecond * 10**6 * _MOVED_SECONDS
        offset = lowest // step * step
        # The difference must fit 64 bits, for this batch at least.
        return offset if offset >= -_MAX_TICKS and int(units.max()) - offset <= _MAX_TICKS else 0

    def _has_switches(self) -> bool:
        """Return True if there may be scheduling, whose times importers parse as seconds."""
        return any(one.kind is Kind.SCHED_SWITCH for one in self._trace.event_classes)

    def _finish(self) -> None:
        members = self._sidecar.get("members", {})
        texts = [f"{_json(name)}:{_member(value)}" for name, value in members.items()]
        if self._foreign:
            texts.append(f'"{DISPLAY_TIME_UNIT}":"ns"')
        if self._trace.environment != self._environment:
            # The environment has grown while the events were read.
            texts.append(f'"{ENVIRONMENT}":{_json(self._trace.environment)}')
        self._put("\n]" + "".join(f",\n{text}" for text in texts))
        # A member of that name in the trace is kept.
        if SYSTEM_TRACE_EVENTS not in members:
            for number, block in enumerate(self._scheduling.blocks()):
                self._put("" if number else f',\n"{SYSTEM_TRACE_EVENTS}":')
                self._sink.write(block)
        self._put("}\n")

    def _put(self, text: str) -> None:
        # A lone surrogate is not valid text.
        self._sink.write(text.encode("utf-8", "replace"))

    # Metadata

    def _share_text_ids(self) -> None:
        # A reader may meet the first one only now.
        if texts := self._sidecar.get("text_ids"):
            self._replayed.sidecar["chrome"]["text_ids"] = texts

    def _write_metadata(self) -> None:
        self._share_text_ids()
        texts = self._sidecar.get("metadata", [])
        self._known.add_metadata("".join(f"{text}\n" for text in texts).encode("utf-8", "replace"))
        self._write_lines(texts)
        self._write_lines(self._names())

    def _names(self) -> Iterable[str]:
        """Yield names that the sidecar does not have, and processes and threads that no event has."""
        trace, replayed = self._trace, self._replayed
        processes = {process.pid: process.name for process in replayed.processes}
        threads = {
            (replayed.processes[thread.process].pid, thread.tid): thread.name
            for thread in replayed.threads
        }
        used = np.zeros(len(trace.threads), np.uint8)
        used[: len(self._used) - 1] = self._used[:-1]
        seen = set()
        named = []
        for index, thread in enumerate(trace.threads):
            pid = trace.processes[thread.process].pid
            known = threads.get((pid, thread.tid))
            if known is None and (used[index] and thread.name == self._known.text_of(thread.tid)):
                known = thread.name
            seen.add(thread.process)
            if known != thread.name:
                shown = self._known.shown
                named.append(thread_name(shown(pid), shown(thread.tid), thread.name))
        for index, process in enumerate(trace.processes):
            known = processes.get(process.pid)
            if known is None and index in seen:
                known = self._known.text_of(process.pid)
            if known != process.name:
                yield process_name(self._known.shown(process.pid), process.name)
        yield from named

    def _write_lines(self, texts: Iterable[str]) -> None:
        for text in texts:
            self._put(f"\n{text}" if self._first else f",\n{text}")
            self._first = False

    # Events

    def _write_batch(self, batch: Batch) -> None:
        trace = self._trace
        if len(self._outlines) < len(trace.event_classes):
            new = map(Outline.of_class, trace.event_classes[len(self._outlines) :])
            self._outlines.extend(new)
            self._plain = {id for id, one in enumerate(self._outlines) if one.is_plain}
        if not len(batch):
            return
        self._share_text_ids()
        self._texts.extend()
        units = self._units(batch)
        self._grow_used()
        mark(self._used, np.ascontiguousarray(batch.thread))
        columns = EventArrays(batch, ts=units)
        is_own = self._sink.begin_batch(len(batch))
        # The writer of the object's end has the scheduling of all batches.
        writes_end = self._sink.writers[0] == 0
        scheduled = self._scheduling.classes(batch) if writes_end else None
        if not is_own:
            if scheduled is not None:
                self._scheduling.add(*self._printer.lines(scheduled, columns, 0, len(batch)))
            self._first = False
            return
        programs: list[Program | None] = [None] * len(self._outlines)
        for class_id in bind_plain(batch.tables, self._programs, self._plain, programs):
            programs[class_id] = self._bound(batch, class_id)

        def emit(made_by: tuple[Emitter, LinePrinter], events: range, _: bool) -> _Emitted:
            """Return the text of these events, or as much of it as may be held."""
            emitter, printer = made_by
            blocks: list[_Block] = []
            at, size = events.start, 0
            while at < events.stop and size < MOST_HELD:
                text, end = emitter.emit(programs, columns, self._texts.array, at, events.stop)
                lines, latest = None, -1
                if scheduled is not None:
                    lines, latest = printer.lines(scheduled, columns, at, end)
                blocks.append((text, lines, latest))
                size += len(text)
                at = end
            return blocks, at

        start = self._sink.tell()
        parts = parts_of(range(len(batch)), self._at_once)
        for text, lines, latest in self._emission.blocks(emit, parts):
            # The first event has no comma before it.
            self._sink.write(text[int(self._first) :], handover=True)
            self._first = False
            if lines is not None:
                self._scheduling.add(lines, latest)
        written = self._sink.tell() - start
        self._at_once = min(max(len(batch) * _PART // written, 1), _MOST_AT_ONCE)
        release_all(programs)

    def _grow_used(self) -> None:
        """Resize the flags to one per thread."""
        count = len(self._trace.threads)
        if len(self._used) <= count:
            grown = np.zeros(count + 1, np.uint8)
            grown[: len(self._used) - 1] = self._used[:-1]
            self._used = grown

    def _units(self, batch: Batch) -> NDArray[np.int64]:
        units = self._scale.to_file(np.ascontiguousarray(batch.ts))
        if not self._scale.offset:
            return units
        if len(units) and not (
            int(units.min()) - self._scale.offset >= -_MAX_TICKS
            and int(units.max()) - self._scale.offset <= _MAX_TICKS
        ):
            raise UnsupportedError(format="chrome", message="a time does not fit 64 bits")
        return units - self._scale.offset

    def _bound(self, batch: Batch, class_id: int) -> Program:
        """Return the program of a class, bound to its columns."""
        outline = self._outlines[class_id]
        event_class = outline.event_class
        table = batch.tables[class_id]
        bound: list[Bindable] = []
        columns = table.columns()
        if event_class.kind is Kind.NATIVE:
            columns = [wrapped(columns[0])]
        for field, is_time, column in zip(event_class.fields, outline.times, columns, strict=True):
            if is_time:
                assert isinstance(column, np.ndarray)
                ticks = np.ascontiguousarray(column)
                if field == DURATION and self._scale.rounds_down:
                    starts = starts_of(batch, class_id)
                    bound.append(self._scale.durations_to_file(ticks, starts))
                else:
                    bound.append(self._scale.to_file(ticks))
            elif isinstance(column, np.ndarray):
                bound.append(column)
            else:
                bound += bindable(column)
        if outline.declares_by_row:
            declared = np.zeros(len(table), np.bool_)
            for index in outline.arguments:
                rows = ambiguous_rows(event_class.fields[index].type, columns[index])
                if rows is not None:
                    declared |= rows
            bound.append(declared)
        program = self._programs.get(class_id)
        if program is None:
            program = outline.compile(self._trace.strings, binds=BIND_POINT in self._added())
            self._programs[class_id] = program
        program.bind(bound)
        return program


class _ThreadTexts:
    """The pid and tid texts of all threads, as events have them."""

    def __init__(self, trace: Trace, tables: Tables) -> None:
        self._trace = trace
        self._tables = tables
        self._done = 0
        self._threads = [b""]
        self.array = _joined(self._threads)

    def extend(self) -> None:
        """Add the texts of threads that are new in the table."""
        threads = self._trace.threads
        if self._done == len(threads):
            return
        for thread in threads[self._done :]:
            pid = self._tables.shown(self._trace.processes[thread.process].pid)
            tid = self._tables.shown(thread.tid)
            self._threads.append(f',"pid":{pid},"tid":{tid}'.encode("utf-8", "replace"))
        self._done = len(threads)
        self.array = _joined(self._threads)


def _joined(texts: list[bytes]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return the texts joined after an empty one, and their offsets."""
    joined = np.frombuffer(b"".join(texts) + bytes(TEXT_PADDING), np.uint8)
    return joined, np.cumsum([len(text) for text in texts], dtype=np.int64)


def _json(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    # Text that is not valid Unicode is escaped, so that it is read back.
    return text if is_unicode(text) else json.dumps(value, separators=(",", ":"))


def _member(value: Any) -> str:
    # A value that Python's parser could not handle is kept as its text.
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else _json(value)
