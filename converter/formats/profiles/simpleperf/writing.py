"""Writes a file: one that was read unchanged is copied, all else is encoded from samples and context switches.

What samples are of is said before them, and their files and threads after them: they wait in a temporary file.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.formats.profiles.copies import copy_or_encode
from converter.formats.profiles.simpleperf.embedding import record
from converter.formats.profiles.simpleperf.layout import (
    END,
    EXECUTION_TYPES,
    HEADER,
    LOST_SAMPLES,
    META_TEXTS,
    OFF_CPU,
    UNWINDING,
    EntryField,
    FileField,
    LostField,
    MetaField,
    RecordField,
    SampleField,
    SwitchField,
    ThreadField,
)
from converter.formats.profiles.simpleperf.scan import scan_records, with_sizes
from converter.formats.profiles.simpleperf.tables import Files, Records
from converter.formats.profiles.spool import Spool
from converter.formats.side_table import print_side_table
from converter.ir.columns import ListColumn, StructColumn
from converter.ir.distinct_values import map_distinct
from converter.ir.events import Batch, EventClass, Table
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Trace
from converter.kernels.protobuf.encode import ENCODED, NUMBER, encode_messages, varint
from converter.projection.domain.call_stacks import members_of
from converter.storage.sink import Sink

_BYTES: Final = 2
_NO_SYMBOL: Final = -1
#: The numbers of threads that share the id of another one, and of samples without a thread.
_FIRST_NUMBER: Final = 1 << 30
_LAST_NUMBER: Final = (1 << 31) - 1
_NO_THREAD: Final = -1
_RECORDS: Final = "records"


def write(trace: Trace, sink: Sink, variant: str) -> None:
    """Write a trace that was projected to the format, or read from it.

    Args:
        trace: projected to `capabilities.capabilities`, or from the format's reader.
        sink: the output file.
        variant: not used.

    """
    del variant
    copy_or_encode(trace, sink, "simpleperf", _Encoder)


class _Encoder:
    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._spool = Spool()
        self._symbols = _Symbols(trace)
        self._events: dict[str, int] = {}
        self._samples = 0
        self._numbers: list[int] = []
        self._taken: set[int] = set()

    def add(self, batch: Batch) -> None:
        """Add the events of a batch."""
        count = len(batch)
        starts, sizes = np.zeros(count, np.int64), np.zeros(count, np.int64)
        parts = [np.zeros(0, np.uint8)]
        size = 0
        threads = self._threads_of(batch)
        for number, table in batch.tables.items():
            if not len(table):
                continue
            event_class = self._trace.event_classes[number]
            at = batch.positions(number)
            encode = self._samples_of if event_class.kind is Kind.SAMPLE else self._switches_of
            times = batch.ts[at].astype(np.uint64)
            data, offsets = encode(event_class, table, times, threads[at])
            starts[at], sizes[at] = offsets[:-1] + size, np.diff(offsets)
            parts.append(data)
            size += len(data)
        self._spool.add(_RECORDS, with_sizes(np.concatenate(parts), starts, sizes).data)

    def _threads_of(self, batch: Batch) -> NDArray[np.uint64]:
        """Return the number of the thread of each event, as a varint has it."""
        for thread in self._trace.threads[len(self._numbers) :]:
            number = thread.tid
            if number in self._taken or not 0 <= number <= _LAST_NUMBER:
                number = _FIRST_NUMBER + len(self._numbers)
                while number in self._taken:
                    number += 1
            self._taken.add(number)
            self._numbers.append(number)
        numbers = np.array([*self._numbers, _NO_THREAD], np.int64)
        return numbers[batch.thread].view(np.uint64)

    def _samples_of(
        self,
        event_class: EventClass,
        table: Table,
        times: NDArray[np.uint64],
        threads: NDArray[np.uint64],
    ) -> _Encoded:
        count = len(table)
        self._samples += count
        event = self._events.setdefault(event_class.name, len(self._events))
        weights = event_class.index_of(Role.COUNT)
        assert weights is not None
        chains, offsets = self._chains(event_class, table)
        fields: list[tuple[int, int, NDArray[Any], NDArray[np.int64] | None]] = [
            (SampleField.TIME, NUMBER, times, None),
            (SampleField.THREAD_ID, NUMBER, threads, None),
            (SampleField.CALLCHAIN, ENCODED, chains, offsets),
            (SampleField.EVENT_COUNT, NUMBER, _unsigned(table.column(weights)), None),
            (SampleField.EVENT_TYPE_ID, NUMBER, np.full(count, event, np.uint64), None),
        ]
        if UNWINDING in event_class.fields:
            column = table.column(event_class.fields.index(UNWINDING))
            assert isinstance(column, ListColumn)
            number = int(SampleField.UNWINDING_RESULT)
            held = (number, ENCODED, np.ascontiguousarray(column.values), column.offsets)
            wrapped = encode_messages(number, count, [held])
            fields.append((number, ENCODED, *wrapped))
        return encode_messages(RecordField.SAMPLE, count, fields)

    def _chains(self, event_class: EventClass, table: Table) -> _Encoded:
        """Return the encoded entries of call stacks, and the offsets of samples in them."""
        index = event_class.index_of(Role.FRAMES)
        assert index is not None
        column = table.column(index)
        assert isinstance(column, ListColumn)
        assert isinstance(column.values, StructColumn)
        # The values may begin before the first list, and end after the last.
        first, last = int(column.offsets[0]), int(column.offsets[-1])
        members = members_of(column.values, self._trace.strings)
        function, mapping, address = (one[first:last] for one in members[:3])
        lists = column.offsets - first
        types = np.zeros(last - first, np.uint64)
        if EXECUTION_TYPES in event_class.fields:
            held = table.column(event_class.fields.index(EXECUTION_TYPES))
            assert isinstance(held, ListColumn)
            if np.array_equal(np.diff(held.offsets), np.diff(lists)):
                values = np.asarray(held.values)[int(held.offsets[0]) : int(held.offsets[-1])]
                types = _unsigned(values)
        file, symbol = self._symbols.find(function, mapping)
        entries, offsets = encode_messages(
            SampleField.CALLCHAIN,
            last - first,
            [
                (EntryField.VADDR_IN_FILE, NUMBER, np.ascontiguousarray(address), None),
                (EntryField.FILE_ID, NUMBER, _unsigned(file), None),
                (EntryField.SYMBOL_ID, NUMBER, _unsigned(symbol), None),
                (EntryField.EXECUTION_TYPE, NUMBER, types, None),
            ],
        )
        return entries, offsets[lists]

    def _switches_of(
        self,
        event_class: EventClass,
        table: Table,
        times: NDArray[np.uint64],
        threads: NDArray[np.uint64],
    ) -> _Encoded:
        del event_class
        return encode_messages(
            RecordField.CONTEXT_SWITCH,
            len(table),
            [
                (SwitchField.SWITCH_ON, NUMBER, _unsigned(table.column(0)), None),
                (SwitchField.TIME, NUMBER, times, None),
                (SwitchField.THREAD_ID, NUMBER, threads, None),
            ],
        )

    def close(self) -> None:
        """Release the temporary file."""
        self._spool.close()

    def write(self, sink: Sink) -> None:
        """Write the file."""
        trace = self._trace
        sink.write(HEADER + record(RecordField.META_INFO, self._meta()))
        for block in self._spool.blocks(_RECORDS, skipped=0):
            sink.write(block)
        lost = trace.environment.get(LOST_SAMPLES)
        numbers = {LostField.SAMPLE_COUNT: self._samples}
        if isinstance(lost, int) and 0 < lost < 1 << 64:
            numbers[LostField.LOST_COUNT] = lost
        sink.write(record(RecordField.LOST, b"".join(_number(*one) for one in numbers.items())))
        for file in self._symbols.files():
            sink.write(record(RecordField.FILE, file))
        self._threads_of(_NOTHING)
        for number, thread in zip(self._numbers, trace.threads, strict=True):
            process = trace.processes[thread.process]
            name = thread.name or (process.name if process.pid == thread.tid else "")
            content = _number(ThreadField.THREAD_ID, number)
            content += _number(ThreadField.PROCESS_ID, process.pid)
            content += _sized(ThreadField.THREAD_NAME, name.encode("utf-8", "replace"))
            sink.write(record(RecordField.THREAD, content))
        sink.write(record(RecordField.SIDE_TABLE, print_side_table(trace, self._numbers)))
        sink.write(END)

    def _meta(self) -> bytes:
        """Return what is said of the recording: the events, and what the environment has by the names of this."""
        environment = self._trace.environment
        content = b"".join(
            _sized(MetaField.EVENT_TYPE, name.encode("utf-8", "surrogateescape"))
            for name in self._events
        )
        for field in META_TEXTS:
            text = environment.get(field.name.lower())
            if isinstance(text, str):
                content += _sized(field, text.encode("utf-8", "replace"))
        return content + _number(MetaField.TRACE_OFFCPU, int(environment.get(OFF_CPU) == 1))


class _Symbols:
    """The files of frames, and the symbols of each, by their first occurrence."""

    def __init__(self, trace: Trace) -> None:
        self._strings = trace.strings
        self._frames: dict[int, int] = {}
        #: By number of a frame: its file and its symbol.
        self._file: list[int] = []
        self._symbol: list[int] = []
        #: By path: the functions of the file.
        self._files: dict[int, list[int]] = {}
        self._file_numbers: dict[int, int] = {}
        self._mangled: dict[tuple[int, int], int] = {}
        data = trace.sidecar.get("simpleperf", {}).get("files")
        if isinstance(data, bytes) and data:
            held = np.frombuffer(data, np.uint8)
            self._mangled = Files(
                Records(held, scan_records(held, 0, len(held))[0]), trace.strings
            ).mangled_names()

    def find(
        self, function: NDArray[np.int32], mapping: NDArray[np.int32]
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return the file and the symbol of frames."""
        keys = mapping.astype(np.int64) << 32 | function
        number = map_distinct(keys, self._frame)
        return np.array(self._file, np.int32)[number], np.array(self._symbol, np.int32)[number]

    def _frame(self, key: int) -> int:
        number = self._frames.get(key)
        if number is None:
            number = self._frames[key] = len(self._frames)
            mapping, function = key >> 32, key & 0xFFFFFFFF
            functions = self._files.setdefault(mapping, [])
            self._file.append(self._file_numbers.setdefault(mapping, len(self._file_numbers)))
            self._symbol.append(len(functions) if function else _NO_SYMBOL)
            functions += [function] if function else []
        return number

    def files(self) -> list[bytes]:
        """Return the messages of files, in the order of their numbers."""
        return [self._message(path, functions) for path, functions in self._files.items()]

    def _message(self, path: int, functions: list[int]) -> bytes:
        strings = self._strings
        parts = [_number(FileField.ID, self._file_numbers[path])]
        parts.append(_sized(FileField.PATH, strings[path]))
        parts += [_sized(FileField.SYMBOL, strings[one]) for one in functions]
        mangled = [self._mangled.get((path, one), one) for one in functions]
        if mangled != functions:
            parts += [_sized(FileField.MANGLED_SYMBOL, strings[one]) for one in mangled]
        return b"".join(parts)


_Encoded = tuple[NDArray[np.uint8], NDArray[np.int64]]
_NOTHING: Final = Batch(
    ts=np.zeros(0, np.int64), class_id=np.zeros(0, np.int32), row=np.zeros(0, np.int32), tables={}
)


def _unsigned(column: Any) -> NDArray[np.uint64]:
    """Return numbers as varints have them: negative ones are those of 64 bits."""
    return np.asarray(column).astype(np.int64).view(np.uint64)


def _number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


def _sized(field: int, content: bytes) -> bytes:
    return varint(field << 3 | _BYTES) + varint(len(content)) + content
