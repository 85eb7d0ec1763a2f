"""What `uftrace dump --chrome` gets wrong, and the same recordings as this converter's Chrome JSON."""

from __future__ import annotations

import json
import subprocess
from collections import defaultdict

import pytest
from support.uftrace.files import RICH, TID, flawed
from support.uftrace.oracle import needs_uftrace, uftrace

import converter

pytestmark = needs_uftrace


def nesting(events):
    """How many ends have no begin, and how many begins no end."""
    depth = defaultdict(int)
    orphans = 0
    for event in events:
        place = event["pid"], event.get("tid", event["pid"])
        if event["ph"] == "B":
            depth[place] += 1
        elif event["ph"] == "E":
            orphans += depth[place] == 0
            depth[place] = max(0, depth[place] - 1)
    return orphans, sum(depth.values())


def ours(path, tmp_path):
    convert_to = tmp_path / "ours.json"
    with converter.open_trace(str(path)) as trace:
        converter.write(trace, convert_to, "chrome", force=True)
    return json.loads(convert_to.read_text())["traceEvents"]


def exported(path):
    return "\n".join(uftrace(path, "dump", "--chrome"))


def test_preempted_tasks_unbalance_uftraces_export(tmp_path):
    data = flawed(tmp_path / "data", preempted=True)
    orphans, _ = nesting(json.loads(exported(data))["traceEvents"])
    assert orphans == 1
    assert nesting(ours(data, tmp_path)) == (0, 0)
    switches = [event for event in ours(data, tmp_path) if event.get("name") == "sched_switch"]
    assert len(switches) == 2


def test_lost_records_break_uftraces_export(tmp_path):
    data = flawed(tmp_path / "data", lost=True)
    with pytest.raises(json.JSONDecodeError):
        json.loads(exported(data))
    (lost,) = [event for event in ours(data, tmp_path) if event.get("name") == "discarded"]
    assert lost["args"]["count"] == 5


def test_a_missing_command_line_breaks_uftraces_export(tmp_path):
    data = flawed(tmp_path / "data", cmdline=False)
    with pytest.raises(json.JSONDecodeError):
        json.loads(exported(data))
    assert nesting(ours(data, tmp_path)) == (0, 0)


def test_uftraces_export_names_threads_under_other_ids(tmp_path):
    def threads(events):
        named = {
            (event["pid"], event.get("tid", event["pid"])): event["args"]["name"]
            for event in events
            if event["ph"] == "M" and event["name"] == "thread_name"
        }
        used = {
            (event["pid"], event.get("tid", event["pid"]))
            for event in events
            if event["ph"] in "BE"
        }
        return named, used

    data = flawed(tmp_path / "data")
    text = exported(data)
    first = [line for line in text.split("\n") if '"M"' in line and '"tid"' not in line]
    assert any('"pid":101' in line for line in first)
    named, used = threads(ours(data, tmp_path))
    assert used == {(TID, TID), (TID, 101)}
    assert named[TID, 101] == "worker"
    assert used <= named.keys()


def test_uftraces_export_leaves_out_events(tmp_path):
    data = flawed(tmp_path / "data")
    assert "one" not in [event["name"] for event in json.loads(exported(data))["traceEvents"]]
    (event,) = [event for event in ours(data, tmp_path) if event.get("name") == "one"]
    assert (event["ph"], event["cat"], event["tid"]) == ("i", "prov", TID)


def test_uftraces_export_has_arguments_as_one_text(tmp_path):
    data = flawed(tmp_path / "data")
    (theirs,) = [
        event
        for event in json.loads(exported(data))["traceEvents"]
        if event["ph"] == "B" and event["name"] == "foo"
    ]
    assert theirs["args"]["arguments"].startswith('("say "')
    assert "é" not in theirs["args"]["arguments"]
    (event,) = [
        event for event in ours(data, tmp_path) if event["ph"] == "B" and event["name"] == "foo"
    ]
    assert event["args"] == {"arg1": 'say "é"', "arg2": -5}


def test_uftraces_export_closes_open_functions_behind_later_events(tmp_path):
    def times(events):
        return [event["ts"] for event in events if event["ph"] in "BE"]

    data = flawed(tmp_path / "data", unfinished=True)
    theirs = times(json.loads(exported(data))["traceEvents"])
    assert theirs != sorted(theirs)
    assert times(ours(data, tmp_path)) == sorted(times(ours(data, tmp_path)))


def test_uftrace_aborts_at_long_doubles(tmp_path):
    data = flawed(tmp_path / "data", long_double=True)
    with pytest.raises(subprocess.CalledProcessError) as raised:
        uftrace(data, "dump")
    assert raised.value.returncode < 0
    (event,) = [
        event for event in ours(data, tmp_path) if event.get("name") == "foo" and event["ph"] == "B"
    ]
    assert event["args"] == {"fparg1": -2.5}


def test_a_date_costs_no_precision(tmp_path):
    """Later versions add the date to the times, which as numbers of JSON are then exact to 250 ns."""
    data = flawed(tmp_path / "data", date=1_795_170_000)
    times = [event["ts"] for event in ours(data, tmp_path) if event["ph"] in "BE"]
    assert times == [
        1_000_000.0,
        1_000_000.01,
        1_000_000.012,
        1_000_000.018,
        1_000_000.02,
        1_000_000.03,
    ]


def test_functions_left_by_longjmp_are_closed(tmp_path):
    data = flawed(tmp_path / "data", longjmp=True)
    assert nesting(ours(data, tmp_path)) == (0, 0)


def test_every_argument_of_a_recording_is_typed_and_every_slice_has_its_own_end(tmp_path):
    events = ours(RICH, tmp_path)
    stacks = defaultdict(list)
    unmatched = []
    renamed = []
    for event in events:
        if event["ph"] not in "BE":
            continue
        stack = stacks[event["pid"], event["tid"]]
        if event["ph"] == "B":
            stack.append(event["name"])
        elif event["ph"] == "E" and stack:
            closed = stack.pop()
            if event.get("name", closed) != closed:
                renamed.append(event["name"])
        elif event["ph"] == "E":
            unmatched.append(event["name"])
    # A child returns from the fork that its parent entered. What longjmp leaves is closed.
    assert unmatched == ["fork"]
    assert renamed == []
    assert not any(stacks.values())
    named = {
        (event["pid"], event["tid"])
        for event in events
        if event["ph"] == "M" and event["name"] == "thread_name"
    }
    assert stacks.keys() <= named
    assert not any("arguments" in event.get("args", {}) for event in events)
