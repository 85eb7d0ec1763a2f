"""Arguments of timeline events as DebugAnnotations (debug_annotation.proto), which may be nested."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from converter.errors import UnsupportedError
from converter.formats.perfetto.annotations import EMPTY_LIST_OF, path_of
from converter.formats.perfetto.layout import AnnotationField as Annotation
from converter.formats.perfetto.mapping import JSON_VALUE
from converter.formats.perfetto.protobuf.event_schemas import type_text
from converter.formats.perfetto.writing.instructions import (
    ANNOTATION_NAMES,
    BYTES,
    STRINGS,
    VARINT,
    Getter,
    Steps,
    as_offsets,
    elements,
    tag_of,
    text_field,
    text_getter,
)
from converter.formats.perfetto.writing.kernels import emit as kernel
from converter.ir.columns import Column, ListColumn, OptionalColumn, StructColumn, UnionColumn
from converter.ir.events import Table
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
from converter.kernels.tables.strings import StringTable

_PROTOBUF: Final = "application/x-protobuf; type="
#: DebugAnnotation.nested_value of an empty dictionary and of an empty array: nested_type alone.
_EMPTY_DICTIONARY: Final = b"\x42\x02\x08\x01"
_EMPTY_ARRAY: Final = b"\x42\x02\x08\x02"


def add_annotation(
    steps: Steps,
    number: int,
    name: str | None,
    field_class: FieldClass,
    getter: Getter,
    strings: Names,
) -> None:
    """Add a DebugAnnotation as a field of that number: its name, None for elements of an array, and its value.

    Raises:
        UnsupportedError: annotations cannot hold values of that class.

    """
    inner = Steps()
    if name is None:
        _add_value(inner, field_class, getter, strings)
    else:
        path = path_of(name) if strings.nested else None
        _add_named(inner, path or [name], field_class, getter, strings)
    steps.message(number, inner)


@dataclass(frozen=True, slots=True)
class Names:
    """The strings of a trace; `nested` means that names with dots are nested annotations, as importers show them."""

    strings: StringTable
    nested: bool


def _add_named(
    steps: Steps, path: list[str], field_class: FieldClass, getter: Getter, strings: Names
) -> None:
    """Add the name, which is interned, and the value; a path is nested, with the name that it has together."""
    first, *rest = path
    # Also the empty one: importers skip annotations without a name, and all after one.
    steps.add(
        kernel.NAME,
        tag_of(Annotation.NAME_IID, VARINT),
        inline=strings.strings.intern(first),
        table=ANNOTATION_NAMES,
    )
    if not rest:
        _add_value(steps, field_class, getter, strings)
        return
    inner = Steps()
    _add_named(inner, rest, field_class, getter, strings)
    steps.message(Annotation.DICT_ENTRIES, inner)
    whole = ".".join(path).encode("utf-8", "surrogateescape")
    steps.literal(text_field(Annotation.WHOLE_NAME, whole))


def _add_value(steps: Steps, field_class: FieldClass, getter: Getter, strings: Names) -> None:
    match field_class:
        case IntegerClass(_, signed, style):
            number = Annotation.INT_VALUE if signed else Annotation.UINT_VALUE
            number = Annotation.POINTER_VALUE if style is Style.POINTER else number
            steps.scalar(number, field_class, getter)
        case FloatClass():
            steps.scalar(Annotation.DOUBLE_VALUE, FloatClass(64), getter)
        case BooleanClass():
            steps.scalar(Annotation.BOOL_VALUE, field_class, getter)
        case StringClass():
            steps.add(
                kernel.INTERNED,
                tag_of(Annotation.STRING_VALUE_IID, VARINT),
                text_getter(getter),
                inline=tag_of(Annotation.STRING_VALUE, BYTES),
                table=STRINGS,
            )
        case NullClass():
            pass
        case BytesClass() if field_class == JSON_VALUE:
            tag = tag_of(Annotation.LEGACY_JSON_VALUE, BYTES)
            steps.add(kernel.TEXT, tag, text_getter(getter))
        case BytesClass(media_type) if media_type.startswith(_PROTOBUF):
            type_name = media_type.removeprefix(_PROTOBUF).encode("utf-8", "surrogateescape")
            tag = tag_of(Annotation.PROTO_VALUE, BYTES)
            steps.add(kernel.TEXT, tag, text_getter(getter))
            if type_name:
                steps.literal(text_field(Annotation.PROTO_TYPE_NAME, type_name))
        case _:
            _add_nested(steps, field_class, getter, strings)


def _add_nested(steps: Steps, field_class: FieldClass, getter: Getter, strings: Names) -> None:
    inner = Steps()
    match field_class:
        case StructureClass(()):
            steps.literal(_EMPTY_DICTIONARY)
        case StructureClass(members):
            for i, member in enumerate(members):
                add_annotation(
                    steps,
                    Annotation.DICT_ENTRIES,
                    member.name,
                    member.type,
                    _member(getter, i),
                    strings,
                )
        case ArrayClass(element):
            if isinstance(element, NullClass):
                steps.literal(_EMPTY_ARRAY)
            else:
                empty = Steps()
                empty.literal(_empty_list_of(element))
                steps.enclosing(kernel.OPTIONAL, empty, lambda table: _is_empty(getter(table)))
            add_annotation(inner, Annotation.ARRAY_VALUES, None, element, elements(getter), strings)
            steps.enclosing(kernel.EACH, inner, lambda table: as_offsets(getter(table)))
        case VariantClass(options):
            for i, option in enumerate(options):
                one = Steps()
                _add_value(one, option.type, _option(getter, i), strings)
                inner.enclosing(kernel.OPTION, one, None)
            steps.enclosing(kernel.UNION, inner, lambda table: _union(getter(table)))
        case OptionalClass(element):
            _add_value(inner, element, _present(getter), strings)
            steps.enclosing(kernel.OPTIONAL, inner, lambda table: _valid(getter(table)))
        case _:
            raise UnsupportedError(f"no annotation holds {field_class}", format="perfetto")


def _empty_list_of(element: FieldClass) -> bytes:
    """Return DebugAnnotation.nested_value of an empty array, with the type of its elements if that has a name."""
    name = type_text(element)
    if name is None:
        return _EMPTY_ARRAY
    return text_field(
        Annotation.NESTED_VALUE, b"\x08\x02" + text_field(EMPTY_LIST_OF, name.encode())
    )


def _is_empty(column: Column) -> Any:
    assert isinstance(column, ListColumn)
    return (np.diff(column.offsets) == 0).view(np.uint8)


def _member(getter: Getter, index: int) -> Getter:
    def member(table: Table) -> Column:
        column = getter(table)
        assert isinstance(column, StructColumn)
        return column.members[index]

    return member


def _option(getter: Getter, index: int) -> Getter:
    def option(table: Table) -> Column:
        column = getter(table)
        assert isinstance(column, UnionColumn)
        return column.options[index]

    return option


def _present(getter: Getter) -> Getter:
    def present(table: Table) -> Column:
        column = getter(table)
        assert isinstance(column, OptionalColumn)
        return column.values

    return present


def _union(column: Column) -> Any:
    assert isinstance(column, UnionColumn)
    return column.tags.astype(np.int16, copy=False), column.rows.astype(np.int32, copy=False)


def _valid(column: Column) -> Any:
    assert isinstance(column, OptionalColumn)
    return column.valid.view(np.uint8)
