"""Slots to columns: the scanner's output for a batch, and one column of it per field of a class.

All functions work on whole columns. `at` is always an int64 array: the slot at which each row's value begins.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from converter.formats.chrome.json.scan_values import copy_spans, slots_at
from converter.formats.chrome.layout import ArrayNode, Leaf, Node, ObjectNode
from converter.formats.chrome.mapping import LEAF_CLASSES
from converter.formats.json_values.value_text import Pairs, from_json, value_text
from converter.ir.columns import (
    Column,
    ListColumn,
    NullColumn,
    StructColumn,
    column_from_values,
    value,
)
from converter.ir.field_classes import (
    ArrayClass,
    BytesClass,
    FieldClass,
    FloatClass,
    IntegerClass,
    Member,
    NullClass,
    StringClass,
    StructureClass,
)
from converter.kernels.tables.strings import StringTable
from converter.projection.timeline_fields import JSON_TEXT

Positions = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Scanned:
    """The slots (int64) of a batch and the text (uint8) that some of them point into, as offset and size."""

    slots: NDArray[np.int64]
    text: NDArray[np.uint8]

    def at(self, at: Positions) -> NDArray[np.int64]:
        """Return the contents of these slots."""
        return slots_at(self.slots, at)

    def texts(self, at: Positions) -> ListColumn:
        """Return the texts whose offset and size are in the slots at `at`."""
        offsets = np.zeros(len(at) + 1, np.int64)
        np.cumsum(self.at(at + 1), out=offsets[1:])
        out = np.empty(int(offsets[-1]), np.uint8)
        copy_spans(self.text, self.at(at), offsets, out)
        return ListColumn(offsets, out)

    def column(self, node: Node, at: Positions) -> Column:
        """Return the values of a node."""
        match node:
            case Leaf("n"):
                return NullColumn(len(at))
            case Leaf("j"):
                return self.texts(at)
            case Leaf("s"):
                return self.at(at).astype(np.int32)
            case Leaf("b"):
                return self.at(at).astype(np.bool_)
            case Leaf("i"):
                return self.at(at)
            case Leaf("d"):
                return self.at(at).view(np.float64)
            case Leaf():
                return self.at(at).view(np.uint64)
            case ObjectNode(members):
                columns = []
                length = len(at)
                for _, inner in members:
                    columns.append(self.column(inner, at))
                    at = self.skip(inner, at)
                return StructColumn(length, tuple(columns))
            case ArrayNode(element):
                width = element.width or 0
                lengths = self.at(at)
                offsets = np.zeros(len(at) + 1, np.int64)
                np.cumsum(lengths, out=offsets[1:])
                # Element k of all of them starts k - (elements before this array) widths after the array's length.
                inner_at = np.repeat(at + 1 - offsets[:-1] * width, lengths)
                inner_at += np.arange(offsets[-1], dtype=np.int64) * width
                return ListColumn(offsets, self.column(element, inner_at))

    def skip(self, node: Node, at: Positions) -> Positions:
        """Return the slots after the values of a node."""
        width = node.width
        if width is not None:
            return at + width
        if isinstance(node, ArrayNode):
            return at + 1 + self.at(at) * (node.element.width or 0)
        assert isinstance(node, ObjectNode)
        for _, inner in node.members:
            at = self.skip(inner, at)
        return at


def class_of_node(node: Node) -> FieldClass:
    """Return the field class of a node's values, as far as their text shows it."""
    match node:
        case Leaf(tag):
            return LEAF_CLASSES[tag]
        case ObjectNode(members):
            return StructureClass(
                tuple(Member(name, class_of_node(inner)) for name, inner in members)
            )
        case ArrayNode(element):
            return ArrayClass(class_of_node(element))


def declared_column(
    column: Column, found: FieldClass, declared: FieldClass, strings: StringTable
) -> Column | None:
    """Convert a column of the class `found` to the class `declared` by the writer; None where the values do not fit."""
    match found, declared, column:
        case _ if found == declared:
            return column
        case (IntegerClass(), IntegerClass(), np.ndarray()):
            return column.astype(declared.dtype) if declared.holds(column) else None
        case (FloatClass() | IntegerClass(), FloatClass(), np.ndarray()):
            return column.astype(declared.dtype)
        case (ArrayClass(inner), ArrayClass(element, length), ListColumn(offsets, values)):
            if length is None or bool((np.diff(offsets) == length).all()):
                if len(values) == 0:
                    return ListColumn(offsets, column_from_values(element, [], strings))
                converted = declared_column(values, inner, element, strings)
                return None if converted is None else ListColumn(offsets, converted)
        case (StructureClass(found_members), StructureClass(members), StructColumn(count, columns)):
            return _declared_structure(count, columns, found_members, members, strings)
    return _by_value(column, found, declared, strings)


def is_by_value(found: FieldClass, declared: FieldClass) -> bool:
    """Return True if `declared_column` converts value by value, which takes ten times as long as reading."""
    match found, declared:
        case _ if found == declared:
            return False
        case (IntegerClass(), IntegerClass()) | (FloatClass() | IntegerClass(), FloatClass()):
            return False
        case (ArrayClass(inner), ArrayClass(element)):
            return is_by_value(inner, element)
        case (StructureClass(found_members), StructureClass(members)):
            pairs = zip(found_members, members, strict=False)
            return any(is_by_value(theirs.type, ours.type) for theirs, ours in pairs)
    return True


def _declared_structure(
    count: int,
    columns: tuple[Column, ...],
    found: tuple[Member, ...],
    declared: tuple[Member, ...],
    strings: StringTable,
) -> Column | None:
    if [member.name for member in found] != [member.name for member in declared]:
        return None
    converted = []
    for inner, theirs, ours in zip(columns, found, declared, strict=True):
        one = declared_column(inner, theirs.type, ours.type, strings)
        if one is None:
            return None
        converted.append(one)
    return StructColumn(count, tuple(converted))


def _by_value(
    column: Column, found: FieldClass, declared: FieldClass, strings: StringTable
) -> Column | None:
    """Convert the rare rest value by value: numbers written as text, blobs, arrays in arrays."""
    try:
        values = []
        for row in range(len(column)):
            item = value(column, found, row, strings)
            if found == JSON_TEXT:
                item = from_json(json.loads(item, object_pairs_hook=Pairs), declared)
            else:
                item = _retyped(item, found, declared)
            values.append(item)
        return column_from_values(declared, values, strings)
    except (ValueError, TypeError, OverflowError, RecursionError, LookupError):
        return None


def _retyped(item: Any, found: FieldClass, declared: FieldClass) -> Any:
    match found, declared:
        case _ if declared == JSON_TEXT:
            # The source trace had this parsed value as a text.
            return value_text(item, found).encode("utf-8", "surrogateescape")
        case StringClass(), IntegerClass() | BytesClass():
            return from_json(item.decode(), declared)
        case IntegerClass(), StringClass():
            # Hexadecimal text that was meant as text is always written with an escape.
            raise ValueError(item)
        case ArrayClass(inner), ArrayClass(element, length):
            if length is not None and len(item) != length:
                raise ValueError(item)
            return [_retyped(one, inner, element) for one in item]
        case StructureClass(members), StructureClass(theirs):
            if [member.name for member in members] != [member.name for member in theirs]:
                raise ValueError(item)
            return [
                (member.name, _retyped(inner[1], member.type, their.type))
                for member, their, inner in zip(members, theirs, item, strict=True)
            ]
        case NullClass(), NullClass():
            return None
        case _ if type(found) is type(declared):
            return item
    raise TypeError(declared)
