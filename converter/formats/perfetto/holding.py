"""What a Perfetto trace holds, as the reader delivers it, and what becomes of other kernel events."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Final

from converter.formats.perfetto import mapping, tracepoints
from converter.formats.perfetto.annotations import JSON_VALUE
from converter.formats.perfetto.argument_lists import keep_lists
from converter.formats.perfetto.counters import (
    is_text,
    is_value,
    place_counters,
    series_as_counters,
)
from converter.formats.perfetto.declarations import (
    FIRST_EXTRA,
    MAX_DESCRIBED,
    PlacedField,
    distinct,
    is_flags,
    is_no_other_list,
    place_described,
    place_typed,
)
from converter.formats.perfetto.descriptors import typed_event
from converter.formats.perfetto.json_arguments import as_pointers, without_clock_syncs
from converter.formats.perfetto.json_sidecar import SIDECAR
from converter.formats.perfetto.marks import by_form
from converter.formats.perfetto.placing import (
    drop_foreign_packets,
    on_threads_by_tid,
    syscalls_as_raw,
    without_foreign_packets,
)
from converter.formats.perfetto.record_shapes import as_log_entries, with_whole_frames
from converter.formats.perfetto.scheduling import as_scheduled, is_of_task_states
from converter.formats.perfetto.tasks import NAMED_KINDS
from converter.formats.perfetto.timeline_parts import as_parts
from converter.ir.events import EventClass, Field, class_label
from converter.ir.field_classes import ArrayClass, IntegerClass, StringClass, Style
from converter.ir.kinds import REQUIRED_ROLES, Kind, Role
from converter.projection.capabilities import (
    Adapter,
    Capabilities,
    KindSupport,
    Lowering,
    Projection,
)
from converter.projection.linux_tracepoints import MEANINGS, meaning
from converter.projection.losses import LossKind
from converter.projection.pieces import Piece

#: What else becomes of arguments of generic events, whose values are 64-bit integers, floating-point numbers, strings
#: and bytes.
_GENERIC: Final = Capabilities(
    {},
    integers=frozenset({(64, False), (64, True)}),
    booleans=False,
    nulls=False,
    max_arguments=MAX_DESCRIBED,
)
#: Structures are taken apart, since no field of an event is one.
_TYPED: Final = Capabilities({}, arrays=True)

#: Values of debug annotations. Which arrays they can be, `keep_lists` sees to.
_ARGUMENTS: Final = Capabilities(
    {},
    integers=frozenset({(64, False), (64, True)}),
    floats=frozenset({64}),
    blobs=False,
    media_types=frozenset({JSON_VALUE.media_type}),
    styles=frozenset({Style.POINTER}),
    wide_styles=frozenset({Style.POINTER}),
    arrays=True,
    structures=True,
)

_GENERIC_SUPPORT: Final = KindSupport(
    (tracepoints.COMMON_FLAGS,), cpu=True, named=True, holds=_GENERIC
)

#: The event of each kind where no event of the class's own name is typed. Kinds that say less without the name of
#: their class (which interrupt it is) are not here for classes that have one.
_CANONICAL: Final[dict[Kind, tuple[str, str]]] = {
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
#: Kinds that other tracers have for programs, where they are slices and instants of the timeline.
_KERNEL_ONLY: Final = frozenset({Kind.FUNCTION, Kind.FUNCTION_ENTRY, Kind.FUNCTION_EXIT})
#: Kinds that are slices in the timeline, and only there have an end and a name.
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


_CONTEXT: Final = frozenset({Role.CONTEXT, Role.CONTEXT_FLAGS, Role.CONTEXT_PREEMPT_COUNT})


@cache
def _names() -> dict[str, tuple[str, str]]:
    """Typed events by name alone, of names that one system has."""
    points: dict[str, tuple[str, str]] = {}
    twice = set()
    for point in tracepoints.number_of_tracepoint():
        if point[1] in points:
            twice.add(point[1])
        points[point[1]] = point
    return {name: point for name, point in points.items() if name not in twice}


@cache
def _support_of(point: tuple[str, str]) -> KindSupport:
    """How a typed event holds a class of another name than its own."""
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
    """The typed event as which a class of kernel events is written; None: as a generic one, or it is lowered."""
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
    return _CANONICAL.get(kind)


def _shares_fields(event_class: EventClass, point: tuple[str, str]) -> bool:
    """Whether a class has a field of the typed event, or either has none."""
    own = {field.name for field in event_class.fields if field.role not in _CONTEXT}
    typed = {field.name for field in _support_of(point).fields[1:]}
    return not own or not typed or bool(own & typed)


def _kernel_support(event_class: EventClass) -> KindSupport | None:
    """How the format holds a class of one of the kernel's kinds: as it is, as far as its fields have a place."""
    if is_of_task_states(event_class):
        return _SWITCH
    if event_class.native == tracepoints.DESCRIBED_EVENT:
        return _described_support(event_class)
    point = point_of(event_class)
    if point is not None:
        support = _support_of(point)
        return replace(support, fields=_fields(_placed(event_class, point)))
    if event_class.kind is not Kind.TYPED:
        return None
    support = _described_support(event_class)
    if tracepoints.known_meaning(event_class.category, event_class.name):
        # A name by which the reader knows another kind.
        return replace(support, named=False, event=("", event_class.name))
    return support


def _described_support(event_class: EventClass) -> KindSupport:
    """How a generic event holds a class."""
    fields = event_class.fields
    support = _GENERIC_SUPPORT
    if not any(map(is_flags, fields)):
        support = replace(support, fields=())
    if len(fields) <= MAX_DESCRIBED and len(distinct(fields)) == len(fields):
        support = replace(support, fields=_fields(place_described(fields)))
    if all(map(is_no_other_list, fields)):
        support = replace(support, holds=replace(_GENERIC, arrays=True))
    return support


def _placed(event_class: EventClass, point: tuple[str, str]) -> tuple[PlacedField, ...]:
    if point == _FUNCTION:
        return place_described(event_class.fields)
    return place_typed(event_class.fields, tracepoints.message_fields(*point))


def _fields(placed: tuple[PlacedField, ...]) -> tuple[Field, ...]:
    return tuple(item.field for item in placed)


def _counter_support(event_class: EventClass) -> KindSupport | None:
    """A counter event has one value, and it is a number."""
    values = sum(map(is_value, event_class.fields)) + sum(map(is_text, event_class.fields))
    return None if values > 1 else _COUNTER


_LOST: Final = KindSupport(arguments=False, thread=False, cpu=True)


def _lost_support(event_class: EventClass) -> KindSupport:
    """Lost events, with their number where the source knows it."""
    counted = mapping.COUNTED_LOST_EVENTS
    index = event_class.index_of(Role.COUNT)
    if index is None or not isinstance(event_class.fields[index].type, IntegerClass):
        return _LOST
    return replace(_LOST, fields=counted.fields, event=("", counted.name))


def _native_support(event_class: EventClass) -> KindSupport:
    return KindSupport(
        mapping.NATIVE_PACKET.fields,
        arguments=False,
        thread=False,
        event=(event_class.category, event_class.name),
        timed=event_class.timed,
        required=frozenset({Role.TYPE, Role.PAYLOAD}),
    )


_SWITCH: Final = KindSupport(
    mapping.SWITCH.fields,
    (mapping.SWITCH_STATE,),
    required=REQUIRED_ROLES[Kind.SCHED_SWITCH],
    arguments=False,
    thread=False,
    cpu=True,
    event=(mapping.SWITCH.category, mapping.SWITCH.name),
)


def _log_support(event_class: EventClass) -> KindSupport | None:
    """A log entry has a message, and what Android's have beside it; those with arguments become instants."""
    for field in event_class.fields:
        own = field.role in (Role.MESSAGE, Role.CATEGORY) and isinstance(field.type, StringClass)
        if not own and field not in mapping.log_fields():
            return None
    roles = {field.role for field in event_class.fields}
    return _LOG if len(roles) == len(event_class.fields) else None


def _sample_support(event_class: EventClass) -> KindSupport | None:
    """A sample has a call stack of frames, addresses or names of functions; those with arguments become instants."""
    for field in event_class.fields:
        if field in mapping.SAMPLE_FIELDS:
            continue
        frames = field.type if field.role is Role.FRAMES else None
        if not isinstance(frames, ArrayClass):
            return None
        if (
            not isinstance(frames.element, IntegerClass | StringClass)
            and frames.element != mapping.FRAME
        ):
            return None
    roles = [field.role for field in event_class.fields if field.role is not Role.NONE]
    return _SAMPLE if len(set(roles)) == len(roles) else None


_LOG: Final = KindSupport(mapping.log_fields(), required=frozenset({Role.MESSAGE}), arguments=False)
_SAMPLE: Final = KindSupport(
    mapping.SAMPLE_FIELDS,
    required=frozenset({Role.FRAMES}),
    arguments=False,
    cpu=True,
    holds=Capabilities({}, arrays=True, structures=True),
)

_COUNTER: Final = KindSupport(
    (*mapping.leading_fields(Kind.COUNTER), mapping.COUNTER_VALUES[True]),
    (mapping.COUNTER_VALUES[False], *mapping.PARTS),
    required=frozenset({Role.VALUE}),
    thread=False,
    track=True,
    holds=_ARGUMENTS,
)


def _fitted(piece: Piece, projection: Projection) -> Piece:
    return as_parts(keep_lists(as_pointers(piece, projection), projection), projection)


def _kernel_adapter(adapter: Adapter) -> Adapter:
    """What becomes of kernel events, and which of their fields importers skip."""

    def adapt(piece: Piece, projection: Projection) -> Piece:
        piece = adapter(piece, projection)
        # In a trace that was read from Perfetto they were not shown, either.
        if projection.source.format != "perfetto":
            for field in _unshown(piece.event_class):
                what = f"{field.name!r} of {class_label(piece.event_class)}"
                projection.lose(LossKind.UNSHOWN, what, piece)
        return piece

    return adapt


@cache
def _unshown(event_class: EventClass) -> tuple[Field, ...]:
    """The fields of a class that its message has no place for, without those that only say where an event was."""
    if is_of_task_states(event_class) or event_class.native == tracepoints.DESCRIBED_EVENT:
        return ()
    point = point_of(event_class)
    if point is None:
        return ()
    return tuple(
        item.field
        for item in _placed(event_class, point)
        if item.number >= FIRST_EXTRA and item.field.role not in _CONTEXT
    )


def _is_linux_tracepoint(event_class: EventClass) -> bool:
    """Whether the class is of that kind by the name that Linux gives it."""
    return meaning(event_class.category, event_class.name).kind is event_class.kind


def tracepoint_or_instant(kind: Kind) -> Lowering:
    """The rule for events of a kernel's kind that has no typed event for them.

    Linux's own, and others that are no slices, are generic events where they have a name.
    """
    from converter.projection.instants import as_typed, lower_to_instant
    from converter.projection.lowering import LOWERINGS

    def rule(piece: Piece, projection: Projection) -> list[Piece] | None:
        if kind in (Kind.SYSCALL_ENTRY, Kind.SYSCALL_EXIT):
            raw = syscalls_as_raw(piece, projection)
            if raw is not None:
                return [raw]
        event_class = piece.event_class
        if event_class.category and (kind not in _SLICES or _is_linux_tracepoint(event_class)):
            return [as_typed(piece)]
        return LOWERINGS.get(kind, lower_to_instant)(piece, projection)

    return rule


@cache
def capabilities(variant: str) -> Capabilities:
    """What a Perfetto trace can hold, by kind: the fields that the reader delivers of it.

    Kernel events are the typed message of their name where the package has one, the message of their kind, or else
    generic events of 64-bit integers, floating-point numbers, strings and bytes.
    """
    del variant
    kinds: dict[Kind, KindSupport] = {}
    for kind in mapping.TYPE_KINDS.values():
        kinds[kind] = KindSupport(
            mapping.leading_fields(kind),
            mapping.STATE_PARTS if kind is Kind.STATE else mapping.PARTS,
            track=True,
            one_place=True,
            holds=_ARGUMENTS,
        )
    kinds[Kind.SLICE_COMPLETE] = KindSupport(
        mapping.leading_fields(Kind.SLICE_COMPLETE),
        mapping.PARTS,
        required=frozenset({Role.DURATION}),
        holds=_ARGUMENTS,
    )
    kinds[Kind.COUNTER] = replace(_COUNTER, of_class=_counter_support)
    for kind in sorted(mapping.ID_KINDS):
        kinds[kind] = KindSupport(
            mapping.leading_fields(kind),
            mapping.PARTS,
            required=frozenset({Role.ID}),
            track=True,
            one_place=True,
            holds=_ARGUMENTS,
        )
    kinds[Kind.TYPED] = replace(_GENERIC_SUPPORT, of_class=_kernel_support)
    for kind, point in sorted(_CANONICAL.items()):
        kinds[kind] = replace(_support_of(point), of_class=_kernel_support)
    kinds[Kind.LOG] = replace(_LOG, of_class=_log_support)
    kinds[Kind.SAMPLE] = replace(_SAMPLE, of_class=_sample_support)
    kinds[Kind.DISCARDED] = replace(_LOST, of_class=_lost_support)
    native = EventClass(Kind.NATIVE)
    kinds[Kind.NATIVE] = replace(_native_support(native), of_class=_native_support)
    lowerings: dict[Kind, Lowering] = {kind: tracepoint_or_instant(kind) for kind in _CANONICAL}
    lowerings[Kind.NATIVE] = without_foreign_packets
    lowerings[Kind.CLOCK_SYNC] = without_clock_syncs
    lowerings[Kind.COUNTER] = series_as_counters
    adapters = dict.fromkeys((Kind.TYPED, *_CANONICAL), _kernel_adapter(on_threads_by_tid))
    adapters |= dict.fromkeys(NAMED_KINDS, _kernel_adapter(as_scheduled))
    for kind in (*mapping.TYPE_KINDS.values(), *mapping.ID_KINDS, Kind.SLICE_COMPLETE):
        adapters[kind] = _fitted
    adapters[Kind.COUNTER] = lambda piece, projection: _fitted(
        place_counters(piece, projection), projection
    )
    adapters[Kind.LOG] = as_log_entries
    adapters[Kind.SAMPLE] = with_whole_frames
    adapters[Kind.NATIVE] = drop_foreign_packets
    return Capabilities(
        kinds,
        integers=frozenset({(64, False), (64, True)}),
        floats=frozenset({64}),
        blobs=False,
        styles=frozenset({Style.POINTER}),
        wide_styles=frozenset({Style.POINTER}),
        structures=True,
        clock_rates=False,
        exits_by_switch=True,
        duration_unit=1000,
        ends_by_name=frozenset({"chrome", "perfetto"}),
        ends_alike=frozenset({"chrome", "perfetto"}),
        ends_in_turn=frozenset({"fxt"}),
        slices_first=frozenset({"chrome"}),
        max_cpu=1023,
        max_depth=512,
        id_bits=31,
        cpuless=False,
        lowerings=lowerings,
        call_stacks=True,
        adapters=adapters,
        splitters={Kind.MARK: by_form},
        tracks=True,
        task_tracks=True,
        track_units=True,
        clock_names=True,
        other_clocks=True,
        epoch=True,
        environment=True,
        command_lines=True,
        symbols=True,
        sidecars=frozenset({SIDECAR}),
    )
