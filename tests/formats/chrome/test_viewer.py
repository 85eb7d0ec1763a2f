"""What the importer of Perfetto shows: the same of JSON, of what is made of it, and of what is made of that again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.perfetto import files as perfetto_files
from support.traces.losses import line_of
from support.traces.small_traces import event_class, events_of, projected, trace_of
from support.viewers.trace_processor import answer, needs_trace_processor, printed
from support.viewers.trace_processor_versions import Feature, shows

from converter import convert, write
from converter.formats.chrome.capabilities import CAPABILITIES
from converter.ir.field_classes import StringClass
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Process, Thread
from converter.projection.passes.slices.open_slices import OpenSlices

SLICES = """
select s.ts, s.dur, s.name, s.category, s.depth, t.tid, s.thread_ts, s.thread_dur,
  (select group_concat(flat_key || '=' || display_value) from
    (select flat_key, display_value from args a
     where a.arg_set_id = s.arg_set_id and flat_key like 'args.%' order by 1, 2)) as args,
  (select count() from args a
   where a.arg_set_id = s.arg_set_id and flat_key = 'legacy_event.passthrough_utid') as passed
from slice s left join thread_track tt on tt.id = s.track_id left join thread t using (utid)
order by 1, 3, 2"""
FLOWS = """
select a.name, b.name from flow f join slice a on a.id = f.slice_out join slice b on b.id = f.slice_in order by 1, 2"""
COUNTERS = """
select c.ts, c.value, t.name, p.pid from counter c join process_counter_track t on t.id = c.track_id
left join process p using (upid) order by 1, 3"""
PROCESSES = """
select pid, name, cmdline, extract_arg(arg_set_id, 'process_sort_index_hint')
from process where pid order by 1"""
THREADS = "select tid, name from thread where tid order by 1"
THREAD_ORDER = """
select tid, extract_arg(arg_set_id, 'thread_sort_index_hint')
from thread where tid order by 1"""


def event(ph: str, ts: float, name: str = "", **more: Any) -> dict[str, Any]:
    return {"ph": ph, "ts": ts, "name": name, "pid": 10, "tid": 11, **more}


CASES: dict[str, list[dict[str, Any]]] = {
    "arguments": [
        event("X", 1, "a", dur=5, args={"n": 1, "s": "x", "o": {"p": 2.5}, "l": [1, 2], "b": True})
    ],
    "lists of several types": [
        event("X", 1, "a", dur=5, args={"m": [1, "a", [2, {"f": 1.5}]], "o": {"p": [1, "x"]}})
    ],
    "flows of slices": [
        event("X", 1, "a", dur=2, bind_id="0x9", flow_out=True),
        event("X", 5, "b", tid=12, dur=2, bind_id="0x9", flow_in=True, flow_out=True),
        event("X", 9, "c", tid=13, dur=2, bind_id="0x9", flow_in=True),
    ],
    "flow events": [
        event("X", 1, "a", dur=9),
        event("s", 2, "f", id=7),
        event("X", 20, "b", tid=12, dur=9),
        event("f", 21, "f", tid=12, id=7, bp="e"),
        event("s", 3, "g", id="8"),
        event("f", 22, "g", tid=12, id="8"),
        event("X", 25, "next", tid=12, dur=1),
    ],
    "a flow that starts where its slice ends": [
        event("X", 1, "a", dur=9),
        event("s", 10, "f", id=7),
        event("X", 20, "b", tid=12, dur=9),
        event("f", 21, "f", tid=12, id=7, bp="e"),
    ],
    "ids": [
        event("b", 1, "number", cat="c", id=5),
        event("e", 2, "number", cat="c", id=5),
        event("b", 1, "text", cat="c", id="some text"),
        event("e", 3, "text", cat="c", id="some text"),
        event("b", 1, "local", cat="c", id2={"local": 0}),
        event("e", 4, "local", cat="c", id2={"local": 0}),
        event("b", 1, "global", cat="c", id2={"global": "0x7"}),
        event("n", 2, "global", cat="c", id2={"global": "0x7"}),
        event("e", 5, "global", cat="c", id2={"global": "0x7"}),
    ],
    "instants": [
        event(ph, 1 + i, f"{ph}{s}", s=s) for i, s in enumerate("gpt") for ph in ("i", "I", "R")
    ],
    "thread times": [
        event("B", 1, "a", tts=100),
        event("E", 9, "a", tts=104),
        event("X", 10, "b", dur=5, tts=105, tdur=3),
        event("X", 30, "a fraction", dur=5.5, tts=111, tdur=3),
    ],
    "nesting": [
        event("X", 1, "inner", dur=5),
        event("X", 1, "outer", dur=9),
        event("X", 20, "first", dur=0),
        event("X", 20, "second", dur=0),
        event("X", 30, "a", dur=1.5),
        event("X", 30.5, "b", dur=0.25),
    ],
    "counters": [
        event("C", 1, "one", args={"value": 3}),
        event("C", 1, "two", args={"a": 1, "b": 2.5}),
        event("C", 1, "text", args={"a": ".75", "b": "1.5e", "c": "+10"}),
        event("C", 1, "with id", id="x", args={"v": 1}),
    ],
    "names": [
        {"ph": "M", "pid": 10, "name": "process_name", "args": {"name": "p"}},
        {"ph": "M", "pid": 10, "tid": 11, "name": "thread_name", "args": {"name": "t"}},
        {"ph": "M", "pid": 40, "name": "process_sort_index", "args": {"sort_index": 3}},
        event("i", 1, "i"),
    ],
    "order": [
        {"ph": "M", "pid": 10, "name": "process_sort_index", "args": {"sort_index": 3}},
        {"ph": "M", "pid": 10, "name": "process_sort_index", "args": {"sort_index": -7.5}},
        event("i", 1, "i"),
        *(
            {
                "ph": "M",
                "pid": 10,
                "tid": tid,
                "name": "thread_sort_index",
                "args": {"sort_index": n},
            }
            for tid, n in ((11, 5), (12, 0), (13, -1))
        ),
    ],
    "thread time without an end": [event("X", 20, "no end", dur=5, tts=110)],
    "longer phases": [event("XXX", 1, "a", dur=2)],
    "what is nothing": [event("X", 1, "real", dur=2), event("X", 1, "no duration"), {}],
}


@needs_trace_processor
@pytest.mark.parametrize("case", CASES)
def test_the_importer_shows_the_same(case: str, tmp_path: Path) -> None:
    source = tmp_path / "a.json"
    source.write_text(json.dumps(CASES[case]))
    made = [tmp_path / name for name in ("b.json", "c.pftrace", "d.json")]
    for origin, target in zip((source, source, made[1]), made, strict=True):
        convert(origin, target)
    queries = [SLICES, FLOWS, COUNTERS, PROCESSES, THREADS]
    if shows(Feature.JSON_SORT_INDEXES):
        queries.append(THREAD_ORDER)
    asked = ";\n".join(queries)
    wanted = printed(source, asked)
    shown = [printed(target, asked) for target in made]
    if case == "thread time without an end" and not shows(Feature.ENDS_WITHOUT_THREAD_TIME):
        # Of Perfetto some number is shown for a duration that is not there.
        assert shown[1][1].pop(7) != wanted[1][7]
        shown[1][1].insert(7, wanted[1][7])
    assert shown == [wanted] * 3


@needs_trace_processor
@pytest.mark.parametrize("name", ["", "mine"])
def test_process_0_is_one_as_any_other(name, tmp_path):
    """Importers have the idle task of a kernel in each trace but those that are JSON."""
    source, target, back = (tmp_path / name for name in ("a.json", "b.pftrace", "c.json"))
    named = {"ph": "M", "pid": 0, "tid": 0, "name": "thread_name", "args": {"name": name}}
    events = [event("X", i, "a", pid=0, tid=tid, dur=5) for i, tid in enumerate((0, 7))]
    source.write_text(json.dumps([named, *events, event("C", 3, "n", pid=0, tid=7, args={"v": 1})]))
    losses = convert(source, target)
    convert(target, back)
    assert "idle-thread-renamed" not in {loss.code for loss in losses}
    query = """select tid, t.name, pid, p.name, is_main_thread, is_idle, upid != 0
    from thread t left join process p using (upid) where utid order by tid"""
    wanted = answer(source, query)
    assert [row[:2] for row in wanted] == [["0", name or "[NULL]"], ["7", "[NULL]"]]
    assert [answer(made, query) for made in (target, back)] == [wanted] * 2


@needs_trace_processor
@pytest.mark.parametrize(("name", "is_lost"), [("", True), ("mine", True), ("swapper", False)])
def test_thread_0_of_other_formats_is_called_otherwise_by_the_importer(name, is_lost, tmp_path):
    source, target = tmp_path / "a.fxt", tmp_path / "b.pftrace"
    threads = {"processes": [Process(0)], "threads": [Thread(0, 0, name)]}
    begin = event_class(Kind.SLICE_BEGIN, **NAME)
    write(trace_of([begin], [(0, 1, -1, 0, (b"a",))], **threads), source)
    losses = convert(source, target)
    query = (
        "select t.name from slice join thread_track k on k.id = track_id join thread t using (utid)"
    )
    assert answer(target, query) == [["swapper"]]
    assert ("idle-thread-renamed" in {loss.code for loss in losses}) is is_lost


@needs_trace_processor
@pytest.mark.parametrize("suffix", ["pftrace", "fxt"])
def test_slices_that_cross_are_all_shown(suffix: str, tmp_path: Path) -> None:
    source, target = tmp_path / "a.json", tmp_path / f"b.{suffix}"
    crossing = [event("X", 1, "alpha", dur=10), event("X", 6, "beta", dur=10)]
    source.write_text(json.dumps(crossing))
    convert(source, target)
    query = "select name, ts, dur from slice order by ts"
    assert answer(target, query) == [["alpha", "1000", "10000"], ["beta", "6000", "10000"]]
    if shows(Feature.OVERLAPPING_SLICES):
        assert answer(source, query) == answer(target, query)


@needs_trace_processor
def test_thread_states_of_other_recorders_are_shown_in_perfetto(tmp_path: Path) -> None:
    source, target = tmp_path / "a.json", tmp_path / "b.pftrace"
    states = [event("T", 1, "Running", dur=2, args={"cpu": 0}), event("T", 3, "S", dur=4)]
    source.write_text(json.dumps([*states, event("X", 1, "work", dur=2)]))
    convert(source, target)
    query = "select ts, state from thread_state order by ts"
    assert answer(target, query) == [["1000", "Running"], ["3000", "S"]]
    if shows(Feature.JSON_THREAD_STATES):
        assert answer(source, query) == answer(target, query)


@needs_trace_processor
def test_what_only_json_has_comes_back(tmp_path: Path) -> None:
    source, middle, back = (tmp_path / name for name in ("a.json", "b.pftrace", "c.json"))
    labels = {"ph": "M", "pid": 10, "name": "process_labels", "args": {"labels": "x"}}
    document = {
        "traceEvents": [event("i", 1, "i", cname="good", sf=3), labels],
        "metadata": {"a": [1]},
    }
    source.write_text(json.dumps(document))
    convert(source, middle)
    convert(middle, back)
    found = json.loads(back.read_text())
    assert found["metadata"] == {"a": [1]}
    assert labels in found["traceEvents"]
    assert {"cname": "good", "sf": 3}.items() <= found["traceEvents"][0].items()


def test_metadata_behind_the_events_is_a_loss_elsewhere(tmp_path: Path) -> None:
    source = tmp_path / "a.json"
    source.write_text(json.dumps({"traceEvents": [event("i", 1, "i")], "metadata": {"a": 1}}))
    losses = convert(source, tmp_path / "b.fxt")
    assert "native-data format=chrome name=members (1)" in map(line_of, losses)
    assert "native-data-shown format=chrome name=metadata (1)" in map(line_of, losses)
    losses = convert(source, tmp_path / "b.pftrace")
    assert "json-metadata-unshown (1)" in map(line_of, losses)
    assert not list(convert(source, tmp_path / "b.json"))


NAME = {"name": (StringClass(), Role.NAME)}
BEGIN, END = event_class(Kind.SLICE_BEGIN, **NAME), event_class(Kind.SLICE_END, **NAME)


def test_ends_of_slices_that_are_not_open_have_the_name_of_what_they_end() -> None:
    rows = [
        (0, 1, -1, 1, (b"main",)),
        (0, 2, -1, 1, (b"foo",)),
        # A function that returns twice ends what is open.
        (1, 3, -1, 1, (b"setjmp",)),
        (0, 4, -1, 1, (b"bar",)),
        (0, 5, -1, 1, (b"baz",)),
        # What is inside ends with it.
        (1, 6, -1, 1, (b"bar",)),
        (1, 7, -1, 1, (b"main",)),
    ]
    result, losses = projected(trace_of([BEGIN, END], rows), CAPABILITIES)
    ends = [fields["name"] for _, kind, _, fields in events_of(result) if kind is Kind.SLICE_END]
    assert ends == ["foo", "bar", "main"]
    assert "slice-end-name-unmatched (1)" in losses


def test_deep_stacks_are_matched_across_batches() -> None:
    slices, depth = OpenSlices(), 100_000
    thread, track = np.zeros(depth, np.int32), np.full(depth, -1, np.int32)
    names = np.arange(1, depth + 1, dtype=np.int32)
    begins, ends = np.ones(depth, np.int32), np.full(depth, 2, np.int32)
    assert not len(slices.match(begins, thread, track, names, by_name=False))
    assert not len(slices.match(ends, thread, track, names[::-1].copy(), by_name=False))
    assert not len(slices.match(ends[:1], thread[:1], track[:1], names[:1], by_name=False))
    slices.match(begins[:1], thread[:1], track[:1], names[:1], by_name=False)
    assert not len(slices.match(ends[:1], thread[:1] + 1, track[:1], names[1:2], by_name=False))
    assert slices.match(ends[:1], thread[:1], track[:1], names[1:2], by_name=False).tolist() == [0]
    with pytest.raises(ValueError, match="length"):
        slices.match(ends, thread[:1], track, names, by_name=False)


def test_an_end_that_looks_for_its_name_ends_a_slice_without_one() -> None:
    slices = OpenSlices()
    step = np.array([1, 1, 2, 2, 1, 1, 2], np.int32)
    # An end without a name is of the innermost; one whose name is nowhere is of none.
    name = np.array([7, 0, 8, 9, 0, 7, 7], np.int32)
    thread, track = np.zeros(len(step), np.int32), np.full(len(step), -1, np.int32)
    assert slices.match(step, thread, track, name, by_name=True).tolist() == [2]


def test_where_ends_come_in_turn_each_ends_the_innermost_slice() -> None:
    slices = OpenSlices()
    step = np.array([1, 1, 2, 2], np.int32)
    name = np.array([7, 8, 7, 7], np.int32)
    thread, track = np.zeros(len(step), np.int32), np.full(len(step), -1, np.int32)
    found = slices.match(step, thread, track, name, by_name=False, in_turn=True)
    assert found.tolist() == [2]


@needs_trace_processor
def test_an_end_of_a_slice_without_a_name_ends_it(tmp_path: Path) -> None:
    file = perfetto_files.File()
    file.thread_track(2, 10, 11, "worker")
    file.event(1000, perfetto_files.BEGIN, uuid=2)
    file.event(2000, perfetto_files.END, "other", uuid=2)
    source, target = tmp_path / "in.pftrace", tmp_path / "out.json"
    source.write_bytes(file.bytes())
    convert(source, target)
    assert answer(source, "select ts, dur from slice") == [["1000", "1000"]]
    assert answer(target, "select ts, dur from slice") == [["1000", "1000"]]


@needs_trace_processor
def test_thread_times_are_shown_of_json(tmp_path):
    file = perfetto_files.File()
    file.thread_track(2, 10, 11, "worker")
    counter = file.track(3, "", 2)
    counter.ClearField("name")  # An empty one would be its name.
    counter.counter.type = 1
    for ts, of, time in (
        (1000, perfetto_files.BEGIN, 700),
        (5000, perfetto_files.BEGIN, 800),
        (6000, perfetto_files.END, 850),
        (9000, perfetto_files.END, 1001),
    ):
        event = file.packet(ts, 7, sequence_flags=1 if ts == 1000 else 0).track_event
        event.type, event.track_uuid = of, 2
        event.extra_counter_track_uuids.append(3)
        event.extra_counter_values.append(time)
    source, target = tmp_path / "a.pftrace", tmp_path / "b.json"
    source.write_bytes(file.bytes())
    convert(source, target)
    query = "select ts, dur, thread_ts, thread_dur from slice order by ts"
    assert answer(target, query) == answer(source, query)
    assert ["5000", "1000", "800", "50"] in answer(source, query)


@needs_trace_processor
@pytest.mark.parametrize("member", ["dur", "tts", "tdur"])
def test_times_that_are_no_numbers_do_not_hide_the_other_events(member, tmp_path):
    source, copy = tmp_path / "a.json", tmp_path / "b.json"
    event = {"ph": "X", "pid": 1, "tid": 2, "ts": 100, "dur": 50, "name": "whole"}
    broken = [event | {member: value} for value in ("50a", "", None, [1])]
    source.write_text(json.dumps([event, *broken, event | {"ts": 200}]))
    convert(source, copy)
    slices = answer(copy, "select ts, dur from slice order by ts")
    assert slices == [["100000", "50000"], ["200000", "50000"]]
    convert(copy, tmp_path / "c.json")
    assert (tmp_path / "c.json").read_bytes() == copy.read_bytes()


@needs_trace_processor
@pytest.mark.parametrize("member", ["dur", "tts", "tdur"])
def test_names_behind_times_that_are_no_numbers_are_shown_nowhere(member, tmp_path):
    source = tmp_path / "a.json"
    name = {"ph": "M", "name": "thread_name", "pid": 1, "tid": 2, "args": {"name": "shown"}}
    broken = [{**name, member: value, "args": {"name": "not"}} for value in ("5a", "", None, {})]
    large = {**name, "tid": 3, member: 1e300}
    slices = [{"ph": "X", "pid": 1, "tid": tid, "ts": 1, "dur": 5} for tid in (2, 3)]
    # In an array, what the importer gives up is what is behind the broken events.
    source.write_text(json.dumps([*slices, name, large, *broken]))
    for target in ("b.json", "c.pftrace"):
        convert(source, tmp_path / target)
        assert answer(tmp_path / target, THREADS) == answer(source, THREADS)
    shown = [row[1] for row in answer(source, THREADS) if row[0] in "23"]
    assert shown == ["shown", "shown"]
    convert(tmp_path / "b.json", tmp_path / "d.json")
    assert (tmp_path / "d.json").read_bytes() == (tmp_path / "b.json").read_bytes()
