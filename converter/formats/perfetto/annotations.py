"""Nested debug annotations: dictionaries and arrays as structures and arrays, with the types of their values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.formats.perfetto.layout import AnnotationField as Annotation
from converter.formats.perfetto.layout import InternedField
from converter.formats.perfetto.mapping import JSON_VALUE
from converter.formats.perfetto.protobuf.event_schemas import parse_type
from converter.formats.perfetto.protobuf.scan import split_fields
from converter.ir.field_classes import (
    ArrayClass,
    BooleanClass,
    BytesClass,
    FieldClass,
    FloatClass,
    IntegerClass,
    Member,
    NullClass,
    StringClass,
    StructureClass,
    Style,
    VariantClass,
)
from converter.limits import limit

_U64 = IntegerClass(64)
_I64 = IntegerClass(64, signed=True)
_POINTER = IntegerClass(64, style=Style.POINTER)
#: The class of an annotation that is nested too deep, or damaged.
RAW_ANNOTATION = BytesClass("application/x-perfetto; type=DebugAnnotation")

#: A field added to NestedValue: the type of an empty array's elements, as named by `event_schemas.type_text`.
EMPTY_LIST_OF: Final = 1000

#: Names of more parts than this are not nested.
MAX_PATH: Final = 8

#: Looks up an interned text: (field of InternedData, iid) to bytes.
Texts = Callable[[int, int], bytes]


def path_of(name: str) -> list[str] | None:
    """Return the parts of an argument's name as nested annotations that importers show by that name; None if there are
    none.

    Importers put dots between the names of nested annotations, and replace each of ``.[]`` within one by ``_``.
    """
    parts = name.split(".")
    if "[" in name or "]" in name or len(parts) > MAX_PATH:
        return None
    return parts


def nested_value(
    data: NDArray[np.uint8], start: int, size: int, texts: Texts, depth: int = 0
) -> tuple[FieldClass, Any]:
    """Return type and value of an annotation, in the representation that `ir.columns.column_from_values` accepts."""
    try:
        return _value(data, start, size, texts, depth)[1:]
    except ValueError:
        return RAW_ANNOTATION, bytes(data[start : start + size])


def _value(
    data: NDArray[np.uint8], start: int, size: int, texts: Texts, depth: int
) -> tuple[bytes, FieldClass, Any]:
    """Return name, type and value of an annotation.

    Raises:
        ValueError: it is damaged, or nested too deep.

    """
    if depth > limit("perfetto.nesting"):
        raise ValueError("annotations nest too deep")
    name = type_name = b""
    whole_name: bytes | None = None
    found: tuple[FieldClass, Any] = (NullClass(), None)
    entries: list[tuple[bytes, FieldClass, Any]] = []
    elements: list[tuple[FieldClass, Any]] = []
    proto: bytes | None = None
    for number, wire, value, length in split_fields(data, start, size):
        raw = bytes(data[value : value + length]) if wire == 2 else b""
        match number:
            case Annotation.NAME_IID:
                name = texts(InternedField.DEBUG_ANNOTATION_NAMES, value)
            case Annotation.NAME:
                name = raw
            case Annotation.WHOLE_NAME:
                whole_name = raw
            case Annotation.DICT_ENTRIES if wire == 2:
                entries.append(_value(data, value, length, texts, depth + 1))
            case Annotation.ARRAY_VALUES if wire == 2:
                elements.append(_value(data, value, length, texts, depth + 1)[1:])
            case Annotation.NESTED_VALUE if wire == 2:
                found = _nested(data, value, length, depth)
            case Annotation.PROTO_TYPE_NAME:
                type_name = raw
            case Annotation.PROTO_TYPE_NAME_IID:
                type_name = texts(InternedField.DEBUG_ANNOTATION_VALUE_TYPE_NAMES, value)
            case Annotation.PROTO_VALUE:
                proto = raw
            case _:
                found = _scalar(number, value, raw, texts) or found
    if proto is not None:
        found = proto_class(type_name), proto
    if entries:
        return _named(name, whole_name, entries)
    return name, *(_array(elements) if elements else found)


def _named(
    name: bytes, whole_name: bytes | None, entries: list[tuple[bytes, FieldClass, Any]]
) -> tuple[bytes, FieldClass, Any]:
    """Return name, type and value of a dictionary, or of the only entry of one that is a part of a name."""
    if whole_name is not None and len(entries) == 1:
        return whole_name, *entries[0][1:]
    return name, *_structure(entries)


def _scalar(number: int, value: int, raw: bytes, texts: Texts) -> tuple[FieldClass, Any] | None:
    """Return type and value of a field with a scalar value; None for any other field."""
    match number:
        case Annotation.BOOL_VALUE:
            return BooleanClass(), value != 0
        case Annotation.UINT_VALUE:
            return _U64, value
        case Annotation.INT_VALUE:
            return _I64, value - (1 << 64) if value >> 63 else value
        case Annotation.DOUBLE_VALUE:
            return FloatClass(64), np.uint64(value).view(np.float64).item()
        case Annotation.POINTER_VALUE:
            return _POINTER, value
        case Annotation.STRING_VALUE:
            return StringClass(), raw
        case Annotation.LEGACY_JSON_VALUE:
            return JSON_VALUE, raw
        case Annotation.STRING_VALUE_IID:
            return StringClass(), texts(InternedField.DEBUG_ANNOTATION_STRING_VALUES, value)
    return None


def proto_class(type_name: bytes) -> BytesClass:
    """Return the class of a serialized message of some type."""
    name = type_name.decode("utf-8", "surrogateescape")
    return BytesClass(f"application/x-protobuf; type={name}")


def _nested(data: NDArray[np.uint8], start: int, size: int, depth: int) -> tuple[FieldClass, Any]:
    """Return type and value of a DebugAnnotation.NestedValue, the former encoding of dictionaries and arrays."""
    if depth > limit("perfetto.nesting"):
        raise ValueError("annotations nest too deep")
    kind = 0
    keys: list[bytes] = []
    values: list[tuple[FieldClass, Any]] = []
    elements: list[tuple[FieldClass, Any]] = []
    element: FieldClass = NullClass()
    found: tuple[FieldClass, Any] = (NullClass(), None)
    for number, wire, value, length in split_fields(data, start, size):
        match number:
            case 1 if wire == 0:
                kind = value
            case 2 if wire == 2:
                keys.append(bytes(data[value : value + length]))
            case 3 if wire == 2:
                values.append(_nested(data, value, length, depth + 1))
            case 4 if wire == 2:
                elements.append(_nested(data, value, length, depth + 1))
            case 5 if wire == 0:
                found = _I64, value - (1 << 64) if value >> 63 else value
            case 6 if wire == 1:
                found = FloatClass(64), np.uint64(value).view(np.float64).item()
            case 7 if wire == 0:
                found = BooleanClass(), value != 0
            case 8 if wire == 2:
                found = StringClass(), bytes(data[value : value + length])
            case _ if number == EMPTY_LIST_OF and wire == 2:
                element = parse_type(bytes(data[value : value + length]).decode("utf-8", "replace"))
    if kind == 2 and not elements:
        return ArrayClass(element), []
    if kind == 1 or keys:
        return _structure([(k, *v) for k, v in zip(keys, values, strict=False)])
    if kind == 2 or elements:
        return _array(elements)
    return found


def _structure(entries: list[tuple[bytes, FieldClass, Any]]) -> tuple[FieldClass, Any]:
    members = tuple(
        Member(name.decode("utf-8", "surrogateescape"), kind) for name, kind, _ in entries
    )
    values = [(m.name, value) for m, (_, _, value) in zip(members, entries, strict=True)]
    return StructureClass(members), values


def _array(elements: list[tuple[FieldClass, Any]]) -> tuple[FieldClass, Any]:
    """Return an array of the only type of its elements, or of a variant of all their types."""
    kinds = list(dict.fromkeys(kind for kind, _ in elements))
    if not kinds:
        return ArrayClass(NullClass()), []
    if len(kinds) == 1:
        return ArrayClass(kinds[0]), [value for _, value in elements]
    names = {kind: f"option {i}" for i, kind in enumerate(kinds)}
    variant = VariantClass(tuple(Member(name, kind) for kind, name in names.items()))
    return ArrayClass(variant), [(names[kind], value) for kind, value in elements]
