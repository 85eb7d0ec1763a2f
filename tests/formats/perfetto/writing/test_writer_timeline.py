"""The Perfetto writer's track events, tracks and counters, log entries and samples."""

from __future__ import annotations

import numpy as np
from support.perfetto.files import File
from support.perfetto.writing import (
    CAPABILITIES,
    CATEGORY,
    NAME,
    events_of,
    opened,
    parsed,
    projected,
    trace_of,
    track_events,
    written,
)
from support.traces.losses import line_of
from support.traces.strategies import batch_of

from converter.formats.perfetto import mapping
from converter.ir.canonical import difference
from converter.ir.collect import collect, with_batches
from converter.ir.events import EventClass, Field
from converter.ir.field_classes import (
    ArrayClass,
    BooleanClass,
    FieldClass,
    FloatClass,
    IntegerClass,
    Member,
    NullClass,
    OptionalClass,
    StringClass,
    StructureClass,
    Style,
    VariantClass,
)
from converter.ir.kinds import Kind, Role
from converter.ir.symbols import SymbolTable
from converter.ir.trace import ClockDomain, Track, TrackScope
from converter.projection.project import project

# The timeline


def test_annotations_nest():
    inner = StructureClass((Member("x", IntegerClass(64)), Member("", StructureClass(()))))
    kinds: dict[str, tuple[FieldClass, object]] = {
        "dictionary": (inner, [("x", 5), ("", [])]),
        "array": (ArrayClass(StringClass()), [b"a", b"b", b""]),
        "mixed": (
            ArrayClass(VariantClass((Member("0", FloatClass()), Member("1", BooleanClass())))),
            [("0", 1.5), ("1", True)],
        ),
        "nothing": (NullClass(), None),
        "absent": (OptionalClass(IntegerClass(64)), None),
        "there": (OptionalClass(IntegerClass(64)), 7),
        "pointer": (IntegerClass(64, style=Style.POINTER), 0xFFFF),
    }
    fields = tuple(Field(name, kind) for name, (kind, _) in kinds.items())
    event_class = EventClass(Kind.INSTANT, fields=(NAME, CATEGORY, *fields))
    row = (b"tick", b"cat", *(held for _, held in kinds.values()))
    out = written(trace_of(event_class, row))
    (event,) = track_events(out)
    found = {a.name_iid: a for a in event.debug_annotations}
    assert len(found) == len(kinds)
    (again,) = events_of(opened(out))
    assert again["dictionary"] == [("x", 5), ("", [])]
    assert again["array"] == [b"a", b"b", b""]
    assert [held for _, held in again["mixed"]] == [1.5, True]
    assert (again["nothing"], again["absent"], again["there"]) == (None, None, 7)
    assert again["pointer"] == 0xFFFF


def test_texts_are_interned_by_the_packet_that_uses_them_first():
    event_class = EventClass(Kind.INSTANT, fields=(NAME, CATEGORY))
    out = written(trace_of(event_class, (b"a", b"c"), (b"b", b"c"), (b"a", b"c")))
    packets = [p for p in parsed(out).packet if p.HasField("track_event")]
    assert [[n.name for n in p.interned_data.event_names] for p in packets] == [["a"], ["b"], []]
    assert [len(p.interned_data.event_categories) for p in packets] == [1, 0, 0]
    assert all(p.sequence_flags == 2 for p in packets)
    first = next(p for p in parsed(out).packet if p.trusted_packet_sequence_id)
    assert first.sequence_flags == 1


def test_what_becomes_text_beside_a_counter_is_an_argument():
    lists = Field("lists", ArrayClass(StructureClass(())))
    fields = (NAME, Field("value", FloatClass(64), Role.VALUE), lists)
    trace = projected(trace_of(EventClass(Kind.COUNTER, fields=fields), (b"memory", 1.5, [[], []])))
    (event,) = events_of(trace)
    assert (event["value"], type(event["lists"])) == (1.5, bytes)
    assert difference(opened(written(trace)), trace) is None


def test_counters_are_on_tracks_of_counters():
    fields = (
        NAME,
        Field("used", IntegerClass(64), Role.VALUE),
        Field("free", FloatClass(64), Role.VALUE),
    )
    trace = trace_of(EventClass(Kind.COUNTER, fields=fields), (b"memory", 5, 1.5))
    target = projected(trace)
    out = written(target)
    described = [p.track_descriptor for p in parsed(out).packet if p.HasField("track_descriptor")]
    counters = {d.name: d for d in described if d.HasField("counter")}
    assert sorted(counters) == ["memory free", "memory used"]
    processes = {d.uuid: d.process.pid for d in described if d.HasField("process")}
    assert {processes[d.parent_uuid] for d in counters.values()} == {10}
    assert {e.track_uuid for e in track_events(out)} == {d.uuid for d in counters.values()}
    assert difference(target, opened(out)) is None


def test_tracks_keep_scope_parent_unit_and_identity():
    trace = trace_of(EventClass(Kind.INSTANT, fields=(NAME, CATEGORY)))
    trace.tracks = [
        Track("outer", TrackScope.CPU, 3),
        Track("inner", TrackScope.THREAD, 0, 0, "", 9),
        Track("inner", TrackScope.THREAD, 0, 0, "", 10),
        Track("bytes", TrackScope.PROCESS, 0, -1, "bytes"),
        Track("free", TrackScope.GLOBAL, -1, 3),
    ]
    events = [(0, 100 + i, -1, -1, i, (b"x", b"")) for i in range(5)]
    trace = with_batches(trace, [batch_of(trace, events)])
    out = written(trace)
    assert difference(trace, opened(out)) is None
    described = [p.track_descriptor for p in parsed(out).packet if p.HasField("track_descriptor")]
    assert len({d.uuid for d in described}) == len(described)
    assert written(trace) == out


# Log entries and samples


MESSAGE = Field("message", StringClass(), Role.MESSAGE)


def test_log_entries_are_androids_on_the_wall_clock():
    trace = trace_of(EventClass(Kind.LOG, "tracef", "app", (MESSAGE,)), (b"hello",))
    trace.clock = ClockDomain("boottime", epoch_ns=1_700_000_000_000_000_000)
    target, report = project(trace, CAPABILITIES, "perfetto")
    target = collect(target)
    out = written(target)
    (entry,) = [e for p in parsed(out).packet for e in p.android_log.events]
    assert (entry.pid, entry.tid, entry.message) == (10, 11, "hello")
    assert (entry.tag, entry.prio) == ("app:tracef", 4)
    assert entry.timestamp == trace.clock.epoch_ns + 100
    assert difference(target, opened(out)) is None
    assert "event-name-dropped event=app:tracef (1)" in map(line_of, report)


def test_log_entries_of_an_unknown_time_have_a_clock_to_be_on():
    target = projected(trace_of(EventClass(Kind.LOG, fields=(MESSAGE,)), (b"hello",)))
    out = written(target)
    snapshots = [p.clock_snapshot for p in parsed(out).packet if p.HasField("clock_snapshot")]
    assert [{clock.clock_id: clock.timestamp for clock in s.clocks} for s in snapshots] == [
        {1: 0, 6: 0}
    ]
    assert opened(out).clock.epoch_ns is None
    assert difference(target, opened(out)) is None


def test_log_entries_with_arguments_are_instants():
    extra = Field("logger", StringClass())
    target = projected(trace_of(EventClass(Kind.LOG, fields=(MESSAGE, extra)), (b"hi", b"root")))
    (event,) = events_of(opened(written(target)))
    assert event == {"name": b"log", "category": b"", "message": b"hi", "logger": b"root"}


def test_log_entries_are_between_the_snapshots_that_they_were_between():
    file = File()
    for boot, real in ((0, 1_000), (500, 2_000), (900, 2_350)):
        snapshot = file.packet().clock_snapshot
        snapshot.clocks.add(clock_id=6, timestamp=boot)
        snapshot.clocks.add(clock_id=1, timestamp=real)
    times = [900, 1_000, 1_499, 1_999, 2_000, 2_100, 2_349, 2_350, 9_000]
    log = file.packet().android_log
    for real in times:
        log.events.add(log_id=1, timestamp=real, tag="t", message="m")
    trace = opened(file.bytes())
    entries = [e for p in parsed(written(trace)).packet for e in p.android_log.events]
    found = [entry.timestamp for entry in entries]
    assert difference(trace, opened(written(trace))) is None
    # Times in between are converted from two times of the clock that was set back.
    assert [found[times.index(time)] for time in (900, 1_000, 1_499, 9_000)] == [
        900,
        1_000,
        1_499,
        9_000,
    ]
    assert not any(entry.HasField("tid") for entry in entries)


def test_samples_bring_the_call_stacks_that_no_packet_did_before():
    frames = Field("frames", ArrayClass(IntegerClass(64, style=Style.POINTER)), Role.FRAMES)
    stacks = ([0x1010, 0x2000], [0x1010], [0x1010, 0x2000], [])
    trace = trace_of(EventClass(Kind.SAMPLE, fields=(frames,)), *((one,) for one in stacks), cpu=1)
    table = (np.array([0x1000, 0x2000, 0x3000], np.uint64), [b"inner", b"outer", b"end"])
    trace.symbols = SymbolTable(lambda: table)
    target = projected(trace)
    out = written(target)
    packets = parsed(out).packet
    samples = [p.perf_sample for p in packets if p.HasField("perf_sample")]
    assert [(s.cpu, s.pid, s.tid) for s in samples] == [(1, 10, 11)] * 4
    (data,) = [p.interned_data for p in packets if p.interned_data.callstacks]
    names = {text.iid: text.str for text in data.function_names}
    by_iid = {frame.iid: (names[frame.function_name_id], frame.rel_pc) for frame in data.frames}
    known = {stack.iid: [by_iid[iid] for iid in stack.frame_ids] for stack in data.callstacks}
    assert len(data.frames) == 2
    assert [known.get(s.callstack_iid, []) for s in samples] == [
        [(b"outer", 0x2000), (b"inner", 0x1010)],
        [(b"inner", 0x1010)],
        [(b"outer", 0x2000), (b"inner", 0x1010)],
        [],
    ]
    assert not samples[3].HasField("callstack_iid")
    assert {frame.mapping_id for frame in data.frames} == {one.iid for one in data.mappings}
    assert difference(target, opened(out)) is None


def test_mappings_are_paths_or_not():
    row = [
        ("function", b"f"),
        ("mapping", b"[kernel]"),
        ("rel_pc", 1),
        ("source", b"a.c"),
        ("line", 2),
    ]
    other = [
        ("function", b"g"),
        ("mapping", b"/usr/lib/x.so"),
        ("rel_pc", 1),
        ("source", b""),
        ("line", 0),
    ]
    trace = trace_of(
        EventClass(Kind.SAMPLE, fields=mapping.SAMPLE_FIELDS), ([row, other], 2, 7), cpu=0
    )
    out = written(trace)
    (data,) = [p.interned_data for p in parsed(out).packet if p.interned_data.mappings]
    assert sorted(path.str for path in data.mapping_paths) == [b"[kernel]", b"usr/lib/x.so"]
    assert events_of(opened(out)) == [{"frames": [row, other], "cpu_mode": 2, "timebase_count": 7}]


def test_a_sample_of_no_thread_has_none():
    frames = Field("frames", ArrayClass(StringClass()), Role.FRAMES)
    target = projected(
        trace_of(EventClass(Kind.SAMPLE, fields=(frames,)), ([b"main"],), thread=-1, cpu=0)
    )
    again = opened(written(target))
    assert [batch.thread.tolist() for batch in again.batches()] == [[-1]]
    assert difference(target, again) is None


def test_what_else_is_interned_does_not_change_the_output():
    event_class = EventClass(Kind.INSTANT, fields=(NAME, CATEGORY, Field("arg", StringClass())))
    rows = ((b"one", b"cat", b"x"), (b"two", b"cat", b"one"))
    plain, crowded = trace_of(event_class), trace_of(event_class)
    for number in range(50):
        crowded.strings.intern(f"another {number}")
    outputs = [
        written(with_batches(one, [batch_of(one, [(0, 5, -1, 0, -1, row) for row in rows])]))
        for one in (plain, crowded)
    ]
    assert outputs[0] == outputs[1]
