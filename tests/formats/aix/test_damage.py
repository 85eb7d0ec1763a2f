"""Damaged and hostile AIX streams: a trace of what is good, or an error that says where, and nothing else."""

from __future__ import annotations

import contextlib
import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.aix.files import (
    VARIANTS,
    entry_32,
    entry_64,
    opened,
    rows,
    stream,
    streams,
    words_32,
    words_64,
    written,
)
from support.aix.own_files import CLASS, DAMAGED, own_event, with_declarations
from support.command.reports import reported
from support.traces.strategies import batch_of

from converter.errors import TraceError
from converter.formats.aix.entries.scan import HEADER
from converter.formats.aix.entries.values import ARRAY, NUMBER, OPTIONAL, VARIANT, Columns
from converter.formats.aix.layout import OWN_MAGIC
from converter.formats.aix.report.lines import print_report
from converter.ir.collect import collect, with_batches
from converter.ir.events import EventClass, Field
from converter.ir.field_classes import (
    ArrayClass,
    BytesClass,
    IntegerClass,
    Member,
    OptionalClass,
    StringClass,
    StructureClass,
    VariantClass,
)
from converter.ir.invariants import check
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Process, Thread, Trace, Track

HEADERS = {"64": 4, "32": 0}


def _native(variant: str) -> bytes:
    if variant == "64":
        return stream(
            "64",
            words_64(0x1060, 8, 9, 60, 7, 60),
            entry_64(0x1340, b"/usr/bin/ksh\0", word=8),
            words_64(0x5000, 1, 2, 3, narrow=True),
            entry_64(0x5000, b"hello", word=1, ts=None),
        )
    wide = bytes.fromhex("50000005") + bytes(8)
    return stream(
        "32",
        words_32(0x106, 8, 9, 60, 7, 60),
        entry_32(0x134, b"/usr/bin/ksh\0", word=8),
        entry_32(0x00B, wide, word=0x80000008),
        words_32(0x500, ts=None),
    )


def _own(variant: str) -> bytes:
    members = (Member("a", IntegerClass(8)), Member("b", StringClass()))
    fields = (
        Field("prev", IntegerClass(32, True), Role.PREV_TID),
        Field("next", IntegerClass(32, True), Role.NEXT_TID),
        Field("text", StringClass()),
        Field("list", ArrayClass(OptionalClass(StructureClass(members)))),
        Field("either", VariantClass(members)),
        Field("blob", BytesClass()),
    )
    trace = Trace(
        format="none",
        event_classes=[EventClass(Kind.SCHED_SWITCH, "switch", "sched", fields)],
        processes=[Process(7, "ksh", 1, ("ksh", "-c"))],
        threads=[Thread(70, 0, "main")],
        tracks=[Track("line")],
    )
    values = (1, 2, b"text", [None, [("a", 3), ("b", b"inner")]], ("b", b"other"), b"\x01" * 9)
    large = (*values[:-1], b"\x02" * 9000)
    rows_ = [
        (0, 5, 1, 0, 0, values),
        (0, 1 << 33, -1, -1, -1, large),
        (0, 1 << 33, 0, 0, -1, values),
    ]
    return written(with_batches(trace, [batch_of(trace, rows_)]), variant)


def _read(data: bytes, variant: str) -> int:
    """How many events there are; any end but a trace or a TraceError fails the test."""
    try:
        trace = opened(data, variant)
        events = rows(trace)
    except TraceError:
        return 0
    check(collect(trace))
    return len(events)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("make", [_native, _own])
def test_cut_anywhere(make, variant):
    data = make(variant)
    whole = _read(data, variant)
    places = (
        range(len(data))
        if len(data) < 300
        else sorted(random.Random(1).sample(range(len(data)), 150))
    )
    before = 0
    for size in places:
        count = _read(data[:size], variant)
        assert before <= count <= whole
        before = count
    assert whole == (4 if make is _native else 3)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("make", [_native, _own])
def test_flipped_anywhere(make, variant):
    data = make(variant)
    chance = random.Random(2)
    for _ in range(120):
        broken = bytearray(data)
        for _ in range(chance.randint(1, 3)):
            broken[chance.randrange(HEADERS[variant], len(data))] = chance.choice(
                (0, 1, 0x7F, 0x80, 0xFF)
            )
        _read(bytes(broken), variant)


@pytest.mark.parametrize("variant", VARIANTS)
@given(data=st.binary(min_size=1, max_size=200))
def test_any_bytes(variant, data):
    _read(stream(variant, data), variant)


@pytest.mark.parametrize("variant", VARIANTS)
@given(data=st.data())
def test_a_damaged_tail_costs_only_the_tail(variant, data):
    content = data.draw(streams(variant))
    count = len(rows(opened(content, variant)))
    tail = bytes.fromhex("8000ffff50000000") if variant == "64" else bytes.fromhex("50080ff0")
    trace = opened(content + tail, variant)
    assert len(rows(trace)) == count
    (warning,) = trace.warnings
    assert warning.offset == len(content)
    # What is good of it is copied.
    assert written(opened(content + tail, variant), variant) == content


@pytest.mark.parametrize("variant", VARIANTS)
def test_zeros_are_no_entries(variant):
    entry = words_64(0x5000, 1) if variant == "64" else words_32(0x500, 1)
    data = stream(variant, entry * 3, bytes(320), entry * 2, bytes(64), entry)
    trace = opened(data, variant)
    assert [one.name for one in rows(trace)] == [
        rows(opened(stream(variant, entry), variant))[0].name
    ] * 6
    (warning,) = trace.warnings
    assert warning.offset == HEADERS[variant] + 3 * len(entry)
    assert "zeros where entries should be, in 2 places" in warning.message


def test_nothing_usable_is_an_error():
    with pytest.raises(TraceError, match="offset 0x4: entry: expected at least") as caught:
        rows(opened(stream("64", bytes.fromhex("8000ffff50000000"))))
    assert caught.value.format == "aix"
    assert caught.value.offset == 4


@pytest.mark.parametrize("kind", [3, 4, 5, 7, 11, 12, 13, 15])
def test_types_of_hook_words_that_there_are_none_of(kind):
    good = words_32(0x500, 1)
    bad = (0x500 << 20 | kind << 16).to_bytes(4, "big") + bytes(40)
    trace = opened(stream("32", good, bad), "32")
    assert len(rows(trace)) == 1
    assert trace.warnings[0].field == "hook word"
    assert trace.warnings[0].offset == len(good)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("size", [68, 4096])
def test_entries_behind_a_hole_are_read(variant, size):
    """Hook words of types that there are none of, or lengths beyond the end, end what makes sense."""
    make = words_64 if variant == "64" else words_32
    hook = 0x5000 if variant == "64" else 0x500
    entries = [make(hook, number, ts=100 + number) for number in range(400)]
    data = stream(variant, *entries)
    start = HEADERS[variant] + 100 * len(entries[0])
    trace = opened(data[:start] + b"\xff" * size + data[start + size :], variant)
    times = {one.ts for one in rows(trace)}
    behind = 200 + -(-size // len(entries[0]))
    assert times == {*range(100, 200), *range(behind, 500)}
    (warning,) = trace.warnings
    assert "entries go on" in str(warning) and warning.offset == start


@pytest.mark.parametrize(
    ("inside", "size", "filling"),
    [
        (12, 4, b""),
        (30, 60, b""),
        (12, 1004, b""),
        (0, 60, b"\x2d"),
        (12, 1000, b"\x2d"),
        (0, 500, b"\0"),
    ],
)
def test_events_of_its_own_behind_a_hole_are_read(inside, size, filling):
    events = [own_event(data=number.to_bytes(4, "big")) for number in range(100)]
    data = with_declarations(CLASS, events=b"".join(events))
    start = data.index(events[20]) + inside
    trace = opened(data[:start] + filling * size + data[start + size :])
    found = {event.values.get("a") for event in rows(trace)}
    behind = 20 + -(-(inside + size) // len(events[0]))
    assert found >= {*range(20), *range(behind + 1, 100)}
    assert trace.warnings


@pytest.mark.parametrize(
    "line",
    DAMAGED,
)
def test_one_damaged_declaration(line):
    lines = (line,) if line.startswith("# class 0") else (CLASS, line)
    data = with_declarations(*lines, events=own_event(data=bytes(4)))
    with pytest.raises(TraceError, match="declarations are damaged"):
        rows(opened(data))


def test_nested_types_have_a_bottom():
    deep: object = "u8"
    for _ in range(100):
        deep = {"array": deep}
    line = "# class 0 " + json.dumps({"kind": "TYPED", "fields": [{"name": "a", "type": deep}]})
    with pytest.raises(TraceError, match="declarations are damaged"):
        rows(opened(with_declarations(line)))


@pytest.mark.parametrize(
    "broken",
    [
        own_event(1),
        own_event(0x7FFFFFFF),
        own_event(cpu=0x80000001),
        own_event(thread=1),
        own_event(track=1),
    ],
)
def test_events_of_what_is_not_declared_are_left_out_with_a_warning(broken):
    good = own_event(data=(7).to_bytes(4, "big"))
    trace = opened(with_declarations(CLASS, events=good + broken + good))
    assert [event.values for event in rows(trace)] == [{"a": 7}, {"a": 7}]
    assert "does not declare" in str(trace.warnings[0])


@pytest.mark.parametrize("data", [b"", b"\1\2\3", b"\1\2\3\4\5"])
def test_data_that_contradict_the_declaration(data):
    trace = opened(with_declarations(CLASS, events=own_event(data=data)))
    value = int.from_bytes(data[:4], "big") if len(data) >= 4 else 0
    assert [event.values for event in rows(trace)] == [{"a": value}]
    assert "contradict" in str(trace.warnings[0])


@pytest.mark.parametrize("rest", [1, 4096, 1 << 26, (1 << 26) + 1, 0xFFFFFFFF])
def test_continuations_that_are_not_there(rest):
    good = own_event(data=bytes(4))
    broken = own_event(rest=rest, data=bytes(4)) + words_64(0x5000) * 3
    trace = opened(with_declarations(CLASS, events=good + broken))
    assert len(rows(trace)) == 1
    assert trace.warnings[0].offset is not None


@pytest.mark.parametrize(
    ("declared", "value", "expected"),
    [
        ("i33", 1 << 32, 0),
        ("i33", -(1 << 32), -(1 << 32)),
        ("u33", 1 << 33, 0),
        ("u33", 7, 7),
        ("u1", 2, 0),
        ("i5", -17, 0),
    ],
)
def test_numbers_of_more_bits_than_declared_read_as_zero(declared, value, expected):
    size = 8 if declared.endswith("33") else 2
    line = CLASS.replace("u32", declared)
    trace = opened(
        with_declarations(
            line, events=own_event(data=value.to_bytes(size, "big", signed=value < 0))
        )
    )
    check(trace)
    assert [row.values for row in rows(trace)] == [{"a": expected}]
    assert bool(trace.warnings) == (value != expected)


def test_lists_that_claim_to_be_long():
    line = '# class 0 {"kind":"TYPED","fields":[{"name":"a","type":{"array":"null"}}]}'
    huge = (0xFFFFFFFF).to_bytes(4, "big")
    trace = opened(with_declarations(line, events=own_event(data=huge)))
    assert len(rows(trace)[0].values["a"]) < 1000
    assert trace.warnings
    line = '# class 0 {"kind":"TYPED","fields":[{"name":"a","type":"string"}]}'
    trace = opened(with_declarations(line, events=own_event(data=huge)))
    assert rows(trace)[0].values == {"a": b""}


@pytest.mark.parametrize(
    "nodes",
    [
        [(99, 1, False, 0, 0, -1)],
        [(NUMBER, 3, False, 0, 0, -1)],
        [(ARRAY, 1, False, 0, 1, -1)],
        [(ARRAY, 1, False, 1, 1, -1)],
        [(OPTIONAL, 1, False, 0, 0, -1)],
        [(VARIANT, 1, False, 0, 0, -1)],
    ],
)
def test_nodes_that_form_no_tree(nodes):
    with pytest.raises(ValueError, match="node"):
        Columns(nodes, 1)


def test_many_threads_cost_what_they_need():
    entries = b"".join(words_64(0x5000, tid=i * 0x9E3779B97F4A7C15 % 2**64) for i in range(5000))
    trace = opened(stream("64", entries))
    assert len(rows(trace)) == len({thread.tid for thread in trace.threads}) == 5000


def test_declarations_in_pieces_that_never_end():
    data = stream(
        "64",
        entry_64(0x0100, OWN_MAGIC, word=HEADER),
        *[entry_64(0x0100, b"x" * 4096, word=3)] * 50,
    )
    assert rows(opened(data)) == []


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_long_declaration_that_is_cut_costs_only_what_follows(variant):
    classes = [EventClass(Kind.TYPED, f"event_{i}") for i in range(300)]
    trace = Trace(format="none", event_classes=classes)
    batches = [
        batch_of(trace, [(0, 1, -1, -1, -1, ())]),
        batch_of(trace, [(i, 1, -1, -1, -1, ()) for i in range(300)]),
    ]
    data = written(with_batches(trace, batches), variant)
    for size in range(len(data) // 4, len(data), 997):
        assert _read(data[:size], variant) >= 1


def test_damage_does_not_fill_memory():
    line = (
        '# class 0 {"kind":"TYPED","fields":['
        '{"name":"a","type":{"optional":{"array":"u64","length":4000}}}]}'
    )
    trace = opened(with_declarations(line, events=own_event(data=b"\0\0") * 20_000))
    with pytest.raises(TraceError, match="not there"):
        rows(trace)


@pytest.mark.parametrize(
    "held",
    [
        {},
        {"streams": [1], "bits": 64},
        {"streams": [], "contents": {"": 5}, "bits": 64},
        {"contents": {"": b"no zstd"}, "bits": 64},
        {"contents": {"/../x": b""}, "bits": 64},
        {"contents": {5: b""}, "bits": 64, "trcfmt": 7, "files": 3},
    ],
)
def test_sidecars_of_travelled_traces_that_make_no_sense(held):
    trace = opened(_native("64"))
    again = with_batches(trace, [])
    again.source_batches = again.make_batches
    again.sidecar = {"aix": held}
    again.processes, again.threads, again.tracks = [], [], []
    # What is no zstd is refused, all else written anew.
    with contextlib.suppress(TraceError):
        written(again)
    assert reported(print_report, again) is None
