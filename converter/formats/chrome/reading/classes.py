"""Event classes from class keys: decided once a class, then applied to whole batches."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import starmap
from typing import Any

import numpy as np
from numpy.typing import NDArray

from converter.errors import TraceError
from converter.formats.chrome.layout import (
    BIND_POINT,
    ClassKey,
    Leaf,
    Node,
    ObjectNode,
    Phase,
    Present,
    parse_shape,
    shape_names,
)
from converter.formats.chrome.mapping import (
    CATEGORY,
    IDENTIFIED,
    NAME,
    OPTIONAL,
    PAYLOAD,
    SWITCH_ARGUMENTS,
    SWITCH_FIELDS,
    WAKEUP_TID,
    WAKEUPS,
    bind_field,
    id_field,
    is_writable,
)
from converter.formats.chrome.phases import KIND_OF_PHASE, PHASES, STATE_PHASE
from converter.formats.chrome.reading.columns import (
    Positions,
    Scanned,
    class_of_node,
    declared_column,
)
from converter.ir.columns import Column, concatenate, take
from converter.ir.events import EventClass, Field, Table
from converter.ir.field_classes import FieldClass, FloatClass, IntegerClass
from converter.ir.forms import type_of
from converter.ir.kinds import Kind, Role
from converter.kernels.tables.strings import StringTable
from converter.projection.domain.scheduling.sched_conventions import argument_role
from converter.projection.timeline_fields import (
    BINDS,
    DURATION,
    FLOW_IN,
    FLOW_OUT,
    ID_SCOPE,
    MEMBERS,
    PHASE,
    SCOPE,
    THREAD_DURATION,
    THREAD_TIME,
)

_KIND_OF_WAKEUP = {name: kind for kind, (_, name) in WAKEUPS.items()}
_LEAVES = {PAYLOAD: Leaf("j"), MEMBERS: Leaf("j"), FLOW_IN: Leaf("b"), FLOW_OUT: Leaf("b")}


@dataclass(frozen=True, slots=True)
class Part:
    """One field of a class in the slots: `offset` slots after the row's start where that is fixed, else after the
    parts `before`. A `constant` has no slot.
    """

    node: Node
    offset: int
    before: tuple[Node, ...] = ()
    declared: FieldClass | None = None
    constant: str | bool | None = None

    def column(self, scanned: Scanned, starts: Positions, strings: StringTable) -> Column | None:
        """Return the values of the rows that start at `starts`; None where they do not have the declared class."""
        if isinstance(self.constant, bool):
            return np.broadcast_to(np.bool_(self.constant), (len(starts),))
        if self.constant is not None:
            return np.broadcast_to(np.int32(strings.intern(self.constant)), (len(starts),))
        at = starts + self.offset
        for node in self.before:
            at = scanned.skip(node, at)
        column = scanned.column(self.node, at)
        if self.declared is None:
            return column
        return declared_column(column, class_of_node(self.node), self.declared, strings)


@dataclass(frozen=True, slots=True)
class Plan:
    """The decoded class key: the class and the slots of each of its fields. `cpu` is the slot of the CPU of switches,
    `times` are the fields that hold ticks.
    """

    event_class: EventClass
    parts: tuple[Part, ...]
    cpu: int | None = None
    times: frozenset[int] = frozenset()


#: Returns the text of an id of one of the scanner's tables.
Lookup = Callable[[int], bytes]


def plan_of(
    key: ClassKey, names: Lookup, shapes: Lookup, *, own: bool, added: frozenset[str]
) -> Plan:
    """Decode a class key. `own` means that this project wrote the file: only then events may be switches and wakeups.
    `added` names the members that the writer added, such as the bind points of flow ends.
    """
    if not key.phase:
        return Plan(EventClass(Kind.NATIVE, fields=(PAYLOAD,), timed=False), (Part(Leaf("j"), 0),))
    shape = shapes(key.shape)
    tree = parse_shape(
        shape, {id: names(id).decode("utf-8", "surrogateescape") for id in shape_names(shape)}
    )
    state = key.phase == STATE_PHASE and not key.id_place
    is_record = key.phase == Phase.METADATA
    if own and (_are_switches(tree.members) if is_record else state and _is_running(tree)):
        return _switch_plan(key, tree, names, is_state=state)
    wakeup = _wakeup_plan(key, tree, names) if own and key.types else None
    if wakeup is not None and key.phase == Phase.INSTANT:
        return wakeup
    kind = Kind.STATE if state else Kind.INSTANT if is_record else KIND_OF_PHASE[key.phase]
    found = _standard_parts(key)
    if kind is Kind.FLOW_END and BIND_POINT in added:
        found.pop(BINDS, None)
    leading = [NAME, CATEGORY]
    if Present.DURATION in key.present and (kind is Kind.STATE or kind is Kind.SLICE_COMPLETE):
        leading.append(DURATION)
    if key.id_place and kind in IDENTIFIED:
        leading.append(id_field(key.id_place, key.id_kind.decode()))
    fields = leading + [field for field in OPTIONAL if field in found and field not in leading]
    parts = [found[field] for field in fields]
    width = sum(part.node.width or 0 for part in found.values() if part.offset >= 0)
    arguments = _argument_parts(tree, width, _declared(key, tree, names))
    for name, part in arguments:
        field_class = part.declared or class_of_node(part.node)
        numeric = isinstance(field_class, IntegerClass | FloatClass)
        role = Role.VALUE if kind is Kind.COUNTER and numeric else Role.NONE
        fields.append(Field(name, field_class, role))
        parts.append(part)
    return Plan(EventClass(kind, fields=tuple(fields)), tuple(parts), None, times_of(fields))


def times_of(fields: list[Field]) -> frozenset[int]:
    """Return the fields that hold ticks, which are microseconds in the file."""
    times = (DURATION, THREAD_TIME, THREAD_DURATION)
    return frozenset(i for i, field in enumerate(fields) if field in times)


def _standard_parts(key: ClassKey) -> dict[Field, Part]:
    """Return the standard members of the events, in the order of their slots."""
    order: list[Field] = [NAME, CATEGORY]
    if key.id_place:
        order.append(id_field(key.id_place, key.id_kind.decode()))
    for flag, field in (
        (Present.DURATION, DURATION),
        (Present.THREAD_TIME, THREAD_TIME),
        (Present.THREAD_DURATION, THREAD_DURATION),
        (Present.SCOPE, SCOPE),
        (Present.ID_SCOPE, ID_SCOPE),
    ):
        if flag in key.present:
            order.append(field)
    if key.bind_kind != b"\0":
        order.append(bind_field(key.bind_kind.decode()))
    for flag, field in (
        (Present.FLOW_IN, FLOW_IN),
        (Present.FLOW_OUT, FLOW_OUT),
        (Present.MEMBERS, MEMBERS),
    ):
        if flag in key.present:
            order.append(field)
    parts = {}
    at = 0
    for field in order:
        node = _LEAVES.get(field) or Leaf(_tag(field.type))
        parts[field] = Part(node, at)
        at += node.width or 0
    kind = KIND_OF_PHASE.get(key.phase)
    if (
        kind is not None
        and key.phase != PHASES[kind][0]
        and (key.id_place or key.phase != STATE_PHASE)
    ):
        parts[PHASE] = Part(Leaf("n"), -1, constant=key.phase)
    if Present.BINDS_ENCLOSING in key.present:
        parts[BINDS] = Part(Leaf("n"), -1, constant=True)
    return parts


def _tag(field_class: FieldClass) -> str:
    if isinstance(field_class, IntegerClass):
        return "i" if field_class.signed else "x"
    return "s"


def _argument_parts(
    tree: ObjectNode, width: int, declared: list[FieldClass] | None
) -> list[tuple[str, Part]]:
    """Return name and part of each argument, the first of which is `width` slots after the row's start."""
    result = []
    offset = width
    before: list[Node] = []
    for index, (name, node) in enumerate(tree.members):
        wanted = declared[index] if declared is not None else None
        if wanted == class_of_node(node):
            wanted = None
        result.append((name, Part(node, offset, tuple(before), wanted)))
        if before or node.width is None:
            before.append(node)
        else:
            offset += node.width
    return result


def _declared(key: ClassKey, tree: ObjectNode, names: Lookup) -> list[FieldClass] | None:
    """Return the classes of the arguments as ``arg_types`` declares them, or None if it does not."""
    if not key.types:
        return None
    try:
        forms = json.loads(names(key.types))
        if isinstance(forms, dict):
            forms = forms.get("types")
        if not isinstance(forms, list) or len(forms) != len(tree.members):
            return None
        declared = [type_of(form) for form in forms]
        return declared if all(map(is_writable, declared)) else None
    except (ValueError, TypeError, KeyError, LookupError, RecursionError, AttributeError):
        return None


def _declaration(key: ClassKey, names: Lookup) -> dict[str, Any]:
    """Return the members of ``arg_types`` where it is an object."""
    try:
        found = json.loads(names(key.types))
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _are_switches(members: Sequence[tuple[str, Node]]) -> bool:
    """Return True if the arguments begin with those of switches."""
    return len(members) >= len(SWITCH_ARGUMENTS) and all(
        name == wanted and node == Leaf(tag)
        for (name, node), (wanted, tag) in zip(members, SWITCH_ARGUMENTS, strict=False)
    )


def _is_running(tree: ObjectNode) -> bool:
    """Return True if a state is a switch as older versions wrote it: first its CPU, null where that is unknown."""
    if not tree.members or not _are_switches(tree.members[1:]):
        return False
    name, node = tree.members[0]
    return name == "cpu" and node in (Leaf("i"), Leaf("n"))


def _switch_plan(key: ClassKey, tree: ObjectNode, names: Lookup, *, is_state: bool) -> Plan:
    leading = 1 if is_state else 0
    width = sum(part.node.width or 0 for part in _standard_parts(key).values() if part.offset >= 0)
    arguments = _argument_parts(tree, width, _declared(key, tree, names))
    fields: list[Field] = list(SWITCH_FIELDS)
    fields += starmap(
        lambda name, part: Field(name, part.declared or class_of_node(part.node)),
        arguments[leading + len(SWITCH_ARGUMENTS) :],
    )
    cpu = arguments[0][1]
    return Plan(
        EventClass(Kind.SCHED_SWITCH, fields=tuple(fields)),
        tuple(part for _, part in arguments[leading:]),
        cpu.offset if is_state and cpu.node == Leaf("i") else None,
    )


def _wakeup_plan(key: ClassKey, tree: ObjectNode, names: Lookup) -> Plan | None:
    """Return the plan of instants that declare themselves wakeups; None for others."""
    declared = _declaration(key, names)
    kind = _KIND_OF_WAKEUP.get(str(declared.get("kind")))
    is_plain = not (key.present or key.id_place or key.bind_kind != b"\0")
    is_one = tree.members[:1] == ((WAKEUP_TID.name, Leaf("i")),)
    if kind is None or not (is_plain and is_one):
        return None
    width = sum(part.node.width or 0 for part in _standard_parts(key).values() if part.offset >= 0)
    arguments = _argument_parts(tree, width, _declared(key, tree, names))
    fields = [WAKEUP_TID]
    for name, part in arguments[1:]:
        field = Field(name, part.declared or class_of_node(part.node))
        fields.append(replace(field, role=argument_role(field)))
    category, name = WAKEUPS[kind]
    name, category = declared.get("name", name), declared.get("category", category)
    return Plan(
        EventClass(kind, str(name), str(category), tuple(fields)),
        tuple(part for _, part in arguments),
    )


class Rows:
    """The rows of one class in a batch: the slots they start at and, where there are several plans, the plan of each.

    Without `numbers` all have the first plan. `known` are already decoded columns of each plan, by field.
    """

    def __init__(
        self,
        scanned: Scanned,
        starts: Positions,
        plans: list[Plan],
        known: list[dict[int, Column]],
        numbers: NDArray[np.int64] | None,
        strings: StringTable,
        times: Callable[[NDArray[np.int64]], NDArray[np.int64]] | None,
    ) -> None:
        self._scanned = scanned
        self._starts = starts
        self._plans = plans
        self._known = known
        self._numbers = numbers
        self._strings = strings
        self._times = times

    def table(self) -> Table:
        """Return the table, whose columns are decoded lazily."""
        width = len(self._plans[0].event_class.fields)
        return Table(len(self._starts), [self._lazy(index) for index in range(width)])

    def _lazy(self, index: int) -> Callable[[], Column]:
        return lambda: self._column(index)

    def _column(self, index: int) -> Column:
        column = self._untimed(index)
        if self._times is not None and index in self._plans[0].times:
            assert isinstance(column, np.ndarray)
            return self._times(column)
        return column

    def _untimed(self, index: int) -> Column:
        if self._numbers is None:
            return self._part(0, index, self._starts)
        # Only the plans that occur: a file can cause as many plans as it has events.
        order = np.argsort(self._numbers, kind="stable")
        present, first = np.unique(self._numbers[order], return_index=True)
        columns = [
            self._part(number, index, self._starts[group])
            for number, group in zip(present.tolist(), np.split(order, first[1:]), strict=True)
        ]
        back = np.empty(len(order), np.int64)
        back[order] = np.arange(len(order))
        return take(concatenate(columns), back)

    def _part(self, number: int, index: int, starts: Positions) -> Column:
        if index in self._known[number]:
            return self._known[number][index]
        column = self._plans[number].parts[index].column(self._scanned, starts, self._strings)
        if column is None:
            field = self._plans[number].event_class.fields[index]
            raise TraceError(
                format="chrome",
                field=f"args.{field.name}",
                expected=f"what arg_types declares: {field.type}",
            )
        return column
