"""Labels of samples: those with the same keys and kinds of values, in the same order, are fields of one class.

Labels that say the process and the thread of a sample, as perf_to_profile writes them, are no fields.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

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
from converter.formats.profiles.pprof.tables import Tables
from converter.ir.columns import Column, ListColumn, StructColumn
from converter.ir.events import Field
from converter.ir.field_classes import (
    ArrayClass,
    IntegerClass,
    Member,
    StringClass,
    StructureClass,
)
from converter.ir.trace import Process, Thread, Trace
from converter.kernels.protobuf.decode import repeated_spans
from converter.kernels.tables.strings import StringTable

_NUMBER: Final = IntegerClass(64, signed=True)
#: All labels of a sample in one field, where there are too many combinations of keys for a class each.
_LABEL: Final = StructureClass(
    (
        Member("key", StringClass()),
        Member("str", StringClass()),
        Member("num", _NUMBER),
        Member("num_unit", StringClass()),
    )
)
LABELS: Final = Field("labels", ArrayClass(_LABEL))
#: The most combinations of keys that have classes of their own.
_MOST_SHAPES: Final = 1 << 10
#: The number of the shape whose samples have the field `LABELS`.
MIXED: Final = -1
#: Bits of labels that the thread of a sample says.
_OF_PID, _OF_TID, _OF_PROCESS, _OF_THREAD = 1, 2, 4, 8


@dataclass(slots=True)
class Labels:
    """The labels of some samples, those of sample i at ``offsets[i]:offsets[i + 1]``; texts are ids of strings.

    `shape` is the number of the combination of keys of each sample, or `MIXED`.
    """

    offsets: NDArray[np.int64]
    key: NDArray[np.int32]
    text: NDArray[np.int32]
    number: NDArray[np.int64]
    unit: NDArray[np.int32]
    thread: NDArray[np.int32]
    shape: NDArray[np.int32]

    def column(self, rows: NDArray[np.int64], position: int, field: Field) -> Column:
        """Return the values of the label at a position among those of each row."""
        at = self.offsets[rows] + position
        return self.text[at] if isinstance(field.type, StringClass) else self.number[at]

    def lists(self, rows: NDArray[np.int64]) -> Column:
        """Return all labels of each row, of the type of `LABELS`."""
        starts, sizes = self.offsets[rows], self.offsets[rows + 1] - self.offsets[rows]
        offsets = np.zeros(len(rows) + 1, np.int64)
        np.cumsum(sizes, out=offsets[1:])
        at = np.arange(int(offsets[-1])) + np.repeat(starts - offsets[:-1], sizes)
        members = (self.key[at], self.text[at], self.number[at], self.unit[at])
        return ListColumn(offsets, StructColumn(len(at), members))


class LabelReader:
    """Reads the labels of samples, and finds their threads."""

    def __init__(self, trace: Trace, tables: Tables) -> None:
        self._trace = trace
        self._tables = tables
        strings = trace.strings
        #: The combinations of keys so far: fields by the number of the shape.
        self.shapes: list[tuple[Field, ...]] = [()]
        self._shapes = StringTable()
        self._of_keys = {
            strings.intern(PID): _OF_PID,
            strings.intern(TID): _OF_TID,
            strings.intern(PROCESS_NAME): _OF_PROCESS,
            strings.intern(THREAD_NAME): _OF_THREAD,
        }
        self._processes: dict[int, int] = {}
        self._threads: dict[tuple[int, int], int] = {}

    def read(self, starts: NDArray[np.int64], sizes: NDArray[np.int64]) -> Labels:
        """Return the labels of samples."""
        tables = self._tables
        messages = tables.messages
        offsets = np.zeros(len(starts) + 1, np.int64)
        found = repeated_spans(messages.data, starts, sizes, SampleField.LABEL, offsets)
        spans = np.ascontiguousarray(found[:, 0]), np.ascontiguousarray(found[:, 1])
        columns = messages.columns(spans, *LabelField)
        key, text, unit = (tables.text(columns[i], "label") for i in (0, 1, 3))
        number = columns[2].astype(np.int64)
        is_text = columns[1] != 0
        # Of a text and a number, the text counts.
        labels = Labels(
            offsets=offsets,
            key=key,
            text=text,
            number=np.where(is_text, 0, number),
            unit=np.where(is_text, 0, unit).astype(np.int32),
            thread=np.full(len(starts), -1, np.int32),
            shape=np.zeros(len(starts), np.int32),
        )
        if len(key):
            is_text = self._without_threads(labels, is_text)
            self._find_shapes(labels, is_text)
        return labels

    def _without_threads(self, labels: Labels, is_text: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Find the threads of samples, and remove the labels that say them; return which of the others are texts."""
        part = np.zeros(len(labels.key), np.int32)
        for key, bit in self._of_keys.items():
            texts = bit in (_OF_PROCESS, _OF_THREAD)
            part[(labels.key == key) & (is_text == texts)] = bit
        part[labels.unit != 0] = 0
        part[(part != 0) & (labels.number < 0)] = 0
        if not (part == _OF_TID).any():
            return is_text
        count = len(labels.thread)
        sample = np.repeat(np.arange(count), np.diff(labels.offsets))
        values = np.zeros((count, 4), np.int64)
        given = np.zeros(count, np.int32)
        at = [np.full(count, -1, np.int64) for _ in range(4)]
        for column, bit in enumerate((_OF_PID, _OF_TID, _OF_PROCESS, _OF_THREAD)):
            # The first of several labels counts.
            which = np.flatnonzero(part == bit)[::-1]
            at[column][sample[which]] = which
            value = labels.text if bit in (_OF_PROCESS, _OF_THREAD) else labels.number
            values[sample[which], column] = value[which]
            given[sample[which]] |= bit
        owned = (given & _OF_TID) != 0
        keys = np.column_stack([values, given])[owned]
        distinct, which = np.unique(keys, axis=0, return_inverse=True)
        known = np.array([self._thread(*one) for one in distinct.tolist()], np.int32)
        thread, said = known[which.reshape(-1)].T
        labels.thread[owned] = thread
        removed = np.zeros(len(labels.key), np.bool_)
        for column, bit in enumerate((_OF_PID, _OF_TID, _OF_PROCESS, _OF_THREAD)):
            removed[at[column][owned][(said & bit) != 0]] = True
        kept = ~removed
        labels.offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(kept)])[labels.offsets]
        labels.key, labels.text = labels.key[kept], labels.text[kept]
        labels.number, labels.unit = labels.number[kept], labels.unit[kept]
        return is_text[kept]

    def _thread(self, pid: int, tid: int, comm: int, thread_comm: int, given: int) -> list[int]:
        """Return the thread of these labels, and the bits of those that it says: a name may be another one by now."""
        trace = self._trace
        process = self._processes.get(pid)
        if process is None:
            process = self._processes[pid] = len(trace.processes)
            trace.processes.append(Process(pid))
        thread = self._threads.get((pid, tid))
        if thread is None:
            thread = self._threads[pid, tid] = len(trace.threads)
            trace.threads.append(Thread(tid, process))
        said = given & (_OF_PID | _OF_TID)
        for bit, of, text in (
            (_OF_PROCESS, trace.processes[process], comm),
            (_OF_THREAD, trace.threads[thread], thread_comm),
        ):
            if given & bit:
                name = trace.strings[text].decode("utf-8", "surrogateescape")
                of.name = of.name or name
                said |= bit if of.name == name else 0
        return [thread, said]

    def _find_shapes(self, labels: Labels, is_text: NDArray[np.bool_]) -> None:
        word = np.empty(
            len(labels.key), [("key", np.int32), ("unit", np.int32), ("text", np.int32)]
        )
        word["key"], word["unit"], word["text"] = labels.key, labels.unit, is_text
        size = word.dtype.itemsize
        sizes = np.diff(labels.offsets) * size
        new = StringTable()
        at = labels.offsets[:-1] * size
        here = np.empty(len(sizes), np.int32)
        new.intern_spans(word.view(np.uint8), at, sizes, here)
        known = np.zeros(len(new), np.int32)
        for number in range(1, len(new)):
            known[number] = self._shape(new[number], word.dtype)
        labels.shape = known[here]

    def _shape(self, words: bytes, dtype: np.dtype[np.void]) -> int:
        if len(self.shapes) > _MOST_SHAPES:
            # Only those that are known already have classes.
            probe = self._shapes.intern(words)
            return probe if probe < len(self.shapes) else MIXED
        number = self._shapes.intern(words)
        if number == len(self.shapes):
            self.shapes.append(
                tuple(self._field(*one) for one in np.frombuffer(words, dtype).tolist())
            )
        return number

    def _field(self, key: int, unit: int, is_text: int) -> Field:
        name, unit_name = (
            self._trace.strings[id].decode("utf-8", "surrogateescape") for id in (key, unit)
        )
        if is_text:
            return Field(name, StringClass())
        return Field(name, _NUMBER, unit=unit_name)
