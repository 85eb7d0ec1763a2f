"""Records from columns: the copy operations for an event class and its format.

The reverse of `fields`: each field of the format is filled from the class's field of the same name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from converter.errors import UnsupportedError
from converter.formats.ftrace.event_format.addresses import address_suffixes, packer
from converter.formats.ftrace.event_format.syntax import EventFormat, FormatField, Location
from converter.formats.ftrace.mapping import PID_FIELD, TYPE_FIELD
from converter.formats.ftrace.ring_buffer.emit import (
    DATA_LOC,
    INLINE,
    INTEGER,
    MISSED,
    REL_LOC,
    TAIL,
    RecordColumns,
    RecordLayout,
)
from converter.ir.columns import Column, ListColumn
from converter.ir.events import EventClass, Field, Table
from converter.ir.field_classes import (
    ArrayClass,
    BytesClass,
    FieldClass,
    IntegerClass,
    StringClass,
)
from converter.kernels.tables.strings import StringTable

_Operation = tuple[int, int, int, int, int]
Packer = Callable[[Column, StringTable], ListColumn]


@dataclass(frozen=True, slots=True)
class RecordProgram:
    """The layout of a class's records, and the columns of its tables that its operations read."""

    layout: RecordLayout
    columns: tuple[int, ...]
    widths: tuple[int, ...]
    #: By column: the conversion of its texts to bytes.
    packers: Mapping[int, Packer] = field(default_factory=dict)

    def bind(self, table: Table, strings: StringTable) -> RecordColumns:
        """Return the decoded columns of a table for the emitter."""
        columns = [
            _flat(self._column(index, table, strings), width)
            for index, width in zip(self.columns, self.widths, strict=True)
        ]
        return RecordColumns(self.layout, columns, len(table))

    def _column(self, index: int, table: Table, strings: StringTable) -> Column:
        column = table.column(index)
        packer = self.packers.get(index)
        return column if packer is None else packer(column, strings)


def _flat(
    column: Column, width: int
) -> NDArray[np.generic] | tuple[NDArray[np.generic], NDArray[np.int64]]:
    if isinstance(column, ListColumn):
        values = column.values
        assert isinstance(values, np.ndarray) and values.dtype.itemsize == width
        return np.ascontiguousarray(values), np.ascontiguousarray(column.offsets)
    assert isinstance(column, np.ndarray)
    return column


#: Lost events start a page; records without a format are copied unchanged.
MISSED_PROGRAM = RecordProgram(
    RecordLayout(b"", np.array([[MISSED, 0, 8, 0, 0]], np.int32), -1), (0,), (8,)
)
UNKNOWN_PROGRAM = RecordProgram(
    RecordLayout(b"", np.array([[TAIL, 0, 1, 0, 0]], np.int32), -1), (0,), (1,)
)


def record_program(
    format: EventFormat, event_class: EventClass, *, big_endian: bool
) -> RecordProgram:
    """Return the program that builds the records of a class with this format; fields that the class lacks are zero.

    Raises:
        UnsupportedError: the format describes a record that cannot exist.

    """
    fields = (*format.common_fields, *format.fields)
    size = max((item.offset + item.size for item in fields), default=0)
    operations: list[_Operation] = []
    columns: list[int] = []
    pid_offset = -1
    for item in fields:
        if item.common and item.name == PID_FIELD and item.size == 4:
            pid_offset = item.offset
    forms = address_suffixes(format)
    packers: dict[int, Packer] = {}
    for item, index in _matched(fields, event_class.fields):
        field_class = event_class.fields[index].type
        if item.name in forms and isinstance(field_class, StringClass):
            packers[index] = packer(item, forms[item.name], big_endian=big_endian)
            field_class = BytesClass()
        operation = _operation(item, field_class)
        if operation is not None:
            operations.append(operation)
            columns.append(index)
    # Tails come before the targets of data locations.
    order = sorted(range(len(operations)), key=lambda i: operations[i][0] in (DATA_LOC, REL_LOC))
    try:
        template = bytearray(min(size, 0x10000))
        for item in fields:
            if item.common and item.name == TYPE_FIELD:
                template[item.offset : item.offset + item.size] = format.id.to_bytes(
                    item.size, "big" if big_endian else "little"
                )
        layout = RecordLayout(
            bytes(template),
            np.array([operations[i] for i in order], np.int32).reshape(len(order), 5),
            pid_offset,
        )
    except (ValueError, OverflowError) as error:
        raise UnsupportedError(
            f"no record can have the format of {format.system}:{format.name}: {error}",
        ) from error
    return RecordProgram(
        layout,
        tuple(columns[i] for i in order),
        tuple(operations[i][2] for i in order),
        packers,
    )


def _matched(
    fields: tuple[FormatField, ...], declared: tuple[Field, ...]
) -> Iterator[tuple[FormatField, int]]:
    """Yield each field of the format with the index of the class's field of its name; equal names match in order."""
    free = list(range(len(declared)))
    # The class has the common fields after the others.
    for item in sorted(fields, key=lambda item: item.common):
        if item.common and item.name in (TYPE_FIELD, PID_FIELD):
            continue
        index = next((i for i in free if declared[i].name == item.name), None)
        if index is not None:
            free.remove(index)
            yield item, index


def _operation(field: FormatField, field_class: FieldClass) -> _Operation | None:
    match field_class:
        case IntegerClass():
            if field.location is not Location.INLINE or field.size != field_class.dtype.itemsize:
                return None
            return INTEGER, field.offset, field.size, 0, 0
        case StringClass():
            width, terminated = 1, 1
        case BytesClass():
            width, terminated = 1, 0
        case ArrayClass(IntegerClass() as element):
            width, terminated = element.dtype.itemsize, 0
        case _:
            return None
    if field.location is not Location.INLINE:
        code = DATA_LOC if field.location is Location.DATA_LOC else REL_LOC
        return code, field.offset, width, 2 if field.size == 2 else 4, terminated
    if field.size == 0:
        return TAIL, field.offset, width, 0, terminated
    return INLINE, field.offset, width, field.size, 0
