"""Processes and threads that trace_processor tells apart in a source are apart in what is made of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.fxt import files as fxt
from support.perfetto.writing import parsed
from support.traces.losses import line_of
from support.viewers.trace_processor import needs_trace_processor, printed

import converter
from converter.formats.fxt.record_types import ArgumentType, EventType

pytestmark = needs_trace_processor

_SLICES = """select s.name, s.ts, s.dur, s.depth, t.tid, t.name, p.pid, p.name from slice s
    join thread_track k on k.id = s.track_id join thread t using (utid) left join process p using (upid) order by 1"""
NEW = 1 << 30


def shown(path: Path) -> list[list[Any]]:
    """The slices: name, ts, dur, depth, tid, thread, pid, process."""
    _, *rows = printed(path, _SLICES)
    return [list(row) for row in rows if row[0].startswith("s")]


def of_koids(*koids: tuple[int, int]) -> bytes:
    """FXT with a slice on each thread (process, thread); they cross, so that none may nest."""
    parts = [
        fxt.magic("little"),
        fxt.provider("little", 1, b"p"),
        fxt.initialization("little", 10**9),
    ]
    for number, (pid, tid) in enumerate(koids, 1):
        process = [fxt.argument(ArgumentType.KOID, b"process", pid)]
        parts += [
            fxt.thread("little", number, pid, tid),
            fxt.kernel_object("little", 1, pid, b"P%d" % number),
            fxt.kernel_object("little", 2, tid, b"T%d" % number, process),
        ]
    for number in range(1, len(koids) + 1):
        at = 1000 + number * 10
        parts.append(
            fxt.event(
                "little",
                EventType.DURATION_COMPLETE,
                at,
                thread=number,
                name=b"s%d" % number,
                tail=at + 500,
            )
        )
    return b"".join(parts)


@pytest.mark.parametrize("target", ["json", "pftrace"])
def test_koids_beyond_32_bits(target: str, tmp_path: Path) -> None:
    source = tmp_path / "a.fxt"
    high = 1 << 32
    koids = [
        (high + 100, high + 101),
        (high + 500, high + 501),
        (100, 101),
        (1 << 63, (1 << 63) + 1),
    ]
    source.write_bytes(of_koids(*koids))
    output = tmp_path / f"a.{target}"
    converter.convert(source, output)
    assert shown(output) == [
        ["s1", "1010", "500", "0", str(NEW + 101), "T1", str(NEW + 100), "P1"],
        ["s2", "1020", "500", "0", str(NEW + 501), "T2", str(NEW + 500), "P2"],
        ["s3", "1030", "500", "0", "101", "T3", "100", "P3"],
        ["s4", "1040", "500", "0", str(NEW + 1), "T4", str(NEW), "P4"],
    ]


@pytest.mark.parametrize("target", ["json", "pftrace", "fxt"])
@pytest.mark.parametrize("id", [0, 1, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32])
def test_the_limits(id: int, target: str, tmp_path: Path) -> None:
    source, output = tmp_path / "a.ctf.json", tmp_path / f"b.{target}"
    events = [{"ph": "X", "name": "s", "ts": 1, "dur": 2, "pid": 5, "tid": id}]
    source.write_text(json.dumps(events))
    losses = converter.convert(source, output)
    # trace_processor itself takes 0 and a number beyond 32 bits in JSON for a missing one.
    bits = 31 if target == "pftrace" else 32
    fits = id < 1 << bits or target == "json"
    assert bool(losses) != (fits and (id > 0 or target == "json"))
    ((_, _, _, _, tid, _, pid, _),) = shown(output)
    number = id if fits else NEW | id & (NEW - 1)
    missing = target == "json" and (id == 0 or id >> 32)
    assert (int(tid), pid) == (5 if missing else number, "5")


@pytest.mark.parametrize("target", ["json", "pftrace", "fxt"])
def test_texts_and_numbers(target: str, tmp_path: Path) -> None:
    ids = [7, "7", "07", "+7", " 7", "-3", "140589156634432", "140588800255680", NEW]
    source, output = tmp_path / "a.json", tmp_path / f"b.{target}"
    events = [
        {"ph": "X", "name": f"s{n}", "ts": n, "dur": 20, "pid": 1, "tid": id}
        for n, id in enumerate(ids)
    ]
    source.write_text(json.dumps(events))
    converter.convert(source, output)
    before, after = shown(source), shown(output)
    for rows in (before, after):
        assert {row[3] for row in rows} == {"0"}
        assert len({row[4] for row in rows}) == len(ids)
    assert [row[5] for row in after] == [row[5] for row in before]


def test_texts_go_through_perfetto(tmp_path: Path) -> None:
    """Their processes are in the order that the document says, and JSON made of it has the texts again."""
    source, between, output = (tmp_path / name for name in ("a.json", "b.pftrace", "c.json"))
    order = {"name": "process_sort_index", "ph": "M", "args": {"sort_index": 536870912}}
    events = [
        {"ph": "X", "name": "s0", "ts": 1, "dur": 2, "pid": "Spans", "tid": "Profiler"},
        {"ph": "X", "name": "s1", "ts": 1, "dur": 2, "pid": 7, "tid": "7"},
        {"ph": "X", "name": "s2", "ts": 1, "dur": 2, "pid": 7, "tid": 7},
        {**order, "pid": "Spans", "tid": 0},
        {**order, "pid": 7, "tid": 0, "args": {"sort_index": 3}},
    ]
    source.write_text(json.dumps(events))
    converter.convert(source, between)
    found = [packet.track_descriptor for packet in parsed(between.read_bytes()).packet]
    ranks = {one.process.process_name: one.sibling_order_rank for one in found if one.process.pid}
    assert ranks["Spans"] == 536870912 and 3 in ranks.values()
    converter.convert(between, output)
    places = [(event["pid"], event["tid"]) for event in events if event["ph"] == "X"]
    again = json.loads(output.read_text())["traceEvents"]
    assert [(event["pid"], event["tid"]) for event in again if event["ph"] == "X"] == places


def test_threads_0_are_no_main_threads(tmp_path: Path) -> None:
    source, output = tmp_path / "a.fxt", tmp_path / "b.json"
    source.write_bytes(of_koids((5, 5), (5, 0), (0, 0), (6, 0)))
    losses = converter.convert(source, output)
    assert [(row[4], row[6], row[3]) for row in shown(output)] == [
        ("5", "5", "0"),
        (str(NEW), "5", "0"),
        ("0", "0", "0"),
        (str(1 << 29 | NEW), "6", "0"),
    ]
    assert "thread-0-renumbered pid=5 shown=1073741824 (2)" in map(line_of, losses)


def test_threads_0_that_viewers_of_json_take_for_main_threads_are_named(tmp_path: Path) -> None:
    source, output = tmp_path / "a.json", tmp_path / "b.pftrace"
    events = [
        {"ph": "X", "name": "s", "ts": 1, "dur": 2, "pid": pid, "tid": tid}
        for pid, tid in ((5, 0), (5, 5), (0, 0), (6, 6))
    ]
    source.write_text(json.dumps(events))
    losses = list(map(line_of, converter.convert(source, output)))
    assert [(row[4], row[6]) for row in shown(source)] == [
        ("5", "5"),
        ("5", "5"),
        ("0", "0"),
        ("6", "6"),
    ]
    assert [row[4] for row in shown(output)] == ["0", "5", "0", "6"]
    assert [line for line in losses if line.startswith("thread-0")] == ["thread-0-apart pid=5 (1)"]
    assert [one.code for one in converter.convert(source, tmp_path / "c.json")] == []


def test_text_pids_do_not_meet_small_numbers(tmp_path: Path) -> None:
    source, output = tmp_path / "a.json", tmp_path / "b.fxt"
    places = [("Spans", "PyTorch Profiler"), (0, 7), (100, 100), ("Traces", 0), ("", 0), (1, 1)]
    events = [
        {"ph": "X", "name": f"s{n}", "ts": n, "dur": 20, "pid": pid, "tid": tid}
        for n, (pid, tid) in enumerate(places)
    ]
    source.write_text(json.dumps(events))
    losses = converter.convert(source, output)
    line = "id-too-large bits=32 shown=1713860800 was='Spans' what=process (3)"
    assert line in map(line_of, losses)
    rows = shown(output)
    assert {row[3] for row in rows} == {"0"}
    assert [row[6] for row in rows if int(row[6]) < NEW] == ["0", "100", "1"]
    assert [row[7] for row in rows if int(row[6]) >= NEW] == ["Spans", "Traces", "[NULL]"]
