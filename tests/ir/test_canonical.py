"""The canonical form: what it forgets, what it does not, and that it can be loaded again."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.traces.renumbering import renumbered
from support.traces.strategies import batch_of, traces

from converter.ir.canonical import canonical, difference, dump, load
from converter.ir.collect import collect, with_batches
from converter.ir.columns import ListColumn, OptionalColumn
from converter.ir.events import Batch, EventClass, Field, NativeRecords, Table
from converter.ir.field_classes import (
    ArrayClass,
    BytesClass,
    FloatClass,
    IntegerClass,
    OptionalClass,
    StringClass,
)
from converter.ir.invariants import check
from converter.ir.kinds import Kind, Role
from converter.ir.trace import ClockDomain, Process, Thread, Trace, Track, TrackScope

NAMED = EventClass(Kind.INSTANT, fields=(Field("name", StringClass(), Role.NAME),))


@given(traces())
def test_load_gives_back_what_was_dumped(trace: Trace) -> None:
    loaded = load(dump(trace))
    check(loaded)
    assert canonical(loaded) == canonical(trace)
    assert dump(loaded) == dump(trace)
    assert difference(trace, loaded) is None


@given(traces(), st.randoms(use_true_random=False))
def test_numbering_and_batches_do_not_matter(trace: Trace, rng: random.Random) -> None:
    assert dump(renumbered(trace, rng)) == dump(trace)


@given(traces(), st.randoms(use_true_random=False))
def test_streams_at_equal_times_do_not_matter(trace: Trace, rng: random.Random) -> None:
    assert dump(interleaved(trace, rng)) == dump(trace)


@given(traces())
def test_collect_changes_nothing(trace: Trace) -> None:
    assert dump(collect(trace)) == dump(trace)


def interleaved(trace: Trace, rng: random.Random) -> Trace:
    """The same trace with the streams at equal times in another order; untimed events stay."""
    batches = []
    for batch in trace.batches():
        timed = np.array([trace.event_classes[i].timed for i in batch.class_id.tolist()], np.bool_)
        order = np.arange(len(batch))
        for ts in set(batch.ts[timed].tolist()):
            places = np.flatnonzero(timed & (batch.ts == ts))
            keys = list(
                zip(
                    batch.cpu[places].tolist(),
                    batch.track[places].tolist(),
                    batch.thread[places].tolist(),
                    strict=True,
                )
            )
            streams = sorted(set(keys))
            rng.shuffle(streams)
            ranked = np.argsort([streams.index(key) for key in keys], kind="stable")
            order[places] = places[ranked]
        batches.append(
            Batch(
                ts=batch.ts[order],
                class_id=batch.class_id[order],
                row=batch.row[order],
                tables=batch.tables,
                thread=batch.thread[order],
                cpu=batch.cpu[order],
                track=batch.track[order],
            )
        )
    return with_batches(trace, batches)


def small_trace(**changes: object) -> Trace:
    """Two instants at one time in one stream, and one in another."""
    trace = Trace(
        format="none",
        processes=[Process(1, "p")],
        threads=[Thread(2, 0, "t"), Thread(3, 0, "u")],
        tracks=[Track("top"), Track("below", parent=0)],
        event_classes=[NAMED],
    )
    trace = replace(trace, **changes)  # type: ignore[arg-type]
    events = [
        (0, 10, 0, 0, -1, (b"a",)),
        (0, 10, 0, 0, -1, (b"b",)),
        (0, 10, 1, 1, 1, (b"c",)),
    ]
    return with_batches(trace, [batch_of(trace, events)])


def with_column(field_class: object, column: object, length: int) -> Trace:
    """A trace of one class whose only field has this column."""
    trace = Trace(
        format="none",
        event_classes=[EventClass(Kind.TYPED, "e", fields=(Field("x", field_class),))],  # type: ignore[arg-type]
    )
    batch = Batch(
        ts=np.arange(length, dtype=np.int64),
        class_id=np.zeros(length, np.int32),
        row=np.arange(length, dtype=np.int32),
        tables={0: Table(length, [column])},  # type: ignore[list-item]
    )
    return with_batches(trace, [batch])


CHANGES = {
    "clock": replace(small_trace(), clock=ClockDomain("ns", Fraction(1000))),
    "clock_domains": replace(small_trace(), clock_domains=[ClockDomain("tsc", None)]),
    "environment": replace(small_trace(), environment={"host": "h"}),
    "processes": replace(small_trace(), processes=[Process(1, "q")]),
    "threads": replace(small_trace(), threads=[Thread(2, 0, "t"), Thread(3, 0, "v")]),
    "tracks": replace(small_trace(), tracks=[Track("other"), Track("below", parent=0)]),
    "classes": replace(
        small_trace(), event_classes=[replace(NAMED, fields=(replace(NAMED.fields[0], unit="s"),))]
    ),
}


@pytest.mark.parametrize("part", CHANGES)
def test_the_difference_names_the_part(part: str) -> None:
    found = difference(small_trace(), CHANGES[part])
    assert found is not None
    assert found.startswith(part)
    assert canonical(small_trace()) != canonical(CHANGES[part])


def test_order_within_a_stream_counts() -> None:
    trace = small_trace()
    swapped = [(0, 10, 0, 0, -1, (name,)) for name in (b"b", b"a")] + [(0, 10, 1, 1, 1, (b"c",))]
    found = difference(trace, with_batches(trace, [batch_of(trace, swapped)]))
    assert found is not None
    assert found.splitlines() == [
        'events[0] of 3 and 3 differ in field \'name\': "a" and "b"',
        '  first:  ts 10, INSTANT, cpu 0, thread [1,2,"t"], name="a"',
        '  second: ts 10, INSTANT, cpu 0, thread [1,2,"t"], name="b"',
    ]


PLAIN = {"unit": "", "identity": 0}


def test_the_canonical_form_written_out() -> None:
    """Whatever is at position 0 of its table is something, and each part has its place."""
    untimed = replace(NAMED, timed=False, fields=(*NAMED.fields, Field("x", IntegerClass(8))))
    trace = Trace(
        format="none",
        clock=ClockDomain("tsc", Fraction(5, 2), 7, "of CPU 0"),
        clock_domains=[ClockDomain("boot", None)],
        environment={"b": 1, "a": "x"},
        processes=[Process(20, "q", 3, ("q", "-v")), Process(10, "p")],
        threads=[Thread(5, 0, "t"), Thread(6, 1, "u"), Thread(4, 1, "s")],
        tracks=[
            Track("of a thread", TrackScope.THREAD, 0),
            Track("of a process", TrackScope.PROCESS, 0, 0, "bytes", 9),
            Track("of a CPU", TrackScope.CPU, 0),
            Track("of nobody", TrackScope.THREAD, -1),
            Track("of no process", TrackScope.PROCESS, -1),
        ],
        event_classes=[NAMED, untimed],
    )
    events = [
        (1, 50, 0, 0, 1, (b"first", 1)),
        (0, 10, 1, 0, 0, (b"f",)),
        (0, 10, 0, 1, 2, (b"e",)),
        (0, 10, 0, 0, 2, (b"d",)),
        (0, 10, -1, -1, 3, (b"b",)),
        (0, 10, -1, -1, -1, (b"a",)),
        (0, 9, -1, -1, 4, (b"0",)),
        (1, 40, -1, -1, -1, (b"second", 0)),
    ]
    trace = with_batches(trace, [batch_of(trace, events[:3]), batch_of(trace, events[3:])])
    thread = {"name": "of a thread", "scope": "THREAD", "owner": [20, 5, "t"]} | PLAIN
    owned = {"name": "of a process", "scope": "PROCESS", "owner": 20, "unit": "bytes"}
    cpu = {"name": "of a CPU", "scope": "CPU", "owner": 0} | PLAIN
    nobody = {"name": "of nobody", "scope": "THREAD", "owner": None} | PLAIN
    no_process = {"name": "of no process", "scope": "PROCESS", "owner": None} | PLAIN
    tracks = [[cpu], [thread, owned | {"identity": 9}], [thread], [no_process], [nobody]]
    classes = [
        {"kind": "INSTANT"} | _fields(),
        {
            "kind": "INSTANT",
            "fields": [*_fields()["fields"], {"name": "x", "type": "u8"}],
            "timed": False,
        },
    ]
    form = canonical(trace)
    assert list(form) == [
        *("clock", "clock_domains", "environment", "processes"),
        *("threads", "tracks", "classes", "events", "untimed"),
    ]
    assert form["clock"] == {
        "name": "tsc",
        "ticks_per_second": "5/2",
        "epoch_ns": 7,
        "description": "of CPU 0",
    }
    assert form["clock_domains"][0]["ticks_per_second"] is None
    assert list(form["environment"].items()) == [("a", "x"), ("b", 1)]
    assert form["processes"] == [
        {"pid": 10, "name": "p", "parent_pid": None, "command_line": []},
        {"pid": 20, "name": "q", "parent_pid": 3, "command_line": ["q", "-v"]},
    ]
    # By pid and tid, and not by text.
    assert form["threads"] == [[10, 4, "s"], [10, 6, "u"], [20, 5, "t"]]
    assert form["tracks"] == tracks
    assert form["classes"] == classes
    # At equal times by CPU, track and thread, of which "none" is first.
    assert form["events"] == [
        [9, 0, None, None, 3, ["0"]],
        [10, 0, None, None, None, ["a"]],
        [10, 0, None, None, 4, ["b"]],
        [10, 0, 0, 1, 0, ["e"]],
        [10, 0, 0, 2, 0, ["d"]],
        [10, 0, 1, 2, 2, ["f"]],
    ]
    assert form["untimed"] == [[1, 0, 2, 1, ["first", 1]], [1, None, None, None, ["second", 0]]]
    assert canonical(load(form)) == form


def numbers(*values: tuple[int, int], ts: int = 5, cpu: int = -1, extra: int = 0) -> Trace:
    """Events of one class with two numbers each, on thread 0 and track 0."""
    fields = (Field("x", IntegerClass(8)), Field("y", IntegerClass(8)))
    trace = Trace(
        format="none",
        processes=[Process(1, "p"), *(Process(9 - number, "") for number in range(extra))],
        threads=[Thread(2, 0, "t")],
        tracks=[Track("top"), Track("below", parent=0)],
        event_classes=[EventClass(Kind.TYPED, "e", "c", fields)],
    )
    events = [(0, ts, cpu, 0, 1, pair) for pair in values]
    return with_batches(trace, [batch_of(trace, events)] if events else [])


@pytest.mark.parametrize(
    ("first", "second", "lines"),
    [
        (
            numbers((1, 1)),
            numbers((1, 2)),
            [
                "events[0] of 1 and 1 differ in field 'y': 1 and 2",
                '  first:  ts 5, c:e:TYPED, thread [1,2,"t"], track ["top","below"], x=1, y=1',
                '  second: ts 5, c:e:TYPED, thread [1,2,"t"], track ["top","below"], x=1, y=2',
            ],
        ),
        (
            numbers((1, 1)),
            numbers((1, 2), cpu=0),
            [
                "events[0] of 1 and 1 differ",
                '  first:  ts 5, c:e:TYPED, thread [1,2,"t"], track ["top","below"], x=1, y=1',
                '  second: ts 5, c:e:TYPED, cpu 0, thread [1,2,"t"], track ["top","below"], x=1, y=2',
            ],
        ),
        (
            numbers((1, 1), (0, 3)),
            numbers((1, 1)),
            [
                "events: 2 in the first, 1 in the second; only in the first:",
                '  ts 5, c:e:TYPED, thread [1,2,"t"], track ["top","below"], x=0, y=3',
            ],
        ),
        (
            numbers((1, 1)),
            numbers((1, 1), (0, 3)),
            [
                "events: 1 in the first, 2 in the second; only in the second:",
                '  ts 5, c:e:TYPED, thread [1,2,"t"], track ["top","below"], x=0, y=3',
            ],
        ),
        (
            numbers(extra=4),
            replace(numbers(), processes=[Process(1, "p"), Process(3, "")]),
            [
                "processes differ: 4 only in the first, 1 only in the second",
                *(
                    f'  first:  {{"pid":{pid},"name":"","parent_pid":null,"command_line":[]}}'
                    for pid in (6, 7, 8)
                ),
                '  second: {"pid":3,"name":"","parent_pid":null,"command_line":[]}',
            ],
        ),
        (
            replace(numbers(), processes=[Process(2, "")]),
            numbers(extra=4),
            [
                "processes differ: 1 only in the first, 5 only in the second",
                '  first:  {"pid":2,"name":"","parent_pid":null,"command_line":[]}',
                '  second: {"pid":1,"name":"p","parent_pid":null,"command_line":[]}',
                *(
                    f'  second: {{"pid":{pid},"name":"","parent_pid":null,"command_line":[]}}'
                    for pid in (6, 7)
                ),
            ],
        ),
        (
            small_trace(environment={"a": 1, "b": 0}),
            small_trace(environment={"a": True, "b": 0}),
            ["environment.a: 1 and true"],
        ),
        (
            small_trace(environment={"a": 0}),
            small_trace(environment={"a": 0, "b": 0}),
            ["environment.b: only in the second: 0"],
        ),
        (
            small_trace(clock_domains=[ClockDomain("x", None), ClockDomain("y", None, 0)]),
            small_trace(clock_domains=[ClockDomain("x", None), ClockDomain("y", None)]),
            ["clock_domains[1].epoch_ns: 0 and null"],
        ),
    ],
)
def test_a_difference_says_where_it_is(first: Trace, second: Trace, lines: list[str]) -> None:
    assert (difference(first, second) or "").splitlines() == lines
    assert difference(first, first) is None


def test_a_large_form_is_loaded_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Events without a time have that of the first event, so that the first batch begins with it."""
    monkeypatch.setattr("converter.ir.canonical._BATCH", 2)
    trace = numbers((1, 1), (2, 2), (3, 3), ts=7)
    assert [len(batch) for batch in load(dump(trace)).batches()] == [2, 1]
    assert dump(load(dump(trace))) == dump(trace)
    assert list(load(dump(numbers())).batches()) == []
    untimed = replace(trace, event_classes=[replace(trace.event_classes[0], timed=False)])
    (first, _) = load(dump(untimed)).batches()
    assert first.ts.tolist() == [0, 0]
    mixed = replace(NAMED, timed=False)
    both = Trace(format="none", event_classes=[NAMED, mixed])
    events = [(0, 7, -1, -1, -1, (b"a",)), (1, 9, -1, -1, -1, (b"b",))]
    (only,) = load(dump(with_batches(both, [batch_of(both, events)]))).batches()
    assert only.ts.tolist() == [7, 7]


def test_a_missing_event_is_told() -> None:
    trace = small_trace()
    shorter = with_batches(
        trace, [batch_of(trace, [(0, 10, 0, 0, -1, (b"a",)), (0, 10, 1, 1, 1, (b"c",))])]
    )
    found = difference(trace, shorter)
    assert found is not None
    assert "events[1] of 3 and 2" in found
    last = with_batches(
        trace, [batch_of(trace, [(0, 10, 0, 0, -1, (b"a",)), (0, 10, 0, 0, -1, (b"b",))])]
    )
    # The track is used by none of its events, so that it goes too.
    assert (difference(trace, last) or "").startswith("tracks differ: 1 only in the first")


def test_unused_classes_and_tracks_do_not_count_but_threads_do() -> None:
    trace = small_trace()
    more = replace(
        trace,
        event_classes=[*trace.event_classes, EventClass(Kind.TYPED, "unused")],
        tracks=[*trace.tracks, Track("unused")],
    )
    assert difference(trace, more) is None
    more = replace(trace, threads=[*trace.threads, Thread(9, 0, "idle")])
    assert difference(trace, more) == (
        'threads differ: 0 only in the first, 1 only in the second\n  second: [1,9,"idle"]'
    )


def test_equal_classes_are_one() -> None:
    trace = small_trace(event_classes=[NAMED, NAMED])
    events = [
        (0, 10, 0, 0, -1, (b"a",)),
        (1, 10, 0, 0, -1, (b"b",)),
        (1, 10, 1, 1, 1, (b"c",)),
    ]
    assert dump(with_batches(trace, [batch_of(trace, events)])) == dump(small_trace())


@pytest.mark.parametrize("bits", [32, 64])
def test_floats_are_told_apart_by_their_bits(bits: int) -> None:
    patterns = {
        32: [0, 1 << 31, 0x7F800000, 0xFF800000, 0x7FC00000, 0x7FC00001, 0xFFC00000, 0x3DCCCCCD],
        64: [0, 1 << 63, 0x7FF << 52, 0xFFF << 52, 0x7FF8 << 48, (0x7FF8 << 48) + 1, 0xFFF8 << 48],
    }[bits]
    column = np.array(patterns, f"u{bits // 8}").view(f"f{bits // 8}")
    trace = with_column(FloatClass(bits), column, len(column))
    texts = [event[-1][0] for event in canonical(trace)["events"]]
    assert texts[:5] == ["0.0", "-0.0", "inf", "-inf", "nan"]
    assert len(set(texts)) == len(texts)
    (batch,) = load(dump(trace)).batches()
    again = batch.tables[0].column(0)
    assert isinstance(again, np.ndarray)
    assert again.view(f"u{bits // 8}").tolist() == patterns


def test_extreme_integers_are_exact() -> None:
    column = np.array([0, 2**64 - 1], np.uint64)
    form = canonical(with_column(IntegerClass(64), column, 2))
    assert [event[-1] for event in form["events"]] == [[0], [2**64 - 1]]


def test_text_is_text_and_other_bytes_are_marked() -> None:
    trace = small_trace()
    events = [(0, 10, 0, 0, -1, ("né\n".encode(),)), (0, 11, 0, 0, -1, (b"\xff",))]
    form = canonical(with_batches(trace, [batch_of(trace, events)]))
    assert [event[-1] for event in form["events"]] == [["né\n"], [{"bytes": "/w=="}]]
    blob = ListColumn(np.array([1, 3, 3]), np.frombuffer(b"xabcd", np.uint8))
    form = canonical(with_column(BytesClass(), blob, 2))
    assert [event[-1] for event in form["events"]] == [[{"bytes": "YWI="}], [{"bytes": ""}]]


def test_what_stands_where_there_is_no_value_means_nothing() -> None:
    column = OptionalColumn(np.array([False, True]), np.array([99999, 0], np.int32))
    trace = with_column(OptionalClass(StringClass()), column, 2)
    assert [event[-1] for event in canonical(trace)["events"]] == [[None], [""]]
    inner = ListColumn(np.array([2, 3, 3]), np.arange(5, dtype=np.uint64))
    trace = with_column(ArrayClass(IntegerClass(64)), inner, 2)
    assert [event[-1] for event in canonical(trace)["events"]] == [[[2]], [[]]]


def test_untimed_events_have_no_time() -> None:
    untimed = replace(NAMED, timed=False)
    trace = Trace(format="none", event_classes=[NAMED, untimed])
    events = [(0, 5, -1, -1, -1, (b"a",)), (1, 5, -1, -1, -1, (b"b",))]
    form = canonical(with_batches(trace, [batch_of(trace, events)]))
    assert form["events"] == [
        [5, form["classes"].index({"kind": "INSTANT"} | _fields()), None, None, None, ["a"]]
    ]
    assert [event[1:] for event in form["untimed"]] == [[None, None, None, ["b"]]]


def _fields() -> dict[str, object]:
    return {"fields": [{"name": "name", "type": "string", "role": "NAME"}]}


def test_native_records_do_not_count_and_the_sidecar_only_when_asked_for() -> None:
    class Lazy:
        def __bytes__(self) -> bytes:
            return b"kallsyms"

    trace = small_trace()
    sidecar = {"ftrace": {"text": Lazy(), "pages": lambda: [1, b"\0", None, 1.5], "name": "x"}}
    (batch,) = trace.batches()
    native = NativeRecords("f", memoryview(b"abc"), np.arange(3), np.ones(3, np.int64))
    kept = replace(trace, sidecar=sidecar, warnings=[])
    kept = with_batches(
        kept,
        [
            Batch(
                ts=batch.ts,
                class_id=batch.class_id,
                row=batch.row,
                tables=batch.tables,
                thread=batch.thread,
                cpu=batch.cpu,
                track=batch.track,
                native=native,
            )
        ],
    )
    assert difference(trace, kept) is None
    assert dump(trace) == dump(kept)
    form = {
        "name": "x",
        "pages": [1, {"bytes": "AA=="}, None, {"float": "1.5"}],
        "text": {"bytes": "a2FsbHN5bXM="},
    }
    assert canonical(kept, sidecar=True)["sidecar"] == {"ftrace": form}
    again = load(dump(kept, sidecar=True))
    assert again.sidecar["ftrace"]["text"] == b"kallsyms"
    assert difference(kept, again, sidecar=True) is None
    assert difference(trace, kept, sidecar=True) == (
        "sidecar.ftrace: only in the second: " + json.dumps(form, separators=(",", ":"))
    )
    plain, nested = (small_trace(sidecar={"f": {"x": value}}) for value in (0, {"y": 0}))
    assert difference(plain, nested, sidecar=True) == 'sidecar.f.x: 0 and {"y":0}'
    assert difference(nested, plain, sidecar=True) == 'sidecar.f.x: {"y":0} and 0'


def test_a_sidecar_of_something_else_is_refused() -> None:
    with pytest.raises(TypeError, match="not a object"):
        canonical(small_trace(sidecar={"f": {"x": object()}}), sidecar=True)


def test_dump_is_json_with_a_line_an_event() -> None:
    text = dump(small_trace())
    form = json.loads(text)
    assert form["threads"] == [[1, 2, "t"], [1, 3, "u"]]
    assert [step["name"] for step in form["tracks"][0]] == ["top", "below"]
    assert '[10,0,0,0,null,["a"]],\n' in text
