"""Integers, numbers and strings of TSDL, with their attributes (CTF 1.8.3, 4.1 and 4.2.5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from converter.formats.ctf.metadata.errors import MAX_ALIGNMENT, MAX_INTEGER_BITS
from converter.formats.ctf.metadata.field_classes import (
    ByteOrder,
    FixedBits,
    FixedFloat,
    FixedInteger,
    Location,
    Text,
)
from converter.formats.ctf.metadata.tsdl.lexer import Token, TokenKind
from converter.formats.ctf.metadata.tsdl.tokens import TokenReader
from converter.formats.ctf.metadata.tsdl.types import DeclaredType, Reference

_BASES: Final = {
    **dict.fromkeys(("decimal", "dec", "d", "i", "u"), 10),
    **dict.fromkeys(("hexadecimal", "hex", "x", "X", "p"), 16),
    **dict.fromkeys(("octal", "oct", "o"), 8),
    **dict.fromkeys(("binary", "b"), 2),
}
_ENCODINGS: Final = {
    "none": "",
    "NONE": "",
    "UTF8": "UTF8",
    "utf8": "UTF8",
    "ASCII": "ASCII",
    "ascii": "ASCII",
}
_TRUTHS: Final = {"true": True, "TRUE": True, "false": False, "FALSE": False}
_BYTE_ORDERS: Final[dict[str, ByteOrder]] = {
    "le": "little",
    "be": "big",
    "network": "big",
}
#: Bits of exponent and mantissa, the sign among the latter (CTF 1.8.3, 4.1.7; IEEE 754).
_FLOATS: Final = {(5, 11): 16, (8, 24): 32, (11, 53): 64, (15, 113): 128}
#: Names of the encodings of 1.8 in `field_classes.Text`.
TEXT_ENCODINGS: Final = {"UTF8": "utf-8", "ASCII": "ascii"}


@dataclass(slots=True)
class _Attribute:
    """The value of an attribute: an integer or words."""

    value: int | str
    token: Token


class PlainTypeParser:
    """Parses types that refer to no other; collects unknown attributes."""

    def __init__(self, reader: TokenReader, byte_order: ByteOrder) -> None:
        self._reader = reader
        self._byte_order = byte_order
        self.remarks: list[tuple[int, str]] = []
        self.tolerated: list[tuple[int, str]] = []

    def integer(self) -> FixedInteger | FixedBits:
        """Parse what follows `integer`. An integer of more than 64 bits becomes a bit array."""
        place = self._reader.peek()
        given = self._attributes("integer", {"size", "signed", "align", "byte_order"}, _INTEGERS)
        if "size" not in given:
            self._reader.fail("an integer needs a size", at=place)
        size = self._number(given["size"], 1, MAX_INTEGER_BITS)
        order = self._order(given.get("byte_order"))
        align = self._alignment(given.get("align"), size)
        signed = self._truth(given.get("signed"))
        base = self._base(given.get("base"))
        encoding = self._word(given.get("encoding"), _ENCODINGS, "an encoding", "none")
        clock = self._clock(given.get("map"))
        if size > 64:
            return FixedBits(size, order, align)
        return FixedInteger(
            size, signed, order, align, base=base, clock=clock, encoding=_ENCODINGS[encoding]
        )

    def floating_point(self) -> FixedFloat:
        """Parse what follows `floating_point`."""
        place = self._reader.peek()
        names = {"exp_dig", "mant_dig", "align", "byte_order"}
        given = self._attributes("floating_point", names, frozenset())
        if "exp_dig" not in given or "mant_dig" not in given:
            self._reader.fail("a floating_point needs exp_dig and mant_dig", at=place)
        digits = given["exp_dig"].value, given["mant_dig"].value
        size = next((bits for known, bits in _FLOATS.items() if known == digits), None)
        if size is None:
            expected = "8 and 24, or 11 and 53 bits of exponent and mantissa"
            raise self._reader.positions.error(place.offset, expected=expected, found=digits)
        order = self._order(given.get("byte_order"))
        return FixedFloat(size, order, self._alignment(given.get("align"), size))

    def string(self) -> Text:
        """Parse what follows `string`, if anything."""
        if self._reader.peek().text != "{" or self._reader.peek().kind is TokenKind.STRING:
            return Text()
        given = self._attributes("string", {"encoding"}, frozenset())
        encoding = self._word(given.get("encoding"), _ENCODINGS, "an encoding", "UTF8")
        return Text(encoding=TEXT_ENCODINGS.get(_ENCODINGS[encoding], "utf-8"))

    def _attributes(
        self, what: str, names: set[str], more: frozenset[str]
    ) -> dict[str, _Attribute]:
        reader = self._reader
        reader.expect("{")
        given: dict[str, _Attribute] = {}
        while not reader.accept("}"):
            name = reader.word()
            reader.expect("=")
            token = reader.peek()
            if token.kind is TokenKind.WORD:
                words = [reader.next().text]
                while reader.accept("."):
                    words.append(reader.word().text)
                value: int | str = ".".join(words)
            else:
                value = reader.signed_integer()
            reader.expect(";")
            if name.text in given:
                reader.fail(f"{what}.{name.text} is set twice", at=name)
            if name.text not in names and name.text not in more:
                self.remarks.append((name.offset, f"unknown attribute {what}.{name.text}"))
            given[name.text] = _Attribute(value, token)
        return given

    def _number(self, given: _Attribute, lowest: int, highest: int) -> int:
        value = given.value
        if not isinstance(value, int) or not lowest <= value <= highest:
            raise self._reader.positions.error(
                given.token.offset, expected=f"an integer from {lowest} to {highest}", found=value
            )
        return value

    def _alignment(self, given: _Attribute | None, size: int) -> int:
        if given is None:
            return 1 if size % 8 else 8
        value = self._number(given, 1, MAX_ALIGNMENT)
        if value & (value - 1):
            self._reader.fail(f"an alignment must be a power of two, not {value}", at=given.token)
        return value

    def _order(self, given: _Attribute | None) -> ByteOrder:
        if given is None or given.value == "native":
            return self._byte_order
        return _BYTE_ORDERS[self._word(given, _BYTE_ORDERS, "le, be, network or native", "")]

    def _truth(self, given: _Attribute | None) -> bool:
        if given is not None and isinstance(given.value, int):
            return bool(self._number(given, 0, 1))
        return _TRUTHS[self._word(given, _TRUTHS, "true or false", "false")]

    def _base(self, given: _Attribute | None) -> int:
        if given is not None and given.value in (2, 8, 10, 16):
            return int(given.value)
        return _BASES[self._word(given, _BASES, "a base", "decimal")]

    def _clock(self, given: _Attribute | None) -> str:
        """Return the name in `clock.NAME.value`."""
        if given is None:
            return ""
        words = given.value.split(".") if isinstance(given.value, str) else []
        if len(words) != 3 or words[0] != "clock" or words[2] != "value":
            raise self._reader.positions.error(
                given.token.offset, expected="clock.NAME.value", found=given.value
            )
        return words[1]

    def _word(
        self, given: _Attribute | None, known: Mapping[str, object], what: str, default: str
    ) -> str:
        if given is None:
            return default
        if not isinstance(given.value, str) or given.value not in known:
            raise self._reader.positions.error(given.token.offset, expected=what, found=given.value)
        return given.value


_INTEGERS: Final = frozenset({"base", "encoding", "map"})


def as_text(element: DeclaredType, length: int | Reference) -> DeclaredType | None:
    """Return an array of characters of known length as a text, or None if it is not one."""
    if isinstance(length, int) and is_character(element):
        assert isinstance(element, FixedInteger)
        return text_of(element, length)
    return None


def is_character(element: DeclaredType) -> bool:
    """Return True if arrays of a type are texts (CTF 1.8.3, 4.2.3: integers of 8 bits with an encoding)."""
    return (
        isinstance(element, FixedInteger)
        and element.length == 8
        and element.alignment == 8
        and bool(element.encoding)
    )


def text_of(element: FixedInteger, length: int | Location) -> Text:
    """Return an array or a sequence of characters as a text."""
    return Text(length, TEXT_ENCODINGS[element.encoding], element)
