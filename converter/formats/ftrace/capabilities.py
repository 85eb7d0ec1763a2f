"""The capabilities of trace.dat: how it holds events of other formats, as its reader returns them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache, lru_cache
from typing import Final

import numpy as np

from converter.formats.ftrace.address_texts import address_forms, with_addresses
from converter.formats.ftrace.event_format.event_classes import DISCARDED
from converter.formats.ftrace.event_format.fields import fields_of
from converter.formats.ftrace.event_format.new_formats import (
    COMMON_FIELDS,
    LONG_SIZE,
    printed_states,
)
from converter.formats.ftrace.event_format.syntax import Location
from converter.formats.ftrace.kernel_formats import (
    EVENTS,
    Differences,
    differences,
    kernel_format,
)
from converter.formats.ftrace.kernel_names import kernel_point, syscall_point
from converter.formats.ftrace.mapping import COMMON_ROLES
from converter.ir.columns import Column, ListColumn, string_ids
from converter.ir.events import EventClass, Field
from converter.ir.field_classes import (
    ArrayClass,
    BooleanClass,
    BytesClass,
    FloatClass,
    IntegerClass,
    StringClass,
    Style,
)
from converter.ir.kinds import REQUIRED_ROLES, Kind, Role
from converter.ir.trace import Trace
from converter.projection.capabilities import (
    Adapter,
    Capabilities,
    KindSupport,
    Lowering,
    Projection,
)
from converter.projection.domain.atrace_text import TEXT_LOWERINGS
from converter.projection.domain.linux_tracepoints import MEANINGS, checked_kind, meaning
from converter.projection.domain.lost_events import counted
from converter.projection.domain.scheduling.sched_conventions import with_linux_state
from converter.projection.domain.scheduling.state_bits import with_state_bits
from converter.projection.domain.scheduling.task_names import NAMED_KINDS, UNKNOWN_NAME, with_tasks
from converter.projection.engine.fitting import index_of
from converter.projection.engine.partitions import Partition
from converter.projection.engine.texts import cut_utf8, plain_identifier
from converter.projection.engine.types import converts
from converter.projection.instants import as_typed

#: A data location reaches 65,535 bytes: this many arguments with such texts, and the kernel's own fields, fit.
MAX_ARGUMENTS = 24
MAX_TEXT_BYTES = 2560
#: The limit for classes with no more texts than that, whose records hold as many numbers as occur.
MAX_NUMBERS = 250
_NUMBERS = (IntegerClass, BooleanClass)
_TEXTS = (StringClass, BytesClass, FloatClass)
#: The number of buffers, each of which has its own pages.
MAX_BUFFERS = 255
#: The largest time delta in a record's word; a longer one needs an extra record before it.
_LONGEST_DELTA: Final = (1 << 27) - 1
#: The system of a program's events that have none.
SYSTEM = "traceconv"

#: Roles that the kernel's event needs in addition to those that its kind requires.
_REQUIRED: dict[Kind, frozenset[Role]] = {
    **dict.fromkeys((Kind.IRQ_ENTRY, Kind.IRQ_EXIT), frozenset({Role.IRQ})),
    Kind.TIMER_ENTRY: frozenset({Role.TIMER}),
    Kind.TIMER_EXIT: frozenset({Role.TIMER}),
    Kind.SYSCALL_ENTRY: frozenset({Role.SYSCALL_NUMBER}),
    Kind.SYSCALL_EXIT: frozenset({Role.SYSCALL_NUMBER}),
    Kind.FUNCTION_EXIT: frozenset({Role.FUNCTION}),
    Kind.PROCESS_EXEC: frozenset({Role.TID}),
    Kind.TASK_EXIT: frozenset({Role.TID}),
    Kind.TASK_FREE: frozenset({Role.TID}),
    Kind.SIGNAL_GENERATE: frozenset({Role.SIGNAL}),
    Kind.SIGNAL_DELIVER: frozenset({Role.SIGNAL}),
    Kind.CLOCK_RATE: frozenset({Role.NAME, Role.VALUE}),
}

#: Of raw_syscalls:sys_enter (include/trace/events/syscalls.h).
_SYSCALL_ARGUMENTS = 6

#: The systems of events that the reader interprets by name, by the event's name.
_SYSTEMS: Final = {name: system for system, name in MEANINGS}
#: The system of the tracer's own events, which have their own formats.
_TRACER: Final = "ftrace"
#: An event of each kind that the reader returns.
_CANONICAL: Final = {
    **{known.kind: point for point, known in reversed(MEANINGS.items())},
    **EVENTS,
}
TYPED: Final = KindSupport(trailing=COMMON_FIELDS, cpu=True, named=True)


@cache
def capabilities(variant: str) -> Capabilities:  # noqa: ARG001 - all variants hold the same
    """Return the capabilities of every variant."""
    kinds = {Kind.TYPED: replace(TYPED, of_class=held)}
    for kind, point in _CANONICAL.items():
        if kernel_format(*point) is not None:
            support = _kernel_support(point, kind)
        else:
            support = replace(TYPED, named=False, event=point)
        kinds[kind] = replace(support, of_class=held)
    kinds[Kind.DISCARDED] = KindSupport(
        fields=DISCARDED.fields, arguments=False, thread=False, cpu=True, event=("", DISCARDED.name)
    )
    adapters: dict[Kind, Adapter] = dict.fromkeys((Kind.TYPED, *_CANONICAL), _adapt)
    adapters[Kind.DISCARDED] = counted(zeros=True)
    return Capabilities(
        kinds=kinds,
        floats=frozenset(),
        booleans=False,
        nulls=False,
        styles=frozenset({Style.POINTER}),
        wide_styles=frozenset({Style.POINTER}),
        max_arguments=MAX_ARGUMENTS,
        max_string_bytes=MAX_TEXT_BYTES,
        max_blob_bytes=MAX_TEXT_BYTES,
        nul_ends_strings=True,
        identifier=identifier,
        distinct_names=True,
        utf8_only=False,
        clock_rates=False,
        latest_ns=(1 << 63) - 1,
        max_cpu=0xFFF,
        cpuless=False,
        id_bits=31,
        unknown_tasks=False,
        exits_by_switch=True,
        call_depths=True,
        unknown_tids=False,
        adds_tasks=True,
        gap_reach=_LONGEST_DELTA,
        lowerings={**_TYPED_LOWERINGS, **TEXT_LOWERINGS},
        adapters=adapters,
        buffers=MAX_BUFFERS,
        clock_names=True,
        other_clocks=True,
        epoch=True,
        shown_epoch_unit=1000,
        environment=True,
        command_lines=True,
        symbols=True,
    )


def identifier(name: str) -> str:
    """Return a name of letters, digits and underscores that does not clash with the fields of every record."""
    name = plain_identifier(name)
    return f"_{name}" if name[0].isdigit() or name.startswith("common_") else name


def held(event_class: EventClass) -> KindSupport | None:
    """Return how the format holds a class: as the kernel's event, under its own name, or (None) as a TYPED event."""
    point = None if syscall_point(event_class) is not None else point_of(event_class)
    if point is not None:
        fields = differences(point, event_class.fields)
        support = _kernel_support(point, event_class.kind, fields)
    elif event_class.kind is Kind.TYPED:
        support = TYPED
    else:
        named = _named_support(event_class)
        if named is None:
            return None
        support = named
    texts = [field for field in event_class.fields if not isinstance(field.type, _NUMBERS)]
    if len(texts) <= MAX_ARGUMENTS and all(isinstance(field.type, _TEXTS) for field in texts):
        return replace(support, holds=replace(capabilities(""), max_arguments=MAX_NUMBERS))
    return support


@lru_cache(4096)
def point_of(event_class: EventClass) -> tuple[str, str] | None:
    """Return system and name of the kernel's event as which a class is written; None if no kernel format fits."""
    kind = event_class.kind
    own = (event_class.category or _SYSTEMS.get(event_class.name, ""), event_class.name)
    if _kind_of(own) is kind and (kind is not Kind.TYPED or _has_all(event_class, own)):
        return own
    if own != EVENTS.get(kind) and meaning(*own).kind is kind and own[0] != _TRACER:
        # The reader knows another event of this kind by its name.
        return None
    return EVENTS.get(kind)


def _kind_of(point: tuple[str, str]) -> Kind | None:
    format = kernel_format(*point)
    return None if format is None else fields_of(format, LONG_SIZE, None)[0]


def _has_all(event_class: EventClass, point: tuple[str, str]) -> bool:
    """Return True if a class has all fields of the kernel's event, whose text would show missing ones as zeros."""
    indexes = [(part, index_of(part, event_class.fields)) for part in own_fields(point)]
    return all(
        index is not None and converts(event_class.fields[index].type, part.type)
        for part, index in indexes
    )


@cache
def own_fields(point: tuple[str, str], differing: Differences = frozenset()) -> tuple[Field, ...]:
    """Return the fields that a kernel's event has of its own, as the reader declares them."""
    format = kernel_format(*point, differing)
    assert format is not None
    return fields_of(format, LONG_SIZE, None)[1][: -len(COMMON_FIELDS)]


@cache
def _kernel_support(
    point: tuple[str, str], kind: Kind, differing: Differences = frozenset()
) -> KindSupport:
    required = REQUIRED_ROLES.get(kind, frozenset())
    if point == EVENTS.get(kind):
        required |= _REQUIRED.get(kind, frozenset())
    return KindSupport(
        fields=own_fields(point, differing),
        trailing=COMMON_FIELDS,
        required=required,
        cpu=True,
        event=point,
    )


def _named_support(event_class: EventClass) -> KindSupport | None:
    """Return how the format holds a class that the reader knows by its name; None if it is not the kernel's."""
    own = (event_class.category, event_class.name)
    point = syscall_point(event_class) or own
    known = meaning(*point)
    if known.kind is not event_class.kind or tuple(map(identifier, point)) != point:
        return None
    roles: dict[str, Role] = {}
    for field in event_class.fields:
        role = known.roles.get(field.name, Role.NONE)
        if role is not Role.NONE and not isinstance(field.type, IntegerClass):
            # All fields that the reader knows by their names alone are numbers.
            return None
        if role not in roles.values():
            roles.setdefault(field.name, role)
    if not REQUIRED_ROLES.get(known.kind, frozenset()) <= set(roles.values()):
        return None
    return replace(
        TYPED,
        named=point == own,
        event=None if point == own else point,
        argument_role=lambda field: known.roles.get(field.name, Role.NONE),
    )


def _lower_to_typed(partition: Partition, _: Projection) -> list[Partition] | None:
    return None if partition.event_class.kind is Kind.TYPED else [as_typed(partition)]


#: Events that only a kernel's format could hold, but that lack what it needs. They are not timeline events, so
#: they become TYPED ones.
_TYPED_LOWERINGS: dict[Kind, Lowering] = {
    kind: _lower_to_typed
    for kind in Kind
    if kind not in (Kind.TYPED, Kind.SLICE_COMPLETE, Kind.SAMPLE)
}


def adapt_typed(partition: Partition, projection: Projection) -> Partition:
    """Give classes without a system one, and a name that the reader does not mistake for an event that it knows."""
    event_class = partition.event_class
    name = identifier(event_class.name)
    known = None
    if event_class.category:
        category = identifier(event_class.category)
    else:
        of_kernel = projection.source.environment.get("domain") == "kernel"
        known = kernel_point(name) if of_kernel else None
        category, name = known or (_recorder(projection.source), name)
    if meaning(category, name).kind is not Kind.TYPED:
        named = _with_meaning(event_class, category, name)
        if named is not None:
            new = partition.derive(("meaning",), lambda: named)
            return partition.rewritten(new, partition.lazy_columns())
        name += "_event"
    elif category == _TRACER and kernel_format(category, name) is not None:
        # Tools print the tracer's own events by their names, whatever fields they have.
        name += "_event"
    if (category, name) == (event_class.category, event_class.name):
        return partition
    if event_class.category or name != event_class.name:
        # For the kernel's events it is the name that the kernel's own tools have.
        code = "event-renamed" if known is None else "event-name-of-format"
        projection.lose(code, partition, shown=f"{category}:{name}")

    def renamed() -> EventClass:
        return replace(event_class, name=name, category=category)

    return partition.rewritten(partition.derive(("named",), renamed), partition.lazy_columns())


def _with_meaning(event_class: EventClass, category: str, name: str) -> EventClass | None:
    """Return a class as the kernel's event that the reader makes of its name, None if it has not what that needs."""
    known = meaning(category, name)
    if (category, name) != (event_class.category, event_class.name):
        return None
    free = dict(known.roles)
    fields = tuple(
        replace(field, role=free.pop(field.name, Role.NONE)) if field.role is Role.NONE else field
        for field in event_class.fields
    )
    named = replace(event_class, kind=known.kind, fields=fields, native=b"")
    if checked_kind(known, fields) is not known.kind:
        return None
    if known.kind in NAMED_KINDS and not _has_all(named, (category, name)):
        # They lack names of tasks.
        return None
    support = held(named)
    roles = {field.role for field in fields}
    return named if support is not None and support.required <= roles else None


def _recorder(trace: Trace) -> str:
    """Return the system for events without one: the recorder, or else the format that they were read from."""
    tracer = str(trace.environment.get("tracer_name", "")).partition("-")[0]
    name = tracer or trace.format
    return SYSTEM if name in ("", "none", _TRACER) else identifier(name)


def _adapt(partition: Partition, projection: Projection) -> Partition:
    """Convert tasks, states and arguments to the kernel's encoding; cut texts to the arrays that its event has."""
    kind = partition.event_class.kind
    partition = partition.rewritten(
        partition.derive(("context",), lambda: _with_context(partition.event_class)),
        partition.lazy_columns(),
    )
    if kind in NAMED_KINDS:
        partition = with_tasks(partition, projection, UNKNOWN_NAME)
    if kind is Kind.SCHED_SWITCH:
        partition = with_linux_state(_on_thread_of(partition, Role.PREV_TID, projection))
        release = str(projection.source.environment.get("kernel_release", ""))
        partition = with_state_bits(partition, projection, printed_states(release))
    elif kind is Kind.SYSCALL_ENTRY:
        partition = _with_six_arguments(partition, projection)
    elif kind is Kind.MARK:
        _lose_address_zero(partition, projection)
    elif kind is not Kind.TYPED:
        partition = _on_thread_of(partition, Role.WAKER_TID, projection)
    point = point_of(partition.event_class)
    if point is None:
        return adapt_typed(partition, projection) if kind is Kind.TYPED else partition
    partition = with_addresses(partition, projection, address_forms(point))
    sizes = _array_sizes(point)
    columns = partition.lazy_columns()
    for part, size in sizes:
        index = index_of(part, partition.event_class.fields)
        if index is not None and isinstance(partition.event_class.fields[index].type, StringClass):
            columns[index] = _cut(partition, projection, index, size)
    return partition.rewritten(partition.event_class, columns) if sizes else partition


def _with_context(event_class: EventClass) -> EventClass:
    """Return a class whose flags and count have the kernel's roles, which formats keep by their names alone."""
    own = {field.role for field in event_class.fields}
    fields = tuple(
        replace(field, role=role)
        if isinstance(field.type, IntegerClass)
        and (role := COMMON_ROLES.get(field.name, field.role)) not in own
        else field
        for field in event_class.fields
    )
    return event_class if fields == event_class.fields else replace(event_class, fields=fields)


def _lose_address_zero(partition: Partition, projection: Projection) -> None:
    """Report that new files name the address 0, which events of trace_marker have (`new_contents`)."""
    index = next(
        (i for i, one in enumerate(partition.event_class.fields) if one.name == "ip"), None
    )
    if index is None or projection.is_own:
        return
    column = partition.table.column(index)
    if isinstance(column, np.ndarray):
        projection.lose("address-zero-named", partition, rows=column == 0)


@cache
def _array_sizes(point: tuple[str, str]) -> list[tuple[Field, int]]:
    """Return the text fields for which an event has fixed arrays, with their sizes."""
    format = kernel_format(*point)
    assert format is not None
    return [
        (field, declared.size)
        for declared, field in zip(format.fields, own_fields(point), strict=True)
        if declared.location is Location.INLINE
        and declared.size
        and isinstance(field.type, StringClass)
        and field.name not in address_forms(point)
    ]


def _cut(
    partition: Partition, projection: Projection, index: int, size: int
) -> Callable[[], Column]:
    field = partition.event_class.fields[index]

    def cut() -> Column:
        strings = projection.source.strings
        ids = string_ids(partition.table.column(index), strings)
        long = strings.unfit(ids, size - 1, False)
        if not len(long):
            return ids
        rows = np.isin(ids, long)
        projection.lose("text-cut", partition, rows=rows, field=field.name, limit=size - 1)
        shorter = {id: strings.intern(cut_utf8(strings[id], size - 1)) for id in long.tolist()}
        result = ids.copy()
        result[rows] = [shorter[id] for id in ids[rows].tolist()]
        return result

    return cut


def _with_six_arguments(partition: Partition, projection: Projection) -> Partition:
    """Convert arguments of system calls to an array of six, the maximum number."""
    index = partition.event_class.index_of(Role.SYSCALL_ARGUMENTS)
    if index is None:
        return partition
    field = partition.event_class.fields[index]
    if not isinstance(field.type, ArrayClass) or field.type.length == _SYSCALL_ARGUMENTS:
        return partition
    element = field.type.element
    if not isinstance(element, IntegerClass):
        return partition

    def six() -> Column:
        column = partition.table.column(index)
        assert isinstance(column, ListColumn) and isinstance(column.values, np.ndarray)
        lengths = np.diff(column.offsets)
        projection.lose("syscall-arguments-cut", partition, rows=lengths > _SYSCALL_ARGUMENTS)
        numbers = np.arange(_SYSCALL_ARGUMENTS)
        there = numbers < lengths[:, None]
        values = np.zeros(there.shape, column.values.dtype)
        values[there] = column.values[(column.offsets[:-1, None] + numbers)[there]]
        offsets = np.arange(len(partition) + 1, dtype=np.int64) * _SYSCALL_ARGUMENTS
        return ListColumn(offsets, values.reshape(-1))

    def declared() -> EventClass:
        fields = list(partition.event_class.fields)
        fields[index] = replace(field, type=ArrayClass(element, _SYSCALL_ARGUMENTS))
        return replace(partition.event_class, fields=tuple(fields))

    columns = partition.lazy_columns()
    columns[index] = six
    return partition.rewritten(partition.derive(("six arguments",), declared), columns)


def _on_thread_of(partition: Partition, role: Role, projection: Projection) -> Partition:
    """Move events to the recording thread: for a switch the task that leaves the CPU, for a wakeup the waker."""
    tids = partition.integers(role)
    threads = projection.threads_of(partition)
    missing = threads < 0
    if tids is None or not missing.any():
        return partition
    moved = threads.astype(np.int32)
    moved[missing] = projection.task_of_tid(tids[missing])
    return partition.moved(thread=moved)
