"""Traces as profiles, as the `protobuf` package reads them: valid by pprof's rules, and the same if they were one."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest
from formats.profiles.pprof.test_reading import heap
from support.profiles.pprof_messages import Builder, Profile, stated, violations
from support.traces.small_traces import trace_of

import converter
from converter.fixtures import synthetic_trace
from converter.ir.events import EventClass, Field
from converter.ir.field_classes import IntegerClass, StringClass
from converter.ir.kinds import Kind, Role
from converter.projection.timeline_fields import ADDRESSES, FRAMES, FUNCTIONS, weight
from converter.testing import assert_what_fits_survives

_FRAME = ("function", "mapping", "rel_pc", "source", "line")


def frame(*values: Any) -> list[tuple[str, Any]]:
    return list(zip(_FRAME, values, strict=True))


def written(trace: Any, path: Path, **options: Any) -> Any:
    """A profile that was written, which is valid."""
    converter.write(trace, path, "pprof", **options)
    data = path.read_bytes()
    profile = Profile.FromString(gzip.decompress(data) if path.suffix == ".gz" else data)
    assert violations(profile) == []
    return profile


def names(profile: Any, sample: Any) -> list[str]:
    locations = {one.id: one for one in profile.location}
    functions = {one.id: profile.string_table[one.name] for one in profile.function}
    return [
        functions[locations[id].line[0].function_id] if locations[id].line else ""
        for id in sample.location_id
    ]


def sums(profile: Any) -> list[tuple[list[str], list[int], dict[str, Any]]]:
    texts = profile.string_table
    return [
        (
            names(profile, one),
            list(one.value),
            {texts[label.key]: texts[label.str] or label.num for label in one.label},
        )
        for one in profile.sample
    ]


@pytest.mark.parametrize("name", ["copy.pprof", "copy.pb.gz"])
def test_a_profile_is_copied(tmp_path: Path, name: str) -> None:
    data = heap().bytes() + b"\xfa\x7e\x03new"  # and a field that is not known yet
    with converter.open_trace(data) as trace:
        path = tmp_path / name
        assert not converter.write(trace, path)
    copied = path.read_bytes()
    assert (gzip.decompress(copied) if name.endswith("gz") else copied) == data


def test_a_part_of_a_profile_keeps_all_that_its_samples_say(tmp_path: Path) -> None:
    made = heap()
    profile = made.profile
    profile.default_sample_type = made.text("alloc_objects")
    profile.drop_frames, profile.doc_url = made.text("runtime.*"), made.text("http://d")
    profile.period_type.type, profile.period_type.unit = made.text("space"), made.text("bytes")
    profile.duration_nanos = 10**9
    before = stated(profile)
    with converter.open_trace(made.bytes()) as trace:
        part = converter.select(trace, converter.Selection(where="weight != 5"))
        after = stated(written(part, tmp_path / "part.pprof"))
    before["samples"] = [one for one in before["samples"] if one[1] != [0, 5]]
    assert after == before


def test_samples_are_summed_by_event_thread_and_stack(tmp_path: Path) -> None:
    cycles = EventClass(Kind.SAMPLE, "cycles", fields=(FUNCTIONS, weight("count")))
    clock = EventClass(Kind.SAMPLE, "cpu-clock", fields=(FUNCTIONS, weight("ns")))
    trace = trace_of(
        [cycles, clock],
        [
            (0, 1000, 0, 0, [[b"f", b"main"], 3]),
            (1, 1000, 0, 0, [[b"f", b"main"], 10**6]),
            (0, 1001, 1, 1, [[b"f", b"main"], 4]),
            (0, 1002, 0, 0, [[b"f", b"main"], 5]),
            (0, 1003, 0, 0, [[], 0]),
        ],
    )
    profile = written(trace, tmp_path / "sums.pprof")
    assert stated(profile)["types"] == [("cycles", "count"), ("cpu-clock", "nanoseconds")]
    found = sums(profile)
    assert [one[:2] for one in found] == [
        (["f", "main"], [8, 0]),
        (["f", "main"], [4, 0]),
        (["f", "main"], [0, 10**6]),
    ]
    assert len({one[2]["tid"] for one in found[:2]}) == 2
    # That of the most samples.
    assert profile.string_table[profile.default_sample_type] == "cycles"


def test_slices_are_summed_by_the_time_that_each_took_by_itself(tmp_path: Path) -> None:
    begin = EventClass(Kind.SLICE_BEGIN, fields=(Field("name", StringClass(), Role.NAME),))
    end = EventClass(Kind.SLICE_END)
    trace = trace_of(
        [begin, end],
        [
            (0, 1000, -1, 0, [b"outer"]),
            (0, 1010, -1, 0, [b"inner"]),
            (1, 1040, -1, 0, []),
            (1, 1100, -1, 0, []),
        ],
    )
    profile = written(trace, tmp_path / "slices.pprof")
    assert stated(profile)["types"] == [("wall", "nanoseconds")]
    assert sorted(one[:2] for one in sums(profile)) == [
        (["inner", "outer"], [30]),
        (["outer"], [70]),
    ]


@pytest.mark.parametrize("kinds", ["all", "timeline", "calls", "sched"])
def test_any_trace_becomes_a_valid_profile(tmp_path: Path, kinds: str) -> None:
    trace = synthetic_trace(kinds, 200)
    written(trace, tmp_path / "any.pprof")
    assert_what_fits_survives(trace, tmp_path / "again.pprof", "pprof")


def test_addresses_and_frames_are_locations(tmp_path: Path) -> None:
    frames = EventClass(Kind.SAMPLE, "e", fields=(FRAMES,))
    addresses = EventClass(Kind.SAMPLE, "e", fields=(ADDRESSES,))
    whole = frame(b"f", b"/lib/x.so", 0x1234, b"x.c", 7)
    bare = frame(b"", b"/lib/x.so", 2**64 - 1, b"", 0)
    trace = trace_of(
        [frames, addresses],
        [(0, 1, 0, 0, [[whole, bare, frame(b"", b"", 0, b"", 0)]])],
        [(1, 2, 0, 0, [[0, 5, 2**64 - 1]])],
    )
    profile = written(trace, tmp_path / "frames.pprof")
    [mapping] = profile.mapping
    assert profile.string_table[mapping.filename] == "/lib/x.so"
    assert (mapping.memory_start, mapping.memory_limit) == (0, 2**64 - 1)
    first, second = stated(profile)["samples"]
    assert [(one[1], one[2]) for one in first[0]] == [
        (0x1234, ((("f", "f", "x.c", 0), 7, 0),)),
        (2**64 - 1, ()),
        (0, ()),
    ]
    assert [one[1] for one in second[0]] == [0, 5, 2**64 - 1]
    assert_what_fits_survives(trace, tmp_path / "again.pprof", "pprof")


def test_labels_keep_their_kinds(tmp_path: Path) -> None:
    """Also the texts and numbers that are the default values of messages."""
    made = Builder().types(("cpu", "nanoseconds"))
    made.sample([], [1], text="", number=0, size=(0, "bytes"), negative=-(2**63), most=2**63 - 1)
    with converter.open_trace(made.bytes()) as trace:
        rows = [dict(event.fields) for event in trace.iter_events()]
        part = converter.select(trace, converter.Selection(where="weight == 1"))
        profile = written(part, tmp_path / "labels.pprof")
    with converter.open_trace(tmp_path / "labels.pprof") as trace:
        assert [dict(event.fields) for event in trace.iter_events()] == rows
    assert len(profile.sample[0].label) == 5


def test_empty_traces_are_valid(tmp_path: Path) -> None:
    profile = written(trace_of([]), tmp_path / "empty.pprof")
    assert not profile.sample
    with converter.open_trace(tmp_path / "empty.pprof") as trace:
        assert list(trace.iter_events()) == []


@pytest.mark.parametrize(
    ("name", "format"),
    [
        ("p.pprof", "pprof"),
        ("p.pprof.gz", "pprof"),
        ("p.PB.GZ", "pprof"),
        ("p.pb", "perfetto"),
        ("p.pb.zst", "perfetto"),
        ("p.pftrace.gz", "perfetto"),
    ],
)
def test_profiles_have_these_suffixes(name: str, format: str) -> None:
    assert converter.registry.target_format(name, None)[0].name == format


def test_a_deep_stack_of_a_part_is_whole(tmp_path: Path) -> None:
    made = Builder().types(("cpu", "nanoseconds"))
    where = [made.location(1, (made.function("f"), line)) for line in range(1500)]
    for value in (1, 2):
        made.sample(where, [value])
    with converter.open_trace(made.bytes()) as trace:
        part = converter.select(trace, converter.Selection(where="weight == 2"))
        profile = written(part, tmp_path / "deep.pprof")
    assert [len(one.location_id) for one in profile.sample] == [1500]


def test_values_beyond_63_bits_do_not_wrap(tmp_path: Path) -> None:
    one = EventClass(Kind.SAMPLE, "e", fields=(FUNCTIONS, weight("count")))
    most = 2**63 - 1
    profile = written(
        trace_of([one], [(0, 1, 0, 0, [[], most]), (0, 2, 0, 0, [[], most])]), tmp_path / "p.pprof"
    )
    assert [list(sample.value) for sample in profile.sample] == [[most]]


def test_numbers_are_labels_of_64_bits(tmp_path: Path) -> None:
    """Of parts of profiles; sums of other traces have no labels."""
    field = Field("pages", IntegerClass(8))
    one = EventClass(Kind.SAMPLE, "e", fields=(FUNCTIONS, field))
    report = converter.write(trace_of([one], [(0, 1, 0, 0, [[], 5])]), tmp_path / "p.pprof")
    assert report
