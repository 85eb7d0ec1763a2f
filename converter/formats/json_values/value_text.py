"""Values as JSON text as the writer writes them, and a test for text that a reader would parse as JSON."""

from __future__ import annotations

import json
import math
import re
import struct
from base64 import b64decode, b64encode
from functools import lru_cache
from typing import Any, Final

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
from converter.projection.timeline_fields import JSON_TEXT

#: Text that readers parse as a number.
_HEXADECIMAL: Final = re.compile(r"0x(0|[1-9a-f][0-9a-f]{0,15})")
_NAN: Final = re.compile("NaN:[0-9a-f]{16}")
_MAX_NUMBER: Final = (1 << 63) - 1


def value_text(item: Any, field_class: FieldClass) -> str:
    """Return a value as JSON; objects may repeat a name."""
    match field_class:
        case ArrayClass(element):
            return "[" + ",".join(value_text(part, element) for part in item) + "]"
        case StructureClass(members):
            parts = (
                f"{_dumps(name)}:{value_text(part, member.type)}"
                for (name, part), member in zip(item, members, strict=True)
            )
            return "{" + ",".join(parts) + "}"
        case VariantClass(options):
            name, part = item
            return value_text(part, next(option.type for option in options if option.name == name))
        case OptionalClass(element):
            return "null" if item is None else value_text(item, element)
        case StringClass():
            return _dumps(item.decode("utf-8", "surrogateescape"))
        case BytesClass() if field_class == JSON_TEXT:
            text: str = item.decode("utf-8", "replace")
            return text
        case BytesClass():
            return _dumps(b64encode(item).decode())
        case IntegerClass(style=Style.HEXADECIMAL | Style.POINTER):
            return f'"{item:#x}"'
        case IntegerClass() if item > _MAX_NUMBER:
            return f'"{item}"'
        case FloatClass() if not math.isfinite(item):
            return f'"{_dumps(item)}"'
    return _dumps(item)


def _dumps(item: Any) -> str:
    return json.dumps(item, ensure_ascii=False)


class _Members(list[tuple[str, Any]]):
    """The members of an object."""


@lru_cache(1 << 12)
def reads_as_json(text: bytes) -> bool:
    """Return True if a reader keeps the text as JSON: an array of mixed shapes, or with arrays in it."""
    try:
        parsed = json.loads(text, object_pairs_hook=_Members, parse_int=_number)
        return type(parsed) is list and _shape(parsed) is None
    except (ValueError, RecursionError):
        return False


def _number(text: str) -> int | float:
    return -0.0 if text == "-0" else int(text)


def _shape(item: Any) -> Any:
    """Return the shape of a value in an array; None if it is or contains an array whose elements differ in shape."""
    match item:
        case _Members():
            inner = [(name, _shape(part)) for name, part in item]
            return None if any(shape is None for _, shape in inner) else ("object", *inner)
        case list():
            shapes = {_shape(part) for part in item}
            nested = any(_has_array(part) for part in item)
            return None if nested or len(shapes) > 1 or None in shapes else ("array", *shapes)
        case bool() | None:
            return type(item).__name__
        case int():
            in_range = [-(1 << 63) <= item < 1 << 63, item < 1 << 64 and item >= 0, True]
            return ("i", "u", "d")[in_range.index(True)]
        case float() | "NaN" | "Infinity" | "-Infinity":
            return "d"
    return "x" if _HEXADECIMAL.fullmatch(item) else "s"


def _has_array(item: Any) -> bool:
    if isinstance(item, _Members):
        return any(_has_array(part) for _, part in item)
    return isinstance(item, list)


class Pairs(list[tuple[str, Any]]):
    """The members of a JSON object, in order and with their repetitions."""


def from_json(item: Any, declared: FieldClass) -> Any:
    """Convert a parsed JSON value for `column_from_values`; ValueError or TypeError if it is not of the class."""
    match declared, item:
        case BooleanClass(), bool():
            return item
        case IntegerClass(), str() if item[:2] == "0x":
            return int(item, 16)
        case IntegerClass(), str() | int() if not isinstance(item, bool):
            return int(item)
        case FloatClass(), str() if _NAN.fullmatch(item):
            # Of other bits than those that float() gives.
            return struct.unpack(">d", bytes.fromhex(item[4:]))[0]
        case FloatClass(), str() | int() | float() if not isinstance(item, bool):
            return float(item)
        case StringClass(), str():
            return item.encode("utf-8", "replace")
        case BytesClass(), _ if declared == JSON_TEXT:
            return json.dumps(item, separators=(",", ":"), ensure_ascii=False).encode()
        case BytesClass(), str():
            return b64decode(item, validate=True)
        case NullClass(), None:
            return None
        case ArrayClass(element, length), list() if not isinstance(item, Pairs):
            if length is not None and len(item) != length:
                raise ValueError(item)
            return [from_json(one, element) for one in item]
        case StructureClass(members), Pairs():
            if [name for name, _ in item] != [member.name for member in members]:
                raise ValueError(item)
            return [
                (member.name, from_json(inner[1], member.type))
                for member, inner in zip(members, item, strict=True)
            ]
    raise TypeError(declared)
