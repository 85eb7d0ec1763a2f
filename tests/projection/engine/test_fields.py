"""Fields as a format of given capabilities holds them, and what that loses of their values."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.traces.small_traces import brief, event_class, events_of, projected, trace_of
from support.traces.target_capabilities import PROFILER, RECORDER, VIEWER

from converter.ir.collect import with_batches
from converter.ir.events import Table
from converter.ir.field_classes import (
    ArrayClass,
    BooleanClass,
    BytesClass,
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
from converter.ir.kinds import Kind, Role
from converter.projection.engine.texts import cut_utf8
from converter.projection.engine.types import fit_integer

U8, U32, I32, U64, I64 = (
    IntegerClass(8),
    IntegerClass(32),
    IntegerClass(32, True),
    IntegerClass(64),
    IntegerClass(64, True),
)
TEXT = StringClass()
NAME = (TEXT, Role.NAME)


def fields_of(fields, values, capabilities):
    declared = event_class(Kind.TYPED, "e", "", **fields)
    target, losses = projected(trace_of([declared], [(0, 0, -1, 1, values)]), capabilities)
    ((_, _, _, held),) = events_of(target)
    types = {field.name: field.type for field in target.event_classes[0].fields}
    return held, types, losses


def test_structures_and_arrays_are_taken_apart():
    inner = StructureClass((Member("b", U8), Member("c", ArrayClass(I32, 2))))
    held, types, losses = fields_of({"a": inner}, ([("b", 1), ("c", [2, 3])],), PROFILER)
    assert list(held) == ["name", "category", "a.b", "a.c[0]", "a.c[1]"]
    assert list(held.values()) == ["e", "", 1, 2, 3]
    assert types["a.b"] == U32
    assert "nested-fields event=e (1)" in losses


@pytest.mark.parametrize(
    ("element", "length", "parts"),
    [(U8, 0, 0), (U8, 1, 1), (U8, 15, 15), (U8, 16, 16), (U8, 17, 1), (ArrayClass(U8), 2, 1)],
)
def test_short_arrays_of_scalars_are_taken_apart(element, length, parts):
    """All others are one text."""
    item = [[] if isinstance(element, ArrayClass) else 1] * length
    unbounded = replace(PROFILER, max_arguments=None)
    held, _, _ = fields_of({"a": ArrayClass(element, length)}, (item,), unbounded)
    assert len(held) - 2 == parts


def test_a_structure_of_one_member_is_lost_too():
    _, _, losses = fields_of({"a": StructureClass((Member("b", U32),))}, ([("b", 1)],), PROFILER)
    assert "nested-fields event=e (1)" in losses


@pytest.mark.parametrize(
    ("field_class", "item", "text"),
    [
        (ArrayClass(I64), [-1, 2], "[-1, 2]"),
        (ArrayClass(TEXT), [b"a", b"\xff"], '["a","\ufffd"]'),
        (
            ArrayClass(StructureClass((Member("x", U8), Member("y", TEXT)))),
            [[("x", 1), ("y", b"")]],
            '[{"x":1,"y":""}]',
        ),
        (
            ArrayClass(StructureClass((Member("x", U8), Member("x", U8)))),
            [[("x", 1), ("x", 2)]],
            '[[["x",1],["x",2]]]',
        ),
        (
            ArrayClass(VariantClass((Member("x", U8), Member("y", TEXT)))),
            [("x", 1), ("x", 2)],
            '[{"x":1},{"x":2}]',
        ),
        (ArrayClass(OptionalClass(BooleanClass())), [None, True], "[null,true]"),
        (ArrayClass(BytesClass()), [b"\x00\xff"], '["00ff"]'),
        (ArrayClass(FloatClass(32)), [0.5], "[0.5]"),
    ],
)
def test_other_nested_values_are_text(field_class, item, text):
    held, types, losses = fields_of({"a": field_class}, (item,), PROFILER)
    assert (held["a"], types["a"]) == (text, TEXT)
    assert "field-as-text event=e field=a (1)" in losses


@pytest.mark.parametrize(
    ("field_class", "item", "text"),
    [
        (BooleanClass(), True, 1),
        (FloatClass(64), 1.5, "1.5"),
        (NullClass(), None, "null"),
        (BytesClass(), b"\x01\xfe", "01fe"),
        (U8, 200, 200),
        (IntegerClass(32, True), -5, -5),
    ],
)
def test_scalars_of_types_that_a_format_lacks(field_class, item, text):
    held, _, _ = fields_of({"a": field_class}, (item,), RECORDER)
    assert held["a"] == text


def test_nested_values_stay_where_the_format_has_them():
    inner = ArrayClass(StructureClass((Member("a", U8), Member("b", TEXT), Member("c", TEXT))))
    item = [[("a", 1), ("b", b"x"), ("c", b"\xff")]]
    held, types, losses = fields_of({"n": inner}, (item,), VIEWER)
    assert held["n"] == [[("a", 1), ("b", b"x"), ("c", "\ufffd".encode())]]
    assert types["n"] == ArrayClass(
        StructureClass((Member("a", I64), Member("b", TEXT), Member("c", TEXT)))
    )
    assert "text-not-utf8 event=e field=n.c (1)" in losses


def test_optionals_and_variants_become_classes():
    either = VariantClass((Member("n", U32), Member("t", TEXT)))
    declared = event_class(Kind.TYPED, "e", "", a=OptionalClass(U32), b=either)
    rows = [(1, ("n", 5)), (None, ("t", b"x")), (None, ("n", 6)), (2, ("n", 7))]
    events = [(0, i, -1, 1, row) for i, row in enumerate(rows)]
    target, _ = projected(trace_of([declared], events), PROFILER)
    assert brief(target, "a", "b") == [
        ("INSTANT e at t10", 1, 5),
        ("INSTANT e at t10", None, "x"),
        ("INSTANT e at t10", None, 6),
        ("INSTANT e at t10", 2, 7),
    ]
    assert len(target.event_classes) == 3


def test_many_optionals():
    fields = {f"f{i}": OptionalClass(U32) for i in range(70)}
    declared = event_class(Kind.TYPED, "e", "", **fields)
    rows = [tuple(1 if i == k else None for i in range(70)) for k in range(70)]
    events = [(0, i, -1, 1, row) for i, row in enumerate(rows)]
    target, _ = projected(trace_of([declared], events), PROFILER)
    held = [list(fields)[-1] for *_, fields in events_of(target)]
    assert held == [f"f{i}" for i in range(70)]


def test_arguments_beyond_the_limit_follow_in_order():
    fields = {f"f{i}": U32 for i in range(100)}
    declared = event_class(Kind.TYPED, "e", "", **fields)
    rows = [(0, i, -1, 1, tuple(range(100 * i, 100 * i + 100))) for i in range(2)]
    target, losses = projected(trace_of([declared], rows), replace(PROFILER, max_arguments=5))
    held = [fields for *_, fields in events_of(target)]
    assert [one["name"] for one in held[:2]] == ["e", "instant (continued)"]
    numbers = [number for one in held for number in list(one.values())[2:]]
    assert numbers == list(range(200))
    assert "arguments-in-instants event=e limit=5 (2)" in losses


def test_parts_of_records_that_the_source_has_otherwise():
    declared = event_class(
        Kind.ASYNC_BEGIN, name=(ArrayClass(U8), Role.NAME), x=U32, id=(TEXT, Role.ID)
    )
    events = [
        (0, 0, -1, 1, ([1], 7, b"0x1F")),
        (0, 1, -1, 1, ([], 7, b"12")),
        (0, 2, -1, 1, ([], 7, b"me")),
    ]
    target, losses = projected(trace_of([declared], events), PROFILER)
    held = [fields for *_, fields in events_of(target)]
    # Text may not be told apart as a number, so that it stays as well.
    assert [field.name for field in target.event_classes[0].fields] == [
        "name",
        "category",
        "id",
        "x",
        "id",
    ]
    assert [one["id"] for one in held[:2]] == [0x1F, 12]
    assert held[0]["name"] == "[1]"
    assert held[2]["id"] not in (0, 12, 0x1F)
    assert "id-text-as-number event=async begin field=id (3)" in losses


def test_values_that_do_not_fit_are_counted():
    declared = event_class(Kind.TYPED, "e", "", a=U64)
    events = [(0, i, -1, 1, (number,)) for i, number in enumerate((1, 2**63, 2**64 - 1))]
    target, losses = projected(trace_of([declared], events), VIEWER)
    assert [fields["a"] for *_, fields in events_of(target)] == [1, -(2**63), -1]
    assert "number-out-of-range event=e field=a type=int64 (2)" in losses


def test_numbers_that_are_none_stay_so_without_a_word():
    declared = event_class(Kind.TYPED, "e", "", a=FloatClass(32))
    trace = trace_of([declared], [(0, 0, -1, 1, (0.5,)), (0, 1, -1, 1, (0.5,))])
    (batch,) = trace.batches()
    # Quiet and signalling.
    bits = np.array([0x7FC00000, 0x7F800001], np.uint32)
    numbers = batch.with_tables({0: Table(2, [bits.view(np.float32)])})
    target, losses = projected(with_batches(trace, [numbers]), VIEWER)
    assert all(math.isnan(fields["a"]) for *_, fields in events_of(target))
    assert not [loss for loss in losses if "outside" in loss]


def test_long_texts_are_cut_between_characters():
    assert cut_utf8("aé".encode(), 2) == b"a"
    assert cut_utf8("a€".encode(), 3) == b"a"
    assert cut_utf8(b"abc", 3) == b"abc"
    held, _, losses = fields_of({"a": TEXT}, (("x" + "é" * 60).encode(),), PROFILER)
    assert held["a"] == "x" + "é" * 49
    assert "text-cut event=e field=a limit=100 (1)" in losses


@given(st.lists(st.binary(max_size=6), min_size=1), st.booleans())
def test_texts_are_fitted_alike_in_both_kinds_of_column(texts, as_ids):
    declared = event_class(Kind.TYPED, "e", "", a=TEXT)
    events = [(0, i, -1, 1, (text,)) for i, text in enumerate(texts)]
    trace = trace_of([declared], events, strings_as_ids=as_ids)
    target, _ = projected(trace, replace(PROFILER, max_string_bytes=4))
    fitted = [cut_utf8(text.decode("utf-8", "replace").encode(), 4) for text in texts]
    assert [fields["a"].encode() for *_, fields in events_of(target)] == fitted


@pytest.mark.parametrize(
    ("field_class", "expected"),
    [
        (U8, U32),
        (IntegerClass(33, True), I64),
        (IntegerClass(32, style=Style.POINTER), IntegerClass(64, style=Style.POINTER)),
        (IntegerClass(12, True, Style.HEXADECIMAL), I32),
        (IntegerClass(64, labels=(Label(0, 1, "x"),), flags=True), U64),
    ],
)
def test_integers_of_the_profiler(field_class, expected):
    assert fit_integer(field_class, PROFILER) == expected


def test_unsigned_numbers_widen_to_signed_ones():
    assert fit_integer(U8, RECORDER) == IntegerClass(16)
    assert fit_integer(IntegerClass(8, True), RECORDER) == I64
    assert fit_integer(U64, RECORDER) == I64
