"""Fields of event formats: their classes, and how their columns are gathered from records."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from converter.formats.trace_cmd.event_format import (
    FLEXIBLE,
    EventFormat,
    FormatField,
    Location,
)
from converter.formats.trace_cmd.mapping import (
    ARRAY_ROLES,
    BINARY_FIELDS,
    COMMON_ROLES,
    PID_FIELD,
    SYMBOL_ROLES,
    TEXT_ROLES,
    TYPE_FIELD,
)
from converter.ir.columns import Column, ListColumn
from converter.ir.events import Field, Table
from converter.ir.field_classes import (
    ArrayClass,
    BytesClass,
    FieldClass,
    IntegerClass,
    StringClass,
    Style,
)
from converter.ir.kinds import REQUIRED_ROLES, Kind, Role
from converter.kernels.gather import Segments
from converter.kernels.strings import StringTable
from converter.projection.linux_tracepoints import Meaning, meaning

_WIDTHS = frozenset({1, 2, 4, 8})


class Records:
    """The records of one event class in a batch: where they are, and how to read them.

    `locate` gives location (int64) and size (uint32) of each; it is asked once. `integers` are those of the class,
    which are all gathered when one is asked for: most of the time goes into fetching the records from memory.
    """

    __slots__ = (
        "__weakref__",
        "_columns",
        "_located",
        "big_endian",
        "count",
        "integers",
        "locate",
        "segments",
        "strings",
    )

    def __init__(
        self,
        count: int,
        locate: Callable[[], tuple[NDArray[np.int64], NDArray[np.uint32]]],
        segments: Segments,
        strings: StringTable,
        *,
        big_endian: bool,
    ) -> None:
        self.count = count
        self.locate = locate
        self.segments = segments
        self.strings = strings
        self.big_endian = big_endian
        self.integers: Sequence[IntegerAt] = ()
        self._located: tuple[NDArray[np.int64], NDArray[np.uint32]] | None = None
        self._columns: dict[IntegerAt, NDArray[Any]] = {}

    @property
    def located(self) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
        """Location and size of each record."""
        if self._located is None:
            self._located = self.locate()
        return self._located

    def integer(self, wanted: IntegerAt) -> NDArray[Any]:
        """The column of an integer."""
        if wanted not in self._columns:
            together = self.integers if wanted in self.integers else (wanted,)
            columns = [np.empty(self.count, each.dtype) for each in together]
            self.segments.all_integers(
                *self.located,
                np.array([(each.offset, each.width) for each in together], np.int64),
                self.big_endian,
                [column.view(np.uint8) for column in columns],
            )
            self._columns.update(zip(together, columns, strict=True))
        return self._columns[wanted]

    def record(self, row: int) -> bytes:
        """The bytes of one record."""
        location, size = self.located
        offsets = np.array([0, size[row]], np.int64)
        data = np.empty(int(size[row]), np.uint8)
        self.segments.copy(location[row : row + 1], offsets, data)
        return data.tobytes()


class RecordTable(Table):
    """A table that knows the records that it is made of, while not all of its columns are."""

    __slots__ = ("_records",)

    def __init__(self, records: Records, columns: Sequence[Column | Callable[[], Column]]) -> None:
        super().__init__(records.count, columns)
        # A trace that is collected must not keep its file in memory beside its columns.
        self._records = weakref.ref(records)

    @property
    def records(self) -> Records | None:
        """The records, None when every column has been decoded."""
        return self._records()


class IntegerAt(NamedTuple):
    """An integer at a fixed place of the record."""

    offset: int
    width: int
    dtype: np.dtype[np.generic]

    def load(self, records: Records) -> Column:
        """The column."""
        return records.integer(self)


class BytesAt(NamedTuple):
    """Bytes at a fixed place (`length` -1: to the record's end), or where a data location leads."""

    offset: int
    length: int
    location: Location = Location.INLINE
    width: int = 4

    def spans(self, records: Records) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Location and size of each record's bytes."""
        location, size = records.located
        span = np.empty(records.count, np.int64)
        length = np.empty(records.count, np.int64)
        if self.location is Location.INLINE:
            records.segments.fixed_spans(location, size, self.offset, self.length, span, length)
        else:
            records.segments.dynamic_spans(
                location,
                size,
                self.offset,
                self.width,
                self.location is Location.REL_LOC,
                records.big_endian,
                span,
                length,
            )
        return span, length

    def copied(self, records: Records, multiple_of: int, *, until_nul: bool) -> ListColumn:
        """The bytes of each record, cut at the first NUL if asked, and to a multiple."""
        span, length = self.spans(records)
        offsets = np.empty(records.count + 1, np.int64)
        records.segments.measure(span, length, until_nul, multiple_of, offsets)
        values = np.empty(int(offsets[-1]), np.uint8)
        records.segments.copy(span, offsets, values)
        return ListColumn(offsets, values)

    def load(self, records: Records) -> Column:
        """The column of uninterpreted bytes."""
        return self.copied(records, 1, until_nul=False)


class StringAt(NamedTuple):
    """Text up to its first NUL: interned, or, where values hardly repeat, as bytes."""

    bytes: BytesAt
    interned: bool = True

    def load(self, records: Records) -> Column:
        """The column."""
        if not self.interned:
            return self.bytes.copied(records, 1, until_nul=True)
        ids = np.empty(records.count, np.int32)
        records.segments.intern(*self.bytes.spans(records), records.strings, ids)
        return ids


class ArrayAt(NamedTuple):
    """An array of integers, of `length` in each record if that is not None: what a record is too short for is zero."""

    bytes: BytesAt
    dtype: np.dtype[np.generic]
    length: int | None = None

    def load(self, records: Records) -> Column:
        """The column."""
        width = self.dtype.itemsize
        column = self.bytes.copied(records, width, until_nul=False)
        assert isinstance(column.values, np.ndarray)
        stored = self.dtype.newbyteorder("big" if records.big_endian else "little")
        values = column.values.view(stored).astype(self.dtype, copy=False)
        offsets = column.offsets // width
        if self.length is None or len(values) == records.count * self.length:
            return ListColumn(offsets, values)
        whole = np.zeros((records.count, self.length), self.dtype)
        whole[np.arange(self.length) < np.diff(offsets)[:, np.newaxis]] = values
        return ListColumn(np.arange(records.count + 1) * self.length, whole.reshape(-1))


class MissedCount:
    """The number of events that a page says were lost before it, -1 where the kernel did not store it."""

    def load(self, records: Records) -> Column:
        """The column."""
        location, size = records.located
        column = np.empty(records.count, np.int64)
        records.segments.missed_counts(location, size, records.big_endian, column)
        return column


class Gather(Protocol):
    """How the column of a field is made of records."""

    def load(self, records: Records) -> Column:
        """The column."""


def fields_of(
    format: EventFormat, long_size: int, message: Gather | None
) -> tuple[Kind, tuple[Field, ...], tuple[Gather, ...]]:
    """Kind, fields and gathering of an event format: its own fields in order, then the common ones as context.

    With `message`, a field of that name that is made of the others stands between them.
    """
    known = meaning(format.system, format.name)
    # Of fields of one name, the first is what the name means.
    roles = dict(known.roles)
    fields: list[Field] = []
    gathers: list[Gather] = []
    for item in format.fields:
        role = roles.pop(item.name, Role.NONE)
        binary = (format.system, format.name, item.name) in BINARY_FIELDS
        field_class, gather = _field_class(item, long_size, role, binary=binary)
        fields.append(Field(item.name, field_class, role))
        gathers.append(gather)
    if message is not None:
        fields.append(Field("message", StringClass(), Role.MESSAGE))
        gathers.append(message)
    kind = _checked_kind(known, fields)
    if kind is Kind.TYPED:
        fields = [Field(field.name, field.type) for field in fields]
    for item in format.common_fields:
        if item.name in (TYPE_FIELD, PID_FIELD):
            continue
        role = COMMON_ROLES.get(item.name, Role.CONTEXT)
        field_class, gather = _field_class(item, long_size, role, binary=False)
        fields.append(Field(item.name, field_class, role))
        gathers.append(gather)
    return kind, tuple(fields), tuple(gathers)


def _field_class(
    item: FormatField, long_size: int, role: Role, *, binary: bool
) -> tuple[FieldClass, Gather]:
    """The class of a field, by its size and declaration, and how it is gathered."""
    width = item.element_bytes(long_size)
    if item.location is not Location.INLINE:
        place = BytesAt(item.offset, -1, item.location, 2 if item.size == 2 else 4)
        length = None
    else:
        tail = item.size == 0
        place = BytesAt(item.offset, -1 if tail else item.size)
        length = None if tail or not item.array_length else item.array_length
    if item.is_bitmask:
        width = long_size
    elif item.is_string and "char" in item.type and not binary:
        # What a program writes hardly repeats; names of tasks, files and devices do.
        return StringClass(), StringAt(
            place, interned=item.array_length != FLEXIBLE or item.size != 0
        )
    array = item.is_array or item.is_bitmask or item.location is not Location.INLINE
    if binary or width not in _WIDTHS or (array and item.is_string):
        return BytesClass(), place
    if array:
        style = Style.HEXADECIMAL if item.is_bitmask else Style.DECIMAL
        element = IntegerClass(8 * width, item.signed and not item.is_bitmask, style)
        if length is not None and length * width != item.size:
            length = None
        return ArrayClass(element, length), ArrayAt(place, element.dtype, length)
    style = Style.DECIMAL
    if role in SYMBOL_ROLES:
        style = Style.SYMBOL
    elif item.is_pointer:
        style = Style.POINTER
    integer = IntegerClass(8 * width, item.signed, style)
    return integer, IntegerAt(item.offset, width, integer.dtype)


def _checked_kind(known: Meaning, fields: list[Field]) -> Kind:
    """The kind, if the format has the fields that it needs, in types that suit: kernels differ."""
    roles = {field.role for field in fields}
    if not REQUIRED_ROLES.get(known.kind, frozenset()) <= roles:
        return Kind.TYPED
    for field in fields:
        if field.role is Role.NONE:
            continue
        if field.role in TEXT_ROLES:
            fits = isinstance(field.type, StringClass)
        elif field.role in ARRAY_ROLES:
            fits = isinstance(field.type, ArrayClass)
        else:
            fits = isinstance(field.type, IntegerClass)
        if not fits:
            return Kind.TYPED
    return known.kind
