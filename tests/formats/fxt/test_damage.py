"""Damaged FXT: what precedes the damage is delivered with a warning, or there is a TraceError, and nothing else."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from support.fxt.example import every_record
from support.fxt.files import (
    ORDERS,
    argument,
    event,
    events,
    magic,
    opened,
    record,
    split,
    string,
    thread,
    unknown,
    without_records,
    written,
)

from converter.errors import TraceError
from converter.formats.fxt.reading import reader
from converter.formats.fxt.record_types import ArgumentType, EventType, RecordType
from converter.ir.canonical import canonical, difference
from converter.ir.invariants import check
from converter.limits import limited
from converter.storage.opening import open_source

FIXTURES = Path(__file__).parents[3] / "roundtrip_fixtures" / "fxt"


def outcome(data):
    """The canonical form and the warnings of what can be read, or the error."""
    try:
        trace = opened(data)
        return canonical(trace), trace.warnings
    except TraceError as error:
        return error, []


@pytest.mark.parametrize("order", ORDERS)
def test_truncation_at_every_byte(order):
    data = every_record(order)
    whole = events(opened(data))
    ends = [0]
    for one in split(data, order):
        ends.append(ends[-1] + len(one))
    # The first that is an event is the kernel object without a place in the tables.
    first_event = ends[10]
    # Records are laid out alike in both orders, so that in each every other size is enough.
    for size in range(ORDERS.index(order), len(data), 2):
        if size < 8:
            with pytest.raises(TraceError, match="magic number record"):
                opened(data[:size])
            continue
        trace = opened(data[:size])
        if size not in ends and size < first_event:
            with pytest.raises(TraceError, match="before the end of the file") as caught:
                events(trace)
            assert caught.value.offset == max(end for end in ends if end <= size)
            continue
        found = events(trace)
        # Rates of clocks follow from the whole file, so that times differ.
        assert [one["kind"] for one in found] == [one["kind"] for one in whole[: len(found)]]
        cut = [warning for warning in trace.warnings if "end of the file" in str(warning)]
        assert len(cut) == (size not in ends)


@pytest.mark.parametrize("order", ORDERS)
def test_every_byte_changed(order):
    data = every_record(order)
    # Records are laid out alike in both orders, so that in each a part of the bytes is enough.
    for at in range(ORDERS.index(order), len(data), 11):
        flipped = data[at] ^ (0xFF if at // 11 % 2 else 1 << (at // 22) % 8)
        form, _ = outcome(data[:at] + bytes([flipped]) + data[at + 1 :])
        if isinstance(form, TraceError):
            assert form.format == "fxt"


def test_noise_behind_the_magic_number():
    for seed in range(200):
        data = magic("little") + Random(seed).randbytes(seed * 3)
        form, _ = outcome(data)
        assert isinstance(form, TraceError | dict)


def test_records_go_on_behind_a_hole():
    start = magic("little") + thread("little", 1, 1, 1)
    instant = event("little", EventType.INSTANT, 1, name=b"n")
    trace = opened(start + bytes(64) + instant)
    assert len(events(trace)) == 1
    trace = opened(start + instant + bytes(4096) + instant * 3)
    assert len(events(trace)) == 4
    hole = len(start + instant)
    assert [warning.offset for warning in trace.warnings] == [hole, hole + 4096]
    assert "record size: expected 1 to 4095 words, found 0" in str(trace.warnings[0])


#: What may follow a hole: events with references, with texts and arguments inside, and a last word; scheduling.
BEHIND = {
    "reference": lambda order: event(order, EventType.INSTANT, 1, name=1),
    "inline": lambda order: event(
        order,
        EventType.DURATION_COMPLETE,
        1,
        thread=(1, 2),
        category=b"category",
        name=b"n" * 9,
        arguments=[argument(ArgumentType.NULL, b"one"), argument(ArgumentType.KOID, b"k" * 9, 3)],
        tail=5,
    ),
    "counter": lambda order: event(order, EventType.COUNTER, 1, name=1, tail=5),
    "switch": lambda order: record(
        order,
        RecordType.SCHEDULING,
        {"scheduling_type": 1, "cpu": 3, "outgoing_state": 3},
        timestamp=9,
        outgoing_thread=1,
        incoming_thread=2,
        arguments=[argument(ArgumentType.INT32, b"incoming_weight", 1)],
    ),
    "wakeup": lambda order: record(
        order,
        RecordType.SCHEDULING,
        {"scheduling_type": 2, "cpu": 3},
        timestamp=9,
        waking_thread=1,
    ),
}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", BEHIND)
def test_the_first_record_behind_a_hole_is_found(name, order):
    start = magic(order) + thread(order, 1, 1, 1) + string(order, 1, b"n")
    one = BEHIND[name](order)
    hole = bytes(800)
    trace = opened(start + one + hole + one * 6)
    assert len(events(trace)) == 7
    at = len(start + one)
    assert [warning.offset for warning in trace.warnings] == [at, at + len(hole)]


@pytest.mark.parametrize("words", [11 | 1 << 4, 1 << 4 | 0x8009 << 16], ids=["type", "size"])
def test_an_event_with_an_argument_that_is_none_is_no_end_of_a_hole(words):
    start = magic("little") + thread("little", 1, 1, 1)
    instant = event("little", EventType.INSTANT, 1, name=b"n")
    header = RecordType.EVENT | 3 << 4 | 1 << 20 | 1 << 24 | 1 << 48
    lure = b"".join(word.to_bytes(8, "little") for word in (header, 1, words))
    trace = opened(start + instant + bytes(64) + lure + instant * 5)
    assert trace.warnings == []
    assert len(events(trace)) == 6
    hole = len(start + instant)
    assert [warning.offset for warning in trace.warnings] == [hole, hole + 64 + len(lure)]


def test_a_record_of_size_zero_with_nothing_behind_ends_the_trace():
    start = magic("little") + thread("little", 1, 1, 1)
    with pytest.raises(TraceError, match=r"offset 0x20: record size: expected 1 to 4095 words"):
        events(opened(start + bytes(64)))


def test_a_record_that_has_taken_others_for_its_own():
    start = magic("little") + thread("little", 1, 1, 1)
    instant = event("little", EventType.INSTANT, 1, name=b"n")
    none = (11 | 200 << 4).to_bytes(8, "little") + b"\xff" * 64
    trace = opened(start + instant + none + instant * 200)
    assert len(events(trace)) == 201
    assert [warning.offset for warning in trace.warnings] == [
        len(start + instant),
        len(start + instant + none),
    ]
    # Those behind it are not its own.
    unknown_kind = (11 | 200 << 4).to_bytes(8, "little") + b"\xff" * 199 * 8
    trace = opened(start + instant + unknown_kind + instant * 200)
    assert len(events(trace)) == 202
    assert not trace.warnings


def test_a_file_of_nothing_but_damage_is_given_up():
    start = magic("little") + thread("little", 1, 1, 1)
    instant = event("little", EventType.INSTANT, 1, name=b"n")
    with limited({"holes": 10}):
        trace = opened(start + (instant * 5 + bytes(8)) * 20)
        assert len(events(trace)) == 5 * 11
    assert "limits={'holes': 20}" in str(trace.warnings[-1])


def test_an_empty_trace_is_no_damage():
    trace = opened(magic("little"))
    assert events(trace) == []
    assert not trace.warnings
    (batch,) = trace.batches()
    assert len(batch) == 0


def test_too_many_providers():
    start = magic("little") + thread("little", 1, 1, 1) + event("little", EventType.INSTANT, 1)
    enough = b"".join(unknown("little", 0, b"", 2 | id << 4) for id in range(5000))
    trace = opened(start + enough)
    assert len(events(trace)) == 1
    assert "more than 4,096 trace providers" in str(trace.warnings[0])


def test_a_large_record_beyond_the_file_allocates_nothing():
    start = magic("little") + thread("little", 1, 1, 1) + event("little", EventType.INSTANT, 1)
    huge = (15 | 0xFFFFFFFF << 4).to_bytes(8, "little")
    trace = opened(start + huge + bytes(100))
    assert len(events(trace)) == 1
    assert "expected a record of 34,359,738,360 bytes, found 108" in str(trace.warnings[0])


@pytest.mark.parametrize("left", range(0, 60, 4))
def test_a_file_that_becomes_shorter_while_it_is_read(left, monkeypatch):
    monkeypatch.setattr(reader, "WINDOW", 64)
    instant = event("little", EventType.INSTANT, 1)
    source = open_source(magic("little") + thread("little", 1, 1, 1) + instant * 5)
    trace = reader.read(source)
    batches = trace.batches()
    assert len(next(batches)) == 2
    source._data = source._data[: 64 + left]
    monkeypatch.setattr(source, "_fill", lambda offset, view: _fill(source._data, offset, view))
    rest = sum(len(batch) for batch in batches)
    assert rest == min(left // 16, 3)
    assert len(trace.warnings) == (left < 48)


def _fill(data, offset, view):
    part = data[offset : offset + len(view)]
    view[: len(part)] = part
    return len(part)


@pytest.mark.parametrize("window", [16, 24, 64, 200, 1000])
@pytest.mark.parametrize("order", ORDERS)
def test_windows_of_any_size_give_the_same(order, window, monkeypatch):
    data = every_record(order) + unknown(order, 12, bytes(2000))
    whole = opened(data)
    canonical(whole)
    monkeypatch.setattr(reader, "WINDOW", window)
    trace = opened(data)
    assert difference(whole, trace, sidecar=True) is None
    assert written(trace, "be" if order == "big" else "") == data
    variant = "be" if order == "big" else "large"
    assert difference(whole, opened(written(without_records(trace), variant))) is None


@pytest.mark.parametrize("order", ORDERS)
def test_every_record_keeps_the_invariants(order):
    check(opened(every_record(order)))


@pytest.mark.parametrize("order", ORDERS)
def test_reading_again_gives_the_same_numbers(order):
    trace = opened(every_record(order))

    def numbers():
        return [
            (batch.class_id.tolist(), batch.thread.tolist(), sorted(batch.tables))
            for batch in trace.batches()
        ]

    first = numbers()
    tables = (len(trace.event_classes), len(trace.threads), len(trace.processes))
    assert numbers() == first
    assert (len(trace.event_classes), len(trace.threads), len(trace.processes)) == tables


@pytest.mark.parametrize("order", ORDERS)
def test_the_example_of_every_record(order):
    assert (FIXTURES / f"every-record-{order}.fxt").read_bytes() == every_record(order)


@pytest.mark.parametrize("name", sorted(path.name for path in FIXTURES.glob("*.fxt")))
def test_fixtures_survive_both_ways(name):
    data = (FIXTURES / name).read_bytes()
    variant = "be" if data.startswith(magic("big")) else "large"
    assert written(opened(data), variant) == data
    again = written(without_records(opened(data)), variant)
    assert difference(opened(data), opened(again)) is None


def test_a_recording_of_magic_trace():
    trace = opened((FIXTURES / "magic-trace.fxt").read_bytes())
    found = events(trace)
    assert len(found) > 400
    assert found[0] | {"name": b""} == {
        "kind": "SLICE_END",
        "ts": 209,
        "thread": (1, 2),
        "name": b"",
        "category": b"",
    }
    assert trace.clock.epoch_ns == 1_650_419_113_989_693_816
    assert [process.name for process in trace.processes] == ["2248878/2248878"]
    assert [thread.name for thread in trace.threads] == ["main"]
    assert trace.sidecar == {"fxt": {"providers": [[0, b"jane_tracing"]]}}
    assert not trace.warnings
    # A string that is used before it is registered would be empty.
    assert all(one["name"] for one in found if one["kind"] == "SLICE_BEGIN")
    assert string("little", 1, b"process") in (FIXTURES / "magic-trace.fxt").read_bytes()
