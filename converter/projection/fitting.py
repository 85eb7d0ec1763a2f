"""Fitting: the fields of a piece as the ones that a format's record has, then arguments of types that it can hold.

Structures and short fixed arrays become fields of their own where the format has none. Every step that reading back
cannot undo is counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from dataclasses import field as dataclass_field
from itertools import count
from typing import Any, Final

import numpy as np

from converter.ir.columns import (
    Column,
    ListColumn,
    NullColumn,
    OptionalColumn,
    StructColumn,
    UnionColumn,
    column_from_values,
    constant_column,
    neutral,
    take,
)
from converter.ir.distinct_values import distinct
from converter.ir.events import EventClass, Field
from converter.ir.field_classes import (
    ArrayClass,
    BooleanClass,
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
from converter.ir.tables import ComputedColumn
from converter.projection.capabilities import Capabilities, KindSupport, Projection
from converter.projection.losses import Aspect, LossClass, LossKind, PlannedLosses
from converter.projection.pieces import ByClass, Piece, Thunk
from converter.projection.texts import fit_identifier
from converter.projection.timeline_fields import CORRELATION_ID, FLOW_IDS, TERMINATING_FLOW_IDS
from converter.projection.types import converted, converts, fitted_class, is_stack, keeps_all

#: Fields of slices that viewers show as arrows, as long as these have their meaning.
_ARROWS: Final = (FLOW_IDS, TERMINATING_FLOW_IDS)
#: Fixed arrays of at most this many elements become one field an element.
MAX_FLATTENED = 16

Argument = tuple[Field, Thunk]


def label(event_class: EventClass) -> str:
    """How a report names a class."""
    if event_class.category and event_class.name:
        return f"{event_class.category}:{event_class.name}"
    return event_class.name or event_class.kind.name.lower()


def native_records(piece: Piece, projection: Projection) -> str:
    """How a report names records that only their own format has."""
    what = f"native records of {projection.source.format}"
    return f"{what} ({piece.event_class.name})" if piece.event_class.name else what


def is_nested(event_class: EventClass, capabilities: Capabilities) -> bool:
    """Whether the class has structures or arrays that `flattened` takes apart."""
    return any(
        _is_taken_apart(field, capabilities) and not _is_held(field, event_class, capabilities)
        for field in event_class.fields
    )


def is_varying(event_class: EventClass, capabilities: Capabilities) -> bool:
    """Whether the class has optionals or variants that `split_by_presence` resolves."""
    return any(_is_resolved(field, capabilities) for field in event_class.fields)


def _is_resolved(field: Field, capabilities: Capabilities) -> bool:
    return (isinstance(field.type, OptionalClass) and not capabilities.optionals) or (
        isinstance(field.type, VariantClass) and not capabilities.variants
    )


def flattened(piece: Piece, capabilities: Capabilities) -> Piece:
    """The piece with structures and short arrays taken apart where the format has none."""
    parts: list[Argument] = []
    for index, field in enumerate(piece.event_class.fields):
        column = piece.table.lazy(index)
        if _is_held(field, piece.event_class, capabilities):
            parts.append((field, column))
        else:
            parts += _flatten(field, column, piece, capabilities)

    def made() -> EventClass:
        return replace(piece.event_class, fields=tuple(field for field, _ in parts))

    return piece.rewritten(piece.derive(("flattened",), made), [column for _, column in parts])


def _is_held(field: Field, event_class: EventClass, capabilities: Capabilities) -> bool:
    """Whether the format's record has a place for the field as it is."""
    support = capabilities.support(event_class)
    return support is not None and any(
        part.role is field.role
        and (part.role is not Role.NONE or part.name == field.name)
        and type(part.type) is type(field.type)
        and converts(field.type, part.type)
        for part in support.fields
    )


def _is_taken_apart(field: Field, capabilities: Capabilities) -> bool:
    match field.type:
        case StructureClass():
            return not capabilities.structures
        case ArrayClass(element, int(length)):
            if capabilities.arrays or is_stack(field.type):
                return False
            return length <= MAX_FLATTENED and _is_flat(element)
    return False


def _flatten(
    field: Field, column: Thunk, piece: Piece, capabilities: Capabilities
) -> Iterator[Argument]:
    if not _is_taken_apart(field, capabilities):
        yield field, column
    elif isinstance(field.type, StructureClass):
        for i, member in enumerate(field.type.members):
            inner = Field(f"{field.name}.{member.name}", member.type, field.role, field.unit)
            yield from _flatten(inner, _member(column, i, piece), piece, capabilities)
    elif isinstance(field.type, ArrayClass):
        for i in range(field.type.length or 0):
            inner = Field(f"{field.name}[{i}]", field.type.element, field.role, field.unit)
            yield inner, _element(column, i, field.type.length or 0, piece)


def _is_flat(element: FieldClass) -> bool:
    return isinstance(element, IntegerClass | FloatClass | BooleanClass | StringClass)


def _member(column: Thunk, index: int, piece: Piece) -> Thunk:
    def member(_piece: Piece, whole: Column) -> Column:
        assert isinstance(whole, StructColumn)
        return whole.members[index]

    return ComputedColumn(member, (column,), piece)


def _element(column: Thunk, index: int, length: int, piece: Piece) -> Thunk:
    def element(_piece: Piece, whole: Column) -> Column:
        assert isinstance(whole, ListColumn)
        first = int(whole.offsets[0]) + index
        if isinstance(whole.values, np.ndarray):
            return whole.values[first : first + len(whole) * length : length][: len(whole)]
        return take(whole.values, np.arange(len(whole)) * length + first)

    return ComputedColumn(element, (column,), piece)


def split_by_presence(piece: Piece, capabilities: Capabilities) -> list[Piece]:
    """One piece for each combination of present optionals and chosen options.

    Only for formats without optionals or variants: there, the shape of an event's arguments is its class.
    """
    varying = [
        index
        for index, field in enumerate(piece.event_class.fields)
        if _is_resolved(field, capabilities)
    ]
    shape = np.zeros(len(piece), np.int32)
    for index in varying:
        column = piece.table.column(index)
        # Numbered anew at each step, so that no number of options makes it overflow.
        if isinstance(column, OptionalColumn):
            _, shape = distinct(shape * 2 + column.valid)
        elif isinstance(column, UnionColumn):
            _, shape = distinct(shape * len(column.options) + column.tags)
    parts = []
    for number in range(int(shape.max()) + 1):
        rows = np.flatnonzero(shape == number)
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
            if column.valid[0]:
                fields.append(replace(field, type=field.type.element))
                columns.append(column.values)
        elif isinstance(field.type, VariantClass) and isinstance(column, UnionColumn):
            tag = int(column.tags[0])
            fields.append(replace(field, type=field.type.options[tag].type))
            columns.append(take(column.options[tag], column.rows))
    return piece.rewritten(replace(piece.event_class, fields=tuple(fields)), columns)


#: Makes of a piece's column one of another field class.
_Conversion = Callable[[Piece, Any], Column]


@dataclass(slots=True)
class _Step:
    """One field of the result: that number of the source's, converted, or a default where there is none."""

    index: int | None
    source: FieldClass
    target: FieldClass
    what: str
    #: None where all values of the source's are the target's.
    convert: _Conversion | None = dataclass_field(init=False)

    def __post_init__(self) -> None:
        self.convert = None

    def decide(self, projection: Projection) -> None:
        """How its columns are converted: once, for those of all batches."""
        source, target, what = self.source, self.target, self.what
        numeric = isinstance(source, IntegerClass | FloatClass | BooleanClass)
        if numeric and source == target:
            return

        def convert(piece: Piece, column: Column) -> Column:
            return converted(column, source, target, what, piece, projection)

        self.convert = convert
        if isinstance(source, IntegerClass) and isinstance(target, IntegerClass):
            own, wide = source.dtype, target.dtype
            if np.can_cast(own, wide):
                self.convert = lambda piece, column: (
                    column.astype(wide, copy=False)
                    if column.dtype == own
                    else convert(piece, column)
                )


@dataclass(slots=True)
class _Plan:
    """How the events of one class become those of another, and what that loses."""

    event_class: EventClass
    steps: list[_Step]
    losses: PlannedLosses

    def lose(
        self,
        kind: LossKind,
        what: str,
        loss_class: LossClass | None = None,
        aspect: Aspect | None = None,
    ) -> None:
        """Plan a loss at each event of the class."""
        self.losses += ((kind, what, loss_class, aspect),)


def is_value(field: Field) -> bool:
    """Whether a fitted argument of a counter is one of its values, and no reference to something else."""
    return field.role is Role.VALUE and getattr(field.type, "style", None) not in _REFERENCES


_REFERENCES = frozenset({Style.POINTER, Style.OBJECT_ID})


class Fitter:
    """Fits pieces to capabilities; what it finds out about a class it does not find out again."""

    def __init__(self, projection: Projection) -> None:
        self._projection = projection
        self._capabilities = projection.capabilities
        self._plans = ByClass(self._plan)

    def fit(self, piece: Piece) -> Piece:
        """The piece with the fields that the format's record of its kind has, then arguments that it can hold."""
        plan = self._plans(piece.event_class)
        if plan.losses:
            self._projection.lose_planned(plan.losses, piece)
        table = piece.table
        columns = [
            _default(step.target, len(table), self._projection)
            if step.index is None
            else table.lazy(step.index)
            if step.convert is None
            else ComputedColumn(step.convert, (table.lazy(step.index),), piece)
            for step in plan.steps
        ]
        return piece.rewritten(plan.event_class, columns)

    def _plan(self, event_class: EventClass) -> _Plan:
        # What an adapter makes of a class that is held, as lists of a counter that are text then, is held as its kind.
        support = self._capabilities.support(event_class)
        support = support or self._capabilities.kinds[event_class.kind]
        name = label(event_class)
        source = event_class.fields
        fields: list[Field] = []
        plan = _Plan(event_class, [], ())
        # The numbers of the fields that are in the result, in its order; None for one that the source lacks.
        kept: list[int | None] = []
        optional = _optional_parts(source, support)
        for part in support.fields:
            index = index_of(part, source)
            wanted = source[index] if index is not None and index in optional else part
            fields.append(wanted)
            kept.append(self._part(index, wanted, event_class, plan))
        for index in optional:
            if index not in kept:
                field = source[index]
                kept.append(index)
                fields.append(field)
                what = f"{field.name!r} of {name}"
                plan.steps.append(_Step(index, field.type, field.type, what))
        trailing = [(index_of(part, source), part) for part in support.trailing]
        for index, field in enumerate(source):
            if index in kept or any(index == other for other, _ in trailing):
                continue
            what = f"{field.name!r} of {name}"
            if not support.arguments:
                plan.lose(LossKind.DROPPED, f"field {what}")
                continue
            argument = self._argument(event_class, field, support, what, plan)
            if (support.holds or self._capabilities).distinct_names:
                argument = _distinct(argument, fields, what, plan)
            kept.append(index)
            fields.append(argument)
            plan.steps.append(_Step(index, field.type, argument.type, what))
        for index, part in trailing:
            fields.append(part)
            kept.append(self._part(index, part, event_class, plan))
        present = [index for index in kept if index is not None]
        if present != sorted(present):
            plan.lose(LossKind.RETYPED, f"order of the fields of {name}", aspect=Aspect.LAYOUT)
        if None in kept:
            missing = f"which fields {name} lacked: they are zero or empty"
            plan.lose(LossKind.RETYPED, missing, aspect=Aspect.LAYOUT)
        plan.event_class = self._declaration(event_class, tuple(fields), support, plan)
        for step in plan.steps:
            step.decide(self._projection)
        return plan

    def _part(
        self, index: int | None, wanted: Field, event_class: EventClass, plan: _Plan
    ) -> int | None:
        """Plan a field of the format's own; the number of the field that is wholly in it, if any."""
        if index is None or not converts(event_class.fields[index].type, wanted.type):
            plan.steps.append(_Step(None, wanted.type, wanted.type, ""))
            return None
        field = event_class.fields[index]
        what = f"{field.name!r} of {label(event_class)}"
        plan.steps.append(_Step(index, field.type, wanted.type, what))
        if field.name != wanted.name:
            renamed = f"name of field {field.name!r}"
            plan.lose(LossKind.RETYPED, renamed, aspect=Aspect.FIELD_NAMES)
        if field.type != wanted.type:
            plan.lose(LossKind.RETYPED, f"declared type of {what}", aspect=Aspect.TYPES)
        if field.unit != wanted.unit:
            plan.lose(LossKind.RETYPED, f"unit of {what}", aspect=Aspect.UNITS)
        return index if keeps_all(field.type, wanted.type) else None

    def _argument(
        self, event_class: EventClass, field: Field, support: KindSupport, what: str, plan: _Plan
    ) -> Field:
        """One argument in a type that the format has."""
        capabilities = support.holds or self._capabilities
        fitted = fitted_class(field.type, capabilities)
        role = field.role if support.roles else Role.NONE
        if support.argument_role is not None:
            role = support.argument_role(replace(field, type=fitted))
        if support.numeric_values and isinstance(fitted, IntegerClass | FloatClass):
            if field.role is Role.VALUE or event_class.index_of(Role.VALUE) is None:
                role = Role.VALUE
            elif not support.values_only:
                # A number that is not one of the counter's values must not look like one.
                fitted = StringClass()
        if fitted != field.type and isinstance(fitted, StringClass):
            plan.lose(LossKind.LOWERED, f"{what} as text", aspect=Aspect.TEXTS)
        elif fitted != field.type:
            plan.lose(LossKind.RETYPED, f"declared type of {what}", aspect=Aspect.TYPES)
        if field.role is not role:
            plan.lose(LossKind.RETYPED, f"meaning of {what}", aspect=Aspect.ROLES)
            if field in _ARROWS:
                plan.lose(LossKind.UNSHOWN, f"arrows of {what}", aspect=Aspect.FLOWS)
            if field == CORRELATION_ID:
                plan.lose(LossKind.UNSHOWN, f"correlation by {what}")
        unit = field.unit if capabilities.units else ""
        if unit != field.unit:
            plan.lose(LossKind.RETYPED, f"unit of {what}", aspect=Aspect.UNITS)
        name = fit_identifier(field.name, capabilities)
        if name != field.name:
            plan.lose(LossKind.CHANGED, f"name of {what}", aspect=Aspect.RENAMED_FIELDS)
        return Field(name, fitted, role, unit)

    def _declaration(
        self,
        event_class: EventClass,
        fields: tuple[Field, ...],
        support: KindSupport,
        plan: _Plan,
    ) -> EventClass:
        """The class with other fields, and what the format keeps of the rest."""
        name = category = ""
        if support.named:
            name = fit_identifier(event_class.name, self._capabilities)
            category = fit_identifier(event_class.category, self._capabilities)
        elif support.event is not None:
            category, name = support.event
        own = (event_class.name, event_class.category)
        if (name, category) != own and (any(own) or support.event is None):
            self._lose_name(event_class, f"{category}:{name}" if category else name, support, plan)
        if event_class.timed != support.timed:
            if event_class.timed:
                plan.lose(LossKind.DROPPED, f"time of {label(event_class)}")
            else:
                what = f"{label(event_class)}, which has no time, as if it had one"
                plan.lose(LossKind.CHANGED, what, LossClass.KEPT)
        return replace(
            event_class,
            name=name,
            category=category,
            fields=fields,
            timed=support.timed,
            native=event_class.native if support.named else b"",
        )

    def _lose_name(
        self, event_class: EventClass, name: str, support: KindSupport, plan: _Plan
    ) -> None:
        """The name of a class is shown only where the format's record has a place for it."""
        what = f"name of the events {label(event_class)}"
        if not name:
            plan.lose(LossKind.DROPPED, what, LossClass.DETAIL, Aspect.CLASS_NAMES)
            return
        loss_class = LossClass.SHOWN if support.named else LossClass.KEPT
        plan.lose(LossKind.CHANGED, f"{what}: {name}", loss_class, Aspect.RENAMED_CLASSES)


def _distinct(argument: Field, fields: Sequence[Field], what: str, plan: _Plan) -> Field:
    """The argument under a name that none of these fields has."""
    taken = {field.name for field in fields}
    if argument.name not in taken:
        return argument
    number = next(n for n in count(2) if f"{argument.name}__{n}" not in taken)
    plan.lose(LossKind.CHANGED, f"name of {what}", aspect=Aspect.RENAMED_FIELDS)
    return replace(argument, name=f"{argument.name}__{number}")


def index_of(part: Field, fields: Sequence[Field]) -> int | None:
    """The first field that plays a part; of parts without a role the first of the same name."""
    for index, field in enumerate(fields):
        if field.role is part.role and (part.role is not Role.NONE or field.name == part.name):
            return index
    return None


def _optional_parts(fields: Sequence[Field], support: KindSupport) -> list[int]:
    """Which fields are optional parts of the format's record, in the order in which it has them."""
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
