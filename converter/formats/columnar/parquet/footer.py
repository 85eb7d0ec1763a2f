"""The row groups in the footer of a Parquet file (parquet.thrift; Thrift's compact protocol).

PyArrow, which reads the rows, aborts the process on statistics that contradict the column or are truncated.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from enum import IntEnum, unique
from typing import Any, Final, NamedTuple

from converter.errors import TraceError

#: Maximum nesting of structures; those of parquet.thrift are not as deep.
_DEPTH: Final = 16


@unique
class _Type(IntEnum):
    """Types of Thrift's compact protocol."""

    TRUE = 1
    FALSE = 2
    BYTE = 3
    I16 = 4
    I32 = 5
    I64 = 6
    DOUBLE = 7
    BINARY = 8
    LIST = 9
    SET = 10
    MAP = 11
    STRUCT = 12


# Numbers of fields: of the file, a row group, one of its columns, its metadata, and their statistics.
_FILE_GROUPS: Final = 4
_GROUP_COLUMNS, _GROUP_ROWS = 1, 3
_COLUMN_METADATA: Final = 3
_METADATA_TYPE, _METADATA_STATISTICS = 1, 12
_NULLS, _HIGHEST, _LOWEST = 3, 5, 6

#: The layout of those physical types that are integers.
_INTEGERS: Final = {1: struct.Struct("<i"), 2: struct.Struct("<q")}


class Chunk(NamedTuple):
    """A column of a row group: the bounds of its values, if they are integers, and its null count; None: unknown."""

    bounds: tuple[int, int] | None = None
    nulls: int | None = None


class RowGroup(NamedTuple):
    """A row group, and its columns."""

    rows: int
    columns: list[Chunk]


def row_groups(footer: bytes) -> list[RowGroup]:
    """Return the row groups of a file.

    Raises:
        TraceError: the footer is damaged.

    """
    try:
        found = _Thrift(footer).value(_Type.STRUCT, 0).get(_FILE_GROUPS, [])
        return [
            RowGroup(group[_GROUP_ROWS], [_chunk(each) for each in group.get(_GROUP_COLUMNS, [])])
            for group in found
        ]
    except (ValueError, LookupError, TypeError, AttributeError, struct.error) as error:
        raise TraceError(f"the footer is damaged: {error}", format="parquet") from error


def _chunk(chunk: dict[int, Any]) -> Chunk:
    metadata = chunk.get(_COLUMN_METADATA, {})
    statistics = metadata.get(_METADATA_STATISTICS)
    if statistics is None:
        return Chunk()
    layout = _INTEGERS.get(metadata.get(_METADATA_TYPE))
    encoded = [statistics.get(_LOWEST), statistics.get(_HIGHEST)]
    bounds = None
    if layout is not None and all(
        isinstance(each, bytes) and len(each) == layout.size for each in encoded
    ):
        (lowest,), (highest,) = map(layout.unpack, encoded)
        bounds = lowest, highest
    return Chunk(bounds, statistics.get(_NULLS))


class _Thrift:
    """A position in a message of the compact protocol."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0
        self._simple: dict[int, Callable[[], Any]] = {
            _Type.BYTE: self._byte,
            _Type.I16: self._signed,
            _Type.I32: self._signed,
            _Type.I64: self._signed,
            _Type.DOUBLE: lambda: self._bytes(8),
            _Type.BINARY: lambda: self._bytes(self._unsigned()),
        }

    def value(self, kind: int, depth: int) -> Any:
        """Return the next value: structures as fields by number, lists as lists, numbers, bytes."""
        simple = self._simple.get(kind)
        if simple is not None:
            return simple()
        if depth > _DEPTH:
            raise ValueError("too deep")
        if kind == _Type.STRUCT:
            return self._structure(depth + 1)
        if kind in (_Type.LIST, _Type.SET):
            head = self._byte()
            count = head >> 4 if head >> 4 < 15 else self._unsigned()
            return [self._element(head & 15, depth + 1) for _ in range(count)]
        if kind == _Type.MAP:
            count = self._unsigned()
            types = self._byte() if count else 0
            return [
                (self._element(types >> 4, depth + 1), self._element(types & 15, depth + 1))
                for _ in range(count)
            ]
        raise ValueError(f"type {kind}")

    def _structure(self, depth: int) -> dict[int, Any]:
        found: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._signed()
            kind = head & 15
            is_truth = kind in (_Type.TRUE, _Type.FALSE)
            found[number] = kind == _Type.TRUE if is_truth else self.value(kind, depth)
        return found

    def _element(self, kind: int, depth: int) -> Any:
        # In lists, a boolean takes a byte.
        return self._byte() if kind in (_Type.TRUE, _Type.FALSE) else self.value(kind, depth)

    def _byte(self) -> int:
        self._at += 1
        return self._data[self._at - 1]

    def _bytes(self, size: int) -> bytes:
        if size > len(self._data) - self._at:
            raise ValueError("it ends early")
        self._at += size
        return self._data[self._at - size : self._at]

    def _unsigned(self) -> int:
        value = shift = 0
        while (byte := self._byte()) & 0x80:
            value |= (byte & 0x7F) << shift
            shift += 7
            if shift > 63:
                raise ValueError("a number of more than 64 bits")
        return value | byte << shift

    def _signed(self) -> int:
        value = self._unsigned()
        return value >> 1 ^ -(value & 1)
