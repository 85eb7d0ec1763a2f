"""What a page is given: items, where they stand, and what they say."""

import base64
import json
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.traces.strategies import traces

import converter
from converter.analysis.viewing.arrange import Run, arranged
from converter.analysis.viewing.contents import Contents
from converter.analysis.viewing.gather import OPEN, Gathered
from converter.analysis.viewing.levels import coarsened, unit_for
from converter.analysis.viewing.shares import shares_of

EVENTS = [
    {"ph": "M", "name": "process_name", "pid": 1, "tid": 1, "args": {"name": "shop"}},
    {"ph": "M", "name": "thread_name", "pid": 1, "tid": 1, "args": {"name": "main"}},
    {"ph": "B", "name": "day", "pid": 1, "tid": 1, "ts": 100, "args": {"n": 1}},
    {"ph": "X", "name": "sale", "pid": 1, "tid": 1, "ts": 110.125, "dur": 20.5, "args": {"n": -2}},
    {"ph": "i", "name": "bell", "pid": 1, "tid": 1, "ts": 115, "s": "t"},
    {"ph": "B", "name": "sale", "pid": 1, "tid": 1, "ts": 150, "args": {"n": 3}},
    {"ph": "E", "pid": 1, "tid": 1, "ts": 160, "args": {"paid": True}},
    {"ph": "E", "pid": 1, "tid": 1, "ts": 200},
    {"ph": "B", "name": "night", "pid": 1, "tid": 2, "ts": 190},
    {"ph": "b", "name": "order", "cat": "x", "id": 1, "pid": 1, "tid": 1, "ts": 120},
    {"ph": "b", "name": "order", "cat": "x", "id": 2, "pid": 1, "tid": 1, "ts": 130},
    {"ph": "e", "name": "order", "cat": "x", "id": 1, "pid": 1, "tid": 1, "ts": 140},
    {"ph": "e", "name": "order", "cat": "x", "id": 2, "pid": 1, "tid": 2, "ts": 150},
    {"ph": "C", "name": "stock", "pid": 1, "ts": 100, "args": {"pears": 5, "figs": 1.5}},
    {"ph": "C", "name": "stock", "pid": 1, "ts": 160, "args": {"pears": 4, "figs": 2.5}},
    {"ph": "s", "name": "go", "id": 7, "pid": 1, "tid": 1, "ts": 151},
    {"ph": "f", "bp": "e", "name": "go", "id": 7, "pid": 1, "tid": 2, "ts": 195},
]


def timeline_of(events):
    with converter.open_trace(json.dumps({"traceEvents": events}).encode()) as trace:
        gathered = Gathered(trace)
        return gathered.trace, arranged(gathered)


def shown(trace, timeline):
    """By lane and row: the items as (name, start, end), times from the start of the trace; None for no end."""
    first = np.append(0, np.cumsum(timeline.run_count))
    items = timeline.items
    found = {}
    for group in timeline.groups:
        for lane in group.tracks:
            for place, run in enumerate(lane.runs):
                if timeline.run_kind[run] == Run.COUNTER:
                    continue
                found[group.name, lane.name, place] = [
                    (
                        trace.strings.text(items["name"][i]),
                        int(items["ts"][i]) - timeline.start,
                        None if items["end"][i] == OPEN else int(items["end"][i]) - timeline.start,
                    )
                    for i in range(first[run], first[run + 1])
                ]
    return found


def test_everything_has_its_place():
    trace, timeline = timeline_of(EVENTS)
    assert timeline.start == 100_000
    assert shown(trace, timeline) == {
        ("shop 1", "main 1", 0): [("bell", 15_000, 15_000)],
        ("shop 1", "main 1", 1): [("day", 0, 100_000)],
        ("shop 1", "main 1", 2): [("sale", 10_125, 30_625), ("sale", 50_000, 60_000)],
        ("shop 1", "order", 0): [("order", 20_000, 40_000)],
        ("shop 1", "order", 1): [("order", 30_000, 50_000)],
        ("shop 1", "thread 2", 0): [("night", 90_000, None)],
    }
    names = [lane.name for group in timeline.groups for lane in group.tracks]
    assert sum("stock" in name for name in names) == 2
    assert timeline.counters["value"].tolist() == [5, 4, 1.5, 2.5]
    assert timeline.end - timeline.start == 100_000


def test_tasks_run_until_the_next(tmp_path):
    with converter.open_trace("roundtrip_fixtures/trace_cmd/small.dat") as trace:
        timeline = arranged(Gathered(trace))
    (cpus, *_) = timeline.groups
    assert cpus.name == "CPUs"
    lane = cpus.tracks[0]
    (run,) = lane.runs
    assert timeline.run_kind[run] == Run.TASKS
    first = int(timeline.run_count[:run].sum())
    count = int(timeline.run_count[run])
    ts, end = (timeline.items[name][first : first + count] for name in ("ts", "end"))
    assert end[:-1].tolist() == ts[1:].tolist()
    assert end[-1] == OPEN


def header_of(contents):
    data = base64.b64decode(contents.timeline)
    at, size = int(data[-24:-12], 16), int(data[-12:], 16)
    return data, json.loads(zlib.decompress(data[at : at + size]))


def values(data, column):
    """The numbers of a packed column."""
    raw = zlib.decompress(data[column["at"] : column["at"] + column["size"]])
    planes = np.frombuffer(raw, np.uint8).reshape(column["width"], column["length"])
    return [sum(int(byte) << 8 * weight for weight, byte in enumerate(each)) for each in planes.T]


def contents_of(events, limit=1_000_000):
    with converter.open_trace(json.dumps({"traceEvents": events}).encode()) as trace:
        return Contents(trace, "a title", limit)


def test_what_is_packed():
    contents = contents_of(EVENTS)
    data, header = header_of(contents)
    columns = header["columns"]
    assert header["title"] == "a title"
    assert header["start"] == "100000"
    assert header["notes"] == contents.notes == []
    assert {"day", "sale", "order", "night", "bell"} <= set(header["names"])
    names = [header["names"][i] for i in values(data, columns["name"])]
    steps = values(data, columns["ts"])
    assert sorted(zip(names, steps, strict=True)) == [
        ("bell", 15_000),
        ("day", 0),
        ("night", 90_000),
        ("order", 20_000),
        ("order", 30_000),
        ("sale", 10_125),
        # From the item before it in the row.
        ("sale", 50_000 - 10_125),
    ]
    # One more than they take; 0 has no end.
    assert sorted(values(data, columns["took"])) == [0, 10_001, 20_001, 20_001, 20_501, 100_001]
    assert [values(data, columns[name]) for name in ("flowFromTs", "flowToTs")] == [
        [51_000],
        [95_000],
    ]


def test_arguments_are_those_of_their_events():
    contents = contents_of(EVENTS)
    data, header = header_of(contents)
    _, sources = header["sources"]
    packed = base64.b64decode(contents.arguments)
    found = {}
    for number, fields in enumerate(sources):
        for field in fields or ():
            if field["name"] == "n":
                found[number] = values(packed, field)
    source = [one - 1 for one in values(data, header["columns"]["source"])]
    names = [header["names"][i] for i in values(data, header["columns"]["name"])]
    seen = {}
    rows = []
    for number, name in zip(source, names, strict=True):
        row = seen[number] = seen.get(number, -1) + 1
        if number in found:
            rows.append((name, found[number][row] & 0xFF))
    assert sorted(rows) == [("day", 1), ("sale", 3), ("sale", 0xFE)]
    # What the end says, too.
    assert any(field["name"] == "paid" for fields in sources for field in fields or ())


def crowd(count):
    """Many short slices, and a long one among them."""
    slices = [
        {"ph": "X", "name": f"n{i % 3}", "pid": 1, "tid": 1, "ts": i * 2, "dur": 1 + (i % 7) / 10}
        for i in range(count)
    ]
    slices[count // 2]["dur"] = 1000
    slices[count // 2 + 1 :] = [{**one, "ts": one["ts"] + 1000} for one in slices[count // 2 + 1 :]]
    counters = [
        {"ph": "C", "name": "c", "pid": 1, "ts": i, "args": {"v": i * 37 % 1000}}
        for i in range(count)
    ]
    return slices + counters


def test_what_is_short_and_close_becomes_one():
    _, timeline = timeline_of(crowd(3000))
    before = {name: column.copy() for name, column in timeline.items.items()}
    values_before = timeline.counters["value"].copy()
    unit = unit_for(timeline, 500)
    coarsened(timeline, unit)
    items = timeline.items
    assert 100 < len(items["ts"]) <= 500
    assert len(items["ts"]) == timeline.run_count[timeline.run_kind != Run.COUNTER].sum()
    assert items["count"].sum() == 3000
    took = before["end"] - before["ts"]
    assert (
        items["busy"].sum() + (items["end"] - items["ts"])[items["count"] == 1].sum()
    ) == took.sum()
    # What is long stays as it is, and who stands for others is the longest of them.
    assert 1_000_000 in (items["end"] - items["ts"])[items["count"] == 1]
    for start, end, name, count in zip(
        *(items[each].tolist() for each in ("ts", "end", "name", "count")), strict=True
    ):
        inside = (before["ts"] >= start) & (before["end"] <= end)
        assert np.count_nonzero(inside) == count
        assert took[inside].max() == took[inside & (before["name"] == name)].max()
    assert np.all(items["source"][items["count"] > 1] == -1)
    assert timeline.counters["value"].max() == values_before.max()
    assert timeline.counters["value"].min() == values_before.min()
    assert len(timeline.counters["ts"]) < 3000


def test_a_page_keeps_to_its_limit_and_says_what_that_takes():
    contents = contents_of(crowd(20_000), limit=60_000)
    assert len(contents.timeline) + len(contents.arguments) < 60_000
    assert "drawn together with what is beside it" in contents.notes[0]
    _, header = header_of(contents)
    assert header["notes"] == contents.notes


def test_arguments_are_left_out_first():
    events = [
        {"ph": "i", "name": "x", "pid": 1, "tid": 1, "ts": i, "args": {"text": f"{i * 7919:x}" * 9}}
        for i in range(2000)
    ]
    events += [{**one, "name": "y", "args": {"other": 1}} for one in events]
    whole = contents_of(events)
    limit = len(whole.timeline) + 2000
    part = contents_of(events, limit=max(limit, 50_000))
    assert whole.notes == []
    assert len(part.arguments) < len(whole.arguments) or part.notes == []


@pytest.mark.parametrize(
    "events", [[], [{"ph": "X", "name": "x", "pid": 1, "tid": 1, "ts": 5, "dur": 0}]]
)
def test_hardly_anything(events):
    contents = contents_of(events)
    _, header = header_of(contents)
    assert header["events"] == len(events)


@settings(max_examples=10)
@given(traces(), st.booleans())
def test_any_trace_has_a_page(trace, small):
    contents = Contents(trace, "any", 10 if small else 1_000_000)
    _, header = header_of(contents)
    runs = [run for group in header["groups"] for lane in group["lanes"] for run in lane["runs"]]
    assert sorted(runs) == list(range(header["columns"]["runKind"]["length"]))
    shares_of(trace, 5)


def test_threads_have_the_names_that_are_known_of_them():
    """Their own, for a main thread that of its process, else what a switch calls them."""
    builder = converter.TraceBuilder()
    builder.process(1, "shop")
    builder.thread(1, pid=1)
    builder.thread(2, pid=1)
    builder.thread(3, "own", pid=1)
    builder.thread(4, pid=1)
    fields = {"prev_comm": "shop", "prev_pid": 1, "prev_prio": 120, "prev_state": 1}
    fields |= {"next_comm": "worker", "next_pid": 2, "next_prio": 120}
    builder.event("sched_switch", 10, 1, cpu=0, system="sched", fields=fields)
    for number, tid in enumerate((1, 2, 3, 4)):
        builder.slice("a", 20 + number, 1, tid)
    timeline = arranged(Gathered(builder.trace()))
    names = {lane.name for group in timeline.groups for lane in group.tracks}
    assert {"shop 1", "worker 2", "own 3", "thread 4"} <= names
