"""Fields of bytes that the kernel prints as an address of a network, a device or a file system: bytes to text and back.

Only the `print fmt` identifies them: ``%pI4`` of an array of four bytes is an IPv4 address.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from converter.errors import UnsupportedError
from converter.formats.ftrace.event_format.gathers import BytesAt
from converter.formats.ftrace.event_format.record_tables import Records
from converter.formats.ftrace.event_format.syntax import (
    EventFormat,
    FormatField,
    FormatSyntaxError,
    Location,
)
from converter.ir.columns import Column, ListColumn, list_of_bytes, string_ids, take
from converter.ir.distinct_values import distinct, map_distinct
from converter.kernels.tables.strings import StringTable

#: The number of bytes that a suffix of `%p` prints; sockaddr has any number.
_SIZES: Final = {"I4": 4, "i4": 4, "I6": 16, "i6": 16, "M": 6, "m": 6, "U": 16}
_SOCKETS: Final = ("IS", "iS")
_FUNCTIONS: Final = "sSfFB"
_FUNCTION: Final = re.compile(f"%p[{_FUNCTIONS}]")
_ADDRESS: Final = re.compile("%p(?:[Ii][46S]|[MmU])")
_IPV4: Final = re.compile(r"[0-9]{1,3}(?:\.[0-9]{1,3}){3}")
_AF_INET: Final = 2
_AF_INET6: Final = 10


def address_suffixes(format: EventFormat) -> dict[str, str]:
    """Return the suffix of `%p` by which a format prints each field of its record; the first if there are several."""
    if not _ADDRESS.search(format.print_fmt):
        return {}
    forms: dict[str, str] = {}
    for field, suffix in _printed_fields(format):
        if _suits(field, suffix):
            forms.setdefault(field.name, suffix)
    return forms


def function_fields(format: EventFormat) -> frozenset[str]:
    """Return the fields of addresses whose functions a format prints (`%ps`, `%pS`)."""
    if not _FUNCTION.search(format.print_fmt):
        return frozenset()
    return frozenset(
        field.name
        for field, suffix in _printed_fields(format)
        if suffix and suffix[0] in _FUNCTIONS
    )


def _printed_fields(format: EventFormat) -> Iterator[tuple[FormatField, str]]:
    """Yield each field that a format prints, and the suffix of `%p` by which it does."""
    # The parser of the formats' C is imported only where there is such a format.
    from converter.formats.ftrace.print_format.expressions import parse_print_fmt
    from converter.formats.ftrace.print_format.nodes import Call, Cast, Field, Unary
    from converter.formats.ftrace.print_format.printf import Directive, parse_format_string
    from converter.formats.ftrace.symbol_lookup import octets

    try:
        text, arguments = parse_print_fmt(octets(format.print_fmt))
    except FormatSyntaxError:
        return
    directives = [piece for piece in parse_format_string(text) if isinstance(piece, Directive)]
    taken = iter(arguments)
    for directive in directives:
        nodes = [next(taken, None) for _ in range(directive.stars + 1)]
        node = nodes[-1]
        while isinstance(node, Cast | Unary | Call):
            if isinstance(node, Call):
                node = node.arguments[0] if node.arguments else None
            else:
                node = node.operand
        field = format.field(node.name) if isinstance(node, Field) else None
        if field is not None:
            yield field, directive.suffix


def _suits(field: FormatField, suffix: str) -> bool:
    if suffix[:2] in _SOCKETS:
        return field.location is not Location.INLINE or field.is_array
    size = _SIZES.get(suffix[:2]) or _SIZES.get(suffix[:1])
    return field.location is Location.INLINE and field.is_array and field.size == size


class AddressForm(NamedTuple):
    """The text of an address in a field of `size` bytes, as `%p` with a suffix prints it."""

    suffix: str
    size: int
    big_endian: bool
    long_size: int = 8

    @property
    def is_socket(self) -> bool:
        """True for a sockaddr, whose family decides how much of the field is used."""
        return self.suffix[:2] in _SOCKETS

    def text(self, memory: bytes) -> bytes:
        """Return the text; the kernel prints nothing for a socket of another family, which is hexadecimal here."""
        from converter.formats.ftrace.print_format.kernel_pointers import ByteOrder, format_memory

        order: ByteOrder = "big" if self.big_endian else "little"
        shown = format_memory(self.suffix, memory, None, order, self.long_size)
        return (shown or memory.hex()).encode("latin-1")

    def packed(self, text: bytes) -> bytes:
        """Return the bytes of a text; ValueError where it does not have this form."""
        form = _SocketCodec if self.is_socket else _AddressCodec
        order = "big" if self.big_endian else "little"
        return form(self.suffix, self.size, order).packed(text.decode("ascii"))

    def packed_or_none(self, text: bytes) -> bytes | None:
        """Return the bytes of a text; None where it does not have this form."""
        try:
            return self.packed(text)
        except ValueError:
            return None


class AddressAt(NamedTuple):
    """The text of an address, as `%p` with a suffix prints it."""

    bytes: BytesAt
    suffix: str
    long_size: int

    def load(self, records: Records) -> Column:
        """Return the column. Each distinct address is converted to text once."""
        column = self.bytes.copied(records, 1, until_nul=False)
        found = StringTable()
        ids = string_ids(column, found)
        form = AddressForm(self.suffix, self.bytes.length, records.big_endian, self.long_size)
        return map_distinct(ids, lambda id: records.strings.intern(form.text(found[id])))


def packer(
    field: FormatField, suffix: str, *, big_endian: bool
) -> Callable[[Column, StringTable], ListColumn]:
    """Return a function that converts a column of address texts back to the field's bytes."""
    form = AddressForm(suffix, field.size, big_endian)

    def pack(column: Column, strings: StringTable) -> ListColumn:
        texts, which = distinct(string_ids(column, strings))
        known = []
        for text in map(strings.__getitem__, texts.tolist()):
            try:
                known.append(form.packed(text))
            except ValueError as error:
                raise UnsupportedError(
                    f"{text!r} is no address that %p{suffix} prints",
                    field=field.name,
                ) from error
        packed = take(list_of_bytes(known), which)
        assert isinstance(packed, ListColumn)
        return packed

    return pack


class _AddressCodec:
    def __init__(self, suffix: str, size: int, byte_order: str) -> None:
        self._suffix = suffix
        self._size = size
        self._little = suffix[2:3] == "l" or (suffix[2:3] == "h" and byte_order == "little")

    def packed(self, text: str) -> bytes:
        """Return the bytes of a text; ValueError where it does not have this format."""
        suffix = self._suffix
        if suffix[:2] in ("I4", "i4"):
            if not _IPV4.fullmatch(text):
                raise ValueError(text)
            data = bytes(int(part) for part in text.split("."))
            data = data[::-1] if self._little else data
        elif suffix[:2] == "I6":
            data = _ipv6(text)
        else:
            data = bytes.fromhex(text.replace(":", "").replace("-", ""))
            if suffix[:1] == "U" and suffix[1:2] in ("l", "L"):
                data = data[3::-1] + data[5:3:-1] + data[7:5:-1] + data[8:]
            elif suffix[:1] in "Mm" and "R" in suffix:
                data = data[::-1]
        if len(data) != self._size:
            raise ValueError(f"{len(data)} bytes")
        return data


class _SocketCodec:
    """A sockaddr: family, port and address; the rest of the field is zero."""

    def __init__(self, suffix: str, size: int, byte_order: str) -> None:
        self._address = _AddressCodec(f"{suffix[0]}4", 4, byte_order)
        self._has_port = "p" in suffix[2:]
        self._is_plain = suffix[0] == "i"
        self._little = byte_order == "little"

    def packed(self, text: str) -> bytes:
        """Return the bytes of a text; ValueError where it is not an address."""
        address, port = text, 0
        if self._has_port and text[:1] != "[" and "." not in text:
            return bytes.fromhex(text)
        if self._has_port:
            address, _, number = text.rpartition(":")
            port = int(number)
        address = address.removeprefix("[").removesuffix("]")
        if "." in address and ":" not in address:
            return (
                self._family(_AF_INET)
                + port.to_bytes(2, "big")
                + self._address.packed(address)
                + bytes(8)
            )
        if ":" not in address and not (self._is_plain and len(address) == 32):
            return bytes.fromhex(address)
        host = bytes.fromhex(address) if self._is_plain else _ipv6(address)
        return self._family(_AF_INET6) + port.to_bytes(2, "big") + bytes(4) + host + bytes(4)

    def _family(self, number: int) -> bytes:
        return number.to_bytes(2, "little" if self._little else "big")


def _ipv6(text: str) -> bytes:
    from ipaddress import IPv6Address

    if "%" in text:
        raise ValueError(text)
    return IPv6Address(text).packed
