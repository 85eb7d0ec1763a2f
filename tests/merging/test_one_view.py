"""Recordings of one machine in one view: trace_processor shows each event at its time, in its thread."""

import pytest
from support.traces.small_traces import events_of
from support.viewers.trace_processor import answer, errors, needs_trace_processor

import converter
from converter.cli import main
from converter.fixtures.recordings import recordings
from converter.ir.kinds import Kind
from converter.projection.engine.ids import SYNTHETIC_ID

SUFFIXES = {"trace_cmd": ".dat", "ctf": ".ctf", "uftrace": ".uftrace"}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A folder with the three files, by the names of their formats."""
    folder = tmp_path_factory.mktemp("recordings")
    paths = {}
    for name, trace in recordings(300, 3).items():
        paths[name] = folder / f"{name}{SUFFIXES[name]}"
        converter.write(trace, paths[name], name)
    return folder, paths


@pytest.fixture(scope="module")
def view(recorded, tmp_path_factory):
    folder, _ = recorded
    path = tmp_path_factory.mktemp("view") / "all.pftrace"
    assert main([str(folder), "-o", str(path), "-q"]) == 0
    return path


def test_a_folder_of_recordings_is_all_of_them(recorded):
    folder, paths = recorded
    with converter.open_trace(folder) as trace:
        assert isinstance(trace, converter.MergedTrace)
        assert {one.name for one in trace.inputs} == {path.name for path in paths.values()}
        assert all(not one.doubt and one.shift == 0 for one in trace.inputs)
        assert sum(len(batch) for batch in trace.batches()) == 900


def test_a_folder_is_read_whole(recorded):
    folder, _ = recorded
    assert sum(len(batch) for batch in converter.read(folder).batches()) == 900


def test_a_thread_of_the_kernel_is_that_of_its_process(recorded):
    folder, _ = recorded
    with converter.open_trace(folder) as trace:
        for _ in trace.batches():
            pass
        threads = {(trace.processes[one.process].pid, one.tid) for one in trace.threads}
    # Those of uftrace that stand for tracks, which it does not have, have ids of their own.
    assert {ids for ids in threads if ids[1] < SYNTHETIC_ID} == {
        (0, 0),
        (100, 100),
        (100, 101),
        (200, 200),
    }


def test_what_was_done_is_said_in_a_line_for_each(recorded, tmp_path, capsys):
    folder, _ = recorded
    assert main([str(folder), "-o", str(tmp_path / "all.fxt")]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert "traceconv: trace_cmd.dat: by clock 'monotonic', +0 s" in lines


def ids(trace, thread):
    held = trace.threads[thread]
    return [str(trace.processes[held.process].pid), str(held.tid)]


def slices_of(path):
    """(time since 1970, pid, tid, name) of each slice that a recording begins."""
    trace = converter.read(path)
    found = []
    at = 0
    events = events_of(trace)
    for batch in trace.batches():
        for thread in batch.thread.tolist():
            ts, kind, _, fields = events[at]
            if kind is Kind.SLICE_BEGIN:
                found.append([str(ts + trace.clock.epoch_ns), *ids(trace, thread), fields["name"]])
            at += 1
    return found


@needs_trace_processor
def test_nothing_is_rejected(view):
    assert errors(view) == {}


@needs_trace_processor
def test_functions_are_slices_at_their_times_in_their_threads(recorded, view):
    _, paths = recorded
    expected = slices_of(paths["uftrace"])
    assert expected
    shown = answer(
        view,
        "select to_realtime(slice.ts), pid, tid, slice.name from slice "
        "join thread_track on track_id = thread_track.id join thread using (utid) "
        "join process using (upid) where slice.dur != 0 order by slice.ts",
    )
    # It prints quotes in a text as they are.
    assert [[cell.replace('"', "") for cell in row] for row in shown] == [
        [cell.replace('"', "") for cell in row] for row in expected
    ]


@needs_trace_processor
def test_instants_of_the_library_are_in_the_threads_of_the_kernel(recorded, view):
    _, paths = recorded
    trace = converter.read(paths["ctf"])
    names = {fields.get("name") for _, kind, _, fields in events_of(trace) if kind is Kind.INSTANT}
    assert names
    shown = answer(
        view,
        "select distinct tid, (select count(*) from sched where sched.utid = thread.utid) > 0 "
        "from slice join thread_track on track_id = thread_track.id join thread using (utid) "
        "where slice.dur = 0 order by 1",
    )
    assert shown == [["100", "1"]]


@needs_trace_processor
def test_switches_are_at_their_times(recorded, view):
    _, paths = recorded
    trace = converter.read(paths["trace_cmd"])
    expected = [
        [str(ts + trace.clock.epoch_ns), str(fields["next_pid"])]
        for ts, kind, _, fields in events_of(trace)
        if kind is Kind.SCHED_SWITCH
    ]
    shown = answer(
        view,
        "select to_realtime(sched.ts), tid from sched join thread using (utid) order by sched.ts",
    )
    assert [row for row in shown if row in expected] == expected


def test_batches_of_several_inputs_are_together_as_large_as_those_of_one(recorded, monkeypatch):
    monkeypatch.setattr("converter.ir.trace._LEAST_BATCH", 100)
    _, paths = recorded
    sizes = {}
    for name, path in paths.items():
        with converter.open_trace(path) as trace:
            trace.readers = 1 << 17
            sizes[name] = [len(batch) for batch in trace.batches()]
    assert sizes == {name: [100, 100, 100] for name in paths}
    with converter.open_merged([str(path) for path in paths.values()]) as merged:
        assert [len(batch) for batch in merged.batches()] == [900]
