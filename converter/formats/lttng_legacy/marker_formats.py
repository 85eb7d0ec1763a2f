"""The format texts of markers: the grammar of ``ltt-serialize.c``, in both directions.

    name [#[n|b]*[h|l|ll|L|z|Z|t|1|2|4|8][d|i|o|u|x|X|c|p|s]]%[-+ #0]*[h|l|ll|L|z|Z|t](d|i|o|u|x|X|c|p|s) ...

``#`` is how the trace stores the value, ``%`` how C passed it, which is also how the trace stores it if there is no
``#``. A field's name is the last space-terminated word before it. ``n`` means network byte order, ``b`` a field in
the event header of a compact channel. ``##`` and ``%%`` are those characters themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from converter.ir.events import Field
from converter.ir.field_classes import FieldClass, IntegerClass, StringClass, Style

#: The most fields of a format text, as a limit for hostile input.
MAX_FIELDS: Final = 1024

_C_LENGTHS: Final = "hlLzZt"
_SIZES: Final = "hlLzZt1248"
_TYPES: Final = "dioxXucps"
_FLAGS: Final = "-+ #0"
_STYLES: Final = {
    "x": Style.HEXADECIMAL,
    "X": Style.HEXADECIMAL,
    "o": Style.OCTAL,
    "p": Style.POINTER,
}
_LETTERS: Final = {Style.HEXADECIMAL: "x", Style.OCTAL: "o"}
_C_SIZES: Final = {1: "", 2: "h", 4: "", 8: "ll"}


@dataclass(frozen=True, slots=True)
class TypeSizes:
    """Bytes of the traced program's C types, as in the marker's ID event, and its alignment (0: packed)."""

    integer: int = 4
    long: int = 8
    pointer: int = 8
    size_t: int = 8
    alignment: int = 0


@dataclass(frozen=True, slots=True)
class MarkerField:
    """A field of a marker: `size` bytes (0: a string with its NUL).

    `network` means that it is big-endian in any trace, `inline` that a compact channel has it in the event header.
    """

    name: str
    size: int
    signed: bool = False
    style: Style = Style.DECIMAL
    network: bool = False
    inline: bool = False

    @property
    def field_class(self) -> FieldClass:
        """The field's type."""
        return IntegerClass(8 * self.size, self.signed, self.style) if self.size else StringClass()


@dataclass(slots=True)
class _Conversion:
    """The text after a # or %."""

    size: str = ""
    type: str = ""
    network: bool = False
    inline: bool = False


def parse_format(
    text: str, sizes: TypeSizes, *, ignores_eight: bool = False
) -> tuple[MarkerField, ...]:
    """Return the fields of a format text; free text and invalid conversions are ignored.

    Args:
        text: the format.
        sizes: those of C's types.
        ignores_eight: as in version 1.0, ignore ``#8``: the size is that after the ``%``.

    Raises:
        ValueError: it has more than `MAX_FIELDS` fields.

    """
    if text == "MARK_NOARGS":
        return ()
    fields: list[MarkerField] = []
    traced: _Conversion | None = None
    name, word = "", ""
    at = 0
    while at < len(text):
        letter = text[at]
        if letter == " ":
            name, word = word or name, ""
            at += 1
        elif letter in "#%" and text[at + 1 : at + 2] == letter:
            word += letter
            at += 2
        elif letter == "#":
            traced, at = _traced(text, at + 1)
        elif letter == "%":
            passed, at = _passed(text, at + 1)
            if passed.type:
                if len(fields) == MAX_FIELDS:
                    raise ValueError(f"a format has more than {MAX_FIELDS} fields")
                called = name or f"field {len(fields)}"
                fields.append(_field(called, traced, passed, sizes, ignores_eight))
            traced, name, word = None, "", ""
        else:
            word += letter
            at += 1
    return tuple(fields)


def _traced(text: str, at: int) -> tuple[_Conversion, int]:
    found = _Conversion()
    while text[at : at + 1] and text[at] in "nb":
        found.network |= text[at] == "n"
        found.inline |= text[at] == "b"
        at += 1
    at = _size(text, at, found, _SIZES)
    if text[at : at + 1] and text[at] in _TYPES:
        found.type = text[at]
        at += 1
    return found, at


def _passed(text: str, at: int) -> tuple[_Conversion, int]:
    found = _Conversion()
    while text[at : at + 1] and text[at] in _FLAGS:
        at += 1
    at = _size(text, at, found, _C_LENGTHS)
    if text[at : at + 1] and text[at] in _TYPES:
        found.type = text[at]
        at += 1
    return found, at


def _size(text: str, at: int, found: _Conversion, sizes: str) -> int:
    if text[at : at + 1] and text[at] in sizes:
        found.size = text[at]
        at += 1
        if found.size in "hl" and text[at : at + 1] == found.size:
            found.size *= 2
            at += 1
    return at


def _field(
    name: str,
    traced: _Conversion | None,
    passed: _Conversion,
    sizes: TypeSizes,
    ignores_eight: bool,
) -> MarkerField:
    own = traced or _Conversion()
    kind = own.type or passed.type
    if kind == "s" or passed.type == "s":
        return MarkerField(name, 0)
    spelled = own.size if not (ignores_eight and own.size == "8") else ""
    size = _bytes(spelled, own.type or "", sizes) or _bytes(passed.size, passed.type, sizes)
    shown = passed.type if passed.type != "c" else own.type or "c"
    style = Style.POINTER if "p" in (own.type, passed.type) else _STYLES.get(shown, Style.DECIMAL)
    if shown == "c":
        style = Style.CHARACTER
    return MarkerField(name, size or sizes.integer, kind in "di", style, own.network, own.inline)


def _bytes(spelled: str, kind: str, sizes: TypeSizes) -> int:
    """Return the bytes of a size, or of a type without one; 0 if neither defines them."""
    if spelled.isdigit():
        return int(spelled)
    known: dict[str, int] = {
        "hh": 1,
        "h": 2,
        "l": sizes.long,
        "ll": 8,
        "L": 8,
        "z": sizes.size_t,
        "Z": sizes.size_t,
        "t": sizes.pointer,
    }
    return known.get(spelled, 0) or {"p": sizes.pointer, "c": 1}.get(kind, 0)


def build_format(fields: tuple[Field, ...]) -> str:
    """Return the format text of fields that markers can contain, or a single space if there are none.

    Sizes are explicit, so that they do not depend on those of C's types; pointers have 8 bytes.

    Raises:
        ValueError: markers have no such field type.

    """
    return " ".join(f"{field.name} {_conversion(field.type)}" for field in fields) or " "


def _conversion(held: FieldClass) -> str:
    if isinstance(held, StringClass):
        return "%s"
    if not isinstance(held, IntegerClass) or held.labels or held.bits not in (8, 16, 32, 64):
        raise ValueError("markers hold integers of 8 to 64 bits and strings")
    size = held.bits // 8
    if held.style is Style.POINTER:
        if size != 8 or held.signed:
            raise ValueError("pointers are unsigned integers of 64 bits")
        return "%p"
    plain = "d" if held.signed else "u"
    if held.style is Style.DECIMAL and size == 4:
        return f"%{plain}"
    return f"#{size}{plain}%{_C_SIZES[size]}{_LETTERS.get(held.style, plain)}"
