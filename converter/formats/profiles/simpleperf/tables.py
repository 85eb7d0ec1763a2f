"""The records of a file that samples refer to: files with their symbols, threads, and what is said of the recording."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.formats.profiles.simpleperf.layout import (
    FileField,
    LostField,
    MetaField,
    RecordField,
    ThreadField,
)
from converter.formats.profiles.simpleperf.scan import CONTENT, CONTENT_SIZE, KIND
from converter.kernels.protobuf.decode import (
    BOOLEAN,
    SPAN,
    VARINT,
    decode_messages,
    repeated_spans,
)
from converter.kernels.tables.strings import StringTable

_Numbers = NDArray[np.int64]


class Records:
    """The records of a file, as `scan.scan_records` finds them."""

    def __init__(self, data: NDArray[np.uint8], rows: NDArray[np.int64]) -> None:
        self.data = data
        self.rows = rows
        #: The number of messages with damage so far.
        self.damaged = 0

    def spans(self, kind: RecordField) -> tuple[_Numbers, _Numbers]:
        """Return the offsets and sizes of the contents of the records of a kind."""
        return contents(self.rows[self.rows[:, KIND] == kind])

    def columns(
        self, spans: tuple[_Numbers, _Numbers], **fields: tuple[int, int, Any]
    ) -> dict[str, NDArray[Any]]:
        """Return columns of fields of messages, each given as its number, the way to read it and its type."""
        count = len(spans[0])
        found = {
            name: np.zeros((count, 2) if way == SPAN else count, dtype)
            for name, (_, way, dtype) in fields.items()
        }
        numbers = [number for number, _, _ in fields.values()]
        ways = [way for _, way, _ in fields.values()]
        program = numbers, ways, list(found.values())
        self.damaged += decode_messages(self.data, *spans, program)[0]
        return found

    def lists(
        self, spans: tuple[_Numbers, _Numbers], field: int
    ) -> tuple[_Numbers, tuple[_Numbers, _Numbers]]:
        """Return offsets (n + 1) into a repeated field of messages, and the offsets and sizes of its values."""
        offsets = np.zeros(len(spans[0]) + 1, np.int64)
        return offsets, columns_of(repeated_spans(self.data, *spans, field, offsets))

    def texts(self, spans: tuple[_Numbers, _Numbers], strings: StringTable) -> NDArray[np.int32]:
        """Return the ids of texts."""
        ids = np.zeros(len(spans[0]), np.int32)
        strings.intern_spans(self.data, *spans, ids)
        return ids


def contents(rows: NDArray[np.int64]) -> tuple[_Numbers, _Numbers]:
    """Return the offsets and sizes of the contents of records."""
    return np.ascontiguousarray(rows[:, CONTENT]), np.ascontiguousarray(rows[:, CONTENT_SIZE])


def columns_of(spans: NDArray[np.int64]) -> tuple[_Numbers, _Numbers]:
    """Return offsets and sizes as columns of their own."""
    return np.ascontiguousarray(spans[:, 0]), np.ascontiguousarray(spans[:, 1])


class Files:
    """The files of frames by their ids, the first of several with one id; texts are ids of strings."""

    def __init__(self, records: Records, strings: StringTable) -> None:
        spans = records.spans(RecordField.FILE)
        found = records.columns(
            spans, id=(FileField.ID, VARINT, np.uint32), path=(FileField.PATH, SPAN, np.int64)
        )
        self._ids, self._row = np.unique(found["id"], return_index=True)
        self.path = records.texts(columns_of(found["path"]), strings)
        self.offsets, symbols = records.lists(spans, FileField.SYMBOL)
        self.symbol = records.texts(symbols, strings)
        #: The names of symbols before they were made readable, those of file i at ``offsets[i]:offsets[i + 1]``.
        self.mangled_offsets, mangled = records.lists(spans, FileField.MANGLED_SYMBOL)
        self.mangled = records.texts(mangled, strings)

    def find(
        self, file: NDArray[np.uint32], symbol: NDArray[np.int32]
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.bool_]]:
        """Return functions and paths of frames, and for which the file or the symbol is missing."""
        row = np.full(len(file), len(self.path), np.int64)
        if len(self._ids):
            at = np.minimum(np.searchsorted(self._ids, file), len(self._ids) - 1)
            row = np.where(self._ids[at] == file, self._row[at], len(self.path))
        first = np.append(self.offsets[:-1], 0)[row]
        count = np.append(np.diff(self.offsets), 0)[row]
        is_known = (symbol >= 0) & (symbol < count)
        function = np.append(self.symbol, np.int32(0))[np.where(is_known, first + symbol, -1)]
        dangling = (row == len(self.path)) | (~is_known & (symbol != -1))
        return function, np.append(self.path, np.int32(0))[row], dangling

    def mangled_names(self) -> dict[tuple[int, int], int]:
        """Return the names before they were made readable, by path and symbol, of those that have another one."""
        # Symbol i of a file has name i.
        file = np.repeat(np.arange(len(self.path)), np.diff(self.mangled_offsets))
        index = np.arange(len(self.mangled)) - self.mangled_offsets[file]
        has_symbol = index < np.diff(self.offsets)[file]
        file, index, mangled = file[has_symbol], index[has_symbol], self.mangled[has_symbol]
        symbol = self.symbol[self.offsets[file] + index]
        other = symbol != mangled
        pairs = zip(self.path[file[other]].tolist(), symbol[other].tolist(), strict=True)
        return dict(zip(pairs, mangled[other].tolist(), strict=True))


@dataclass(slots=True)
class ThreadRecord:
    """A thread as a file says it; the name is the id of a string."""

    tid: int
    pid: int
    name: int


def threads_of(records: Records, strings: StringTable) -> Iterable[ThreadRecord]:
    """Return the threads of a file."""
    found = records.columns(
        records.spans(RecordField.THREAD),
        tid=(ThreadField.THREAD_ID, VARINT, np.int32),
        pid=(ThreadField.PROCESS_ID, VARINT, np.int32),
        name=(ThreadField.THREAD_NAME, SPAN, np.int64),
    )
    names = records.texts(columns_of(found["name"]), strings)
    return map(ThreadRecord, found["tid"].tolist(), found["pid"].tolist(), names.tolist())


def lost_of(records: Records) -> int:
    """Return the number of lost samples: the last record about it counts."""
    found = records.columns(
        records.spans(RecordField.LOST), lost=(LostField.LOST_COUNT, VARINT, np.uint64)
    )
    return int(found["lost"][-1:].sum())


def event_types_of(records: Records, strings: StringTable) -> NDArray[np.int32]:
    """Return the names of sampled events by their ids."""
    _, names = records.lists(records.spans(RecordField.META_INFO), MetaField.EVENT_TYPE)
    return records.texts(names, strings)


def meta_of(records: Records, texts: Iterable[MetaField]) -> tuple[dict[str, bytes], bool]:
    """Return texts about the recording, those that are there, and True if it has samples off the CPU."""
    spans = records.spans(RecordField.META_INFO)
    fields: dict[str, tuple[int, int, Any]] = {
        field.name.lower(): (field, SPAN, np.int64) for field in texts
    }
    found = records.columns(spans, off=(MetaField.TRACE_OFFCPU, BOOLEAN, np.bool_), **fields)
    is_off = bool(found.pop("off").any())
    said: dict[str, bytes] = {}
    for name, column in found.items():
        # The offset of a text that is missing is 0, where no text can be.
        for start, size in column[column[:, 0] > 0][-1:].tolist():
            said[name] = records.data[start : start + size].tobytes()
    return said, is_off


_LAST: Final = np.uint64((1 << 63) - 1)


def not_beyond(values: NDArray[np.uint64]) -> tuple[NDArray[np.int64], int]:
    """Return numbers as signed ones, at most the last, and how many are beyond."""
    beyond = int(np.count_nonzero(values > _LAST))
    if beyond:
        values = np.minimum(values, _LAST)
    return values.view(np.int64), beyond
