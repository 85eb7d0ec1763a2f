"""Fitting: the fields of a piece in the types that a format can hold.

Structures and short fixed arrays become fields of their own, longer ones become text; integers and floats widen;
strings are cut and cleaned. Every step that reading back cannot undo is counted.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from hashlib import blake2b
from typing import Any

import numpy as np

from converter.filters.pieces import Piece, Projection, Thunk, distinct
from converter.ir.columns import (
    Column,
    ListColumn,
    NullColumn,
    OptionalColumn,
    StructColumn,
    UnionColumn,
    list_of_bytes,
    take,
    value,
)
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
from converter.ir.kinds import Role
from converter.kernels.text import format_integers, unfit_texts
from converter.losses import Capabilities, KindSupport, LossKind

#: Fixed arrays of at most this many elements become one field an element.
MAX_FLATTENED = 16

Argument = tuple[Field, Thunk]


def flatten(piece: Piece, capabilities: Capabilities) -> Iterator[Argument]:
    """The fields of a piece with structures and short arrays taken apart where the format has none."""
    for index, field in enumerate(piece.event_class.fields):
        yield from _flatten(field, piece.table.lazy(index), capabilities)


def _flatten(field: Field, column: Thunk, capabilities: Capabilities) -> Iterator[Argument]:
    match field.type:
        case StructureClass(members) if not capabilities.structures:
            for i, member in enumerate(members):
                inner = Field(f"{field.name}.{member.name}", member.type, field.role, field.unit)
                yield from _flatten(inner, _member(column, i), capabilities)
        case ArrayClass(element, int(length)) if (
            not capabilities.arrays and length <= MAX_FLATTENED and _is_flat(element)
        ):
            for i in range(length):
                inner = Field(f"{field.name}[{i}]", element, field.role, field.unit)
                yield from _flatten(inner, _element(column, i), capabilities)
        case _:
            yield field, column


def _is_flat(element: FieldClass) -> bool:
    return isinstance(element, IntegerClass | FloatClass | BooleanClass | StringClass)


def _member(column: Thunk, index: int) -> Thunk:
    def member() -> Column:
        whole = column()
        assert isinstance(whole, StructColumn)
        return whole.members[index]

    return member


def _element(column: Thunk, index: int) -> Thunk:
    def element() -> Column:
        whole = column()
        assert isinstance(whole, ListColumn)
        return take(whole.values, whole.offsets[:-1] + index)

    return element


def split_by_presence(piece: Piece, capabilities: Capabilities) -> list[Piece] | None:
    """One piece for each combination of present optionals and chosen options, or None where nothing varies.

    Only for formats without optionals or variants: there, the shape of an event's arguments is its class.
    """
    varying = [
        index
        for index, field in enumerate(piece.event_class.fields)
        if (isinstance(field.type, OptionalClass) and not capabilities.optionals)
        or (isinstance(field.type, VariantClass) and not capabilities.variants)
    ]
    if not varying:
        return None
    key = np.zeros(len(piece), np.int64)
    for index in varying:
        column = piece.table.column(index)
        if isinstance(column, OptionalColumn):
            key = key * 2 + column.valid
        elif isinstance(column, UnionColumn):
            key = key * len(column.options) + column.tags
    _, inverse = distinct(key)
    parts = []
    for number in range(int(inverse.max()) + 1 if len(inverse) else 0):
        rows = np.flatnonzero(inverse == number)
        part = piece.select(rows) if len(rows) < len(piece) else piece
        parts.append(_resolve(part, set(varying)))
    return parts


def _resolve(piece: Piece, varying: set[int]) -> Piece:
    """Replace optionals and variants, the same in all rows, by what is there."""
    fields: list[Field] = []
    columns: list[Column | Thunk] = []
    for index, field in enumerate(piece.event_class.fields):
        if index not in varying:
            fields.append(field)
            columns.append(piece.table.lazy(index))
            continue
        column = piece.table.column(index)
        if isinstance(field.type, OptionalClass) and isinstance(column, OptionalColumn):
            if len(column) and column.valid[0]:
                fields.append(replace(field, type=field.type.element))
                columns.append(column.values)
        elif isinstance(field.type, VariantClass) and isinstance(column, UnionColumn):
            tag = int(column.tags[0])
            fields.append(replace(field, type=field.type.options[tag].type))
            columns.append(take(column.options[tag], column.rows))
    return piece.rewritten(replace(piece.event_class, fields=tuple(fields)), columns)


def fit_fields(piece: Piece, support: KindSupport, projection: Projection) -> Piece:
    """The piece with the fields that the format's record of this kind has, then arguments of types that it can hold."""
    capabilities = projection.capabilities
    flat = list(flatten(piece, capabilities))
    if len(flat) != len(piece.event_class.fields):
        projection.lose(LossKind.LOWERED, "structures and arrays as one field an element", piece)
    fields: list[Field] = []
    columns: list[Column | Thunk] = []
    used: set[int] = set()
    optional = _optional_parts([field for field, _ in flat], support)
    for wanted in support.fields:
        index = next((i for i, (field, _) in enumerate(flat) if field.role is wanted.role), None)
        if index is not None and index in optional:
            used.add(index)
            fields.append(flat[index][0])
            columns.append(_converted(piece, *flat[index], flat[index][0], projection))
            continue
        fields.append(wanted)
        if index is None:
            columns.append(_default(wanted.type, len(piece), projection))
            continue
        field, column = flat[index]
        kept_whole = _converts_exactly(field.type, wanted.type)
        if kept_whole:
            used.add(index)
        columns.append(_converted(piece, field, column, wanted, projection))
        if field.name != wanted.name and kept_whole:
            projection.lose(LossKind.RETYPED, f"name of field {field.name!r}", piece)
    for index in optional:
        if index not in used:
            used.add(index)
            fields.append(flat[index][0])
            columns.append(_converted(piece, *flat[index], flat[index][0], projection))
    for index, (field, column) in enumerate(flat):
        if index in used:
            continue
        if not support.arguments:
            projection.lose(
                LossKind.DROPPED, f"field {field.name!r} of {label(piece)}", piece, len(piece)
            )
            continue
        fitted = _fit_argument(piece, field, column, support, projection)
        if fitted is not None:
            fields.append(fitted[0])
            columns.append(fitted[1])
    named = support.named
    event_class = replace(
        piece.event_class,
        name=piece.event_class.name if named else "",
        category=piece.event_class.category if named else "",
        fields=tuple(fields),
        timed=support.timed,
        native=piece.event_class.native if named else b"",
    )
    return piece.rewritten(event_class, columns)


def _optional_parts(fields: list[Field], support: KindSupport) -> list[int]:
    """Which fields are optional parts of the format's record, in the order in which it has them."""
    parts: list[int] = []
    seen: set[str] = set()
    for wanted in support.optional:
        group = wanted.name.partition(".")[0]
        if wanted in fields and group not in seen:
            seen.add(group)
            parts.append(fields.index(wanted))
    return parts


def label(piece: Piece) -> str:
    """How a report names the class of a piece."""
    event_class = piece.event_class
    if event_class.category and event_class.name:
        return f"{event_class.category}:{event_class.name}"
    return event_class.name or event_class.kind.name.lower()


def _default(field_class: FieldClass, length: int, projection: Projection) -> Column:
    match field_class:
        case StringClass():
            return projection.constant(b"", length)
        case BytesClass():
            return ListColumn(np.zeros(length + 1, np.int64), np.zeros(0, np.uint8))
        case IntegerClass() | FloatClass():
            return np.broadcast_to(field_class.dtype.type(0), (length,))
        case BooleanClass():
            return np.broadcast_to(np.False_, (length,))
        case ArrayClass(element):
            return ListColumn(np.zeros(length + 1, np.int64), _default(element, 0, projection))
        case _:
            return NullColumn(length)


def _converts_exactly(source: FieldClass, target: FieldClass) -> bool:
    """Whether every value of `source` can be told from the converted one (else the source stays as an argument)."""
    match source, target:
        case IntegerClass(), IntegerClass():
            return target.labels == source.labels or not target.labels
        case ((FloatClass() | BooleanClass() | IntegerClass()), FloatClass()):
            return True
        case StringClass(), IntegerClass():
            return False
        case _:
            return True


def _converted(
    piece: Piece, field: Field, column: Thunk, wanted: Field, projection: Projection
) -> Thunk:
    """The column of a field with a part to play, as the format's own field of that role."""
    source, target = field.type, wanted.type
    what = f"{field.name!r} of {label(piece)}"
    if source == target and not isinstance(source, StringClass):
        return column
    match source, target:
        case StringClass(), StringClass():
            return lambda: fit_strings(column(), what, piece, projection)
        case IntegerClass() | BooleanClass(), IntegerClass():
            if source != target:
                projection.lose(LossKind.RETYPED, f"type of {what}", piece)
            return lambda: _cast(column(), target.dtype, what, piece, projection)
        case StringClass(), IntegerClass():
            return lambda: _hashed(column(), target.dtype, what, piece, projection)
        case IntegerClass() | FloatClass() | BooleanClass(), StringClass():
            projection.lose(LossKind.RETYPED, f"type of {what}", piece)
            return lambda: _as_text(column(), projection)
        case _:
            projection.lose(LossKind.DROPPED, what, piece)
            empty = _default(target, len(piece), projection)
            return lambda: empty


def _cast(
    column: Column, dtype: np.dtype[Any], what: str, piece: Piece, projection: Projection
) -> Column:
    """An integer column as another integer type, modulo its range; values outside are counted as changed."""
    assert isinstance(column, np.ndarray)
    if column.dtype == dtype:
        return column
    result = column.astype(dtype)
    if len(column) and not np.can_cast(column.dtype, dtype):
        # Exact when it comes back the same and with the same sign.
        changed = (result.astype(column.dtype) != column) | ((result < 0) != (column < 0))
        count = int(np.count_nonzero(changed))
        if count:
            projection.lose(LossKind.CHANGED, f"values of {what} outside {dtype}", piece, count)
    return result


def _hashed(
    column: Column, dtype: np.dtype[Any], what: str, piece: Piece, projection: Projection
) -> Column:
    """Text identities as numbers: hexadecimal text as its value, other text as a hash."""
    texts = _texts(column, projection)
    numbers = []
    for text in texts:
        try:
            number = int(text, 16) if text[:2].lower() == b"0x" else int(text)
        except ValueError:
            number = int.from_bytes(blake2b(text, digest_size=8).digest(), "little")
        numbers.append(number & 0xFFFF_FFFF_FFFF_FFFF)
    projection.lose(LossKind.CHANGED, f"{what}: text as a number", piece)
    return np.array(numbers, np.uint64).astype(dtype)


def _texts(column: Column, projection: Projection) -> list[bytes]:
    strings = projection.source.strings
    return [value(column, StringClass(), i, strings) for i in range(len(column))]


def _as_text(column: Column, projection: Projection) -> Column:
    """A scalar column as decimal text."""
    assert isinstance(column, np.ndarray)
    values, inverse = np.unique(column, return_inverse=True)
    intern = projection.source.strings.intern
    return np.array([intern(str(item)) for item in values.tolist()], np.int32)[inverse]


def _fit_argument(
    piece: Piece, field: Field, column: Thunk, support: KindSupport, projection: Projection
) -> Argument | None:
    """One argument in a type that the format has, or None where it has none for it."""
    capabilities = projection.capabilities
    what = f"{field.name!r} of {label(piece)}"
    role = Role.NONE
    fitted = field.type
    thunk = column
    match field.type:
        case IntegerClass():
            fitted = fit_integer(field.type, capabilities)
            if fitted != field.type:
                projection.lose(LossKind.RETYPED, f"type of {what}", piece)
            thunk = _casting(column, fitted.dtype, what, piece, projection)
        case FloatClass(bits):
            if bits not in capabilities.floats:
                fitted = FloatClass(max(capabilities.floats))
                projection.lose(LossKind.RETYPED, f"type of {what}", piece)
                thunk = _float(column, fitted.dtype)
        case BooleanClass() if not capabilities.booleans:
            fitted = fit_integer(IntegerClass(8), capabilities)
            projection.lose(LossKind.RETYPED, f"type of {what}", piece)
            thunk = _casting(column, fitted.dtype, what, piece, projection)
        case StringClass():
            thunk = _fitting_strings(column, what, piece, projection)
        case NullClass() if not capabilities.nulls:
            projection.lose(LossKind.DROPPED, f"null {what}", piece)
            return None
        case BytesClass():
            if capabilities.blobs:
                thunk = _fitting_bytes(column, what, piece, projection)
                kept_types = capabilities.media_types
                if field.type != BytesClass() and field.type.media_type not in kept_types:
                    fitted = BytesClass()
                    projection.lose(LossKind.RETYPED, f"type of {what}", piece)
            else:
                fitted = StringClass()
                projection.lose(LossKind.LOWERED, f"bytes {what} as hexadecimal text", piece)
                thunk = _rendering(field.type, column, what, piece, projection)
        case ArrayClass() | StructureClass() | VariantClass() | OptionalClass():
            if not _nested_fits(field.type, capabilities):
                fitted = StringClass()
                projection.lose(LossKind.LOWERED, f"{what} as text", piece)
                thunk = _rendering(field.type, column, what, piece, projection)
            else:
                fitted = _fit_nested_names(field.type, capabilities)
                if fitted != field.type:
                    projection.lose(LossKind.CHANGED, f"names in {what}", piece)
                thunk = _fitting_nested(field.type, column, what, piece, projection)
    if support.numeric_values and isinstance(fitted, IntegerClass | FloatClass):
        role = Role.VALUE
    if field.role is not role:
        projection.lose(LossKind.RETYPED, f"role of {what}", piece)
    unit = field.unit if capabilities.units else ""
    if unit != field.unit:
        projection.lose(LossKind.RETYPED, f"unit of {what}", piece)
    name = _fit_name(field.name, capabilities)
    if name != field.name:
        projection.lose(LossKind.CHANGED, f"name of {what}", piece)
    return Field(name, fitted, role, unit), thunk


def _fit_name(name: str, capabilities: Capabilities) -> str:
    if capabilities.utf8_only:
        name = name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    if capabilities.max_string_bytes is not None:
        name = cut_utf8(
            name.encode("utf-8", "surrogateescape"), capabilities.max_string_bytes
        ).decode("utf-8", "surrogateescape")
    return name


def fit_integer(field_class: IntegerClass, capabilities: Capabilities) -> IntegerClass:
    """The narrowest integer class of the format that holds every value of `field_class`."""
    style = field_class.style if field_class.style in capabilities.styles else Style.DECIMAL
    labels = field_class.labels if capabilities.labels else ()
    if style in capabilities.wide_styles:
        return IntegerClass(64, False, style, labels, field_class.flags and bool(labels))
    bits, signed = min(
        (
            (bits, signed)
            for bits, signed in capabilities.integers
            if (signed == field_class.signed and bits >= field_class.bits)
            or (signed and bits > field_class.bits)
        ),
        key=lambda choice: (choice[0], choice[1] != field_class.signed),
        default=(64, True),
    )
    return IntegerClass(bits, signed, style, labels, field_class.flags and bool(labels))


def _nested_fits(field_class: FieldClass, capabilities: Capabilities) -> bool:
    """Whether the format holds a nested class as it is, down to its leaves."""
    match field_class:
        case ArrayClass(element):
            return capabilities.arrays and _nested_fits(element, capabilities)
        case StructureClass(members):
            return capabilities.structures and all(
                _nested_fits(member.type, capabilities) for member in members
            )
        case VariantClass(options):
            return capabilities.variants and all(
                _nested_fits(option.type, capabilities) for option in options
            )
        case OptionalClass(element):
            return capabilities.optionals and _nested_fits(element, capabilities)
        case IntegerClass():
            return fit_integer(field_class, capabilities) == field_class
        case FloatClass(bits):
            return bits in capabilities.floats
        case BooleanClass():
            return capabilities.booleans
        case NullClass():
            return capabilities.nulls
        case BytesClass():
            return capabilities.blobs
        case StringClass():
            return True


def _fit_nested_names(field_class: FieldClass, capabilities: Capabilities) -> FieldClass:
    """A nested class with names of members that the format can hold."""
    match field_class:
        case ArrayClass(element, length):
            return ArrayClass(_fit_nested_names(element, capabilities), length)
        case OptionalClass(element):
            return OptionalClass(_fit_nested_names(element, capabilities))
        case StructureClass(members) | VariantClass(members):
            fitted = tuple(
                replace(
                    member,
                    name=_fit_name(member.name, capabilities),
                    type=_fit_nested_names(member.type, capabilities),
                )
                for member in members
            )
            return type(field_class)(fitted)
        case _:
            return field_class


def _fitting_nested(
    field_class: FieldClass, column: Thunk, what: str, piece: Piece, projection: Projection
) -> Thunk:
    return lambda: _fit_nested(field_class, column(), what, piece, projection)


def _fit_nested(
    field_class: FieldClass, column: Column, what: str, piece: Piece, projection: Projection
) -> Column:
    """A nested column whose strings, wherever they are in it, fit the format."""
    match field_class, column:
        case StringClass(), _:
            return fit_strings(column, what, piece, projection)
        case ArrayClass(element), ListColumn(offsets, values):
            return ListColumn(offsets, _fit_nested(element, values, what, piece, projection))
        case OptionalClass(element), OptionalColumn(valid, values):
            return OptionalColumn(valid, _fit_nested(element, values, what, piece, projection))
        case StructureClass(members), StructColumn(length, columns):
            return StructColumn(
                length,
                tuple(
                    _fit_nested(member.type, inner, what, piece, projection)
                    for member, inner in zip(members, columns, strict=True)
                ),
            )
        case VariantClass(members), UnionColumn(tags, rows, columns):
            return UnionColumn(
                tags,
                rows,
                tuple(
                    _fit_nested(member.type, inner, what, piece, projection)
                    for member, inner in zip(members, columns, strict=True)
                ),
            )
        case _:
            return column


def _casting(
    column: Thunk, dtype: np.dtype[Any], what: str, piece: Piece, projection: Projection
) -> Thunk:
    return lambda: _cast(column(), dtype, what, piece, projection)


def _float(column: Thunk, dtype: np.dtype[Any]) -> Thunk:
    def widened() -> Column:
        narrow = column()
        assert isinstance(narrow, np.ndarray)
        return narrow.astype(dtype)

    return widened


def _fitting_strings(column: Thunk, what: str, piece: Piece, projection: Projection) -> Thunk:
    return lambda: fit_strings(column(), what, piece, projection)


def fit_strings(column: Column, what: str, piece: Piece, projection: Projection) -> Column:
    """Strings that are UTF-8 and not too long for the format; others replaced or cut, and counted."""
    capabilities = projection.capabilities
    limit = -1 if capabilities.max_string_bytes is None else capabilities.max_string_bytes
    strings = projection.source.strings
    if isinstance(column, np.ndarray):
        bad = strings.unfit(column, limit, capabilities.utf8_only)
        if not len(bad):
            return column
        result = column.copy()
        for id in bad.tolist():
            cleaned = _clean(
                strings[id], what, piece, projection, int(np.count_nonzero(column == id))
            )
            result[column == id] = strings.intern(cleaned)
        return result
    assert isinstance(column, ListColumn) and isinstance(column.values, np.ndarray)
    rows = unfit_texts(column.values, column.offsets, limit, capabilities.utf8_only)
    if not len(rows):
        return column
    texts = _texts(column, projection)
    for row in rows.tolist():
        texts[row] = _clean(texts[row], what, piece, projection, 1)
    return list_of_bytes(texts)


def _clean(text: bytes, what: str, piece: Piece, projection: Projection, count: int) -> bytes:
    capabilities = projection.capabilities
    if capabilities.utf8_only:
        cleaned = text.decode("utf-8", "replace").encode()
        if cleaned != text:
            projection.lose(LossKind.CHANGED, f"{what}: bytes that are not UTF-8", piece, count)
            text = cleaned
    limit = capabilities.max_string_bytes
    if limit is not None and len(text) > limit:
        projection.lose(LossKind.TRUNCATED, f"{what} to {limit:,} bytes", piece, count)
        text = cut_utf8(text, limit)
    return text


def cut_utf8(text: bytes, limit: int) -> bytes:
    """At most `limit` bytes of a text, not ending inside a character."""
    if len(text) <= limit:
        return text
    end = limit
    # A continuation byte (10xxxxxx) at the cut belongs to a character that starts before it.
    while end > 0 and end > limit - 4 and text[end] & 0xC0 == 0x80:
        end -= 1
    return text[:end]


def _fitting_bytes(column: Thunk, what: str, piece: Piece, projection: Projection) -> Thunk:
    limit = projection.capabilities.max_blob_bytes

    def fitting() -> Column:
        whole = column()
        assert isinstance(whole, ListColumn) and isinstance(whole.values, np.ndarray)
        if limit is None:
            return whole
        sizes = np.diff(whole.offsets)
        count = int(np.count_nonzero(sizes > limit))
        if not count:
            return whole
        projection.lose(LossKind.TRUNCATED, f"{what} to {limit:,} bytes", piece, count)
        pairs = zip(whole.offsets[:-1].tolist(), np.minimum(sizes, limit).tolist(), strict=True)
        return list_of_bytes([whole.values[at : at + size].tobytes() for at, size in pairs])

    return fitting


def _rendering(
    field_class: FieldClass, column: Thunk, what: str, piece: Piece, projection: Projection
) -> Thunk:
    """A nested column as text: arrays of integers by a kernel, all else as JSON."""

    def rendered() -> Column:
        whole = column()
        match field_class, whole:
            case ArrayClass(IntegerClass()), ListColumn(offsets, np.ndarray() as values):
                signed = values.dtype.kind == "i"
                wide = np.ascontiguousarray(values, np.int64 if signed else np.uint64)
                text, text_offsets = format_integers(offsets, wide.view(np.uint64), signed)
                return fit_strings(ListColumn(text_offsets, text), what, piece, projection)
        strings = projection.source.strings
        texts = [
            json.dumps(_jsonable(value(whole, field_class, i, strings)), ensure_ascii=False).encode(
                "utf-8", "surrogateescape"
            )
            for i in range(len(whole))
        ]
        return fit_strings(list_of_bytes(texts), what, piece, projection)

    return rendered


def _jsonable(item: Any) -> Any:
    match item:
        case bytes():
            try:
                return item.decode()
            except UnicodeDecodeError:
                return item.hex()
        case list() if item and all(isinstance(part, tuple) for part in item):
            return {name: _jsonable(part) for name, part in item}
        case list():
            return [_jsonable(part) for part in item]
        case (str() as name, part):
            return {name: _jsonable(part)}
        case _:
            return item
