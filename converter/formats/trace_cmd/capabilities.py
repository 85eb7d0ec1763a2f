"""What a trace.dat file holds of the events of other formats, in the shape in which its reader delivers them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np

from converter.formats.trace_cmd.event_classes import DISCARDED
from converter.formats.trace_cmd.event_format import EventFormat, Location
from converter.formats.trace_cmd.event_schemas import COMMON_FIELDS, EVENTS, kernel_format
from converter.formats.trace_cmd.fields import fields_of
from converter.ir.columns import Column, ListColumn
from converter.ir.events import EventClass, Field
from converter.ir.field_classes import ArrayClass, IntegerClass, StringClass, Style
from converter.ir.kinds import REQUIRED_ROLES, Kind, Role
from converter.projection.atrace_text import TEXT_LOWERINGS
from converter.projection.capabilities import (
    Adapter,
    Capabilities,
    KindSupport,
    Lowering,
    Projection,
)
from converter.projection.instants import as_typed
from converter.projection.linux_tracepoints import meaning
from converter.projection.losses import LossKind
from converter.projection.pieces import Piece
from converter.projection.sched_conventions import with_linux_state
from converter.projection.texts import cut_utf8

#: A data location reaches 65,535 bytes: so many arguments of such texts, and the kernel's own fields, stay within.
MAX_ARGUMENTS = 24
MAX_TEXT_BYTES = 2560
#: The system of events that have none of their own.
SYSTEM = "traceconv"

#: Roles without which the kernel's event says nothing, besides those that its kind requires.
_REQUIRED: dict[Kind, frozenset[Role]] = {
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

_NOT_IN_IDENTIFIERS = re.compile(r"[^A-Za-z0-9_]+")


@cache
def capabilities(variant: str) -> Capabilities:  # noqa: ARG001 - all variants hold the same
    """What any variant holds."""
    kinds = {kind: _kernel_support(kind) for kind in EVENTS}
    kinds[Kind.DISCARDED] = KindSupport(
        fields=DISCARDED.fields, arguments=False, thread=False, cpu=True, event=("", DISCARDED.name)
    )
    kinds[Kind.TYPED] = KindSupport(trailing=COMMON_FIELDS, cpu=True, named=True)
    adapters: dict[Kind, Adapter] = {kind: _fixed_texts(kind) for kind in EVENTS}
    adapters[Kind.TYPED] = adapt_typed
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
        utf8_only=False,
        clock_rates=False,
        max_cpu=0xFFF,
        cpuless=False,
        lowerings={**_TYPED_LOWERINGS, **TEXT_LOWERINGS},
        adapters=adapters,
        clock_names=True,
        other_clocks=True,
        epoch=True,
        environment=True,
        command_lines=True,
    )


def identifier(name: str) -> str:
    """A name of letters, digits and underscores that is none of those that every record has."""
    cleaned = _NOT_IN_IDENTIFIERS.sub("_", name)
    if cleaned != name:
        cleaned = cleaned.strip("_")
    if not cleaned:
        return "unnamed"
    return f"_{cleaned}" if cleaned[0].isdigit() or cleaned.startswith("common_") else cleaned


def _kernel_support(kind: Kind) -> KindSupport:
    format = kernel_format(kind)
    _, fields, _ = fields_of(format, 8, None)
    return KindSupport(
        fields=fields[: -len(COMMON_FIELDS)],
        trailing=fields[-len(COMMON_FIELDS) :],
        required=REQUIRED_ROLES.get(kind, frozenset()) | _REQUIRED.get(kind, frozenset()),
        cpu=True,
        event=EVENTS[kind],
    )


def _lower_to_typed(piece: Piece, _: Projection) -> list[Piece] | None:
    return None if piece.event_class.kind is Kind.TYPED else [as_typed(piece)]


#: Events that only a kernel's format could hold, and that lack what it needs: not a timeline's, so that they stay what
#: they are.
_TYPED_LOWERINGS: dict[Kind, Lowering] = {
    kind: _lower_to_typed for kind in Kind if kind not in (Kind.TYPED, Kind.SLICE_COMPLETE)
}


def adapt_typed(piece: Piece, projection: Projection) -> Piece:
    """A system for classes without one, and a name that the reader does not take for an event that it knows."""
    event_class = piece.event_class
    category = identifier(event_class.category) if event_class.category else SYSTEM
    name = identifier(event_class.name)
    if meaning(category, name).kind is not Kind.TYPED:
        name += "_event"
    if (category, name) == (event_class.category, event_class.name):
        return piece
    if event_class.category or name != event_class.name:
        what = f"name of the class {event_class.category}:{event_class.name}"
        projection.lose(LossKind.CHANGED, what, piece)

    def renamed() -> EventClass:
        return replace(event_class, name=name, category=category)

    return piece.rewritten(piece.derive(("named",), renamed), piece.lazy_columns())


def _fixed_texts(kind: Kind) -> Adapter:
    """An adapter that cuts texts to the arrays that a kernel's event has for them, their NUL included."""
    sizes = dict(_array_sizes(kernel_format(kind), _kernel_support(kind).fields))

    def adapt(piece: Piece, projection: Projection) -> Piece:
        if kind is Kind.SCHED_SWITCH:
            piece = with_linux_state(_on_thread_of(piece, Role.PREV_TID, projection))
        elif kind is Kind.SYSCALL_ENTRY:
            piece = _with_six_arguments(piece, projection)
        else:
            piece = _on_thread_of(piece, Role.WAKER_TID, projection)
        columns = piece.lazy_columns()
        for index, field in enumerate(piece.event_class.fields):
            if field.role in sizes and isinstance(field.type, StringClass):
                columns[index] = _cut(piece, projection, field.role, sizes[field.role])
        return piece.rewritten(piece.event_class, columns) if sizes else piece

    return adapt


def _array_sizes(format: EventFormat, fields: tuple[Field, ...]) -> list[tuple[Role, int]]:
    return [
        (field.role, declared.size)
        for declared, field in zip(format.fields, fields, strict=True)
        if declared.location is Location.INLINE
        and declared.size
        and isinstance(field.type, StringClass)
    ]


def _cut(piece: Piece, projection: Projection, role: Role, size: int) -> Callable[[], Column]:
    def cut() -> Column:
        strings = projection.source.strings
        ids = piece.texts(role, strings)
        assert ids is not None
        long = strings.unfit(ids, size - 1, False)
        if not len(long):
            return ids
        rows = np.isin(ids, long)
        what = f"{role.name.lower()} of {piece.event_class.kind.name.lower()} to {size - 1} bytes"
        projection.lose(LossKind.TRUNCATED, what, piece, int(np.count_nonzero(rows)))
        shorter = {id: strings.intern(cut_utf8(strings[id], size - 1)) for id in long.tolist()}
        result = ids.copy()
        result[rows] = [shorter[id] for id in ids[rows].tolist()]
        return result

    return cut


def _with_six_arguments(piece: Piece, projection: Projection) -> Piece:
    """Arguments of system calls as an array of six, which is how many there are at most."""
    index = piece.event_class.index_of(Role.SYSCALL_ARGUMENTS)
    if index is None:
        return piece
    field = piece.event_class.fields[index]
    if not isinstance(field.type, ArrayClass) or field.type.length == _SYSCALL_ARGUMENTS:
        return piece
    element = field.type.element
    if not isinstance(element, IntegerClass):
        return piece

    def six() -> Column:
        column = piece.table.column(index)
        assert isinstance(column, ListColumn) and isinstance(column.values, np.ndarray)
        lengths = np.diff(column.offsets)
        beyond = int(np.count_nonzero(lengths > _SYSCALL_ARGUMENTS))
        projection.lose(LossKind.TRUNCATED, "arguments of system calls to 6", piece, beyond)
        places = np.arange(_SYSCALL_ARGUMENTS)
        there = places < lengths[:, None]
        values = np.zeros(there.shape, column.values.dtype)
        values[there] = column.values[(column.offsets[:-1, None] + places)[there]]
        offsets = np.arange(len(piece) + 1, dtype=np.int64) * _SYSCALL_ARGUMENTS
        return ListColumn(offsets, values.reshape(-1))

    def declared() -> EventClass:
        fields = list(piece.event_class.fields)
        fields[index] = replace(field, type=ArrayClass(element, _SYSCALL_ARGUMENTS))
        return replace(piece.event_class, fields=tuple(fields))

    columns = piece.lazy_columns()
    columns[index] = six
    return piece.rewritten(piece.derive(("six arguments",), declared), columns)


def _on_thread_of(piece: Piece, role: Role, projection: Projection) -> Piece:
    """A switch is recorded by the task that leaves the CPU, a wakeup by the one that wakes."""
    tids = piece.integers(role)
    threads = projection.threads_of(piece)
    missing = threads < 0
    if tids is None or not missing.any():
        return piece
    found = projection.thread_of_tid(tids)
    return piece.moved(thread=np.where(missing, found, threads).astype(np.int32))
