"""Encodes and decodes fields of events in traceconv's own hooks: trees of nodes (`formats/aix/entries/nodes.pxd`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.errors import TraceError
from converter.formats.aix.entries.values import (
    ARRAY,
    BOOLEAN,
    BYTES,
    NULL_VALUE,
    NUMBER,
    OPTIONAL,
    STRING,
    STRUCTURE,
    VARIANT,
    Columns,
)
from converter.ir.columns import (
    Column,
    ListColumn,
    NullColumn,
    OptionalColumn,
    StructColumn,
    UnionColumn,
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
    VariantClass,
)
from converter.ir.kinds import Role
from converter.kernels.tables.strings import StringTable

#: (operation, width, signed, first child, children, extent), as the kernels expect it.
NodeForm = tuple[int, int, bool, int, int, int]

MAX_NODES: Final = 1 << 12
MAX_DEPTH: Final = 24
#: The most placeholder values for an absent one: an optional array of a fixed length needs all its elements.
_MAX_DEFAULTS: Final = 1 << 12

#: Texts of these roles hardly ever repeat.
_LONG_TEXTS: Final = frozenset({Role.MESSAGE, Role.PAYLOAD})


class Nodes:
    """The nodes of a class's fields, those of each level next to each other.

    Raises:
        ValueError: there are more or deeper nodes than can be decoded.

    """

    def __init__(self, fields: Sequence[Field]) -> None:
        self.count = len(fields)
        self.fields = tuple(fields)
        self.types: list[FieldClass] = [field.type for field in fields]
        depths = [0] * len(fields)
        self.forms: list[NodeForm] = []
        at = 0
        while at < len(self.types):
            held = self.types[at]
            children = _children(held)
            if len(self.types) + len(children) > MAX_NODES or depths[at] > MAX_DEPTH:
                raise ValueError("its fields have too many or too deep types")
            self.forms.append(_form(held, len(self.types) if children else 0, len(children)))
            self.types += children
            depths += [depths[at] + 1] * len(children)
            at += 1
        if max(map(_defaults, self.types), default=0) > _MAX_DEFAULTS:
            raise ValueError("its arrays are too long")


def can_be_held(fields: Sequence[Field]) -> bool:
    """Return True if the fields of a class can be encoded."""
    try:
        Nodes(fields)
    except ValueError:
        return False
    return True


def _children(held: FieldClass) -> list[FieldClass]:
    match held:
        case ArrayClass(element) | OptionalClass(element):
            return [element]
        case StructureClass(members) | VariantClass(members):
            return [member.type for member in members]
    return []


def _form(held: FieldClass, first: int, count: int) -> NodeForm:
    match held:
        case IntegerClass(signed=signed):
            return NUMBER, held.dtype.itemsize, signed, 0, 0, -1
        case FloatClass(bits):
            return NUMBER, bits // 8, False, 0, 0, -1
        case BooleanClass():
            return BOOLEAN, 1, False, 0, 0, -1
        case StringClass():
            return STRING, 1, False, 0, 0, -1
        case BytesClass():
            return BYTES, 1, False, 0, 0, -1
        case NullClass():
            return NULL_VALUE, 1, False, 0, 0, -1
        case ArrayClass(_, length):
            return ARRAY, 1, False, first, count, -1 if length is None else length
        case StructureClass():
            return STRUCTURE, 1, False, first, count, -1
        case OptionalClass():
            return OPTIONAL, 1, False, first, count, -1
        case VariantClass():
            return VARIANT, 1, False, first, count, -1


def _defaults(held: FieldClass) -> int:
    match held:
        case ArrayClass(element, length):
            return 1 + (length or 0) * _defaults(element)
        case StructureClass(members):
            return 1 + sum(_defaults(member.type) for member in members)
        case OptionalClass(element):
            return 1 + _defaults(element)
        case VariantClass(options):
            return 1 + max(_defaults(option.type) for option in options)
    return 1


# Writing


def bound(nodes: Nodes, columns: Sequence[Column]) -> list[Any]:
    """Return the buffers of each node, as `emit.Emitter.bind` expects them."""
    held: list[Column] = list(columns)
    result: list[Any] = []
    for field_class in nodes.types:
        column = held[len(result)]
        data: Any = None
        match field_class, column:
            case (IntegerClass() | FloatClass(), np.ndarray()):
                data = column.astype(field_class.dtype, copy=False)
            case (BooleanClass(), np.ndarray()):
                data = column.astype(np.bool_, copy=False).view(np.uint8)
            case (StringClass(), np.ndarray()):
                data = column.astype(np.int32, copy=False)
            case (StringClass() | BytesClass(), ListColumn(offsets, values)):
                data = np.ascontiguousarray(values, np.uint8), _plain(offsets)
            case (ArrayClass(), ListColumn(offsets, values)):
                data = _plain(offsets)
                held.append(values)
            case (StructureClass(), StructColumn(_, members)):
                held += members
            case (OptionalClass(), OptionalColumn(valid, values)):
                data = valid.astype(np.bool_, copy=False).view(np.uint8)
                held.append(values)
            case (VariantClass(), UnionColumn(tags, rows, options)):
                data = tags.astype(np.int16, copy=False), np.ascontiguousarray(rows, np.int32)
                held += options
        result.append(data)
    return result


def _plain(offsets: NDArray[Any]) -> NDArray[np.int64]:
    return np.ascontiguousarray(offsets, np.int64)


# Reading


class Decoded:
    """The columns of one class's events in a batch; the first request decodes all of them.

    Args:
        nodes: those of the class.
        buffers: the segments that contain the events' data.
        locate: returns their locations and sizes.
        damage: called with the number of rows whose data contradict the declaration.

    """

    def __init__(
        self,
        nodes: Nodes,
        buffers: Sequence[Any],
        locate: Callable[[], tuple[NDArray[np.int64], NDArray[np.uint32]]],
        strings: StringTable,
        damage: Callable[[int], None],
    ) -> None:
        self._nodes = nodes
        self._buffers = buffers
        self._locate = locate
        self._strings = strings
        self._damage = damage
        self._columns: Columns | None = None

    def column(self, index: int) -> Callable[[], Column]:
        """Return a function that decodes column `index`."""
        return lambda: self._column(index, self._nodes.fields[index].role not in _LONG_TEXTS)

    def _decode(self) -> Columns:
        if self._columns is None:
            columns = Columns(self._nodes.forms, self._nodes.count)
            try:
                columns.decode(self._buffers, *self._locate())
            except ValueError as error:
                raise TraceError(str(error), format="aix", field="data of events") from error
            if columns.damaged:
                self._damage(columns.damaged)
            self._columns = columns
        return self._columns

    def _column(self, node: int, interned: bool = False) -> Column:
        columns = self._decode()
        _, _, _, first, count, _ = self._nodes.forms[node]
        held = self._nodes.types[node]
        match held:
            case IntegerClass():
                return self._in_range(columns.main(node, held.dtype), held)
            case FloatClass():
                return columns.main(node, held.dtype)
            case BooleanClass():
                return columns.main(node, np.dtype(np.bool_))
            case NullClass():
                return NullColumn(columns.length(node))
            case StringClass() if interned:
                return self._interned(node)
            case StringClass() | BytesClass():
                return ListColumn(self._offsets(node), columns.values(node, np.dtype(np.uint8)))
            case ArrayClass():
                return ListColumn(self._offsets(node), self._column(first))
            case OptionalClass():
                return OptionalColumn(columns.main(node, np.dtype(np.bool_)), self._column(first))
            case StructureClass():
                members = tuple(self._column(first + i) for i in range(count))
                return StructColumn(columns.length(node), members)
            case VariantClass():
                options = tuple(self._column(first + i) for i in range(count))
                rows = columns.values(node, np.dtype(np.int32))
                return UnionColumn(columns.main(node, np.dtype(np.int16)), rows, options)

    def _in_range(self, column: NDArray[Any], held: IntegerClass) -> NDArray[Any]:
        """Return the column with zero for values that do not fit the declared bits."""
        if held.bits == 8 * held.dtype.itemsize or not len(column):
            return column
        outside = (column < held.least) | (column > held.most)
        if not outside.any():
            return column
        self._damage(int(outside.sum()))
        return np.where(outside, np.zeros(1, held.dtype), column)

    def _offsets(self, node: int) -> NDArray[np.int64]:
        ends = self._decode().main(node, np.dtype(np.int64))
        return np.concatenate([np.zeros(1, np.int64), ends])

    def _interned(self, node: int) -> NDArray[np.int32]:
        offsets = self._offsets(node)
        ids = np.empty(len(offsets) - 1, np.int32)
        values = self._decode().values(node, np.dtype(np.uint8))
        self._strings.intern_spans(values, offsets[:-1], np.diff(offsets), ids)
        return ids
