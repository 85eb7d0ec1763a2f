"""Recordings that are written again: as they are, and parts of them with what else these need."""

from __future__ import annotations

import dataclasses
import re

import pytest
from support.profiles.perf_files import (
    COMPRESSED,
    FINISHED_ROUND,
    IDENTIFIER,
    IP,
    TID,
    TIME,
    USER,
    Maker,
)
from support.profiles.perf_script import opened, printed, written
from support.traces.small_traces import events_of, trace_of

from converter.formats.perf.data.layout import Feature, RecordType
from converter.ir.collect import collect
from converter.ir.kinds import Kind
from converter.selection.select import select
from converter.selection.selection import Selection

_FILE = b"/bin/true-of-no-machine"
_TYPE = IDENTIFIER | IP | TID | TIME
_ID = 7


def sample(make, ts, tid, ip):
    body = make.words(_ID, ip) + make.task(5, tid) + make.words(ts)
    return make.record(RecordType.SAMPLE, body, USER)


def trailer(make, tid, ts):
    return make.task(5, tid) + make.words(ts, _ID)


def records(make):
    """Two threads, one file, samples at 1000, 2000 and 3000, and a mapping between them."""
    return [
        make.comm(5, 5, b"first", trailer(make, 5, 500)),
        make.mmap(5, 0x1000, 0x1000, 0x4000, _FILE, trailer(make, 5, 600)),
        sample(make, 1000, 5, 0x1010),
        make.record(FINISHED_ROUND),
        make.comm(5, 6, b"second", trailer(make, 6, 1500)),
        sample(make, 2000, 6, 0x1020),
        make.mmap(5, 0x9000, 0x1000, 0, _FILE + b".2", trailer(make, 5, 2500)),
        sample(make, 3000, 5, 0x9030),
        make.record(FINISHED_ROUND),
    ]


def recording(order="<", *, compressed=False):
    make = Maker(order)
    data = b"".join(records(make))
    features = {Feature.SAMPLE_TIME: make.words(1000, 3000)}
    if compressed:
        import zstandard

        # Such records have any size.
        data = make.record(COMPRESSED, zstandard.ZstdCompressor().compress(data))
        features[Feature.COMPRESSED] = make.pack("IIIII", 1, 1, 1, 1, 1 << 19)
    return make.file([(make.attribute(_TYPE), [_ID])], data, features)


def part_of(data, **wanted):
    return written(select(opened(data), Selection(**wanted)))


@pytest.mark.parametrize("order", ["<", ">"])
def test_an_unchanged_recording_is_copied(order):
    data = recording(order)
    again, report = written(opened(data))
    assert again == data
    assert not len(report)


def test_what_perf_writes_into_a_pipe_is_copied():
    make = Maker()
    attribute = make.attribute(_TYPE)
    head = make.record(RecordType.HEADER_ATTR, attribute + make.words(_ID))
    data = make.pipe(head + b"".join(records(make)))
    assert written(opened(data))[0] == data
    part, _ = part_of(data, tids=[6])
    assert [one[0] for one in events_of(opened(part)) if one[1] is Kind.SAMPLE] == [2000]


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("compressed", [False, True])
def test_parts_have_their_samples_and_all_that_is_mapped(order, compressed):
    part, report = part_of(recording(order, compressed=compressed), tids=[5])
    assert not len(report)
    again = opened(part)
    found = [(ts, kind) for ts, kind, *_ in events_of(again)]
    assert [ts for ts, kind in found if kind is Kind.SAMPLE] == [1000, 3000]
    assert [ts for ts, kind in found if kind is Kind.MAPPING] == [600, 2500]
    assert [ts for ts, kind in found if kind is Kind.TASK_RENAME] == [500, 1500]
    features = dict(again.sidecar["perf"]["features"])
    assert sorted(features) == [Feature.SAMPLE_TIME]
    assert again.sidecar["perf"]["big_endian"] is (order == ">")


def test_perf_prints_of_a_part_what_it_prints_of_the_whole(tmp_path):
    data = recording()
    whole = printed(data, tmp_path)
    assert [line.split()[0] for line in whole] == ["first", "second", "first"]
    assert printed(part_of(data, since="0.0000015", until="0.0000025")[0], tmp_path) == whole[1:2]
    assert printed(part_of(data, since="0.0000025")[0], tmp_path) == whole[2:]
    assert printed(part_of(data, tids=[6])[0], tmp_path) == whole[1:2]
    assert printed(part_of(data, events=["cpu-clock*"])[0], tmp_path) == whole
    assert printed(part_of(recording(compressed=True), tids=[5])[0], tmp_path) == whole[::2]


def test_a_part_of_a_part():
    part, _ = part_of(recording(), tids=[5])
    again, _ = part_of(part, since="0.0000029")
    assert [one[0] for one in events_of(opened(again)) if one[1] is Kind.SAMPLE] == [3000]


def test_events_that_were_changed_are_written_anew(tmp_path):
    trace = opened(recording())
    batches = trace.make_batches

    def later():
        for batch in batches():
            yield batch.at_times(batch.ts + 1_000_000)

    changed = dataclasses.replace(trace, make_batches=later)
    lines = printed(written(changed)[0], tmp_path, "-F", "comm,time,event")
    samples = [line for line in lines if "cpu-clock" in line]
    assert [line.split()[1] for line in samples] == ["0.001001:", "0.001002:", "0.001003:"]


def test_a_recording_of_this_converter_has_parts():
    from converter.ir.events import EventClass
    from converter.projection.timeline_fields import FUNCTIONS, weight

    of_names = EventClass(Kind.SAMPLE, "work", fields=(FUNCTIONS, weight("ns")))
    data, _ = written(trace_of([of_names], [(0, 10, 0, 1, [["f"], 1]), (0, 20, 1, 2, [["g"], 2])]))
    whole = events_of(opened(data))
    part, report = part_of(data, since="0.000000015")
    assert not len(report)
    assert events_of(opened(part)) == whole[1:]
    threads = [(thread.tid, thread.name) for thread in collect(opened(part)).threads]
    assert threads == [(0, "t0"), (10, "t10"), (11, "t11")]


@pytest.mark.parametrize("order", "<>")
def test_data_of_other_tracers_stay_whole(order, tmp_path):
    make = Maker(order)
    data = make.words(0x1010, 0x1020, 0) * 2
    # Intel BTS, of which perf wants six words.
    info = make.record(
        RecordType.AUXTRACE_INFO, make.pack("II", 2, 0) + make.words(8, 0, 1, 0, 0, 0)
    )
    aux = make.record(RecordType.AUX, make.words(0, len(data), 0) + trailer(make, 5, 900))
    trace = make.words(len(data), 0, 7) + make.pack("iIIi", 0, 5, 0, 0)
    start = make.record(RecordType.ITRACE_START, make.task(5, 5) + trailer(make, 5, 800))
    whole = b"".join(
        [info, start, aux, make.record(RecordType.AUXTRACE, trace) + data, *records(make)]
    )
    source = make.file([(make.attribute(_TYPE), [_ID])], whole)
    part, _ = part_of(source, events=("!perf:mmap",))
    assert written(opened(source))[0] == source != part
    assert all(one in part for one in (info, aux, trace + data, start))
    if order == "<":
        found = re.findall(r"PERF_RECORD_(\w+)", " ".join(printed(part, tmp_path, "-D")))
        assert {"AUXTRACE_INFO", "AUXTRACE", "AUX", "ITRACE_START"} <= set(found)
