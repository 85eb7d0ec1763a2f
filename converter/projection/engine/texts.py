"""Texts that a format can hold: cut to its limit, cleaned of bytes that are not UTF-8, and rendered from
other types.
"""

from __future__ import annotations

import re
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.ir.columns import Column, ListColumn, StructColumn, list_of_bytes, value
from converter.ir.distinct_values import distinct, values_of
from converter.ir.field_classes import (
    ArrayClass,
    BooleanClass,
    BytesClass,
    FieldClass,
    FloatClass,
    IntegerClass,
    Member,
    OptionalClass,
    StringClass,
    StructureClass,
    Style,
    VariantClass,
)
from converter.ir.trace import Trace
from converter.kernels.tables.strings import StringTable, format_integers, unfit_texts
from converter.projection.capabilities import Capabilities, Projection
from converter.projection.engine.partitions import Partition

#: The number of values of a column that are sampled, and the number of distinct ones up to which texts are interned.
_SAMPLE: Final = 1 << 12
_FEW: Final = 1 << 10
_NOT_IN_IDENTIFIERS: Final = re.compile(r"[^A-Za-z0-9_]+")


def fit_text(text: bytes, capabilities: Capabilities) -> bytes:
    """Return one text as the format holds it."""
    if capabilities.utf8_only:
        text = text.decode("utf-8", "replace").encode()
    limit = capabilities.max_string_bytes
    return text if limit is None else cut_utf8(text, limit)


def fit_name(name: str, capabilities: Capabilities) -> str:
    """Return one name of a field, member or event class as the format holds it."""
    data = name.encode("utf-8", "surrogateescape")
    return fit_text(data, capabilities).decode("utf-8", "surrogateescape")


def fit_identifier(name: str, capabilities: Capabilities) -> str:
    """Return one name of a field, member or event class as the format holds it, in the characters that it allows."""
    if capabilities.identifier is not None:
        name = capabilities.identifier(name)
    return fit_name(name, capabilities)


def plain_identifier(name: str) -> str:
    """Return a name of letters, digits and underscores: runs of others become one underscore, and none at the ends."""
    cleaned = _NOT_IN_IDENTIFIERS.sub("_", name)
    return (cleaned if cleaned == name else cleaned.strip("_")) or "unnamed"


def cut_utf8(text: bytes, limit: int) -> bytes:
    """Return at most `limit` bytes of a text, not ending inside a character."""
    if len(text) <= limit:
        return text
    end = limit
    # A continuation byte (10xxxxxx) at the cut belongs to a character that starts before it.
    while end > 0 and end > limit - 4 and text[end] & 0xC0 == 0x80:
        end -= 1
    return text[:end]


def all_fit(column: StructColumn, members: tuple[Member, ...], projection: Projection) -> bool:
    """Tell whether no text of structures of numbers and texts is replaced or cut."""
    parts = zip(members, column.members, strict=True)
    texts = (np.asarray(part) for member, part in parts if isinstance(member.type, StringClass))
    return not any(np.isin(text, _unfit_ids(text, projection)).any() for text in texts)


def _unfit_ids(column: Any, projection: Projection) -> NDArray[np.int32]:
    """Return all ids of a column that are not UTF-8 or too long for the format, perhaps with others."""
    capabilities = projection.capabilities
    limit = -1 if capabilities.max_string_bytes is None else capabilities.max_string_bytes
    bad = projection.source.strings.unfit(column, limit, capabilities.utf8_only)
    if capabilities.nul_ends_strings:
        bad = values_of(np.concatenate((bad, projection.strings_with_nul()))).astype(np.int32)
    return bad


def fit_strings(column: Column, name: str, partition: Partition, projection: Projection) -> Column:
    """Return strings that are UTF-8 and not too long for the format; others are replaced or cut, and counted."""
    capabilities = projection.capabilities
    limit = -1 if capabilities.max_string_bytes is None else capabilities.max_string_bytes
    strings = projection.source.strings
    if isinstance(column, np.ndarray):
        bad = _unfit_ids(column, projection)
        if not len(bad):
            return column
        rows = np.flatnonzero(np.isin(column, bad))
        which, inverse = distinct(column[rows])
        counts = np.bincount(inverse)
        _, firsts = np.unique(inverse, return_index=True)
        found = zip(which.tolist(), counts.tolist(), rows[firsts].tolist(), strict=True)
        # The elements of lists are more than the rows.
        is_of_rows = len(column) == len(partition)
        fitted = [
            strings.intern(
                _clean(
                    strings[id], name, partition, projection, count, first if is_of_rows else None
                )
            )
            for id, count, first in found
        ]
        result = column.copy()
        result[rows] = np.array(fitted, np.int32)[inverse]
        return result
    assert isinstance(column, ListColumn) and isinstance(column.values, np.ndarray)
    unfit = unfit_texts(column.values, column.offsets, limit, capabilities.utf8_only)
    if capabilities.nul_ends_strings:
        nuls = np.flatnonzero(column.values == 0)
        unfit = values_of(
            np.concatenate((unfit, np.searchsorted(column.offsets, nuls, side="right") - 1))
        )
        unfit = unfit[(unfit >= 0) & (unfit < len(column))]
    if not len(unfit):
        return column
    texts = column_texts(column, projection)
    for row in unfit.tolist():
        first = row if len(column) == len(partition) else None
        texts[row] = _clean(texts[row], name, partition, projection, 1, first)
    return list_of_bytes(texts)


def _clean(
    text: bytes,
    name: str,
    partition: Partition,
    projection: Projection,
    count: int,
    first: int | None,
) -> bytes:
    """Return a text as the format holds it, which `count` rows have, the first of these at `first`."""
    capabilities = projection.capabilities
    if capabilities.nul_ends_strings and b"\0" in text:
        projection.lose("text-cut-at-nul", partition, count, first_row=first, field=name)
        text = text.partition(b"\0")[0]
    if capabilities.utf8_only:
        cleaned = text.decode("utf-8", "replace").encode()
        if cleaned != text:
            projection.lose("text-not-utf8", partition, count, first_row=first, field=name)
            text = cleaned
    limit = capabilities.max_string_bytes
    if limit is not None and len(text) > limit:
        projection.lose("text-cut", partition, count, first_row=first, field=name, limit=limit)
        text = cut_utf8(text, limit)
    return text


def column_texts(column: Column, projection: Projection) -> list[bytes]:
    """Return the texts of a column of strings."""
    strings = projection.source.strings
    if isinstance(column, np.ndarray):
        known = {id: strings[id] for id in set(column.tolist())}
        return [known[id] for id in column.tolist()]
    return [value(column, StringClass(), i, strings) for i in range(len(column))]


def rendered(
    column: Column, field_class: FieldClass, name: str, partition: Partition, projection: Projection
) -> Column:
    """Return a column of another type as text: numbers in decimal, bytes in hexadecimal, call stacks as names of
    functions, all else as JSON.

    Arrays of integers, which are common in traces, are rendered by a kernel.
    """
    strings = projection.source.strings
    match field_class, column:
        case (ArrayClass(IntegerClass(style=Style.SYMBOL)), ListColumn(_, np.ndarray())):
            return fit_strings(stack_texts(column, projection.source), name, partition, projection)
        case (ArrayClass(IntegerClass()), ListColumn(offsets, np.ndarray() as values)):
            signed = values.dtype.kind == "i"
            wide = np.ascontiguousarray(values, np.int64 if signed else np.uint64)
            text, text_offsets = format_integers(offsets, wide.view(np.uint64), signed)
            return fit_strings(ListColumn(text_offsets, text), name, partition, projection)
        case (IntegerClass(), np.ndarray()):
            ids = _by_value(*distinct(column), projection)
            return fit_strings(ids, name, partition, projection)
        case (FloatClass(), np.ndarray()) if len(values_of(_bits(column[:_SAMPLE]))) > _FEW:
            return fit_strings(_floats(column), name, partition, projection)
        case (FloatClass(), np.ndarray()):
            # By their bits: -0.0 equals 0.0, but is another number.
            bits, inverse = np.unique(_bits(column), return_inverse=True)
            ids = _by_value(bits.view(column.dtype), inverse, projection)
            return fit_strings(ids, name, partition, projection)
        case (BooleanClass(), np.ndarray()):
            ids = _by_value(*np.unique(column, return_inverse=True), projection)
            return fit_strings(ids, name, partition, projection)
        case (BytesClass(), _):
            texts = [
                value(column, field_class, i, strings).hex().encode() for i in range(len(column))
            ]
        case _:
            texts = [
                _json(value(column, field_class, i, strings), field_class)
                for i in range(len(column))
            ]
    return fit_strings(list_of_bytes(texts), name, partition, projection)


def stack_texts(column: ListColumn, trace: Trace) -> NDArray[np.int32]:
    """Return call stacks as the names of their functions, the innermost first; an address without a name
    stays a number.
    """
    assert isinstance(column.values, np.ndarray)
    frames = np.ascontiguousarray(column.values, np.uint64)
    # Stacks repeat, so each distinct stack is rendered once.
    kinds, which = StringTable(), np.empty(len(column), np.int32)
    starts, sizes = column.offsets[:-1] * frames.itemsize, np.diff(column.offsets) * frames.itemsize
    kinds.intern_spans(frames.view(np.uint8), starts, sizes, which)
    symbols, strings = trace.symbols, trace.strings
    ids = np.empty(len(kinds), np.int32)
    for kind in range(len(kinds)):
        addresses = np.frombuffer(kinds[kind], np.uint64)
        names = [None] * len(addresses) if symbols is None else symbols.names(addresses)
        frames_of_kind = zip(addresses.tolist(), names, strict=True)
        ids[kind] = strings.intern(
            b" <- ".join(
                f"{one:#x}".encode() if name is None else name for one, name in frames_of_kind
            )
        )
    return ids[which]


def _bits(column: NDArray[np.floating[Any]]) -> NDArray[np.unsignedinteger[Any]]:
    return column.view(f"u{column.itemsize}")


def _floats(column: NDArray[np.floating[Any]]) -> ListColumn:
    """Return texts of numbers that hardly repeat: they are not interned, so that memory stays bounded by a batch."""
    texts = list(map(repr, column.tolist()))
    for row in np.flatnonzero(~np.isfinite(column)).tolist():
        # JSON's spelling of NaN and infinities.
        texts[row] = _dumps(float(column[row]))
    return list_of_bytes(list(map(str.encode, texts)))


def _by_value(
    values: NDArray[Any], inverse: NDArray[np.integer[Any]], projection: Projection
) -> NDArray[np.int32]:
    intern = projection.source.strings.intern
    ids = np.array([intern(_dumps(item)) for item in values.tolist()], np.int32)
    return np.take(ids, inverse)


def _dumps(item: Any, **options: Any) -> str:
    # Imported only here: most fields are not rendered.
    import json

    return json.dumps(item, **options)


def _json(item: Any, field_class: FieldClass) -> bytes:
    text = _dumps(_jsonable(item, field_class), ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "surrogateescape")


def _jsonable(item: Any, field_class: FieldClass) -> Any:
    match field_class:
        case StringClass():
            return item.decode("utf-8", "surrogateescape")
        case BytesClass():
            return item.hex()
        case IntegerClass(64, False, Style.HEXADECIMAL | Style.POINTER):
            # As recorders of JSON write integers that its numbers cannot hold.
            return f"{item:#x}"
        case ArrayClass(element):
            return [_jsonable(part, element) for part in item]
        case StructureClass(members):
            parts = [
                (name, _jsonable(part, member.type))
                for (name, part), member in zip(item, members, strict=True)
            ]
            # Names may repeat, which an object cannot represent.
            return dict(parts) if len({name for name, _ in parts}) == len(parts) else parts
        case VariantClass(options):
            name, part = item
            option = next(option for option in options if option.name == name)
            return {name: _jsonable(part, option.type)}
        case OptionalClass(element):
            return None if item is None else _jsonable(item, element)
        case _:
            return item
