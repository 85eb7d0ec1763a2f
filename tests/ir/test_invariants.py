"""Each invariant finds its own defect, and what the strategies make has none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from support.traces.strategies import batch_of, fitted_traces, traces

from converter.errors import TraceError
from converter.formats.ir.classes import pack_class, unpack_class
from converter.ir import invariants
from converter.ir.collect import with_batches
from converter.ir.columns import ListColumn, NullColumn, OptionalColumn, StructColumn, UnionColumn
from converter.ir.events import Batch, EventClass, Field, NativeRecords, Table
from converter.ir.field_classes import (
    ArrayClass,
    BooleanClass,
    BytesClass,
    FieldClass,
    FloatClass,
    IntegerClass,
    Label,
    Member,
    NullClass,
    OptionalClass,
    StringClass,
    StructureClass,
    Style,
    VariantClass,
)
from converter.ir.forms import class_form, class_of
from converter.ir.invariants import check, violations
from converter.ir.kinds import Kind, Role
from converter.ir.trace import ClockDomain, Process, Thread, Trace, Track, TrackScope
from converter.projection.capabilities import Capabilities, KindSupport

ARRAY = ArrayClass(IntegerClass(8), 2)
STRUCTURE = StructureClass((Member("a", IntegerClass(5)), Member("b", NullClass())))
VARIANT = VariantClass((Member("number", IntegerClass(16)), Member("text", StringClass())))
OPTIONAL = OptionalClass(BooleanClass())
TYPES: tuple[FieldClass, ...] = (
    IntegerClass(5),
    StringClass(),
    BytesClass(),
    ARRAY,
    STRUCTURE,
    VARIANT,
    OPTIONAL,
    FloatClass(32),
)
EVENT = EventClass(
    Kind.TYPED, "e", fields=tuple(Field(str(i), held) for i, held in enumerate(TYPES))
)

LIMITED = Capabilities(
    kinds={
        Kind.INSTANT: KindSupport((Field("name", StringClass(), Role.NAME),)),
        Kind.SLICE_COMPLETE: KindSupport(
            (
                Field("name", StringClass(), Role.NAME),
                Field("duration", IntegerClass(64), Role.DURATION),
            ),
            arguments=False,
            track=True,
        ),
        Kind.TYPED: KindSupport(thread=False, cpu=True, named=True),
        Kind.COUNTER: KindSupport(
            (Field("name", StringClass(), Role.NAME),), numeric_values=True, timed=False
        ),
    },
    integers=frozenset({(32, True), (64, False)}),
    floats=frozenset({64}),
    blobs=False,
    styles=frozenset({Style.POINTER}),
    wide_styles=frozenset({Style.POINTER}),
    max_arguments=2,
    max_string_bytes=16,
    id_bits=16,
    threadless=False,
    arrays=True,
)


def sound() -> Trace:
    """Two events with a field of each sort of column."""
    trace = Trace(
        format="none",
        processes=[Process(1)],
        threads=[Thread(1, 0)],
        tracks=[Track("t"), Track("u", TrackScope.THREAD, 0, 0)],
        event_classes=[EVENT],
    )
    values = (1, b"s", b"b", [1, 2], [("a", 3), ("b", None)], ("number", 4), True, 0.5)
    others = (31, b"", b"", [3, 4], [("a", 0), ("b", None)], ("text", b"s"), None, -0.5)
    events = [(0, 1, 0, 0, 0, values), (0, 2, -1, -1, -1, others)]
    return with_batches(trace, [batch_of(trace, events)])


def with_batch(**changes: Any) -> Trace:
    """The sound trace with other columns in its batch."""
    trace = sound()
    (batch,) = trace.batches()
    parts = {
        name: getattr(batch, name)
        for name in ("ts", "class_id", "row", "tables", "thread", "cpu", "track")
    }
    return with_batches(trace, [Batch(**(parts | changes))])


def with_field(index: int, change: Callable[[Any], Any]) -> Trace:
    """The sound trace with another column of a field."""
    (batch,) = sound().batches()
    table = batch.tables[0]
    columns = [table.column(i) for i in range(table.width)]
    columns[index] = change(columns[index])
    return with_batch(tables={0: Table(2, columns)})


def with_type(field_class: FieldClass) -> Trace:
    """The sound trace with one more event class, of this type."""
    extra = EventClass(Kind.TYPED, fields=(Field("x", field_class),))
    return replace(sound(), event_classes=[EVENT, extra])


def with_native(start: int, size: int) -> Trace:
    """The sound trace with native records, of which the last is these bytes of 10."""
    native = NativeRecords(
        "f", memoryview(bytes(10)), np.array([0, start]), np.array([4, size], np.int64)
    )
    return with_batch(native=native)


def ids(*numbers: int) -> Any:
    """A column of int32."""
    return np.array(numbers, np.int32)


def offsets(column: ListColumn, *numbers: int) -> ListColumn:
    """The list column with other offsets."""
    return ListColumn(np.array(numbers, np.int64), column.values)


#: (the only invariants that find it, the trace)
DEFECTS: dict[str, tuple[str, Callable[[], Trace]]] = {
    "thread of no process": (
        "thread_processes",
        lambda: replace(sound(), threads=[Thread(1, 1)]),
    ),
    "track below itself": (
        "track_parents",
        lambda: replace(sound(), tracks=[Track("t", parent=0), Track("u")]),
    ),
    "global track with an owner": (
        "track_owners",
        lambda: replace(sound(), tracks=[Track("t", owner=0), Track("u")]),
    ),
    "track of no thread": (
        "track_owners",
        lambda: replace(sound(), tracks=[Track("t"), Track("u", TrackScope.THREAD, 1)]),
    ),
    "clock that stands": (
        "clock_rates",
        lambda: replace(sound(), clock=ClockDomain("c", Fraction(0))),
    ),
    "clock that counts from nowhere": (
        "clock_rates",
        lambda: replace(sound(), clock_domains=[ClockDomain("c", epoch_ns=1 << 63)]),
    ),
    "thread whose name no bytes stand for": (
        "texts",
        lambda: replace(sound(), threads=[Thread(1, 0, "\ud800")]),
    ),
    "environment of other things": (
        "texts",
        lambda: replace(sound(), environment={"key": None}),  # type: ignore[dict-item]
    ),
    "label whose name no bytes stand for": (
        "class_texts",
        lambda: with_type(ArrayClass(IntegerClass(8, labels=(Label(0, 0, "\ud800"),)))),
    ),
    "counter without a name": (
        "required_roles",
        lambda: replace(sound(), event_classes=[EVENT, EventClass(Kind.COUNTER)]),
    ),
    "integer of 65 bits": ("field_classes", lambda: with_type(IntegerClass(65))),
    "float of 16 bits": ("field_classes", lambda: with_type(ArrayClass(FloatClass(16)))),
    "label of no value": (
        "field_classes",
        lambda: with_type(IntegerClass(8, labels=(Label(2, 1, "x"),))),
    ),
    "array of -1": ("field_classes", lambda: with_type(ArrayClass(NullClass(), -1))),
    "variant of nothing": ("field_classes", lambda: with_type(VariantClass(()))),
    "options of one name": (
        "field_classes",
        lambda: with_type(StructureClass((Member("v", VariantClass((VARIANT.options[0],) * 2)),))),
    ),
    "optional null": ("field_classes", lambda: with_type(OptionalClass(NullClass()))),
    "ts of int32": ("common_columns", lambda: with_batch(ts=ids(1, 2))),
    "too few cpus": ("common_columns", lambda: with_batch(cpu=ids(0))),
    "no table": (
        "class_ids",
        lambda: with_batch(class_id=ids(0, 1), row=ids(0, 0), tables=_half()),
    ),
    "table of no class": (
        "class_ids",
        lambda: with_batch(tables={**_tables(), 1: Table(0, [])}),
    ),
    "a row twice": ("table_rows", lambda: with_batch(row=ids(1, 1))),
    "a row of nobody": (
        "table_rows",
        lambda: with_batch(
            ts=np.array([1]), class_id=ids(0), row=ids(0), thread=ids(0), cpu=ids(0), track=ids(0)
        ),
    ),
    "a column too few": (
        "table_fields",
        lambda: with_batch(tables={0: Table(2, [_tables()[0].column(0)])}),
    ),
    "no such thread": ("thread_ids", lambda: with_batch(thread=ids(0, 1))),
    "no such track": ("track_ids", lambda: with_batch(track=ids(-2, 0))),
    "cpu -2": ("cpu_numbers", lambda: with_batch(cpu=ids(-2, 0))),
    "integers too wide": ("column_types", lambda: with_field(0, lambda c: c.astype(np.uint16))),
    "integers for floats": ("column_types", lambda: with_field(7, lambda c: c.view(np.int32))),
    "string ids of int64": ("column_types", lambda: with_field(1, lambda c: c.astype(np.int64))),
    "nulls for a list": ("column_types", lambda: with_field(3, lambda c: NullColumn(2))),
    "booleans of uint8": (
        "column_types",
        lambda: with_field(6, lambda c: OptionalColumn(c.valid, c.values.view(np.uint8))),
    ),
    "column too long": ("column_lengths", lambda: with_field(7, lambda c: c.repeat(2))),
    "member too short": (
        "column_lengths",
        lambda: with_field(4, lambda c: StructColumn(2, (c.members[0][:1], c.members[1]))),
    ),
    "optional values too few": (
        "column_lengths",
        lambda: with_field(6, lambda c: OptionalColumn(c.valid, c.values[:1])),
    ),
    "offsets that fall": ("list_offsets", lambda: with_field(2, lambda c: offsets(c, 1, 0, 1))),
    "offsets below zero": ("list_offsets", lambda: with_field(2, lambda c: offsets(c, -1, 0, 1))),
    "offsets past the end": ("list_offsets", lambda: with_field(2, lambda c: offsets(c, 0, 1, 9))),
    "offsets of int32": (
        "list_offsets",
        lambda: with_field(2, lambda c: ListColumn(ids(0, 1, 1), c.values)),
    ),
    "array too short": ("array_lengths", lambda: with_field(3, lambda c: offsets(c, 0, 2, 3))),
    "member missing": (
        "structure_members",
        lambda: with_field(4, lambda c: StructColumn(2, c.members[:1])),
    ),
    "option too many": (
        "structure_members",
        lambda: with_field(5, lambda c: UnionColumn(c.tags, c.rows, (*c.options, NullColumn(0)))),
    ),
    "tag of no option": (
        "union_tags",
        lambda: with_field(5, lambda c: UnionColumn(c.tags + np.int16(1), c.rows * 0, c.options)),
    ),
    "row of no value": (
        "union_tags",
        lambda: with_field(5, lambda c: UnionColumn(c.tags, c.rows + np.int32(1), c.options)),
    ),
    "tags of int8": (
        "union_tags",
        lambda: with_field(5, lambda c: UnionColumn(c.tags.astype(np.int8), c.rows, c.options)),
    ),
    "validity of uint8": (
        "validity",
        lambda: with_field(6, lambda c: OptionalColumn(c.valid.view(np.uint8), c.values)),
    ),
    "no such string": ("string_ids", lambda: with_field(1, lambda c: c + np.int32(99))),
    "no such string in a variant": (
        "string_ids",
        lambda: with_field(5, lambda c: UnionColumn(c.tags, c.rows, (c.options[0], ids(-1)))),
    ),
    "32 in 5 bits": ("integer_ranges", lambda: with_field(0, lambda c: c + np.uint8(1))),
    "native record past the end": ("native_spans", lambda: with_native(4, 7)),
    "native record whose end overflows": ("native_spans", lambda: with_native(4, 2**63 - 1)),
    "native record before the start": ("native_spans", lambda: with_native(-1, 2)),
    "native records too few": (
        "native_spans",
        lambda: with_batch(
            native=NativeRecords("f", memoryview(b""), np.zeros(1, np.int64), np.zeros(2, np.int64))
        ),
    ),
}


def _tables() -> dict[int, Table]:
    (batch,) = sound().batches()
    return batch.tables


def _half() -> dict[int, Table]:
    return {0: _tables()[0].select(np.array([0]))}


def test_a_sound_trace_has_no_violations() -> None:
    check(sound())
    check(with_native(4, 6))


@pytest.mark.parametrize("defect", DEFECTS)
def test_a_defect_is_found_by_its_invariant_alone(defect: str) -> None:
    name, make = DEFECTS[defect]
    trace = make()
    (batch,) = trace.batches()
    assert {line.split(":")[0] for line in violations(trace, batch)} == {name}
    with pytest.raises(ValueError, match=f"batch 0: {name}: "):
        check(trace)


def test_every_invariant_has_a_defect() -> None:
    known = (*invariants.TABLE_INVARIANTS, *invariants.BATCH_INVARIANTS)
    assert {name for name, _ in DEFECTS.values()} == {invariant.__name__ for invariant in known}


def test_tables_are_checked_where_there_are_no_batches() -> None:
    with pytest.raises(ValueError, match="thread_processes"):
        check(Trace(format="none", threads=[Thread(1, 0)]))


@given(traces())
def test_generated_traces_are_sound(trace: Trace) -> None:
    check(trace)


@given(fitted_traces(LIMITED))
def test_fitted_traces_are_sound_and_within_the_capabilities(trace: Trace) -> None:
    check(trace)
    for event_class in trace.event_classes:
        support = LIMITED.kinds[event_class.kind]
        fixed = len(support.fields)
        assert event_class.fields[:fixed] == support.fields
        assert len(event_class.fields) - fixed <= (2 if support.arguments else 0)
        for field in event_class.fields[fixed:]:
            leaf = field.type
            while isinstance(leaf, ArrayClass):
                leaf = leaf.element
            assert not isinstance(leaf, BytesClass | StructureClass | VariantClass | OptionalClass)
            if isinstance(leaf, IntegerClass):
                assert (leaf.bits, leaf.signed) in LIMITED.integers
                assert leaf.style is Style.DECIMAL or leaf == IntegerClass(64, style=Style.POINTER)
            if isinstance(field.type, IntegerClass | FloatClass):
                wanted = Role.VALUE if event_class.kind is Kind.COUNTER else Role.NONE
                assert field.role is wanted
    for thread in trace.threads:
        assert 0 < thread.tid < 1 << 16
    for batch in trace.batches():
        for place, number in enumerate(batch.class_id.tolist()):
            support = LIMITED.kinds[trace.event_classes[number].kind]
            assert (batch.thread[place] >= 0) == support.thread
            assert (batch.cpu[place] >= 0) == support.cpu
            assert batch.ts[place] >= 0


BACKWARD = IntegerClass(8, labels=(Label(3, 2, "l"),))


@pytest.mark.parametrize(
    ("event_class", "fault"),
    [
        (EventClass(Kind.SLICE_BEGIN), "SLICE_BEGIN, has no field of role NAME"),
        (
            EventClass(Kind.TYPED, fields=(Field("x", ArrayClass(BACKWARD)),)),
            "field 'x': label 'l' of no value",
        ),
    ],
)
def test_classes_that_cannot_be_are_not_taken_from_files(event_class, fault):
    assert list(invariants.class_faults(event_class)) == [fault]
    with pytest.raises(ValueError, match=fault):
        class_of(class_form(event_class))
    with pytest.raises(TraceError, match=fault):
        unpack_class(pack_class(event_class))
