"""Kernel events: the messages that hold them, and the handling of those without a message."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, lru_cache
from typing import Final

from converter.formats.perfetto import mapping, tracepoints
from converter.formats.perfetto.adapters.positions import syscalls_as_raw
from converter.formats.perfetto.adapters.record_shapes import (
    with_numeric_addresses,
    with_unicode_names,
)
from converter.formats.perfetto.adapters.scheduling import is_of_task_states
from converter.formats.perfetto.protobuf.descriptors import typed_event
from converter.formats.perfetto.protobuf.event_schemas import (
    FIRST_EXTRA,
    MAX_DESCRIBED,
    PlacedField,
    distinct,
    fits_list,
    flags_field,
    has_required_roles,
    has_text,
    place_described,
    place_typed,
)
from converter.ir.events import EventClass, Field
from converter.ir.field_classes import BytesClass
from converter.ir.kinds import REQUIRED_ROLES, Kind
from converter.ir.semantics import Unseen
from converter.projection.capabilities import (
    Adapter,
    Capabilities,
    KindSupport,
    Lowering,
    Projection,
)
from converter.projection.domain.linux_tracepoints import MEANINGS, meaning
from converter.projection.engine.partitions import CONTEXT_ROLES, Partition
from converter.projection.instants import as_typed
from converter.projection.lowering import lowering_of

#: The capabilities for arguments of generic events, whose values are 64-bit integers, floating-point numbers, strings
#: and bytes.
_GENERIC: Final = Capabilities(
    {},
    integers=frozenset({(64, False), (64, True)}),
    booleans=False,
    nulls=False,
    max_arguments=MAX_DESCRIBED,
)
#: Structures are flattened, since no field of an event is one.
_TYPED: Final = Capabilities({}, arrays=True)

GENERIC_SUPPORT: Final = KindSupport(
    (tracepoints.COMMON_FLAGS,), cpu=True, named=True, holds=_GENERIC
)

#: The event of each kind if there is no typed event of the class's own name. Kinds that would lose information without
#: the name of their class (such as which interrupt it is) are not used here for classes that have one.
CANONICAL: Final[dict[Kind, tuple[str, str]]] = {
    **{known.kind: point for point, known in reversed(MEANINGS.items())},
    Kind.TIMER_ENTRY: ("timer", "hrtimer_expire_entry"),
    Kind.TIMER_EXIT: ("timer", "hrtimer_expire_exit"),
}
_NAMED_KINDS: Final = frozenset(
    {
        Kind.IRQ_ENTRY,
        Kind.IRQ_EXIT,
        Kind.IPI_ENTRY,
        Kind.IPI_EXIT,
        Kind.TIMER_ENTRY,
        Kind.TIMER_EXIT,
        Kind.SYSCALL_ENTRY,
        Kind.SYSCALL_EXIT,
        Kind.CLOCK_RATE,
    }
)
#: Kinds that other tracers also have for programs, where they are slices and instants of the timeline.
_KERNEL_ONLY: Final = frozenset({Kind.FUNCTION, Kind.FUNCTION_ENTRY, Kind.FUNCTION_EXIT})
#: Kinds that are slices in the timeline, where alone they have an end and a name.
_SLICES: Final = frozenset(
    {
        Kind.IRQ_ENTRY,
        Kind.IRQ_EXIT,
        Kind.SOFTIRQ_ENTRY,
        Kind.SOFTIRQ_EXIT,
        Kind.IPI_ENTRY,
        Kind.IPI_EXIT,
        Kind.TIMER_ENTRY,
        Kind.TIMER_EXIT,
        Kind.SYSCALL_ENTRY,
        Kind.SYSCALL_EXIT,
        Kind.WORK_BEGIN,
        Kind.WORK_END,
        Kind.FUNCTION_ENTRY,
        Kind.FUNCTION_EXIT,
    }
)
#: The kernel's function tracer, which has no typed event.
_FUNCTION: Final = ("ftrace", "function")


@cache
def _names() -> dict[str, tuple[str, str]]:
    """Return typed events by name alone, for names that only one system has."""
    points: dict[str, tuple[str, str]] = {}
    twice = set()
    for point in tracepoints.number_of_tracepoint():
        if point[1] in points:
            twice.add(point[1])
        points[point[1]] = point
    return {name: point for name, point in points.items() if name not in twice}


@cache
def support_of(point: tuple[str, str]) -> KindSupport:
    """Return how a typed event holds a class with a different name."""
    if point == _FUNCTION:
        declared = tracepoints.function_class()
    else:
        event = typed_event(tracepoints.number_of_tracepoint()[point])
        assert event is not None
        declared = tracepoints.tracepoint_class(*point, event.fields)
    return KindSupport(
        declared.fields,
        required=REQUIRED_ROLES.get(declared.kind, frozenset()),
        arguments=False,
        cpu=True,
        event=point,
        holds=_TYPED,
    )


def point_of(event_class: EventClass) -> tuple[str, str] | None:
    """Return the typed event as which a class of kernel events is written; None if it is generic or lowered."""
    name = (event_class.category, event_class.name)
    kind = event_class.kind
    if name == _FUNCTION and kind is Kind.FUNCTION:
        return name
    for point in (name, None if event_class.category else _names().get(event_class.name)):
        if point is None or point not in tracepoints.number_of_tracepoint():
            continue
        known = tracepoints.known_meaning(*point)
        if (Kind.TYPED if known is None else known.kind) is kind:
            return point if kind is not Kind.TYPED or _shares_fields(event_class, point) else None
    if kind in _KERNEL_ONLY and event_class.category != "ftrace":
        return None
    if kind in _NAMED_KINDS and event_class.name:
        return None
    return CANONICAL.get(kind)


def _shares_fields(event_class: EventClass, point: tuple[str, str]) -> bool:
    """Return True if a class has a field of the typed event, or either has no fields."""
    own = {field.name for field in event_class.fields if field.role not in CONTEXT_ROLES}
    typed = {field.name for field in support_of(point).fields[1:]}
    return not own or not typed or bool(own & typed)


def kernel_support(event_class: EventClass) -> KindSupport | None:
    """Return how the format holds a class of one of the kernel's kinds: unchanged, as far as its fields can be held."""
    if is_of_task_states(event_class):
        return _SWITCH
    if event_class.native == tracepoints.DESCRIBED_EVENT:
        return _described_support(event_class)
    point = point_of(event_class)
    if point is not None:
        placed = _placed(event_class, point)
        if not has_required_roles(event_class.kind, placed):
            # A field that the kind needs is of another type than its message can have.
            return None
        return replace(support_of(point), fields=_fields(placed))
    if event_class.kind is not Kind.TYPED:
        return None
    support = _described_support(event_class)
    if tracepoints.known_meaning(event_class.category, event_class.name):
        # The reader maps this name to another kind.
        return replace(support, named=False, event=("", event_class.name))
    return support


def _described_support(event_class: EventClass) -> KindSupport:
    """Return how a generic event holds a class."""
    fields = event_class.fields
    support = GENERIC_SUPPORT
    if flags_field(fields) is None:
        support = replace(support, fields=())
    if len(fields) <= MAX_DESCRIBED and len(distinct(fields)) == len(fields):
        support = replace(support, fields=_fields(place_described(fields)))
    if all(map(fits_list, fields)):
        support = replace(support, holds=replace(_GENERIC, arrays=True))
    return support


# Support, adapters and losses ask for the same class one after the other.
@lru_cache(maxsize=1024)
def _placed(event_class: EventClass, point: tuple[str, str]) -> tuple[PlacedField, ...]:
    if point == _FUNCTION:
        return place_described(event_class.fields)
    return place_typed(event_class.fields, tracepoints.message_fields(*point))


def _fields(placed: tuple[PlacedField, ...]) -> tuple[Field, ...]:
    return tuple(item.field for item in placed)


_SWITCH: Final = KindSupport(
    mapping.SWITCH.fields,
    (mapping.SWITCH_STATE,),
    required=REQUIRED_ROLES[Kind.SCHED_SWITCH],
    arguments=False,
    thread=False,
    cpu=True,
    event=(mapping.SWITCH.category, mapping.SWITCH.name),
)


def kernel_adapter(adapter: Adapter) -> Adapter:
    """Return an adapter of kernel events that also reports the fields that importers skip."""

    def adapt(partition: Partition, projection: Projection) -> Partition:
        partition = adapter(with_unicode_names(partition, projection), projection)
        if point_of(partition.event_class) is not None:
            partition = with_numeric_addresses(partition, projection)
        # In a trace that was read from Perfetto they were not shown either.
        if not projection.is_own and not _is_unseen(partition, projection):
            code, names = _unshown(partition.event_class)
            for name in names:
                projection.lose(code, partition, field=name)
        return partition

    return adapt


_SCHED_KINDS: Final = frozenset(
    {Kind.SCHED_SWITCH, Kind.SCHED_WAKING, Kind.SCHED_WAKEUP, Kind.SCHED_WAKEUP_NEW}
)


def _is_unseen(partition: Partition, projection: Projection) -> bool:
    """Return True if viewers of the source show no such arguments."""
    unseen = Unseen.SCHED_ARGUMENTS in projection.source.semantics.unseen
    return unseen and partition.event_class.kind in _SCHED_KINDS


@cache
def _unshown(event_class: EventClass) -> tuple[str, tuple[str, ...]]:
    """Return the fields that importers do not show of a class, after the code of the loss: fields that are not
    in its message, or lists without a text.

    Those for the position of an event are not meant.
    """
    if is_of_task_states(event_class):
        return "field-unshown", ()
    point = point_of(event_class)
    if event_class.native == tracepoints.DESCRIBED_EVENT or (
        point is None and event_class.kind is Kind.TYPED
    ):
        return "list-elements-unshown", tuple(
            item.field.name
            for item in place_described(event_class.fields)
            if has_text(item.field.type) and not item.text_number
        )
    if point is None:
        return "field-unshown", ()
    return "field-unshown", tuple(
        item.field.name
        for item in _placed(event_class, point)
        # Importers skip bytes, although messages have them.
        if (item.number >= FIRST_EXTRA or isinstance(item.field.type, BytesClass))
        and item.field.role not in CONTEXT_ROLES
    )


def _is_linux_tracepoint(event_class: EventClass) -> bool:
    """Return True if the class has its kind because of its Linux name."""
    return meaning(event_class.category, event_class.name).kind is event_class.kind


def tracepoint_or_instant(kind: Kind) -> Lowering:
    """Return the lowering of events of a kernel's kind without a typed event.

    Linux's own events, and others that are not slices, become generic events if they have a name.
    """

    def rule(partition: Partition, projection: Projection) -> list[Partition] | None:
        if kind in (Kind.SYSCALL_ENTRY, Kind.SYSCALL_EXIT):
            raw = syscalls_as_raw(partition, projection)
            if raw is not None:
                return [raw]
        event_class = partition.event_class
        if event_class.category and (kind not in _SLICES or _is_linux_tracepoint(event_class)):
            return [as_typed(partition)]
        return lowering_of(kind)(partition, projection)

    return rule
