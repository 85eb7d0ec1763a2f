"""Columns of every field class as `Column` of schemas/ir.proto, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from converter.errors import TraceError
from converter.formats.ir import messages as pb
from converter.formats.ir.numbers import pack, unpack
from converter.ir.columns import (
    Column,
    ListColumn,
    NullColumn,
    OptionalColumn,
    StructColumn,
    UnionColumn,
    take,
)
from converter.ir.field_classes import (
    ArrayClass,
    BooleanClass,
    BytesClass,
    FieldClass,
    FloatClass,
    IntegerClass,
    NullClass,
    OptionalClass,
    StringClass,
    StructureClass,
    VariantClass,
)
from converter.limits import limit

_BYTE = IntegerClass(8)
_BOOL = np.dtype(np.bool_)
_INT16 = np.dtype(np.int16)
_INT32 = np.dtype(np.int32)
_INT64 = np.dtype(np.int64)


def pack_column(column: Column, message: pb.Column) -> None:
    """Put a column into a new message."""
    match column:
        case np.ndarray():
            pack(column, message.numbers)
        case NullColumn():
            message.nulls.SetInParent()
        case ListColumn():
            pack_list(column, message.list)
        case StructColumn(_, members):
            message.structure.SetInParent()
            for member in members:
                pack_column(member, message.structure.column.add())
        case UnionColumn(tags, rows, options):
            pack(tags, message.variant.tags)
            pack(rows, message.variant.rows)
            for option in options:
                pack_column(option, message.variant.option.add())
                message.variant.count.append(len(option))
        case OptionalColumn(valid, values):
            pack(valid, message.optional.valid)
            pack_column(values, message.optional.values)


def pack_list(column: ListColumn, message: pb.List) -> None:
    """Put lists into a new message."""
    first, last = int(column.offsets[0]), int(column.offsets[-1])
    pack(np.diff(column.offsets), message.lengths)
    pack_column(_between(column.values, first, last), message.elements)
    message.count = last - first


def _between(column: Column, start: int, end: int) -> Column:
    if start == 0 and end == len(column):
        return column
    if isinstance(column, np.ndarray):
        return column[start:end]
    return take(column, np.arange(start, end))


class StringIds:
    """The IDs in a trace's string table for the strings of a file, by their numbers there.

    They are the same as long as only the reader adds to the table; other code that uses the trace may do so too.
    """

    def __init__(self) -> None:
        # Every table has the empty string first.
        self._ids = [0]
        self._known = {0}
        self._same = True
        self._column: NDArray[np.int32] | None = None

    def add(self, id: int) -> None:
        """Add the ID of the next string.

        Raises:
            TraceError: the file already has it.

        """
        if id in self._known:
            raise TraceError(field="string", expected="a new one", found=id)
        self._known.add(id)
        self._same = self._same and id == len(self._ids)
        self._ids.append(id)
        self._column = None

    def __len__(self) -> int:
        return len(self._ids)

    def add_missing(self, count: int) -> None:
        """Use the empty string for missing strings."""
        if count:
            self._same = False
            self._ids += [0] * count
            self._column = None

    def lookup(self, numbers: NDArray[np.int32], what: str) -> NDArray[np.int32]:
        """Return the IDs of strings by their numbers.

        Raises:
            TraceError: there are no such strings.

        """
        checked_ids(numbers, len(self._ids), what)
        if self._same:
            return numbers
        if self._column is None:
            self._column = np.array(self._ids, np.int32)
        return self._column[numbers]


def unpack_column(
    message: pb.Column, field_class: FieldClass, count: int, strings: StringIds, what: str
) -> Column:
    """Return the column of `count` values of a field class.

    Args:
        message: the message of the column.
        field_class: that of the field.
        count: the number of values.
        strings: the ids of the file's strings.
        what: the name of the field, for messages.

    Raises:
        TraceError: the message is not such a column.

    """
    held = message.WhichOneof("values")
    match field_class, held:
        case (IntegerClass(bits, signed), "numbers"):
            integers = unpack(message.numbers, field_class.dtype, count, what)
            if bits < 8 * integers.itemsize and count:
                end = 1 << bits - signed
                if int(integers.min()) < -end * signed or int(integers.max()) >= end:
                    raise TraceError(field=what, expected=f"integers of {bits} bits")
            return integers
        case (FloatClass(), "numbers"):
            return unpack(message.numbers, field_class.dtype, count, what)
        case (BooleanClass(), "numbers"):
            return unpack(message.numbers, _BOOL, count, what)
        case (StringClass(), "numbers"):
            return strings.lookup(unpack(message.numbers, _INT32, count, what), what)
        case (NullClass(), "nulls") if count <= limit("ir.equal"):
            return NullColumn(count)
        case (StringClass() | BytesClass(), "list"):
            return unpack_list(message.list, _BYTE, count, strings, what)
        case (ArrayClass(element, length), "list"):
            column = unpack_list(message.list, element, count, strings, what)
            if length is not None and (np.diff(column.offsets) != length).any():
                raise TraceError(field=what, expected=f"arrays of {length} elements")
            return column
        case (StructureClass(members), "structure"):
            columns = message.structure.column
            _check_number(len(columns), len(members), what)
            return StructColumn(
                count,
                tuple(
                    unpack_column(column, member.type, count, strings, f"{what}.{member.name}")
                    for member, column in zip(members, columns, strict=True)
                ),
            )
        case (VariantClass() as variant_class, "variant"):
            return _unpack_union(message.variant, variant_class, count, strings, what)
        case (OptionalClass(element), "optional"):
            return OptionalColumn(
                unpack(message.optional.valid, _BOOL, count, what),
                unpack_column(message.optional.values, element, count, strings, what),
            )
    raise TraceError(
        field=what, expected=f"a column of {type(field_class).__name__}", found=held or "none"
    )


def unpack_list(
    message: pb.List, element: FieldClass, count: int, strings: StringIds, what: str
) -> ListColumn:
    """Return the lists of `count` values; arguments and errors are those of `unpack_column`."""
    lengths = unpack(message.lengths, _INT64, count, what)
    offsets = np.zeros(count + 1, np.int64)
    if count:
        # Checked before they are summed up, so that the sum cannot overflow.
        if int(lengths.min()) < 0 or int(lengths.max()) > message.count:
            raise TraceError(field=what, expected=f"lengths up to {message.count}")
        np.cumsum(lengths, out=offsets[1:])
    if int(offsets[-1]) != message.count or (np.diff(offsets) < 0).any():
        raise TraceError(field=what, expected=f"{message.count} elements", found=int(offsets[-1]))
    values = unpack_column(message.elements, element, message.count, strings, what)
    return ListColumn(offsets, values)


def _unpack_union(
    message: pb.Union, field_class: VariantClass, count: int, strings: StringIds, what: str
) -> UnionColumn:
    options = field_class.options
    _check_number(len(message.option), len(options), what)
    _check_number(len(message.count), len(options), what)
    tags = unpack(message.tags, _INT16, count, what)
    rows = unpack(message.rows, _INT32, count, what)
    lengths = np.array([min(n, 1 << 40) for n in message.count], np.int64)
    if count and (
        int(tags.min()) < 0
        or int(tags.max()) >= len(options)
        or int(rows.min()) < 0
        or (rows >= lengths[tags]).any()
    ):
        raise TraceError(field=what, expected="values of the variant's options")
    return UnionColumn(
        tags,
        rows,
        tuple(
            unpack_column(column, option.type, int(length), strings, f"{what}.{option.name}")
            for option, column, length in zip(options, message.option, lengths, strict=True)
        ),
    )


def checked_ids(numbers: NDArray[Any], limit: int, what: str) -> NDArray[Any]:
    """Check numbers of entries in a table of `limit` entries.

    Raises:
        TraceError: some are out of range.

    """
    if len(numbers) and (int(numbers.min()) < 0 or int(numbers.max()) >= limit):
        raise TraceError(field=what, expected=f"numbers below {limit}")
    return numbers


def _check_number(found: int, expected: int, what: str) -> None:
    if found != expected:
        raise TraceError(field=what, expected=f"{expected} columns", found=found)
