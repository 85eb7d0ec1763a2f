"""Profiles as traces: what the messages of profile.proto say is in the events, and damage costs only itself."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest
from support.inputs.protobuf_fields import numeric, sized, varint
from support.profiles.pprof_messages import Builder, Profile

import converter
from converter.errors import TraceError
from converter.formats.profiles.pprof.reading import labels, reader
from converter.ir.kinds import Kind
from converter.ir.trace import Trace
from converter.projection.domain import call_stacks
from converter.registry import detect
from converter.storage.opening import open_source
from converter.storage.source import MemorySource


def heap() -> Builder:
    """A profile with inlined functions, labels of each kind and threads."""
    made = Builder().types(("alloc_objects", "count"), ("alloc_space", "bytes"))
    app = made.mapping("/bin/app", "abc", memory_start=0x1000, memory_limit=0x9000, file_offset=256)
    outer = made.function("main.main", "/src/main.go", "main.main", 3)
    inlined = made.function("inlined", "/src/inlined.go")
    system = made.function("", system_name="_Zfoo")
    first = made.location(0x2000, (inlined, 7, 2), (outer, 10), mapping=app)
    unnamed = made.location(0x3000, mapping=app)
    other = made.location(5, (system, 1))
    made.sample([first, unnamed, other], [1, 100])
    made.sample([unnamed], [0, 5], bytes=(64, "bytes"), request="a", n=-2)
    made.sample([], [0, 0])
    made.sample([other], [-3, 4], pid=7, tid=9, comm="app", thread_comm="worker")
    made.profile.time_nanos = 1_700_000_000 * 10**9
    made.profile.comment.append(made.text("hello"))
    made.profile.period = 512
    return made


def read(data: bytes) -> Trace:
    return reader.read(MemorySource("profile.pprof", data))


def events(trace: Trace) -> list[tuple[Any, ...]]:
    """The events of a trace, each with its time, name, frames and other fields."""
    found = []
    for event in trace.iter_events():
        fields = dict(event.fields)
        stack = [
            tuple(fields.values()) if isinstance(fields, dict) else fields
            for fields in fields.pop("frames")
        ]
        found.append((event.ts, event.name, stack, fields))
    return found


def test_each_value_of_a_sample_that_is_not_zero_is_an_event() -> None:
    trace = read(heap().bytes())
    inlined = ("inlined", "/bin/app", 0x1100, "/src/inlined.go", 7)
    outer = ("main.main", "/bin/app", 0x1100, "/src/main.go", 10)
    unnamed = ("", "/bin/app", 0x2100, "", 0)
    other = ("_Zfoo", "", 5, "", 1)
    stack = [inlined, outer, unnamed, other]
    assert events(trace) == [
        (0, "alloc_objects", stack, {"weight": 1}),
        (0, "alloc_space", stack, {"weight": 100}),
        (1, "alloc_space", [unnamed], {"weight": 5, "bytes": 64, "request": "a", "n": -2}),
        # Tools show the last type: a sample of nothing is one of that.
        (2, "alloc_space", [], {"weight": 0}),
        (3, "alloc_objects", [other], {"weight": -3}),
        (3, "alloc_space", [other], {"weight": 4}),
    ]
    assert not trace.warnings
    assert trace.clock.epoch_ns == 1_700_000_000 * 10**9
    units = {one.name: one.fields[1].unit for one in trace.event_classes}
    assert units == {"alloc_objects": "count", "alloc_space": "bytes"}
    assert {one.kind for one in trace.event_classes} == {Kind.SAMPLE}


def test_labels_of_perf_to_profile_say_the_thread() -> None:
    trace = read(heap().bytes())
    threads = [event.tid for event in trace.iter_events()]
    assert threads == [None] * 4 + [9] * 2
    assert [(one.pid, one.name) for one in trace.processes] == [(7, "app")]
    assert [(one.tid, one.name) for one in trace.threads] == [(9, "worker")]


@pytest.mark.parametrize(
    ("given", "left"),
    [
        ({"tid": -1}, {"tid": -1}),
        ({"tid": "9"}, {"tid": "9"}),
        ({"pid": 7}, {"pid": 7}),
        ({"tid": (9, "ids")}, {"tid": 9}),
        ({"tid": 0, "k": "v"}, {"k": "v"}),
        ({"pid": 7, "tid": 9, "comm": 5}, {"comm": 5}),
    ],
)
def test_labels_that_say_no_thread_stay(given: dict[str, Any], left: dict[str, Any]) -> None:
    made = Builder().types(("cpu", "nanoseconds"))
    made.sample([], [1], **given)
    [(_, _, _, fields)] = events(read(made.bytes()))
    assert fields == {"weight": 1, **left}


def test_a_second_name_of_a_thread_stays_a_label() -> None:
    made = Builder().types(("cpu", "nanoseconds"))
    for name in ("one", "two", "one"):
        made.sample([], [1], tid=4, thread_comm=name)
    trace = read(made.bytes())
    found = [fields for _, _, _, fields in events(trace)]
    assert found == [{"weight": 1}, {"weight": 1, "thread_comm": "two"}, {"weight": 1}]
    assert [one.name for one in trace.threads] == ["one"]


def test_nanoseconds_are_ns() -> None:
    trace = read(sampled(("cpu", "nanoseconds")))
    assert [one.fields[1].unit for one in collected(trace)] == ["ns"]


def sampled(*types: tuple[str, str]) -> bytes:
    made = Builder().types(*types)
    made.sample([], [1] * len(types))
    return made.bytes()


def collected(trace: Trace) -> list[Any]:
    for _ in trace.batches():
        pass
    return trace.event_classes


def test_too_many_combinations_of_labels_are_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(labels, "_MOST_SHAPES", 2)
    made = Builder().types(("cpu", "nanoseconds"))
    for key in "abcda":
        made.sample([], [1], **{key: (1, "s"), "x": key})
    found = [fields for _, _, _, fields in events(read(made.bytes()))]
    assert found[0] == {"weight": 1, "a": 1, "x": "a"}
    assert found[4] == found[0]
    assert found[1] == {"weight": 1, "b": 1, "x": "b"}
    assert [one["labels"][0]["key"] for one in found[2:4]] == ["c", "d"]
    assert found[2]["labels"][0] == {"key": "c", "str": "", "num": 1, "num_unit": "s"}


@pytest.mark.parametrize("frames", [1, 2, 3, 7])
def test_parts_of_batches_are_the_whole(monkeypatch: pytest.MonkeyPatch, frames: int) -> None:
    whole = events(read(heap().bytes()))
    monkeypatch.setattr(call_stacks, "_BATCH_FRAMES", frames)
    monkeypatch.setattr(reader, "_SAMPLES", 3)
    trace = read(heap().bytes())
    assert events(trace) == whole
    data = b"".join(bytes(one.native.data) for one in trace.batches() if one.native)
    assert data == heap().bytes()


def test_long_call_stacks_are_cut() -> None:
    made = Builder().types(("cpu", "nanoseconds"))
    name = made.function("f")
    where = made.location(1, *[(name, line) for line in range(6)])
    for count in (1, 2, 3):
        made.sample([where] * count, [1])
    with converter.open_trace(made.bytes(), limits={"pprof.frames": 12}) as trace:
        assert [len(stack) for _, _, stack, _ in events(trace)] == [6, 12, 12]
        assert "12 frames" in str(trace.warnings[0])


@pytest.mark.parametrize("wrapped", [False, True])
def test_profiles_are_recognised(tmp_path: Path, wrapped: bool) -> None:
    path = tmp_path / "profile"
    path.write_bytes(gzip.compress(heap().bytes()) if wrapped else heap().bytes())
    assert detect(open_source(path)).name == "pprof"


def test_strings_may_come_first() -> None:
    profile = heap().profile
    texts = Profile(string_table=profile.string_table)
    rest = Profile.FromString(profile.SerializeToString())
    rest.ClearField("string_table")
    data = texts.SerializeToString() + rest.SerializeToString()
    with converter.open_trace(data) as trace:
        assert trace.format == "pprof"
        assert events(trace) == events(read(heap().bytes()))


@pytest.mark.parametrize(
    "data",
    [
        # TracePackets with a timestamp, with a clock, and an empty one.
        sized(1, numeric(8, 5)) * 2,
        sized(1, sized(6, sized(1, numeric(1, 6) + numeric(2, 9)))),
        sized(1, b"") * 4,
        # Types and no valid field after them.
        sized(1, numeric(1, 1)) + varint(3 << 3) + b"\1",
        sized(1, numeric(1, 1)) + sized(6, b"not empty"),
        sized(1, numeric(1, 1)) + sized(2, numeric(9, 1)),
        b"",
        b"\x0a",
        b"\x32\x00",
    ],
)
def test_other_files_are_none(data: bytes) -> None:
    from converter.formats.profiles.pprof import FORMAT

    assert not FORMAT.sniff(data)


def test_profiles_are_no_perfetto_traces() -> None:
    """Their first field has the number of a TracePacket."""
    data = heap().bytes()
    assert data[:1] == b"\x0a"
    with converter.open_trace(data) as trace:
        assert trace.format == "pprof"


@pytest.mark.parametrize("cut", [2, 20, 60])
def test_what_is_before_damage_is_read(cut: int) -> None:
    profile = heap().profile
    texts = Profile(string_table=profile.string_table).SerializeToString()
    rest = Profile.FromString(profile.SerializeToString())
    rest.ClearField("string_table")
    samples = Profile(sample=rest.sample[:2], sample_type=rest.sample_type).SerializeToString()
    more = Profile(sample=rest.sample[2:] * 9).SerializeToString()
    trace = read(texts + samples + more[:cut])
    assert [one[0] for one in events(trace)][:3] == [0, 0, 1]
    damage = trace.warnings[0]
    assert damage.is_damage
    assert damage.offset is not None


def test_references_to_nothing_are_counted() -> None:
    made = heap()
    made.profile.sample[0].location_id.append(99)
    made.profile.location[0].line[0].function_id = 77
    made.profile.location[1].mapping_id = 66
    made.profile.function[1].filename = 999
    trace = read(made.bytes())
    found = events(trace)
    assert found[0][2][0] == ("", "/bin/app", 0x1100, "", 7)
    assert found[0][2][2] == ("", "", 0x3000, "", 0)
    assert len(found[0][2]) == 4
    told = {one.field: one.message for one in trace.warnings}
    assert told.keys() == {"location_id", "function_id", "mapping_id", "function"}
    assert "nothing: 1;" in str(told["location_id"])


def test_samples_with_other_numbers_of_values_are_told() -> None:
    made = heap()
    made.profile.sample[0].value.append(5)
    del made.profile.sample[1].value[:]
    trace = read(made.bytes())
    found = events(trace)
    assert [(one[0], one[1]) for one in found[:3]] == [
        (0, "alloc_objects"),
        (0, "alloc_space"),
        (1, "alloc_space"),
    ]
    assert "2 samples" in str(trace.warnings[0])
    assert trace.warnings[0].found == "3"


@pytest.mark.parametrize(
    ("data", "field"),
    [
        (Profile(sample_type=[{"type": 1}]).SerializeToString(), "string_table"),
        (Profile(string_table=["", "a"]).SerializeToString(), "sample_type"),
    ],
)
def test_profiles_without_strings_or_types_are_none(data: bytes, field: str) -> None:
    with pytest.raises(TraceError) as caught:
        read(data)
    assert caught.value.field == field


def test_the_default_type_is_that_of_samples_of_nothing() -> None:
    made = heap()
    made.profile.default_sample_type = made.text("alloc_objects")
    assert [one[1] for one in events(read(made.bytes()))][3] == "alloc_objects"
    made.profile.default_sample_type = made.text("none of these")
    assert [one[1] for one in events(read(made.bytes()))][3] == "alloc_space"


def test_a_size_above_the_limit_is_refused() -> None:
    data = heap().bytes()
    with converter.open_trace(data, limits={"pprof.profile": len(data)}) as trace:
        assert trace.format == "pprof"
    with pytest.raises(TraceError, match=r"--limit|limits="):
        converter.open_trace(data, limits={"pprof.profile": len(data) - 1})


def test_lines_of_more_than_32_bits_are_unknown() -> None:
    made = Builder().types(("cpu", "nanoseconds"))
    name = made.function("f")
    lines = (-1, 0, 2**32 - 1, 2**32, 2**63 - 1)
    where = made.location(1, *[(name, line) for line in lines])
    made.sample([where], [1])
    [(_, _, stack, _)] = events(read(made.bytes()))
    assert [frame[4] for frame in stack] == [0, 0, 2**32 - 1, 0, 0]


def test_offsets_in_files_wrap() -> None:
    made = Builder().types(("cpu", "nanoseconds"))
    top = made.mapping("[vsyscall]", memory_start=2**64 - 4096, memory_limit=2**64 - 1)
    made.sample([made.location(2**64 - 4090, mapping=top)], [1])
    below = made.mapping("x", memory_start=4096)
    made.sample([made.location(0, mapping=below)], [1])
    assert [stack[0][2] for _, _, stack, _ in events(read(made.bytes()))] == [6, 2**64 - 4096]
