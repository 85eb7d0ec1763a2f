"""The tables of a profile as columns: strings, functions, mappings, locations with their lines, types of samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from converter.errors import TraceError
from converter.formats.profiles.pprof.layout import (
    BYTES,
    WIRES,
    FunctionField,
    LineField,
    LocationField,
    MappingField,
    ProfileField,
    ValueTypeField,
)
from converter.kernels.protobuf.decode import (
    VARINT,
    decode_messages,
    decode_repeated,
    message_fields,
    repeated_spans,
)
from converter.kernels.protobuf.encode import varint
from converter.kernels.tables.strings import StringTable
from converter.limits import allowed, limit

_LAST_LINE: Final = (1 << 32) - 1


class Type(NamedTuple):
    """A type of samples: its name and its unit, as ids of strings."""

    name: int
    unit: int


class Messages:
    """The messages of a profile: where the fields of each number are, and how many bytes are sound."""

    def __init__(self, data: NDArray[np.uint8], start: int = 0) -> None:
        self.data = data
        most = limit("pprof.records")
        rows, self.end = message_fields(data, start, len(data) - start, most + 1)
        if len(rows) > most:
            raise TraceError(offset=int(rows[-1, 4]), expected=allowed("pprof.records"))
        number, wire = rows[:, 0], rows[:, 1]
        known = np.array([0, *(WIRES.get(ProfileField(i), -1) for i in range(1, 16))])
        is_known = (number < len(known)) & (known[np.minimum(number, len(known) - 1)] == wire)
        # A comment may be packed with others.
        is_known |= (number == ProfileField.COMMENT) & (wire == BYTES)
        self._rows = rows if is_known.all() else rows[is_known]

    @property
    def is_damaged(self) -> bool:
        """True if the data ends within a field, or goes on with bytes that are no field."""
        return self.end < len(self.data)

    def spans(self, field: ProfileField) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the starts and sizes of the fields of this number, without their tags."""
        rows = self._rows[self._rows[:, 0] == field]
        return np.ascontiguousarray(rows[:, 2]), np.ascontiguousarray(rows[:, 3])

    def records(self, field: ProfileField) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the starts and sizes of the fields of this number with their tags."""
        rows = self._rows[self._rows[:, 0] == field]
        return np.ascontiguousarray(rows[:, 4]), rows[:, 2] + rows[:, 3] - rows[:, 4]

    def numbers(self, field: ProfileField) -> NDArray[np.uint64]:
        """Return the values of a field that is a number, of which the last counts unless it is a list."""
        starts, sizes = self.spans(field)
        # They are read as those of a message that has nothing else: a few, in any profile that is one.
        packed = b"".join(
            self.data[start : start + size].tobytes()
            for start, size in zip(starts.tolist(), sizes.tolist(), strict=True)
        )
        message = np.frombuffer(bytes([BYTES | 1 << 3]) + varint(len(packed)) + packed, np.uint8)
        span = np.zeros(1, np.int64), np.full(1, len(message), np.int64)
        return decode_repeated(message, *span, 1, np.zeros(2, np.int64))

    def number(self, field: ProfileField) -> int:
        """Return the value of a number, which is signed; 0 where there is none."""
        found = self.numbers(field)
        return int(found[-1:].astype(np.int64).sum())

    def columns(
        self, spans: tuple[NDArray[np.int64], NDArray[np.int64]], *fields: int
    ) -> list[NDArray[np.uint64]]:
        """Return a column per field of messages that are numbers; fields that a message lacks are 0."""
        columns = [np.zeros(len(spans[0]), np.uint64) for _ in fields]
        decode_messages(self.data, *spans, (fields, [VARINT] * len(fields), columns))
        return columns


class Rows:
    """The rows of a table by the ids of its messages, any numbers but 0."""

    def __init__(self, ids: NDArray[np.uint64]) -> None:
        self._order = np.argsort(ids, kind="stable")
        self._ids = ids[self._order]

    def find(self, ids: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return the row of each id, -1 where there is none; of several, the first."""
        if not len(self._ids):
            return np.full(len(ids), -1, np.int64)
        at = np.minimum(np.searchsorted(self._ids, ids), len(self._ids) - 1)
        found: NDArray[np.int64] = np.where(self._ids[at] == ids, self._order[at], -1)
        return found


@dataclass(slots=True)
class Frames:
    """The frames of locations: those of location i are at ``offsets[i]:offsets[i + 1]``, innermost first."""

    offsets: NDArray[np.int64]
    function: NDArray[np.int32]
    mapping: NDArray[np.int32]
    rel_pc: NDArray[np.uint64]
    source: NDArray[np.int32]
    line: NDArray[np.uint32]


class Tables:
    """The tables of a profile. Texts are ids of the trace's strings.

    References to what the profile does not have are empty, and counted in `dangling` by the name of the field.
    """

    def __init__(self, messages: Messages, strings: StringTable) -> None:
        self.messages = messages
        self.dangling: dict[str, int] = {}
        #: The ids of the strings by their indexes.
        self.strings = self._interned(strings)
        #: The types of samples, in the order of the values of samples.
        self.types = self.value_types(ProfileField.SAMPLE_TYPE)
        #: The ids of locations.
        self.ids, mapping_ids, address = messages.columns(
            messages.spans(ProfileField.LOCATION),
            LocationField.ID,
            LocationField.MAPPING_ID,
            LocationField.ADDRESS,
        )
        self.locations = Rows(self.ids)
        self.frames = self._frames(mapping_ids, address)

    def _interned(self, strings: StringTable) -> NDArray[np.int32]:
        starts, sizes = self.messages.spans(ProfileField.STRING_TABLE)
        if not len(starts):
            raise TraceError(field="string_table", expected="strings", found="none")
        ids = np.empty(len(starts), np.int32)
        strings.intern_spans(self.messages.data, starts, sizes, ids)
        return ids

    def text(self, index: NDArray[np.uint64], field: str) -> NDArray[np.int32]:
        """Return strings by their indexes; empty ones where the table has none."""
        known = index < len(self.strings)
        self._count(field, int(np.count_nonzero(~known)))
        found: NDArray[np.int32] = np.where(known, self.strings[np.where(known, index, 0)], 0)
        return found.astype(np.int32)

    def text_at(self, field: ProfileField) -> int:
        """Return the string that a field of Profile refers to."""
        index = self.messages.numbers(field)[-1:]
        return int(self.text(index, field.name.lower())[0]) if len(index) else 0

    def value_types(self, field: ProfileField) -> list[Type]:
        """Return the messages of a type of values."""
        types = self.messages.columns(self.messages.spans(field), *ValueTypeField)
        names, units = (self.text(column, field.name.lower()) for column in types)
        return [Type(*one) for one in zip(names.tolist(), units.tolist(), strict=True)]

    @property
    def usual_type(self) -> int:
        """The index of the type that tools show unless they are asked for another."""
        name = self.text_at(ProfileField.DEFAULT_SAMPLE_TYPE)
        named = [index for index, one in enumerate(self.types) if name and one.name == name]
        return named[0] if named else len(self.types) - 1

    def find(self, rows: Rows, ids: NDArray[np.uint64], field: str) -> NDArray[np.int64]:
        """Return the rows of ids of which 0 is none; -1 is no row."""
        found = rows.find(ids)
        self._count(field, int(np.count_nonzero((found < 0) & (ids != 0))))
        return found

    def _count(self, field: str, count: int) -> None:
        if count:
            self.dangling[field] = self.dangling.get(field, 0) + count

    def _frames(self, mapping_ids: NDArray[np.uint64], address: NDArray[np.uint64]) -> Frames:
        messages = self.messages
        starts, sizes = messages.spans(ProfileField.LOCATION)
        offsets = np.zeros(len(starts) + 1, np.int64)
        lines = repeated_spans(messages.data, starts, sizes, LocationField.LINE, offsets)
        if len(lines) > limit("pprof.records"):
            raise TraceError(
                field="line", expected=allowed("pprof.records"), found=f"{len(lines):,}"
            )
        spans = np.ascontiguousarray(lines[:, 0]), np.ascontiguousarray(lines[:, 1])
        functions, line = messages.columns(spans, LineField.FUNCTION_ID, LineField.LINE)
        # A location without lines is one frame, of which the address is known.
        counts = np.diff(offsets)
        frame_offsets = np.zeros(len(starts) + 1, np.int64)
        np.cumsum(np.maximum(counts, 1), out=frame_offsets[1:])
        location = np.repeat(np.arange(len(starts)), np.maximum(counts, 1))
        has_line = np.repeat(counts > 0, np.maximum(counts, 1))
        of_line = np.zeros(len(location), np.int64)
        of_line[has_line] = np.arange(len(functions))
        name, source = self._functions(functions)
        mapping, base = self._mappings(mapping_ids)

        def lined(column: NDArray[Any]) -> NDArray[Any]:
            if not len(column):
                return np.zeros(len(location), column.dtype)
            return np.where(has_line, column[of_line], column.dtype.type(0))

        return Frames(
            offsets=frame_offsets,
            function=lined(name),
            mapping=mapping[location],
            rel_pc=(address + base)[location],
            source=lined(source),
            line=lined(np.where(line <= _LAST_LINE, line, 0).astype(np.uint32)),
        )

    def _functions(self, wanted: NDArray[np.uint64]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return the names and files of functions by their ids."""
        ids, name, system_name, filename = self.messages.columns(
            self.messages.spans(ProfileField.FUNCTION),
            FunctionField.ID,
            FunctionField.NAME,
            FunctionField.SYSTEM_NAME,
            FunctionField.FILENAME,
        )
        names = self.text(np.where(name == 0, system_name, name), "function")
        row = self.find(Rows(ids), wanted, "function_id")
        files = self.text(filename, "function")
        return _taken(names, row), _taken(files, row)

    def _mappings(self, wanted: NDArray[np.uint64]) -> tuple[NDArray[np.int32], NDArray[np.uint64]]:
        """Return the files of mappings by their ids, and what to add to an address for its offset in the file."""
        ids, start, offset, filename = self.messages.columns(
            self.messages.spans(ProfileField.MAPPING),
            MappingField.ID,
            MappingField.MEMORY_START,
            MappingField.FILE_OFFSET,
            MappingField.FILENAME,
        )
        row = self.find(Rows(ids), wanted, "mapping_id")
        return _taken(self.text(filename, "mapping"), row), _taken(offset - start, row)


def _taken(column: NDArray[Any], rows: NDArray[np.int64]) -> NDArray[Any]:
    """Return the values of rows; 0 for row -1."""
    return np.append(column, column.dtype.type(0))[rows]
