"""Labels of samples that are written, as bytes: each combination once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from converter.formats.profiles.pprof.layout import (
    PID,
    PROCESS_NAME,
    THREAD_NAME,
    TID,
    LabelField,
    SampleField,
)
from converter.formats.profiles.pprof.writing.strings import Strings
from converter.ir.columns import ListColumn, string_ids, take
from converter.ir.events import EventClass, Field, Table
from converter.ir.field_classes import StringClass
from converter.ir.kinds import Role
from converter.ir.trace import Trace
from converter.kernels.protobuf.encode import NUMBER, encode_messages
from converter.kernels.tables.strings import StringTable

_OF_SAMPLE = frozenset({Role.FRAMES, Role.COUNT})


class Labels:
    """Combinations of labels by number; 0 is none."""

    def __init__(self, trace: Trace, strings: Strings) -> None:
        self._trace = trace
        self._strings = strings
        self._held = StringTable()
        self._of_threads: dict[int, int] = {-1: 0}

    def add(self, event_class: EventClass, table: Table) -> NDArray[np.int32]:
        """Return the labels of the samples of a class: fields that are neither stack nor weight."""
        fields = [
            (index, field)
            for index, field in enumerate(event_class.fields)
            if field.role not in _OF_SAMPLE
        ]
        count, width = len(table), len(fields)
        if not width or not count:
            return np.zeros(count, np.int32)
        columns = np.zeros((count, width, len(LabelField)), np.uint64)
        for position, (index, field) in enumerate(fields):
            columns[:, position, :] = self._columns(field, table, index)
        return self._interned(columns.reshape(count * width, -1), width)

    def of_threads(self, threads: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the labels that say the threads of samples."""
        distinct, which = np.unique(threads, return_inverse=True)
        for thread in distinct.tolist():
            if thread not in self._of_threads:
                self._of_threads[thread] = self._of_thread(thread)
        found = np.array([self._of_threads[thread] for thread in distinct.tolist()], np.int32)
        return found[which.reshape(-1)]

    def encoded(self) -> ListColumn:
        """Return the bytes of all combinations, by number."""
        texts = [self._held[number] for number in range(len(self._held))]
        offsets = np.cumsum([0, *map(len, texts)], dtype=np.int64)
        return ListColumn(offsets, np.frombuffer(b"".join(texts), np.uint8))

    def _columns(self, field: Field, table: Table, index: int) -> NDArray[np.uint64]:
        """Return key, text, number and unit of a field, a row per sample."""
        found = np.zeros((len(table), len(LabelField)), np.uint64)
        found[:, 0] = self._strings.index(field.name)
        column = table.column(index)
        if isinstance(field.type, StringClass):
            texts = self._strings.indexes(string_ids(column, self._trace.strings))
            found[:, 1] = np.where(texts == 0, np.uint64(self._strings.empty_text), texts)
        else:
            found[:, 2] = np.asarray(column).astype(np.int64).view(np.uint64)
            found[:, 3] = self._strings.index(field.unit)
        return found

    def _of_thread(self, number: int) -> int:
        thread = self._trace.threads[number]
        process = self._trace.processes[thread.process]
        labels = []
        for key, value in ((PID, process.pid), (TID, thread.tid)):
            labels.append((self._strings.index(key), 0, value, 0))
        for key, name in ((PROCESS_NAME, process.name), (THREAD_NAME, thread.name)):
            if name:
                text = self._strings.index(name)
                labels.append((self._strings.index(key), text, 0, 0))
        return int(self._interned(np.array(labels, np.uint64), len(labels))[0])

    def _interned(self, columns: NDArray[np.uint64], width: int) -> NDArray[np.int32]:
        fields = [
            (int(number), NUMBER, np.ascontiguousarray(columns[:, index]), None)
            for index, number in enumerate(LabelField)
        ]
        data, offsets = encode_messages(SampleField.LABEL, len(columns), fields)
        starts = np.ascontiguousarray(offsets[:-1:width])
        ids = np.empty(len(starts), np.int32)
        self._held.intern_spans(data, starts, np.diff(offsets[::width]), ids)
        return ids


def bytes_of(encoded: ListColumn, numbers: NDArray[np.int32]) -> ListColumn:
    """Return the bytes of combinations by their numbers."""
    found = take(encoded, numbers)
    assert isinstance(found, ListColumn)
    return found
