"""Hypothesis strategies for whole traces.

`traces` makes traces of every kind, field class and table entry that the IR allows; `fitted_traces` those that a format
of given capabilities holds as they are, which is what its writer is given and its reader must deliver.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import chain, count, pairwise
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy
from support.traces.field_strategies import (
    ANYTHING,
    FIELD_CLASSES,
    Contents,
    field_values,
    names,
    nested_classes,
    role_types,
    texts,
)

from converter.ir.collect import with_batches
from converter.ir.columns import Column, column_from_values, list_of_bytes
from converter.ir.events import Batch, EventClass, Field, Table
from converter.ir.field_classes import (
    BooleanClass,
    BytesClass,
    FieldClass,
    FloatClass,
    IntegerClass,
    Label,
    NullClass,
    StringClass,
)
from converter.ir.kinds import REQUIRED_ROLES, Kind, Role
from converter.ir.trace import NANOSECONDS, ClockDomain, Process, Thread, Trace, Track, TrackScope
from converter.kernels.batches.union import number_rows
from converter.projection.capabilities import Capabilities, KindSupport

#: Roles that events of a kind often have besides the required ones.
USUAL_ROLES: dict[Kind, tuple[Role, ...]] = {
    Kind.SLICE_BEGIN: (Role.CATEGORY, Role.THREAD_TIME),
    Kind.SLICE_END: (Role.NAME, Role.CATEGORY),
    Kind.SLICE_COMPLETE: (Role.CATEGORY, Role.THREAD_DURATION),
    Kind.INSTANT: (Role.CATEGORY, Role.SCOPE),
    Kind.COUNTER: (Role.CATEGORY, Role.ID, Role.VALUE),
    Kind.ASYNC_BEGIN: (Role.NAME, Role.CATEGORY, Role.SCOPE),
    Kind.ASYNC_INSTANT: (Role.NAME, Role.CATEGORY),
    Kind.ASYNC_END: (Role.NAME, Role.CATEGORY),
    Kind.FLOW_BEGIN: (Role.NAME, Role.CATEGORY),
    Kind.FLOW_STEP: (Role.NAME, Role.CATEGORY),
    Kind.FLOW_END: (Role.NAME, Role.CATEGORY),
    Kind.SCHED_SWITCH: (
        Role.PREV_COMM,
        Role.PREV_PRIORITY,
        Role.PREV_STATE,
        Role.NEXT_COMM,
        Role.NEXT_PRIORITY,
    ),
    Kind.SCHED_WAKING: (Role.COMM, Role.PRIORITY, Role.TARGET_CPU),
    Kind.SCHED_WAKEUP: (Role.COMM, Role.PRIORITY, Role.TARGET_CPU),
    Kind.IRQ_EXIT: (Role.RETURN,),
    Kind.SYSCALL_ENTRY: (Role.SYSCALL_NUMBER, Role.SYSCALL_ARGUMENTS),
    Kind.SYSCALL_EXIT: (Role.SYSCALL_NUMBER, Role.RETURN),
    Kind.FUNCTION: (Role.PARENT_FUNCTION, Role.DEPTH),
    Kind.PROCESS_FORK: (Role.COMM, Role.PARENT_TID, Role.PARENT_COMM),
    Kind.TASK_RENAME: (Role.TID, Role.OLD_COMM),
    Kind.LOG: (Role.INSTRUCTION,),
    Kind.BLOB: (Role.NAME, Role.TYPE),
    Kind.DISCARDED: (Role.COUNT,),
}


@st.composite
def event_classes(
    draw: DrawFn,
    kinds: Sequence[Kind] = tuple(Kind),
    field_classes: SearchStrategy[FieldClass] = FIELD_CLASSES,
) -> EventClass:
    """Event classes with the roles that their kind needs, some that it often has, and arguments."""
    kind = draw(st.sampled_from(kinds))
    roles = sorted(REQUIRED_ROLES.get(kind, ()))
    usual = USUAL_ROLES.get(kind, ())
    roles += draw(st.lists(st.sampled_from(usual), unique=True)) if usual else []
    fields = [Field(role.name.lower(), draw(role_types(role)), role) for role in roles]
    units = st.sampled_from(("", "", "bytes"))
    fields += draw(
        st.lists(st.builds(Field, ANYTHING.names, field_classes, unit=units), max_size=3)
    )
    name, category = (draw(ANYTHING.names), draw(names())) if kind is Kind.TYPED else ("", "")
    timed = draw(st.sampled_from((True, True, True, False)))
    return EventClass(
        kind, name, category, tuple(fields), timed, draw(st.sampled_from((b"", b"n")))
    )


@st.composite
def traces(
    draw: DrawFn,
    kinds: Collection[Kind] = tuple(Kind),
    field_classes: SearchStrategy[FieldClass] = FIELD_CLASSES,
    max_events: int = 12,
) -> Trace:
    """Traces of these kinds with these argument types; times do not fall within the trace."""
    trace = Trace(
        format="none",
        clock=draw(clocks()),
        clock_domains=draw(st.lists(clocks(), max_size=2)),
        environment=draw(
            st.dictionaries(names(), st.one_of(names(), st.integers(-(2**63), 2**64)), max_size=2)
        ),
        processes=draw(
            st.lists(
                st.builds(
                    Process,
                    st.one_of(st.integers(0, 9), st.integers(0, 2**64 - 1)),
                    ANYTHING.names,
                    st.one_of(st.none(), st.integers(0, 9)),
                    st.lists(names(), max_size=2).map(tuple),
                ),
                min_size=draw(_usually_one),
                max_size=3,
                unique_by=lambda process: process.pid,
            )
        ),
    )
    trace.threads = draw(threads(len(trace.processes), 2**64 - 1, ANYTHING.names))
    trace.tracks = draw(tracks(trace, ANYTHING.names, units=True))
    trace.event_classes = draw(
        st.lists(event_classes(tuple(kinds), field_classes), min_size=1, max_size=4)
    )
    rows = []
    for number, event_class in enumerate(trace.event_classes):
        held = [field_values(field, ANYTHING) for field in event_class.fields]
        rows.append(
            st.tuples(
                st.just(number),
                _delays,
                st.one_of(st.integers(-1, 3), st.integers(-1, 2**31 - 1)),
                st.integers(-1, len(trace.threads) - 1),
                st.integers(-1, len(trace.tracks) - 1),
                st.tuples(*held),
            )
        )
    first = (0, 0 if trace.threads else -1, 0 if trace.tracks else -1)
    return draw(with_events(trace, rows, max_events, st.integers(-(2**62), 2**62), first))


_NANOSECONDS = st.just(NANOSECONDS)
_NO_ENVIRONMENT: SearchStrategy[dict[str, str | int]] = st.builds(dict)


@st.composite
def fitted_traces(
    draw: DrawFn,
    capabilities: Capabilities,
    *,
    kinds: Collection[Kind] | None = None,
    names_of_fields: SearchStrategy[str] | None = None,
    strings: SearchStrategy[bytes] | None = None,
    clock: SearchStrategy[ClockDomain] = _NANOSECONDS,
    cpus: SearchStrategy[int] | None = None,
    environment: SearchStrategy[dict[str, str | int]] = _NO_ENVIRONMENT,
    of_role: Mapping[Role, SearchStrategy[Any]] | None = None,
    max_events: int = 12,
) -> Trace:
    """Traces that a format of these capabilities holds as they are.

    They are what its writer is given and its reader must deliver. What capabilities cannot say, such as the letters
    that a format allows in the names of fields, or which values those of a role have (`of_role`), the arguments do.
    By default there are no NATIVE events, whose payload is the format's own record and thus not arbitrary. CPUs are
    0..3; pass a strategy with -1 in it where a format knows events of no CPU.
    """
    of_role = of_role or {}
    limit = capabilities.max_string_bytes
    free = names(utf8_only=capabilities.utf8_only, max_bytes=limit)
    contents = Contents(
        strings
        if strings is not None
        else texts(utf8_only=capabilities.utf8_only, max_bytes=limit),
        st.binary(max_size=min(12, capabilities.max_blob_bytes or 12)),
        free if names_of_fields is None else names_of_fields,
    )
    largest = (1 << capabilities.id_bits) - 1
    processes = st.builds(
        Process, st.one_of(st.integers(1, min(9, largest)), st.integers(1, largest)), free
    )
    if capabilities.command_lines:
        processes = st.builds(
            lambda process, parent, line: replace(process, parent_pid=parent, command_line=line),
            processes,
            st.one_of(st.none(), st.integers(0, largest)),
            st.lists(free, max_size=2).map(tuple),
        )
    trace = Trace(
        format="none",
        clock=draw(clock),
        environment=draw(environment),
        processes=draw(
            st.lists(
                processes,
                min_size=draw(_usually_one),
                max_size=3,
                unique_by=lambda process: process.pid,
            )
        ),
    )
    trace.threads = draw(threads(len(trace.processes), largest, free))
    if capabilities.tracks:
        trace.tracks = draw(tracks(trace, free, units=capabilities.units))
    usable = [
        kind
        for kind, support in capabilities.kinds.items()
        if (kind is not Kind.NATIVE if kinds is None else kind in kinds)
        and (trace.threads or capabilities.threadless or not support.thread)
    ]
    if not usable:
        return trace
    trace.event_classes = draw(
        st.lists(fitted_event_classes(capabilities, usable, contents), min_size=1, max_size=4)
    )
    rows = []
    for number, event_class in enumerate(trace.event_classes):
        support = capabilities.kinds[event_class.kind]
        highest = 3 if capabilities.max_cpu is None else min(3, capabilities.max_cpu)
        cpu = st.just(-1) if not support.cpu else st.integers(0, highest) if cpus is None else cpus
        first_thread = -1 if capabilities.threadless or not support.thread else 0
        last_thread = len(trace.threads) - 1 if support.thread else -1
        rows.append(
            st.tuples(
                st.just(number),
                _delays,
                cpu,
                st.integers(first_thread, last_thread),
                st.integers(-1, len(trace.tracks) - 1 if support.track else -1),
                st.tuples(
                    *(
                        of_role[field.role]
                        if field.role in of_role
                        else field_values(field, contents)
                        for field in event_class.fields
                    )
                ),
            )
        )
    earliest = -(2**60) if capabilities.negative_times else 0
    support = capabilities.kinds[trace.event_classes[0].kind]
    first = (
        0 if support.cpu else -1,
        0 if support.thread and trace.threads else -1,
        0 if support.track and trace.tracks else -1,
    )
    return draw(with_events(trace, rows, max_events, st.integers(earliest, 2**60), first))


@st.composite
def fitted_event_classes(
    draw: DrawFn, capabilities: Capabilities, kinds: Sequence[Kind], contents: Contents
) -> EventClass:
    """Event classes of the shape that a format declares."""
    kind = draw(st.sampled_from(kinds))
    support = capabilities.kinds[kind]
    held = support.holds or capabilities
    most = 3 if held.max_arguments is None else min(3, held.max_arguments)
    wanted = draw(st.integers(0, most))
    arguments = [
        draw(argument_fields(held, support, contents))
        for _ in range(wanted if support.arguments else 0)
    ]
    # Of formats that hold any class: what its kind needs all the same.
    present = {field.role for field in (*support.fields, *support.trailing)}
    arguments += [
        replace(draw(argument_fields(held, support, contents)), role=role)
        for role in sorted(REQUIRED_ROLES.get(kind, frozenset()) - present)
    ]
    if held.distinct_names:
        taken = {field.name for field in (*support.fields, *support.trailing)}
        for place, field in enumerate(arguments):
            spellings = chain([field.name], (f"{field.name}_{number}" for number in count()))
            name = next(one for one in spellings if one not in taken)
            arguments[place] = replace(field, name=name)
            taken.add(name)
    category, name = support.event or ("", "")
    if support.named:
        name, category = draw(contents.names), draw(contents.names)
    return EventClass(
        kind,
        name,
        category,
        (*support.fields, *arguments, *support.trailing),
        timed=support.timed,
    )


@st.composite
def argument_fields(
    draw: DrawFn, capabilities: Capabilities, support: KindSupport, contents: Contents
) -> Field:
    """Arguments of the types that a format allows."""
    integers = [IntegerClass(bits, signed) for bits, signed in sorted(capabilities.integers)]
    integers += [
        IntegerClass(bits, signed, style)
        for style in sorted(capabilities.styles)
        for bits, signed in sorted(capabilities.integers)
        if style not in capabilities.wide_styles or (bits, signed) == (64, False)
    ]
    if capabilities.labels:
        integers += [
            replace(integer, labels=(Label(0, 0, "none"), Label(1, 3, "some")))
            for integer in integers
        ]
    others: list[FieldClass] = [FloatClass(bits) for bits in sorted(capabilities.floats)]
    others += [StringClass()]
    others += [BooleanClass()] if capabilities.booleans else []
    others += [NullClass()] if capabilities.nulls else []
    others += [BytesClass()] if capabilities.blobs else []
    choices: list[SearchStrategy[FieldClass]] = [st.sampled_from(others)]
    choices += [st.sampled_from(integers)] if integers else []
    field_class = draw(
        nested_classes(
            st.one_of(choices),
            arrays=capabilities.arrays,
            structures=capabilities.structures,
            variants=capabilities.variants,
            optionals=capabilities.optionals,
            names=contents.names,
        )
    )
    numeric = isinstance(field_class, IntegerClass | FloatClass)
    role = Role.VALUE if support.numeric_values and numeric else Role.NONE
    unit = draw(st.sampled_from(("", "bytes"))) if capabilities.units else ""
    return Field(draw(contents.names), field_class, role, unit)


@st.composite
def clocks(draw: DrawFn) -> ClockDomain:
    """Clocks of any rate and epoch."""
    return draw(
        st.one_of(
            st.just(NANOSECONDS),
            st.builds(
                ClockDomain,
                names(),
                st.one_of(
                    st.none(),
                    st.builds(Fraction, st.integers(1, 2**40), st.integers(1, 2**20)),
                ),
                st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1)),
                names(),
            ),
        )
    )


@st.composite
def threads(draw: DrawFn, processes: int, largest: int, names: SearchStrategy[str]) -> list[Thread]:
    """Threads of so many processes, told apart by process and tid."""
    if not processes:
        return []
    thread = st.builds(
        Thread,
        st.one_of(st.integers(1, min(9, largest)), st.integers(1, largest)),
        st.integers(0, processes - 1),
        names,
    )
    least = draw(_usually_one)
    return draw(
        st.lists(thread, min_size=least, max_size=4, unique_by=lambda one: (one.process, one.tid))
    )


@st.composite
def tracks(draw: DrawFn, trace: Trace, names: SearchStrategy[str], *, units: bool) -> list[Track]:
    """Tracks of the trace's processes and threads, some below others."""
    scopes = {TrackScope.GLOBAL: 0, TrackScope.CPU: 4}
    scopes |= {TrackScope.PROCESS: len(trace.processes)} if trace.processes else {}
    scopes |= {TrackScope.THREAD: len(trace.threads)} if trace.threads else {}
    result: list[Track] = []
    for number in range(draw(st.integers(draw(_usually_one), 3))):
        scope = draw(st.sampled_from(sorted(scopes)))
        # The first is of thread, process or CPU 0.
        last = scopes[scope] - 1 if number else 0
        owner = -1 if scope is TrackScope.GLOBAL else draw(st.integers(0, last))
        parent = draw(st.integers(-1, number - 1))
        unit = draw(st.sampled_from(("", "bytes"))) if units else ""
        identity = draw(st.integers(0, 3))
        result.append(Track(draw(names), scope, owner, parent, unit, identity))
    return result


#: An event: class, ts (or the time since the event before), cpu, thread, track, values.
Event = tuple[int, int, int, int, int, tuple[Any, ...]]

#: The least of a table: what is at its position 0 is drawn with nearly every trace, as 0 is easily taken for none.
_usually_one = st.sampled_from((1, 1, 1, 0))

#: Time from one event to the next, 0 as often as not: what stands at equal times matters.
_delays = st.one_of(st.integers(0, 1), st.integers(0, 2**36))


@st.composite
def with_events(
    draw: DrawFn,
    trace: Trace,
    rows: Sequence[SearchStrategy[Event]],
    max_events: int,
    starts: SearchStrategy[int],
    first: tuple[int, int, int],
) -> Trace:
    """The trace with events in a few batches; their times come as delays.

    If there are any, the first is of class 0, and its CPU, thread and track are those of `first`.
    """
    events = draw(st.lists(st.one_of(list(rows)), max_size=max_events))
    if events:
        number, delay, *_, held = draw(rows[0])
        events[0] = (number, delay, *first, held)
    ts = draw(starts)
    timed: list[Event] = []
    for number, delay, cpu, thread, track, held in events:
        ts += delay if trace.event_classes[number].timed else 0
        timed.append((number, ts, cpu, thread, track, held))
    cuts = draw(st.lists(st.integers(0, len(events)), max_size=2)) if events else []
    bounds = sorted({0, len(events), *cuts})
    as_ids = draw(st.booleans())
    return with_batches(
        trace,
        [
            batch_of(trace, timed[start:end], strings_as_ids=as_ids)
            for start, end in pairwise(bounds)
        ],
    )


def batch_of(
    trace: Trace,
    events: Sequence[Event],
    *,
    strings_as_ids: bool = True,
) -> Batch:
    """A batch of events; strings as ids, or as lists of bytes."""
    class_id = np.array([event[0] for event in events], np.int32)
    row = np.zeros(len(events), np.int32)
    number_rows(class_id, row, np.zeros(len(trace.event_classes), np.int32))
    tables = {}
    for number in sorted(set(class_id.tolist())):
        held = [event[5] for event in events if event[0] == number]
        columns: list[Column] = []
        for i, field in enumerate(trace.event_classes[number].fields):
            column = [item[i] for item in held]
            if isinstance(field.type, StringClass) and not strings_as_ids:
                columns.append(list_of_bytes(column))
            else:
                columns.append(column_from_values(field.type, column, trace.strings))
        tables[number] = Table(len(held), columns)
    return Batch(
        ts=np.array([event[1] for event in events], np.int64),
        class_id=class_id,
        row=row,
        tables=tables,
        cpu=np.array([event[2] for event in events], np.int32),
        thread=np.array([event[3] for event in events], np.int32),
        track=np.array([event[4] for event in events], np.int32),
    )
