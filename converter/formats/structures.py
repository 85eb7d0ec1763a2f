"""Declarations of binary structures with the API of the library construct: the parts of it that file headers need.

The same declarations work with construct itself, and tests compare the two. Importing construct takes as long as many
a conversion; importing this does not.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any


class StructureError(ValueError):
    """Bytes that do not match the structure, or a value that does not fit in it."""


class StreamError(StructureError):
    """The data ends within the structure."""


class Container(dict[str, Any]):
    """The parts of a structure by name, also available as attributes."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


class Construct:
    """The layout of some bytes. ``"name" / construct`` is a named part of a structure."""

    name: str | None = None

    def parse(self, data: bytes) -> Any:
        """Return the value at the start of `data`.

        Raises:
            StructureError: the bytes do not match.

        """
        return self.parse_at(data, 0, Container())[0]

    def build(self, value: Any) -> bytes:
        """Return the bytes of a value.

        Raises:
            StructureError: it does not fit.

        """
        return self.build_in(value, Container())

    def sizeof(self) -> int:
        """Return the constant size of all values in bytes.

        Raises:
            StructureError: the size depends on the value.

        """
        raise StructureError("the size depends on the value")

    def parse_at(self, data: bytes, at: int, context: Container) -> tuple[Any, int]:
        """Return the value at `at`, in a structure with these parts so far, and its end."""
        raise NotImplementedError

    def build_in(self, value: Any, context: Container) -> bytes:
        """Return the bytes of a value in a structure with these parts."""
        raise NotImplementedError

    def __rtruediv__(self, name: str) -> Construct:
        return _Named(name, self)


class _Named(Construct):
    def __init__(self, name: str, inner: Construct) -> None:
        self.name = name
        self.sizeof = inner.sizeof  # type: ignore[method-assign]
        self.parse_at = inner.parse_at  # type: ignore[method-assign]
        self.build_in = inner.build_in  # type: ignore[method-assign]


class FormatField(Construct):
    """A number, in one of the formats of the module `struct`."""

    def __init__(self, format: str) -> None:
        self._struct = struct.Struct(format)

    def sizeof(self) -> int:
        return self._struct.size

    def parse_at(self, data: bytes, at: int, context: Container) -> tuple[Any, int]:
        end = at + self._struct.size
        if end > len(data):
            raise StreamError(f"expected {end - at} bytes, found {len(data) - at}")
        return self._struct.unpack_from(data, at)[0], end

    def build_in(self, value: Any, context: Container) -> bytes:
        try:
            return self._struct.pack(value)
        except struct.error as error:
            raise StructureError(str(error)) from error


Byte = FormatField("B")
Int16ul, Int16ub = FormatField("<H"), FormatField(">H")
Int32ul, Int32ub = FormatField("<I"), FormatField(">I")
Int64ul, Int64ub = FormatField("<Q"), FormatField(">Q")
Int64sl, Int64sb = FormatField("<q"), FormatField(">q")


class _GreedyBytes(Construct):
    def parse_at(self, data: bytes, at: int, context: Container) -> tuple[Any, int]:
        return data[at:], len(data)

    def build_in(self, value: Any, context: Container) -> bytes:
        return bytes(value)


GreedyBytes = _GreedyBytes()


class Const(Construct):
    """Bytes that are always the same."""

    def __init__(self, expected: bytes) -> None:
        self._expected = expected

    def sizeof(self) -> int:
        return len(self._expected)

    def parse_at(self, data: bytes, at: int, context: Container) -> tuple[Any, int]:
        end = at + len(self._expected)
        if end > len(data):
            raise StreamError(f"expected {end - at} bytes, found {len(data) - at}")
        if data[at:end] != self._expected:
            raise StructureError(f"expected {self._expected!r}, found {data[at:end]!r}")
        return self._expected, end

    def build_in(self, value: Any, context: Container) -> bytes:
        return self._expected


class NullTerminated(Construct):
    """The bytes before the next NUL."""

    def __init__(self, inner: Construct) -> None:
        self._inner = inner

    def parse_at(self, data: bytes, at: int, context: Container) -> tuple[Any, int]:
        end = data.find(b"\0", at)
        if end < 0:
            raise StreamError("expected a NUL")
        return self._inner.parse_at(data[at:end], 0, context)[0], end + 1

    def build_in(self, value: Any, context: Container) -> bytes:
        return self._inner.build_in(value, context) + b"\0"


class CString(Construct):
    """A text up to the next NUL."""

    def __init__(self, encoding: str) -> None:
        self._encoding = encoding
        self._bytes = NullTerminated(GreedyBytes)

    def parse_at(self, data: bytes, at: int, context: Container) -> tuple[Any, int]:
        text, end = self._bytes.parse_at(data, at, context)
        try:
            return text.decode(self._encoding), end
        except UnicodeDecodeError as error:
            raise StructureError(str(error)) from error

    def build_in(self, value: Any, context: Container) -> bytes:
        return self._bytes.build_in(value.encode(self._encoding), context)


class Prefixed(Construct):
    """A part after the number of its bytes."""

    def __init__(self, length: Construct, inner: Construct) -> None:
        self._length = length
        self._inner = inner

    def parse_at(self, data: bytes, at: int, context: Container) -> tuple[Any, int]:
        length, at = self._length.parse_at(data, at, context)
        end = at + length
        if end > len(data):
            raise StreamError(f"expected {length} bytes, found {len(data) - at}")
        return self._inner.parse_at(data[at:end], 0, context)[0], end

    def build_in(self, value: Any, context: Container) -> bytes:
        built = self._inner.build_in(value, context)
        return self._length.build_in(len(built), context) + built


class Array(Construct):
    """An array whose `count` is computed from earlier parts."""

    def __init__(self, count: Callable[[Container], int], inner: Construct) -> None:
        self._count = count
        self._inner = inner

    def parse_at(self, data: bytes, at: int, context: Container) -> tuple[Any, int]:
        return _repeated(self._inner, self._count(context), data, at, context)

    def build_in(self, value: Any, context: Container) -> bytes:
        return b"".join(self._inner.build_in(item, context) for item in value)


class PrefixedArray(Construct):
    """An array after the number of its elements."""

    def __init__(self, count: Construct, inner: Construct) -> None:
        self._count = count
        self._inner = inner

    def parse_at(self, data: bytes, at: int, context: Container) -> tuple[Any, int]:
        count, at = self._count.parse_at(data, at, context)
        return _repeated(self._inner, count, data, at, context)

    def build_in(self, value: Any, context: Container) -> bytes:
        items = b"".join(self._inner.build_in(item, context) for item in value)
        return self._count.build_in(len(value), context) + items


def _repeated(
    inner: Construct, count: int, data: bytes, at: int, context: Container
) -> tuple[list[Any], int]:
    """Parse `count` elements; each takes at least a byte, so that a count that is too large ends with the data."""
    found = []
    for _ in range(count):
        item, at = inner.parse_at(data, at, context)
        found.append(item)
    return found, at


class GreedyRange(Construct):
    """An array of as many elements as the data contains."""

    def __init__(self, inner: Construct) -> None:
        self._inner = inner

    def parse_at(self, data: bytes, at: int, context: Container) -> tuple[Any, int]:
        found: list[Any] = []
        while True:
            try:
                item, at = self._inner.parse_at(data, at, context)
            except StructureError:
                return found, at
            found.append(item)

    def build_in(self, value: Any, context: Container) -> bytes:
        return b"".join(self._inner.build_in(item, context) for item in value)


class Rebuild(Construct):
    """A value that is computed from others when it is built."""

    def __init__(self, inner: Construct, make: Callable[[Container], Any]) -> None:
        self._inner = inner
        self._make = make

    def parse_at(self, data: bytes, at: int, context: Container) -> tuple[Any, int]:
        return self._inner.parse_at(data, at, context)

    def build_in(self, value: Any, context: Container) -> bytes:
        return self._inner.build_in(self._make(context), context)


class Struct(Construct):
    """A sequence of parts; those without a name are not among the values."""

    def __init__(self, *parts: Construct) -> None:
        self._parts = parts

    def sizeof(self) -> int:
        return sum(part.sizeof() for part in self._parts)

    def parse_at(self, data: bytes, at: int, context: Container) -> tuple[Any, int]:
        found = Container()
        for part in self._parts:
            item, at = part.parse_at(data, at, found)
            if part.name is not None:
                found[part.name] = item
        return found, at

    def build_in(self, value: Any, context: Container) -> bytes:
        given = Container(value)
        built = []
        for part in self._parts:
            item = None if part.name is None else given.get(part.name)
            built.append(part.build_in(item, given))
        return b"".join(built)


class _This:
    """``this.name`` is the part of that name of the enclosing structure."""

    def __getattr__(self, name: str) -> Callable[[Container], Any]:
        return lambda context: context[name]


this = _This()


def len_(value: Callable[[Container], Any]) -> Callable[[Container], int]:
    """Return a function for the length of a computed value."""
    return lambda context: len(value(context))
