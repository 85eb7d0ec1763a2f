"""Columns of messages: the fields of a class, decoded for all its events at once when one is requested."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from converter.formats.perfetto.protobuf.descriptors import ProgramField
from converter.ir.columns import Column, ListColumn
from converter.ir.field_classes import (
    ArrayClass,
    BooleanClass,
    BytesClass,
    FieldClass,
    FloatClass,
    IntegerClass,
    StringClass,
)
from converter.kernels.protobuf.decode import (
    COUNTED,
    decode_messages,
    decode_repeated,
    repeated_spans,
)
from converter.kernels.tables.strings import StringTable


class MessageColumns:
    """The columns of some messages of one type. Absent fields hold protobuf's default."""

    def __init__(
        self,
        data: NDArray[np.uint8],
        starts: NDArray[np.int64],
        sizes: NDArray[np.int64],
        program: tuple[ProgramField, ...],
        strings: StringTable,
        note_undeclared: Callable[[NDArray[np.int64]], None] | None = None,
    ) -> None:
        """Prepare decoding, which happens on demand.

        Args:
            data: the buffer of the messages.
            starts: the start of each message.
            sizes: the size of each message.
            program: the fields that become columns.
            strings: the trace's strings.
            note_undeclared: called when columns are decoded, with the counts of fields that are not in the program,
                by their numbers.

        """
        self._note_undeclared = note_undeclared
        self._data = data
        self._starts = starts
        self._sizes = sizes
        self._program = program
        self._strings = strings
        self._decoded: list[NDArray[Any]] | None = None
        #: The first field that is a list of numbers, which is decoded with the others.
        self._listed = next((i for i, item in enumerate(program) if _is_numbers(item)), None)
        self._list: tuple[NDArray[np.int64], NDArray[np.uint64]] | None = None

    def thunks(self) -> list[Callable[[], Column]]:
        """Return, for each field of the program, a function that returns its column."""
        return [self._thunk(i) for i in range(len(self._program))]

    def whole(self) -> Column:
        """Return the messages themselves, as bytes."""
        return bytes_column(self._data, np.stack((self._starts, self._sizes), 1))

    def raw(self, index: int) -> NDArray[Any]:
        """Return the decoded column of a field that is not repeated: for text and bytes (start, size), shape (n, 2)."""
        if self._decoded is None:
            self._decoded = self._decode()
        return self._decoded[index]

    def _thunk(self, index: int) -> Callable[[], Column]:
        return lambda: self._column(index)

    def _column(self, index: int) -> Column:
        item = self._program[index]
        match item.field_class:
            case ArrayClass(element):
                return self._repeated(index, element)
            case StringClass():
                return string_column(self._data, self.raw(index), self._strings)
            case BytesClass():
                return bytes_column(self._data, self.raw(index))
            case _:
                return self.raw(index)

    def _decode(self) -> list[NDArray[Any]]:
        count = len(self._starts)
        columns: list[NDArray[Any]] = []
        for item in self._program:
            match item.field_class:
                case IntegerClass() | FloatClass():
                    columns.append(np.zeros(count, item.field_class.dtype))
                case BooleanClass():
                    columns.append(np.zeros(count, np.bool_))
                case ArrayClass():
                    columns.append(np.zeros(0, np.int64))
                case _:
                    columns.append(np.zeros((count, 2), np.int64))
        undeclared = np.zeros(COUNTED, np.int64)
        scalar = [i for i, item in enumerate(self._program) if not item.repeated]
        listed = 0 if self._listed is None else self._program[self._listed].number
        offsets = np.empty(count + 1, np.int64) if listed else None
        _, values = decode_messages(
            self._data,
            self._starts,
            self._sizes,
            (
                [self._program[i].number for i in scalar],
                [self._program[i].way for i in scalar],
                [columns[i] for i in scalar],
            ),
            [item.number for item in self._program if item.repeated],
            undeclared,
            listed,
            offsets,
        )
        self._list = None if offsets is None else (offsets, values)
        if self._note_undeclared is not None and undeclared.any():
            self._note_undeclared(undeclared)
        return columns

    def _repeated(self, index: int, element: FieldClass) -> Column:
        number = self._program[index].number
        if isinstance(element, StringClass | BytesClass):
            offsets = np.empty(len(self._starts) + 1, np.int64)
            spans = repeated_spans(self._data, self._starts, self._sizes, number, offsets)
            if isinstance(element, StringClass):
                return ListColumn(offsets, string_column(self._data, spans, self._strings))
            return ListColumn(offsets, bytes_column(self._data, spans))
        offsets, values = self._numbers(index)
        if isinstance(element, BooleanClass):
            return ListColumn(offsets, values != 0)
        if isinstance(element, FloatClass):
            return ListColumn(offsets, values.view(np.float64).astype(element.dtype))
        assert isinstance(element, IntegerClass)
        return ListColumn(offsets, values.astype(element.dtype, copy=False))

    def _numbers(self, index: int) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
        """Return the offsets and values of a list of numbers."""
        if index == self._listed:
            if self._decoded is None:
                self._decoded = self._decode()
            assert self._list is not None
            return self._list
        offsets = np.empty(len(self._starts) + 1, np.int64)
        number = self._program[index].number
        return offsets, decode_repeated(self._data, self._starts, self._sizes, number, offsets)


def _is_numbers(item: ProgramField) -> bool:
    held = item.field_class
    return isinstance(held, ArrayClass) and not isinstance(held.element, StringClass | BytesClass)


def string_column(
    data: NDArray[np.uint8], spans: NDArray[np.int64], strings: StringTable
) -> NDArray[np.int32]:
    """Return the ids of the texts at (start, size), shape (n, 2)."""
    ids = np.empty(len(spans), np.int32)
    strings.intern_spans(data, spans[:, 0], spans[:, 1], ids)
    return ids


def bytes_column(data: NDArray[np.uint8], spans: NDArray[np.int64]) -> ListColumn:
    """Return the bytes at (start, size), shape (n, 2)."""
    offsets = np.zeros(len(spans) + 1, np.int64)
    np.cumsum(spans[:, 1], out=offsets[1:])
    inner = np.arange(offsets[-1], dtype=np.int64)
    inner += np.repeat(spans[:, 0] - offsets[:-1], spans[:, 1])
    return ListColumn(offsets, data[inner])
