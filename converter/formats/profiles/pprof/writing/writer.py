"""Writes a profile: what was read from one unchanged is copied, all else is encoded from samples."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from converter.errors import TraceError
from converter.formats.profiles.copies import copy_or_encode
from converter.formats.profiles.pprof.layout import ProfileField, SampleField, ValueTypeField
from converter.formats.profiles.pprof.mapping import type_name, unit_read, unit_written
from converter.formats.profiles.pprof.tables import Messages, Tables
from converter.formats.profiles.pprof.writing.known_locations import KnownLocations
from converter.formats.profiles.pprof.writing.labels import Labels, bytes_of
from converter.formats.profiles.pprof.writing.locations import Bases, location_messages
from converter.formats.profiles.pprof.writing.strings import Strings
from converter.formats.profiles.samples import SampleColumns, unit_of
from converter.ir.columns import ListColumn, take
from converter.ir.events import Batch
from converter.ir.kinds import Kind
from converter.ir.trace import Trace
from converter.kernels.protobuf.encode import ENCODED, NUMBER, PACKED, encode_messages, varint
from converter.projection.domain.stack_table import StackTable
from converter.storage.sink import Sink

#: The samples that are encoded at a time.
_SAMPLES: Final = 1 << 16


def write(trace: Trace, sink: Sink, variant: str) -> None:
    """Write a trace of samples that was projected to the format, or read from it.

    Args:
        trace: projected to `capabilities.capabilities`, or from the reader of profiles.
        sink: the output file.
        variant: not used.

    """
    del variant
    copy_or_encode(trace, sink, "pprof", _Encoder)


class _Encoder:
    """The samples of a trace, with numbers of their stacks, labels and types."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._read = read = _tables_read(trace)
        known = np.zeros(0, np.int32) if read is None else read.strings
        self._strings = Strings(trace.strings, known)
        self._stacks = StackTable(trace.strings)
        self._columns = SampleColumns(trace, self._stacks)
        self._labels = Labels(trace, self._strings)
        #: The types of samples by name and unit.
        self._types: dict[tuple[str, str], int] = {}
        self._of_class: list[int] = []
        self._parts: list[NDArray[np.void]] = []
        self._known: KnownLocations | None = None
        if read is not None:
            for one in read.types:
                self._type(self._text(one.name), unit_read(self._text(one.unit)))
            self._known = KnownLocations(read, self._stacks)
        #: The frames that have new locations, by the order of these.
        self._new = np.zeros(0, np.int32)

    def _text(self, id: int) -> str:
        return self._trace.strings[id].decode("utf-8", "surrogateescape")

    def _type(self, name: str, unit: str) -> int:
        return self._types.setdefault((name, unit), len(self._types))

    def add(self, batch: Batch) -> None:
        """Add the samples of a batch."""
        classes = self._trace.event_classes
        for one in classes[len(self._of_class) :]:
            is_sample = one.kind is Kind.SAMPLE
            self._of_class.append(self._type(one.name, unit_of(one)) if is_sample else -1)
        samples = self._columns.of(batch)
        labels = np.zeros(len(batch), np.int32)
        for number, table in batch.tables.items():
            if classes[number].kind is Kind.SAMPLE:
                labels[batch.positions(number)] = self._labels.add(classes[number], table)
        held = np.empty(len(samples), _SAMPLE)
        held["ts"], held["stack"], held["weight"] = samples.ts, samples.stack, samples.weight
        held["type"] = np.array(self._of_class, np.int32)[samples.event]
        held["labels"] = labels[samples.at]
        held["thread"] = self._labels.of_threads(samples.thread)
        self._parts.append(held)

    def close(self) -> None:
        """Nothing to release: all is in memory."""

    def write(self, sink: Sink) -> None:
        """Write the profile, which has a type even where it has no samples."""
        if not self._types:
            self._type(type_name("count"), "count")
        samples = np.concatenate([np.zeros(0, _SAMPLE), *self._parts])
        if self._read is not None:
            sink.write(self._read.messages.data.tobytes())
        sink.write(self._type_messages())
        self._write_samples(samples, sink)
        bases = Bases() if self._known is None else self._known.bases
        for message in location_messages(self._stacks.frames[self._new], self._strings, bases):
            sink.write(message)
        sink.write(self._numbers(samples))
        sink.write(self._strings.encoded())

    def _type_messages(self) -> bytes:
        read = 0 if self._read is None else len(self._read.types)
        types = list(self._types)[read:]
        names = [(self._strings.index(n), self._strings.index(unit_written(u))) for n, u in types]
        columns = np.array(names, np.uint64).reshape(-1, 2)
        fields = [
            (int(field), NUMBER, np.ascontiguousarray(columns[:, index]), None)
            for index, field in enumerate(ValueTypeField)
        ]
        return encode_messages(ProfileField.SAMPLE_TYPE, len(columns), fields)[0].tobytes()

    def _write_samples(self, samples: NDArray[np.void], sink: Sink) -> None:
        """Write the samples; those of different types at one position in the order are one."""
        begins = np.ones(len(samples), np.bool_)
        begins[1:] = samples["type"][1:] <= samples["type"][:-1]
        for name in ("ts", "stack", "labels", "thread"):
            begins[1:] |= samples[name][1:] != samples[name][:-1]
        group = np.cumsum(begins) - 1
        first = np.flatnonzero(begins)
        width = len(self._types)
        encoded = self._labels.encoded()
        for start in range(0, len(first), _SAMPLES):
            part = samples[first[start : start + _SAMPLES]]
            count = len(part)
            low, high = np.searchsorted(group, [start, start + count])
            values = np.zeros((count, width), np.int64)
            held = samples[low:high]
            values[group[low:high] - start, held["type"]] = held["weight"]
            stacks = self._locations(part["stack"])
            threads = bytes_of(encoded, part["thread"])
            labels = bytes_of(encoded, part["labels"])
            data, _ = encode_messages(
                ProfileField.SAMPLE,
                count,
                [
                    (SampleField.LOCATION_ID, PACKED, np.asarray(stacks.values), stacks.offsets),
                    (
                        SampleField.VALUE,
                        PACKED,
                        values.reshape(-1).view(np.uint64),
                        np.arange(count + 1, dtype=np.int64) * width,
                    ),
                    (SampleField.LABEL, ENCODED, np.asarray(threads.values), threads.offsets),
                    (SampleField.LABEL, ENCODED, np.asarray(labels.values), labels.offsets),
                ],
            )
            sink.write(data.tobytes())

    def _locations(self, stack: NDArray[np.int32]) -> ListColumn:
        """Return the ids of the locations of stacks, innermost first."""
        held = self._stacks.stacks
        used, which = np.unique(stack, return_inverse=True)
        offsets, frames = _unwound(used, held["outer"], held["frame"])
        ids = np.zeros(len(frames), np.uint64)
        base = 0
        if self._known is not None:
            offsets, ids, frames = self._known.find(offsets, frames)
            base = self._known.bases.location
        is_new = ids == 0
        if is_new.any():
            ids[is_new] = self._new_locations(frames[is_new]) + np.uint64(base)
        found = take(ListColumn(offsets, ids), which.reshape(-1))
        assert isinstance(found, ListColumn)
        return found

    def _new_locations(self, frames: NDArray[np.int32]) -> NDArray[np.uint64]:
        """Return the numbers of new locations of frames, from 1 on."""
        self._new = np.concatenate([self._new, np.setdiff1d(frames, self._new)])
        order = np.argsort(self._new)
        at = np.searchsorted(self._new, frames, sorter=order)
        return order[at].astype(np.uint64) + np.uint64(1)

    def _numbers(self, samples: NDArray[np.void]) -> bytes:
        """Return the fields about the whole profile that are numbers."""
        numbers: list[tuple[int, int]] = []
        epoch = self._trace.clock.epoch_ns
        if epoch is not None and epoch > 0:
            numbers.append((ProfileField.TIME_NANOS, epoch))
        if self._read is None and len(self._types) > 1:
            # Tools show the event of the most samples first.
            counts = np.bincount(samples["type"], minlength=len(self._types))
            name = list(self._types)[int(counts.argmax())][0]
            numbers.append((ProfileField.DEFAULT_SAMPLE_TYPE, self._strings.index(name)))
        return b"".join(varint(number << 3) + varint(value) for number, value in numbers)


def _tables_read(trace: Trace) -> Tables | None:
    """Return the tables of the profile that a trace was read from; None if there is none."""
    data = trace.sidecar.get("pprof", {}).get("tables")
    if not isinstance(data, bytes) or not data:
        return None
    try:
        tables = Tables(Messages(np.frombuffer(data, np.uint8)), trace.strings)
    except TraceError:
        return None
    # There must be numbers for new locations.
    return tables if int(tables.ids.max(initial=0)) < _LAST_ID else None


_LAST_ID: Final = 1 << 62
_SAMPLE: Final = np.dtype(
    [
        ("ts", np.int64),
        ("stack", np.int32),
        ("thread", np.int32),
        ("labels", np.int32),
        ("type", np.int32),
        ("weight", np.int64),
    ]
)


def _unwound(
    stack: NDArray[np.int32], outer: NDArray[np.int32], frame: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the frames of stacks of a tree, innermost first, as n + 1 offsets and all frames.

    Stack 0 is empty. All stacks are walked at once.
    """
    count = len(stack)
    rows, levels = [np.zeros(0, np.int64)], [np.zeros(0, np.int32)]
    row = np.flatnonzero(stack)
    stack = stack[row]
    while len(stack):
        rows.append(row)
        levels.append(frame[stack])
        stack = outer[stack]
        row, stack = row[stack > 0], stack[stack > 0]
    every = np.concatenate(rows)
    order = np.argsort(every, kind="stable")
    offsets = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(every, minlength=count), out=offsets[1:])
    return offsets, np.concatenate(levels)[order]
