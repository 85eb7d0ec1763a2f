"""Evaluates conditions on whole columns: once per class, never per event.

A comparison with a field that an event does not have is false, whatever the comparison is.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.errors import SelectionError
from converter.ir.columns import (
    Column,
    ListColumn,
    StructColumn,
    UnionColumn,
    constant_column,
    string_ids,
    take,
    without_optional,
)
from converter.ir.distinct_values import distinct
from converter.ir.events import Batch, EventClass, Table
from converter.ir.field_classes import (
    BooleanClass,
    FieldClass,
    FloatClass,
    IntegerClass,
    StringClass,
    StructureClass,
    VariantClass,
)
from converter.ir.trace import Trace
from converter.kernels.tables.strings import StringTable
from converter.selection.expressions import (
    Comparison,
    Condition,
    Junction,
    Literal,
    Membership,
    Name,
    Negation,
)
from converter.selection.patterns import as_text, pattern

Mask = NDArray[np.bool_]
_Test = Callable[[Any, Any], Any]
_SIGNS: Final[dict[str, _Test]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_MIRRORED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


@dataclass(frozen=True, slots=True)
class Rows:
    """The events of one class in a batch."""

    trace: Trace
    batch: Batch
    event_class: EventClass
    table: Table
    positions: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.table)

    def common(self, column: NDArray[Any]) -> NDArray[Any]:
        """Return this class's rows of a column that all events of the batch have."""
        return column[self.positions]


@dataclass(frozen=True, slots=True)
class Values:
    """The values of a name: a column, its class, and the mask of the rows that have one (None: all).

    If text has a column of ids, `strings` is its table.
    """

    column: Column
    type: FieldClass
    strings: StringTable
    valid: Mask | None = None
    is_time: bool = False


class Evaluation:
    """The evaluation of conditions on a trace; `found` collects the names that any event has had."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._ids: tuple[int, NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]] | None = None
        self.found: set[str] = set()

    def holds(self, condition: Condition, rows: Rows) -> Mask:
        """Return the mask of the rows at which a condition holds."""
        match condition:
            case Junction(parts, is_any):
                masks = [self.holds(part, rows) for part in parts]
                joined: Mask = (np.logical_or if is_any else np.logical_and).reduce(masks)
                return joined
            case Negation(inner):
                return ~self.holds(inner, rows)
            case Membership(left, literals):
                tests = [self._compared(left, "==", literal, rows) for literal in literals]
                matching: Mask = np.logical_or.reduce(tests)
                return matching
            case Comparison(left, sign, None):
                assert isinstance(left, Name)
                return self._truth(left, rows)
            case Comparison(left, sign, right):
                assert right is not None
                return self._compared(left, sign, right, rows)

    def _compared(self, left: Literal | Name, sign: str, right: Literal | Name, rows: Rows) -> Mask:
        if isinstance(left, Literal):
            left, right, sign = right, left, _MIRRORED.get(sign, sign)
        assert isinstance(left, Name)
        values = self._values(left, rows)
        if isinstance(right, Name):
            others = self._values(right, rows)
            if values is None or others is None:
                return np.zeros(len(rows), np.bool_)
            return _compare_names(values, sign, others)
        if values is None:
            return np.zeros(len(rows), np.bool_)
        return self._with_literal(values, sign, right)

    def _truth(self, name: Name, rows: Rows) -> Mask:
        values = self._values(name, rows)
        if values is None:
            return np.zeros(len(rows), np.bool_)
        is_text = isinstance(values.type, StringClass)
        nothing = Literal(b"" if is_text else 0, name.position)
        return self._with_literal(values, "!=", nothing)

    def _with_literal(self, values: Values, sign: str, literal: Literal) -> Mask:
        wanted: int | Fraction | bytes = literal.value
        if not isinstance(wanted, bytes) and (literal.spans or values.is_time):
            rate = self._trace.clock.ticks_per_second
            if rate is None and literal.spans:
                raise SelectionError("the trace's ticks are of unknown length: write them as ticks")
            wanted = wanted if rate is None else wanted * rate
        return _compare_literal(values, sign, wanted)

    # Names

    def _values(self, name: Name, rows: Rows) -> Values | None:
        if name.is_place:
            self.found.add(name.path)
            return self._place(name.path, rows)
        values = self._field(name.path, rows)
        if values is None:
            return None
        self.found.add(name.path)
        return values if name.mask is None else _masked(values, name.mask)

    def _field(self, path: str, rows: Rows) -> Values | None:
        """Return the field of this name, or the member of a structure that follows a dot."""
        fields = rows.event_class.fields
        for index, field in enumerate(fields):
            if field.name == path:
                return _unwrapped(rows.table.column(index), field.type, self._trace.strings)
        for index, field in enumerate(fields):
            if path.startswith(f"{field.name}."):
                values = _unwrapped(rows.table.column(index), field.type, self._trace.strings)
                found = _member(values, path[len(field.name) + 1 :])
                if found is not None:
                    return found
        return None

    def _place(self, name: str, rows: Rows) -> Values:
        batch, strings = rows.batch, self._trace.strings
        if name == "ts":
            return Values(rows.common(batch.ts), IntegerClass(64, True), strings, is_time=True)
        if name == "cpu":
            cpu = rows.common(batch.cpu)
            return Values(cpu, IntegerClass(32, True), strings, cpu >= 0)
        thread = rows.common(batch.thread)
        tids, pids, comms = self._thread_columns()
        valid = thread >= 0
        if name == "comm":
            return Values(comms[thread], StringClass(), strings, valid)
        column = (tids if name == "tid" else pids)[thread]
        return Values(column, IntegerClass(64, True), strings, valid)

    def _thread_columns(
        self,
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]:
        """Return the tids, pids and names of threads; the last entry is for no thread."""
        trace = self._trace
        count = len(trace.threads)
        if self._ids is None or self._ids[0] != count:
            owners = [trace.processes[thread.process] for thread in trace.threads]
            tids = np.array([*(_signed(thread.tid) for thread in trace.threads), -1], np.int64)
            pids = np.array([*(_signed(owner.pid) for owner in owners), -1], np.int64)
            names = [
                trace.strings.intern(thread.name or owner.name)
                for thread, owner in zip(trace.threads, owners, strict=True)
            ]
            names.append(trace.strings.intern(b""))
            self._ids = (count, tids, pids, np.array(names, np.int32))
        return self._ids[1:]


def _signed(number: int) -> int:
    return number - (1 << 64) if number >= 1 << 63 else number


def _unwrapped(column: Column, field_class: FieldClass, strings: StringTable) -> Values:
    """Return the values of a column without the optional around them."""
    plain, kind, valid = without_optional(column, field_class)
    return Values(plain, kind, strings, valid)


def _member(values: Values, path: str) -> Values | None:
    """Return the member of a structure that a path names; the member's name may contain dots."""
    column, field_class = values.column, values.type
    if not (isinstance(column, StructColumn) and isinstance(field_class, StructureClass)):
        return None
    for index, member in enumerate(field_class.members):
        if path == member.name or path.startswith(f"{member.name}."):
            inner = _unwrapped(column.members[index], member.type, values.strings)
            found: Values | None = inner
            if path != member.name:
                found = _member(inner, path[len(member.name) + 1 :])
            if found is not None:
                valid = _and(values.valid, found.valid)
                return Values(found.column, found.type, values.strings, valid)
    return None


def _and(one: Mask | None, other: Mask | None) -> Mask | None:
    if one is None or other is None:
        return other if one is None else one
    return one & other


def _masked(values: Values, mask: int) -> Values | None:
    column = values.column
    if not isinstance(values.type, IntegerClass) or not isinstance(column, np.ndarray):
        return None
    bits = 8 * column.dtype.itemsize
    unsigned = column.view(f"u{bits // 8}") & np.array(mask & (1 << bits) - 1, f"u{bits // 8}")
    return Values(unsigned, IntegerClass(bits), values.strings, values.valid)


# Comparing


def _compare_literal(values: Values, sign: str, wanted: int | Fraction | bytes) -> Mask:
    """Return the mask of the rows whose values satisfy a comparison with a literal."""
    column, field_class = values.column, values.type
    result: Mask
    match field_class, column:
        case (VariantClass(options), UnionColumn(tags, rows, columns)):
            result = np.zeros(len(tags), np.bool_)
            for tag, option in enumerate(options):
                at = np.flatnonzero(tags == tag)
                inner = _unwrapped(take(columns[tag], rows[at]), option.type, values.strings)
                result[at] = _compare_literal(inner, sign, wanted)
        case (StringClass(), _) if isinstance(wanted, bytes):
            result = _texts(column, values.strings, sign, wanted)
        case (IntegerClass(), np.ndarray()) if isinstance(wanted, bytes):
            result = _labelled(column, field_class, sign, wanted)
        case (IntegerClass() | BooleanClass(), np.ndarray()) if not isinstance(wanted, bytes):
            result = _integers(column, sign, wanted)
        case (FloatClass(), np.ndarray()) if not isinstance(wanted, bytes) and sign in _SIGNS:
            result = _SIGNS[sign](column, float(wanted))
        case _:
            result = np.zeros(len(column), np.bool_)
    return result if values.valid is None else result & values.valid


def _integers(column: NDArray[Any], sign: str, wanted: int | Fraction) -> Mask:
    """Compare exactly, even if the literal is not a value of the column's type."""
    if sign not in _SIGNS:
        return np.zeros(len(column), np.bool_)
    if column.dtype == np.bool_:
        column = column.view(np.uint8)
    if wanted != int(wanted):
        if sign in ("==", "!="):
            return np.full(len(column), sign == "!=")
        # Between two integers, "at least" uses the upper and "at most" the lower one.
        wanted, sign = (floor(wanted), "<=") if sign in ("<", "<=") else (ceil(wanted), ">=")
    number = int(wanted)
    bounds = np.iinfo(column.dtype)
    if not bounds.min <= number <= bounds.max:
        return np.full(len(column), bool(_SIGNS[sign](0, number)))
    result: Mask = _SIGNS[sign](column, column.dtype.type(number))
    return result


def _texts(column: Column, strings: StringTable, sign: str, wanted: bytes) -> Mask:
    if isinstance(column, ListColumn):
        # Such texts hardly ever repeat: they get ids, but are not kept.
        strings = StringTable()
        column = string_ids(column, strings)
    assert isinstance(column, np.ndarray)
    ids, inverse = distinct(column)
    verdicts = [_text_compares(strings[id], sign, wanted) for id in ids.tolist()]
    return np.array(verdicts, np.bool_)[inverse] if verdicts else np.zeros(0, np.bool_)


def _text_compares(text: bytes, sign: str, wanted: bytes) -> bool:
    if sign in ("~", "!~"):
        matches = pattern(as_text(wanted)).fullmatch(as_text(text)) is not None
        return matches == (sign == "~")
    return bool(_SIGNS[sign](text, wanted))


def _labelled(column: NDArray[Any], field_class: IntegerClass, sign: str, wanted: bytes) -> Mask:
    """Compare labelled numbers by their labels."""
    result = np.zeros(len(column), np.bool_)
    if sign not in ("==", "!=", "~", "!~"):
        return result
    positive = {"!=": "==", "!~": "~"}.get(sign, sign)
    for label in field_class.labels:
        if not _text_compares(label.text.encode("utf-8", "surrogateescape"), positive, wanted):
            continue
        if field_class.flags:
            low = _integers(column & column.dtype.type(label.low), "==", label.low)
            result |= low if label.low else _integers(column, "==", 0)
        else:
            result |= _integers(column, ">=", label.low) & _integers(column, "<=", label.high)
    return ~result if sign in ("!=", "!~") else result


def _compare_names(one: Values, sign: str, other: Values) -> Mask:
    """Return the mask of the rows at which the values of two names satisfy a comparison."""
    result = np.zeros(len(one.column), np.bool_)
    if sign in _SIGNS:
        if isinstance(one.type, StringClass) and isinstance(other.type, StringClass):
            result = _compare_texts(one, sign, other)
        elif _is_number(one) and _is_number(other):
            result = _compare_numbers(np.asarray(one.column), sign, np.asarray(other.column))
    valid = _and(one.valid, other.valid)
    return result if valid is None else result & valid


def _is_number(values: Values) -> bool:
    return isinstance(values.type, IntegerClass | FloatClass | BooleanClass)


def _compare_numbers(one: NDArray[Any], sign: str, other: NDArray[Any]) -> Mask:
    result: Mask = _SIGNS[sign](one, other)
    # NumPy compares signed with unsigned 64-bit integers as floats.
    for signed, unsigned, test in ((one, other, sign), (other, one, _MIRRORED.get(sign, sign))):
        if signed.dtype == np.int64 and unsigned.dtype == np.uint64:
            result = _SIGNS[test](signed.view(np.uint64), unsigned)
            return np.where(signed < 0, _SIGNS[test](-1, 0), result)
    return result


def _compare_texts(one: Values, sign: str, other: Values) -> Mask:
    strings = StringTable()
    columns = [_as_ids(values, strings) for values in (one, other)]
    known = [strings[id] for id in range(len(strings))]
    order = sorted(range(len(known)), key=known.__getitem__)
    rank = np.empty(len(known), np.int64)
    rank[order] = np.arange(len(known))
    result: Mask = _SIGNS[sign](rank[columns[0]], rank[columns[1]])
    return result


def _as_ids(values: Values, strings: StringTable) -> NDArray[np.int32]:
    """Return the ids of texts in another table."""
    if isinstance(values.column, ListColumn):
        return string_ids(values.column, strings)
    assert isinstance(values.column, np.ndarray)
    ids, inverse = distinct(values.column)
    if not len(ids):
        return constant_column(np.int32(0), 0)
    known = [strings.intern(values.strings[id]) for id in ids.tolist()]
    return np.array(known, np.int32)[inverse]
