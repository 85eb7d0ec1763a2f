"""The columns of an event class, gathered from its records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from converter.formats.ftrace.event_format.gathers import (
    BytesAt,
    Gather,
    IntegerAt,
    StringAt,
)
from converter.formats.ftrace.event_format.record_tables import Records
from converter.formats.perf.data.attributes import Attribute
from converter.formats.perf.data.layout import (
    BRANCH_HW_INDEX,
    BUILD_ID_AT,
    BUILD_ID_SIZE,
    BUILD_ID_SIZE_AT,
    RECORD_HEADER_SIZE,
    VARIABLE_PARTS,
    RecordType,
    SampleType,
)
from converter.formats.perf.data.mapping import MISC_FIELDS, Value, is_field, record_of, tail_type
from converter.formats.perf.data.reading.samples import SampledEvents
from converter.ir.columns import Column, ListColumn, StructColumn
from converter.ir.field_classes import ArrayClass, BytesClass, IntegerClass, StructureClass

_MISC_AT: Final = 4
_U32: Final = np.dtype(np.uint32)
_U64: Final = np.dtype(np.uint64)
#: The columns of `SampledEvents.parts`: both types of weight have one.
_PARTS: Final = tuple(part for part in VARIABLE_PARTS if part is not SampleType.WEIGHT_STRUCT)


def integers_at(
    records: Records, offsets: NDArray[np.int64], dtype: np.dtype[np.generic]
) -> NDArray[np.generic]:
    """Return an integer of each record, at an offset of its own; 0 outside the record."""
    location, size = records.located
    column = np.empty(records.count, dtype)
    left = np.maximum(size.astype(np.int64) - offsets, 0).astype(np.uint32)
    records.segments.integers(
        location + offsets, left, 0, dtype.itemsize, records.big_endian, column.view(np.uint8)
    )
    return column


def bytes_at(
    records: Records, offsets: NDArray[np.int64], lengths: NDArray[np.int64]
) -> ListColumn:
    """Return bytes of each record, at an offset of its own, as far as they are in the record."""
    location, size = records.located
    lengths = np.clip(lengths, 0, np.maximum(size.astype(np.int64) - offsets, 0))
    ends = np.zeros(records.count + 1, np.int64)
    np.cumsum(lengths, out=ends[1:])
    values = np.empty(int(ends[-1]), np.uint8)
    records.segments.copy(location + offsets, ends, values)
    return ListColumn(ends, values)


def words_of(column: ListColumn, *, big_endian: bool) -> ListColumn:
    """Return lists of bytes as lists of 64-bit integers."""
    values = np.asarray(column.values).view(">u8" if big_endian else "<u8")
    return ListColumn(column.offsets // 8, values.astype(np.uint64, copy=False))


# The kernel's records


@dataclass(frozen=True, slots=True)
class MiscBit:
    """A bit of the header's `misc`, as a boolean."""

    bit: int

    def load(self, records: Records) -> Column:
        """Return the column."""
        misc = np.asarray(IntegerAt(_MISC_AT, 2, np.dtype(np.uint16)).load(records))
        return (misc >> np.uint16(self.bit) & 1).astype(np.bool_)


class BuildId:
    """The build id of a mapping."""

    def load(self, records: Records) -> Column:
        """Return the column of bytes."""
        size = np.asarray(IntegerAt(BUILD_ID_SIZE_AT, 1, np.dtype(np.uint8)).load(records))
        lengths = np.minimum(size.astype(np.int64), BUILD_ID_SIZE)
        return bytes_at(records, np.full(records.count, BUILD_ID_AT, np.int64), lengths)


@dataclass(frozen=True, slots=True)
class Tail:
    """The bytes after the values of constant place of a record, before those that all records end with."""

    events: SampledEvents
    offset: int
    type: ArrayClass | BytesClass

    def load(self, records: Records) -> Column:
        """Return the column."""
        location, size = records.located
        trailers = self.events.trailer_sizes(records.segments, location, size)
        lengths = size.astype(np.int64) - trailers - self.offset
        offsets = np.full(records.count, self.offset, np.int64)
        if isinstance(self.type, BytesClass):
            return bytes_at(records, offsets, lengths)
        pairs = isinstance(self.type.element, StructureClass)
        width = 16 if pairs else 8
        words = words_of(
            bytes_at(records, offsets, lengths // width * width), big_endian=records.big_endian
        )
        if not pairs:
            return words
        values = np.asarray(words.values)
        members = (np.ascontiguousarray(values[::2]), np.ascontiguousarray(values[1::2]))
        return ListColumn(words.offsets // 2, StructColumn(len(members[0]), members))


def record_gathers(
    events: SampledEvents, record_type: RecordType, *, build_id: bool
) -> list[Gather]:
    """Return how the fields of `mapping.record_class` are gathered."""
    record = record_of(record_type, build_id=build_id)
    gathers: list[Gather] = []
    at = RECORD_HEADER_SIZE
    for name, code in record.fixed:
        if name == "build_id_size":
            gathers.append(BuildId())
        elif is_field(record_type, name):
            dtype = np.dtype(code)
            gathers.append(IntegerAt(at, dtype.itemsize, dtype))
        at += int(code[1:])
    if record.tail:
        tail = tail_type(record)
        if isinstance(tail, ArrayClass | BytesClass):
            gathers.append(Tail(events, at, tail))
        else:
            gathers.append(StringAt(BytesAt(at, -1)))
    gathers += [MiscBit(bit) for _, bit in MISC_FIELDS.get(record_type, ())]
    return gathers


# Samples


class _Part(NamedTuple):
    """A value of samples at a variable place."""

    events: SampledEvents
    number: int
    column: int

    def offsets(self, records: Records) -> NDArray[np.int64]:
        """Return where the value is in each record."""
        location, size = records.located
        parts = self.events.parts(self.number, records.segments, location, size)
        return parts[:, self.column].astype(np.int64)


@dataclass(frozen=True, slots=True)
class Word:
    """An integer at an offset from a part."""

    part: _Part
    offset: int
    dtype: np.dtype[np.generic]

    def load(self, records: Records) -> Column:
        """Return the column."""
        return integers_at(records, self.part.offsets(records) + self.offset, self.dtype)


@dataclass(frozen=True, slots=True)
class Counted:
    """Items after the number of them, and `before` bytes after that."""

    part: _Part
    before: int
    width: int
    count_bytes: int = 8

    def lists(self, records: Records) -> ListColumn:
        """Return the items as bytes."""
        offsets = self.part.offsets(records)
        counts = integers_at(records, offsets, _U32 if self.count_bytes == 4 else _U64)
        lengths = np.minimum(counts.astype(np.uint64), 1 << 16).astype(np.int64) * self.width
        return bytes_at(records, offsets + self.count_bytes + self.before, lengths)

    def load(self, records: Records) -> Column:
        """Return the column of bytes."""
        return self.lists(records)


@dataclass(frozen=True, slots=True)
class Branches:
    """The entries of a branch stack."""

    entries: Counted

    def load(self, records: Records) -> Column:
        """Return the column."""
        words = words_of(self.entries.lists(records), big_endian=records.big_endian)
        values = np.asarray(words.values)
        members = tuple(np.ascontiguousarray(values[i::3]) for i in range(3))
        return ListColumn(words.offsets // 3, StructColumn(len(members[0]), members))


@dataclass(frozen=True, slots=True)
class Words:
    """All words of a part but the first `skipped` ones, up to the next part."""

    part: _Part
    skipped: int

    def load(self, records: Records) -> Column:
        """Return the column."""
        location, size = records.located
        parts = self.part.events.parts(self.part.number, records.segments, location, size)
        start = parts[:, self.part.column].astype(np.int64) + 8 * self.skipped
        following = parts[:, self.part.column + 1 :]
        # The next part that there is, or the end.
        end = np.where(following == 0, np.uint32(0xFFFF_FFFF), following).min(axis=1)
        return words_of(
            bytes_at(records, start, end.astype(np.int64) - start), big_endian=records.big_endian
        )


@dataclass(frozen=True, slots=True)
class StackSize:
    """The size of a user's stack that counts, which follows its bytes; 0 where there are none."""

    part: _Part

    def load(self, records: Records) -> Column:
        """Return the column."""
        offsets = self.part.offsets(records)
        size = np.minimum(integers_at(records, offsets, _U64).astype(np.uint64), 1 << 16)
        found = integers_at(records, offsets + 8 + size.astype(np.int64), _U64)
        return np.where(size > 0, found, np.uint64(0)).astype(np.uint64)


def raw_records(events: SampledEvents, number: int, records: Records) -> Records:
    """Return the tracepoint's own record in each sample."""

    def locate() -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
        location, _ = records.located
        offsets = _Part(events, number, _PARTS.index(SampleType.RAW)).offsets(records)
        return location + offsets + 4, integers_at(records, offsets, _U32).astype(np.uint32)

    return Records(
        records.count,
        locate,
        records.segments,
        records.strings,
        big_endian=records.big_endian,
    )


def value_gathers(
    events: SampledEvents, number: int, attribute: Attribute, values: Sequence[Value]
) -> list[Gather]:
    """Return how the values of samples of an event are gathered."""
    places = events.positions(number)
    return [_value_gather(events, number, attribute, value, places) for value in values]


def period_gather(events: SampledEvents, number: int) -> Gather:
    """Return how the period of samples is gathered."""
    return IntegerAt(events.positions(number)["period"], 8, np.dtype(np.int64))


def _value_gather(
    events: SampledEvents,
    number: int,
    attribute: Attribute,
    value: Value,
    places: dict[str, int],
) -> Gather:
    if places.get(value.name, -1) >= 0:
        return IntegerAt(places[value.name], 8, _U64)
    kind = SampleType.WEIGHT if value.part is SampleType.WEIGHT_STRUCT else value.part
    part = _Part(events, number, _PARTS.index(kind))
    name = value.name
    if name in ("read", "uregs", "iregs"):
        return Words(part, 0 if name == "read" else 1)
    if name == "raw":
        return Counted(part, 0, 1, 4)
    if name in ("ustack", "aux"):
        return Counted(part, 0, 1)
    if name == "ustack_size":
        return StackSize(part)
    index = 8 if attribute.branch_sample_type & BRANCH_HW_INDEX else 0
    if name == "brstack":
        return Branches(Counted(part, index, 24))
    offset = 8 if name == "brstack_index" else 0
    assert isinstance(value.type, IntegerClass)
    if value.part is SampleType.WEIGHT_STRUCT:
        # Three numbers of 32, 16 and 16 bits, of which the first is the lowest of the word.
        offset = _STRUCT[name][events.big_endian]
    return Word(part, offset, value.type.dtype)


#: The offsets of the parts of a structure of weights in each byte order.
_STRUCT: Final = {"local_weight": (0, 4), "ins_lat": (4, 2), "retire_lat": (6, 0)}
