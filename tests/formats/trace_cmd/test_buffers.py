"""Instances of the ring buffer: tracks beside threads, which come back from formats that keep them or their names."""

import re
import shutil
import subprocess

import pytest
from support.trace_cmd.files import File, Kernel
from support.trace_cmd.writing import projected, read_back, written
from support.traces.small_traces import event_class, events_of, trace_of

import converter
from converter.formats.ftrace.capabilities import MAX_BUFFERS
from converter.ir.field_classes import IntegerClass, StringClass
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Track, TrackScope

K = Kernel()
POINT = event_class(Kind.TYPED, "point", "system", n=IntegerClass(32))
LOST = event_class(Kind.DISCARDED, "discarded", count=(IntegerClass(64, signed=True), Role.COUNT))
BEGIN = event_class(Kind.SLICE_BEGIN, name=(StringClass(), Role.NAME))


def recording():
    """Markers and events of a top buffer and two instances."""
    pages = [
        K.page(1000 * number, K.record(5, K.slice(42, number)), K.record(5, K.marker(43, b"hello")))
        for number in range(1, 4)
    ]
    return File(K, {0: pages[0]}, {"a b": {1: pages[1]}, "c": {0: pages[2]}}).version_7()


def places(trace):
    """Of each event its time and its buffer."""
    return [
        (int(ts), trace.tracks[track].name if track >= 0 else "")
        for batch in trace.batches()
        for ts, track in zip(batch.ts, batch.track, strict=True)
    ]


@pytest.mark.parametrize("way", ["ctf", "perfetto", "fxt", "chrome"])
def test_instances_come_back(way, tmp_path):
    paths = tmp_path / "a.dat", tmp_path / "b", tmp_path / "c.dat"
    paths[0].write_bytes(recording())
    converter.convert(paths[0], paths[1], target_format=way)
    converter.convert(paths[1], paths[2], target_format="trace_cmd")
    first, again = (read_back(paths[i].read_bytes()) for i in (0, 2))
    assert places(again) == places(first)
    if shutil.which("trace-cmd"):
        line = ["trace-cmd", "report", "-t", paths[2]]
        told = subprocess.run(line, capture_output=True, check=True).stdout.decode()
        assert re.findall(r"^(?: *(.*): )? +\S+.*-4[23] ", told, re.MULTILINE) == [
            *(name for _, name in places(first)),
        ]


def test_what_does_not_come_back_is_told(tmp_path):
    paths = tmp_path / "a.dat", tmp_path / "b.fxt"
    paths[0].write_bytes(recording())
    losses = converter.convert(paths[0], paths[1])
    assert sum(one.count for one in losses if one.code == "buffer-as-argument") == 4


def test_tracks_of_threads_beside_them_are_buffers_and_others_are_not():
    tracks = [
        Track("good"), Track(""), Track("x" * 256), Track("n\0l"), Track("own", TrackScope.THREAD, 1),
        Track("child", parent=0), Track("good"),
    ]  # fmt: skip
    events = [(0, ts, 0, 1, (ts,), track) for ts, track in enumerate([-1, *range(len(tracks))])]
    events += [(0, 20, 0, -1, (1,), 0), (1, 21, 1, -1, (3,), 0), (2, 22, 0, 1, (b"s",), 0)]
    trace = trace_of([POINT, LOST, BEGIN], events, tracks=tracks)
    target = projected(trace)
    assert [(ts, name) for ts, name in places(target) if name] == [
        (1, "good"), (7, "good"), (21, "good"),
    ]  # fmt: skip
    again = read_back(written(target))
    assert sorted(places(again)) == sorted(places(target))
    assert [event for event in events_of(again) if event[0] != 21] == [
        event for event in events_of(target) if event[0] != 21
    ]


def test_there_are_so_many_buffers_and_no_more():
    tracks = [Track(f"b{i}") for i in range(MAX_BUFFERS + 5)]
    events = [(0, i, 0, 1, (i,), i) for i in range(len(tracks))]
    target = projected(trace_of([POINT], events, tracks=tracks))
    assert len({name for _, name in places(target) if name}) == MAX_BUFFERS
    assert len(read_back(written(target)).tracks) == MAX_BUFFERS


@pytest.mark.parametrize("variant", ["v7_none", "v6"])
def test_pages_of_all_buffers_are_as_large_as_the_largest_event_needs(variant, tmp_path):
    texts = [b"x", b"y" * 2000, b"z"]
    many = event_class(Kind.TYPED, "text", "system", **{f"s{i}": StringClass() for i in range(4)})
    events = [(0, i, 0, 1, [text] * 4, i - 1) for i, text in enumerate(texts)]
    trace = projected(trace_of([many], events, tracks=[Track("large"), Track("small")]))
    path = tmp_path / "a.dat"
    path.write_bytes(written(trace, variant))
    again = read_back(path.read_bytes())
    assert places(again) == [(0, ""), (1, "large"), (2, "small")]
    assert {buffer.page_size for buffer in again.sidecar["trace_cmd"]["buffers"]} == {8192}
    if shutil.which("trace-cmd"):
        line = ["trace-cmd", "report", path]
        told = subprocess.run(line, capture_output=True, check=True)
        assert told.stderr == b""
        assert [len(line.split("s0=")[1]) for line in told.stdout.decode().splitlines()[1:]] == [
            len(f"{text.decode()} s1= s2= s3=") + 3 * len(text) for text in texts
        ]
