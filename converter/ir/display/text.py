"""Values of fields as JSON, for programs, and as one-line text, for people."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from typing import Any

from converter.errors.terminal import printable
from converter.ir.events import Field
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
    Style,
    VariantClass,
)
from converter.ir.symbols import SymbolTable

#: Texts that need no quotes next to others.
_BARE = re.compile(r'[^\s"\\=,\[\]{}]+')


def json_fields(fields: Sequence[Field], values: Sequence[Any]) -> dict[str, Any]:
    """Return the values of an event's fields (as returned by `columns.value`) by name, as JSON."""
    names = [field.name for field in fields]
    return _by_name(
        names, [json_value(field.type, item) for field, item in zip(fields, values, strict=True)]
    )


def json_value(field_class: FieldClass, value: Any) -> Any:
    """Return a value (as returned by `columns.value`) as JSON.

    Integers are exact. Bytes are hexadecimal digits; bytes of a text that are not UTF-8 are lone surrogates; numbers
    that JSON lacks are the texts NaN, Infinity and -Infinity. A variant is an object with its one option.
    """
    match field_class:
        case FloatClass():
            return value if math.isfinite(value) else _not_finite(value)
        case StringClass():
            return value.decode("utf-8", "surrogateescape")
        case BytesClass():
            return value.hex()
        case ArrayClass(element):
            return [json_value(element, item) for item in value]
        case StructureClass(members):
            return _by_name(
                [member.name for member in members],
                [
                    json_value(member.type, item)
                    for member, (_, item) in zip(members, value, strict=True)
                ],
            )
        case VariantClass(options):
            name, item = value
            option = next(option for option in options if option.name == name)
            return {name: json_value(option.type, item)}
        case OptionalClass(element):
            return None if value is None else json_value(element, value)
        case IntegerClass() | BooleanClass() | NullClass():
            return value


def text_of_fields(
    fields: Sequence[Field], values: Sequence[Any], symbols: SymbolTable | None
) -> str:
    """Return the values of an event's fields as ``name=value`` pairs on one line."""
    return " ".join(
        f"{printable(field.name)}={text_of_value(field.type, item, symbols)}"
        for field, item in zip(fields, values, strict=True)
    )


def text_of_value(field_class: FieldClass, value: Any, symbols: SymbolTable | None) -> str:
    """Return a value in the display style of its field class; nested ones as JSON."""
    match field_class:
        case IntegerClass():
            return printable(_text_of_integer(field_class, value, symbols))
        case FloatClass():
            return str(value) if math.isfinite(value) else _not_finite(value)
        case StringClass():
            text = value.decode("utf-8", "surrogateescape")
            quoted = text if _BARE.fullmatch(text) else json.dumps(text, ensure_ascii=False)
            return printable(quoted)
        case BytesClass():
            return str(value.hex())
        case OptionalClass(element) if value is not None:
            return text_of_value(element, value, symbols)
    return printable(json.dumps(json_value(field_class, value), ensure_ascii=False))


def _text_of_integer(field_class: IntegerClass, value: int, symbols: SymbolTable | None) -> str:
    named = label_of(field_class, value)
    if named:
        return named
    bits = value & ((1 << field_class.bits) - 1)
    match field_class.style:
        case Style.SYMBOL:
            found = None if symbols is None else symbols.lookup(bits)
            if found is None:
                return f"0x{bits:x}"
            name = found[0].decode("utf-8", "surrogateescape")
            return f"{name}+0x{found[1]:x}" if found[1] else name
        case Style.HEXADECIMAL | Style.POINTER | Style.OBJECT_ID:
            return f"0x{bits:x}"
        case Style.OCTAL:
            return f"0o{bits:o}"
        case Style.BINARY:
            return f"0b{bits:b}"
        case Style.CHARACTER if 0x20 <= bits < 0x7F:
            return f"'{chr(bits)}'"
        case _:
            return str(value)


def label_of(field_class: IntegerClass, value: int) -> str:
    """Return the name of a value, or the names of its bits and the remainder, or nothing."""
    if not field_class.flags:
        for label in field_class.labels:
            if label.low <= value <= label.high:
                return label.text
        return ""
    rest = value
    names = []
    for label in field_class.labels:
        if label.low == value == 0:
            return label.text
        if label.low and rest & label.low == label.low:
            names.append(label.text)
            rest &= ~label.low
    if names and rest:
        names.append(f"0x{rest & ((1 << field_class.bits) - 1):x}")
    return "|".join(names)


def _by_name(names: Sequence[str], values: Sequence[Any]) -> dict[str, Any]:
    """Return an object with these members; repeated names are kept visible."""
    return dict(zip(unique_names(names), values, strict=True))


def is_text(value: object) -> bool:
    """Return True for a valid text of a trace's tables: each lone surrogate represents a byte that is not UTF-8."""
    if not isinstance(value, str):
        return False
    try:
        value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False
    return True


def is_unicode(text: str) -> bool:
    """Return True if it has no lone surrogate, so that it can be encoded as UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def utf8_text(data: bytes | str) -> str:
    r"""Return a text of a trace, or a name in its tables, as UTF-8 only: other bytes are written ``\xNN``."""
    held = data.encode("utf-8", "surrogateescape") if isinstance(data, str) else data
    return held.decode("utf-8", "backslashreplace")


def column_name(text: str) -> str:
    r"""Return the name of a field as that of a column, in which a NUL is written ``\x00``: C programs stop at one."""
    return utf8_text(text).replace("\0", "\\x00")


def unique_names(names: Sequence[str]) -> list[str]:
    """Return the names, with a number appended to those that are taken already."""
    taken: set[str] = set()
    result = []
    for name in names:
        free, number = name, 1
        while free in taken:
            number += 1
            free = f"{name}#{number}"
        taken.add(free)
        result.append(free)
    return result


def _not_finite(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"
