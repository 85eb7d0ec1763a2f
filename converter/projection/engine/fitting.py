"""Fitting: converts the fields of a partition to those of a format's record, then the rest to arguments of types that
it can hold.

The conversions are planned once per class; every one that reading back cannot undo is counted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from dataclasses import field as dataclass_field
from itertools import count
from typing import Any, Final

import numpy as np

from converter.ir.columns import (
    Column,
    NullColumn,
    column_from_values,
    constant_column,
    neutral,
)
from converter.ir.events import EventClass, Field
from converter.ir.field_classes import (
    BooleanClass,
    BytesClass,
    FieldClass,
    FloatClass,
    IntegerClass,
    NullClass,
    StringClass,
    Style,
)
from converter.ir.kinds import Kind, Role
from converter.ir.tables import ComputedColumn
from converter.projection.capabilities import KindSupport, Projection
from converter.projection.engine.conversions import TextsThatFit, Widened
from converter.projection.engine.partitions import ByClass, Partition
from converter.projection.engine.texts import fit_identifier, fit_name
from converter.projection.engine.types import converted, converts, fitted_class, keeps_all
from converter.projection.loss_codes.entry import Value
from converter.projection.losses import LossClass, PlannedLosses, parameters_of
from converter.projection.timeline_fields import CORRELATION_ID, FLOW_IDS, TERMINATING_FLOW_IDS

#: Fields of slices that viewers show as arrows, as long as they keep their meaning.
_ARROWS: Final = (FLOW_IDS, TERMINATING_FLOW_IDS)
#: Roles of fields with the time that a thread ran in a slice, which viewers show of the slice.
_THREAD_TIMES: Final = (Role.THREAD_TIME, Role.THREAD_DURATION)
#: Converts a partition's column to another field class.
_Conversion = Callable[[Partition, Any], Column]


@dataclass(slots=True)
class _Step:
    """One field of the result: a converted field of the source, by its number, or a default if there is none."""

    index: int | None
    source: FieldClass
    target: FieldClass
    name: str
    #: None if the target holds all values of the source unchanged.
    convert: _Conversion | None = dataclass_field(init=False)

    def __post_init__(self) -> None:
        self.convert = None

    def decide(self, projection: Projection) -> None:
        """Choose the conversion of its columns, once for those of all batches."""
        source, target, name = self.source, self.target, self.name
        numeric = isinstance(source, IntegerClass | FloatClass | BooleanClass)
        if numeric and source == target:
            return

        def convert(partition: Partition, column: Column) -> Column:
            return converted(column, source, target, name, partition, projection)

        self.convert = convert
        holds = projection.capabilities
        if isinstance(source, StringClass) and source == target and not holds.nul_ends_strings:
            strings, limit = projection.source.strings, holds.max_string_bytes
            self.convert = TextsThatFit(strings, limit, holds.utf8_only, convert)
        if isinstance(source, IntegerClass) and isinstance(target, IntegerClass):
            own, wide = source.dtype, target.dtype
            if np.can_cast(own, wide):
                self.convert = Widened(own, wide, convert)


@dataclass(slots=True)
class _Plan:
    """The conversion of the events of one class to those of another, and its losses."""

    event_class: EventClass
    steps: list[_Step]
    losses: PlannedLosses

    def lose(self, code: str, loss_class: LossClass | None = None, **parameters: Value) -> None:
        """Plan a loss at each event of the class."""
        self.losses += ((code, loss_class, parameters_of(parameters)),)


def is_value(field: Field) -> bool:
    """Return True if a fitted argument of a counter is one of its values, rather than a reference to something else."""
    return field.role is Role.VALUE and getattr(field.type, "style", None) not in _REFERENCES


#: Lengths of events, and kinds that have none: JSON may say them of these all the same, which its viewers ignore.
_LENGTHS: Final = frozenset({Role.DURATION, Role.THREAD_DURATION})
_MOMENTS: Final = frozenset(
    {Kind.SLICE_BEGIN, Kind.SLICE_END, Kind.INSTANT, Kind.COUNTER}
    | {Kind.ASYNC_BEGIN, Kind.ASYNC_INSTANT, Kind.ASYNC_END}
    | {Kind.FLOW_BEGIN, Kind.FLOW_STEP, Kind.FLOW_END}
)
_REFERENCES = frozenset({Style.POINTER, Style.OBJECT_ID})


class Fitter:
    """Fits partitions to capabilities; plans are cached per class."""

    def __init__(self, projection: Projection) -> None:
        self._projection = projection
        self._capabilities = projection.capabilities
        self._plans = ByClass(self._plan)

    def fit(self, partition: Partition) -> Partition:
        """Return the partition with the fields of the format's record for its kind, then arguments that it can hold."""
        plan = self._plans(partition.event_class)
        if plan.losses:
            self._projection.lose_planned(plan.losses, partition)
        table = partition.table
        columns = [
            _default(step.target, len(table), self._projection)
            if step.index is None
            else table.lazy(step.index)
            if step.convert is None
            else ComputedColumn(step.convert, (table.lazy(step.index),), partition)
            for step in plan.steps
        ]
        return partition.rewritten(plan.event_class, columns)

    def _plan(self, event_class: EventClass) -> _Plan:
        # A class that an adapter makes from a supported one (lists of a counter as text, say) is held by its kind.
        support = self._capabilities.support(event_class)
        support = support or self._capabilities.kinds[event_class.kind]
        source = event_class.fields
        fields: list[Field] = []
        plan = _Plan(event_class, [], ())
        # The indices of the fields that are in the result, in its order; None for one that the source lacks.
        kept: list[int | None] = []
        optional = _optional_parts(source, support)
        for part in support.fields:
            index = index_of(part, source)
            wanted = source[index] if index is not None and index in optional else part
            fields.append(wanted)
            kept.append(self._part(index, wanted, event_class, plan))
        counted = self._projection.source.semantics.thread_time_counters
        for index in optional:
            if index not in kept:
                field = source[index]
                if field.role is Role.THREAD_TIME and counted and not self._projection.is_own:
                    plan.lose("thread-time-counter")
                kept.append(index)
                fields.append(field)
                plan.steps.append(_Step(index, field.type, field.type, field.name))
        trailing = [(index_of(part, source), part) for part in support.trailing]
        for index, field in enumerate(source):
            if index in kept or any(index == other for other, _ in trailing):
                continue
            if self._is_left_out(event_class, field, support, plan):
                continue
            if not support.arguments:
                plan.lose("field-dropped", field=field.name)
                continue
            argument = self._argument(event_class, field, fields, support, plan)
            kept.append(index)
            fields.append(argument)
            plan.steps.append(_Step(index, field.type, argument.type, field.name))
        for index, part in trailing:
            fields.append(part)
            kept.append(self._part(index, part, event_class, plan))
        present = [index for index in kept if index is not None]
        if present != sorted(present):
            plan.lose("field-order")
        if None in kept:
            plan.lose("field-added")
        plan.event_class = self._declaration(event_class, tuple(fields), support, plan)
        for step in plan.steps:
            step.decide(self._projection)
        return plan

    def _is_left_out(
        self, event_class: EventClass, field: Field, support: KindSupport, plan: _Plan
    ) -> bool:
        """Plan the loss of a field that viewers of the source do not show; return False for other fields."""
        is_native = isinstance(field.type, BytesClass) and field.type.is_native
        if is_native and not self._projection.is_own:
            plan.lose("trailing-data")
            return True
        is_length = field.role in _LENGTHS and event_class.kind in _MOMENTS
        # It would be on an instant beside the counter.
        is_beside = field.role is Role.THREAD_TIME and support.values_only
        if (is_length or is_beside) and not support.roles:
            plan.lose("duration-without-length", field=field.name)
            return True
        return False

    def _part(
        self, index: int | None, wanted: Field, event_class: EventClass, plan: _Plan
    ) -> int | None:
        """Plan a field of the format's own; return the index of the field that it holds completely, if any."""
        if index is None or not converts(event_class.fields[index].type, wanted.type):
            plan.steps.append(_Step(None, wanted.type, wanted.type, ""))
            return None
        field = event_class.fields[index]
        plan.steps.append(_Step(index, field.type, wanted.type, field.name))
        if field.name != wanted.name:
            plan.lose("field-name-of-format", field=field.name, shown=wanted.name)
        if field.type != wanted.type:
            plan.lose("field-type", field=field.name)
        if field.unit != wanted.unit:
            plan.lose("field-unit", field=field.name)
        return index if keeps_all(field.type, wanted.type) else None

    def _argument(
        self,
        event_class: EventClass,
        field: Field,
        others: Sequence[Field],
        support: KindSupport,
        plan: _Plan,
    ) -> Field:
        """Plan one argument, after `others`, in a type that the format has."""
        capabilities = support.holds or self._capabilities
        fitted = fitted_class(field.type, capabilities)
        name = fit_identifier(field.name, capabilities)
        if capabilities.distinct_names:
            name = _unique_name(name, others)
        role = field.role if support.roles else Role.NONE
        if support.argument_role is not None:
            # Readers identify it by the name that is written.
            role = support.argument_role(replace(field, name=name, type=fitted))
        if support.numeric_values and isinstance(fitted, IntegerClass | FloatClass):
            if field.role is Role.VALUE or event_class.index_of(Role.VALUE) is None:
                role = Role.VALUE
            elif not support.values_only:
                # A number that is not one of the counter's values must not look like one.
                fitted = StringClass()
        if fitted != field.type and isinstance(fitted, StringClass):
            plan.lose("field-as-text", field=field.name)
        elif fitted != field.type:
            plan.lose("field-type", field=field.name)
        if field.role is not role:
            plan.lose("field-meaning", field=field.name)
            if field in _ARROWS:
                plan.lose("arrow-ids-unshown", field=field.name)
            if field.role in _THREAD_TIMES:
                plan.lose("thread-time-unshown", field=field.name)
            if field == CORRELATION_ID:
                plan.lose("correlation-unshown", field=field.name)
        unit = fit_name(field.unit, capabilities) if capabilities.units else ""
        if unit != field.unit:
            plan.lose("field-unit", field=field.name)
        if name != field.name:
            plan.lose("field-renamed", field=field.name, shown=name)
        return Field(name, fitted, role, unit)

    def _declaration(
        self,
        event_class: EventClass,
        fields: tuple[Field, ...],
        support: KindSupport,
        plan: _Plan,
    ) -> EventClass:
        """Return the class with other fields, and with those of its other properties that the format keeps."""
        name = category = ""
        if support.named:
            held = support.holds or self._capabilities
            name = fit_identifier(event_class.name, held)
            category = fit_identifier(event_class.category, held)
        elif support.event is not None:
            category, name = support.event
        own = (event_class.name, event_class.category)
        if (name, category) != own and (any(own) or support.event is None):
            self._lose_name(f"{category}:{name}" if category else name, support, plan)
        if event_class.timed != support.timed:
            if event_class.timed:
                plan.lose("time-dropped")
            else:
                plan.lose("time-added")
        # The format's own record of the event keeps its own declaration.
        is_own = self._projection.is_own and (name, category) == own
        return replace(
            event_class,
            name=name,
            category=category,
            fields=fields,
            timed=support.timed,
            native=event_class.native if support.named or is_own else b"",
        )

    def _lose_name(self, name: str, support: KindSupport, plan: _Plan) -> None:
        """Plan the loss of a class name that the format's record has no field for."""
        if not name:
            plan.lose("event-name-dropped")
            return
        loss_class = LossClass.SHOWN if support.named else LossClass.KEPT
        plan.lose("event-renamed", loss_class, shown=name)


def _unique_name(name: str, fields: Sequence[Field]) -> str:
    """Return a name that none of these fields has, derived from the given one."""
    taken = {field.name for field in fields}
    if name not in taken:
        return name
    return next(made for n in count(2) if (made := f"{name}__{n}") not in taken)


def index_of(part: Field, fields: Sequence[Field]) -> int | None:
    """Return the first field that has a role; for none, and for context in general, the first of the same name."""
    by_name = part.role in (Role.NONE, Role.CONTEXT)
    for index, field in enumerate(fields):
        if field.role is part.role and (not by_name or field.name == part.name):
            return index
    return None


def _optional_parts(fields: Sequence[Field], support: KindSupport) -> list[int]:
    """Return which fields are optional parts of the format's record, in the order of the record."""
    parts: list[int] = []
    seen: set[str] = set()
    for wanted in support.optional:
        group = wanted.name.partition(".")[0]
        if wanted in fields and group not in seen:
            seen.add(group)
            parts.append(fields.index(wanted))
    return parts


def _default(field_class: FieldClass, length: int, projection: Projection) -> Column:
    match field_class:
        case StringClass():
            return projection.constant(b"", length)
        case IntegerClass() | FloatClass():
            return constant_column(field_class.dtype.type(0), length)
        case BooleanClass():
            return constant_column(np.False_, length)
        case NullClass():
            return NullColumn(length)
        case _:
            empty = [neutral(field_class)] * length
            return column_from_values(field_class, empty, projection.source.strings)
