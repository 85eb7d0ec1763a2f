"""Events of the scheduler say what their tasks are called, and are on the task that leaves the CPU."""

import re
import shutil
import subprocess

import pytest
from support.traces.small_traces import event_class, events_of, trace_of
from support.viewers.trace_processor import answer, needs_trace_processor

import converter
from converter.ir.collect import collect
from converter.ir.field_classes import IntegerClass, StringClass
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Process, Thread

TID, TEXT = IntegerClass(32, signed=True), StringClass()
SWITCH = event_class(
    Kind.SCHED_SWITCH, "sched_switch", "", prev=(TID, Role.PREV_TID), next=(TID, Role.NEXT_TID)
)
NAMED = event_class(
    *(Kind.SCHED_SWITCH, "sched_switch", "sched"),
    prev_comm=(TEXT, Role.PREV_COMM),
    prev_pid=(TID, Role.PREV_TID),
    next_comm=(TEXT, Role.NEXT_COMM),
    next_pid=(TID, Role.NEXT_TID),
)
WAKEUP = event_class(Kind.SCHED_WAKEUP, "wake", "os", tid=(TID, Role.TID))
EXIT = event_class(Kind.TASK_EXIT, "exit", "os", tid=(TID, Role.TID))
MARK = event_class(Kind.TYPED, "tick", "sched", n=TID)
CLASSES = [SWITCH, NAMED, WAKEUP, EXIT, MARK]
TABLES = {
    "processes": [Process(10, "ten"), Process(20, "twenty"), Process(30)],
    "threads": [Thread(10, 0, "main"), Thread(21, 1), Thread(30, 2)],
}


def written(path, *batches):
    report = converter.write(trace_of(CLASSES, *batches, strings_as_ids=False, **TABLES), path)
    return {loss.code: loss.count for loss in report}


def lines(path):
    """Task, CPU, event and the names and numbers of tasks in it, as trace-cmd prints them."""
    if shutil.which("trace-cmd") is None:
        pytest.skip("trace-cmd is not installed")
    command = ["trace-cmd", "report", "-N", str(path)]
    done = subprocess.run(command, capture_output=True, check=True, timeout=60)
    found = re.findall(
        r"^ *(.*-\d+) +\[(\d+)\].*?: (sched\S+): +(.*)$", done.stdout.decode(), re.MULTILINE
    )
    return [
        (task, int(cpu), name, *re.findall(r"(?:comm|pid)=(\S+)", text))
        for task, cpu, name, text in found
    ]


def test_trace_cmd_shows_the_names_of_threads_processes_and_idle_tasks(tmp_path):
    path = tmp_path / "a.dat"
    rows = [
        (0, 100, 1, -1, [10, 0]),
        (0, 200, 1, -1, [0, 21]),
        (0, 300, 0, -1, [30, 77]),
        (2, 400, 0, 0, [21]),
        (3, 500, 0, 1, [21]),
    ]
    losses = written(path, rows)
    assert losses["thread-added"] == 1
    assert lines(path) == [
        ("main-10", 1, "sched_switch", "main", "10", "swapper/1", "0"),
        ("<idle>-0", 1, "sched_switch", "swapper/1", "0", "twenty", "21"),
        ("<...>-30", 0, "sched_switch", "<...>", "30", "<...>", "77"),
        ("main-10", 0, "sched_wakeup", "twenty", "21"),
        # Tools learn names from events.
        ("twenty-21", 0, "sched_process_exit", "twenty", "21"),
    ]
    again = collect(converter.read(path))
    assert [(one.tid, one.name) for one in again.threads] == [
        *((10, "main"), (21, ""), (30, ""), (0, "swapper"))
    ]


@pytest.mark.parametrize("target", ["dat", "pftrace", "ctf"])
def test_all_formats_of_kernel_events_have_the_names(tmp_path, target):
    path = tmp_path / f"a.{target}"
    written(path, [(0, 100, 3, 0, [10, 0]), (2, 200, 3, 0, [10])])
    switch, wakeup = (
        fields
        for _, kind, _, fields in events_of(converter.read(path))
        if kind in (Kind.SCHED_SWITCH, Kind.SCHED_WAKEUP)
    )
    assert (switch["prev_comm"], switch["next_comm"]) == ("main", "swapper/3")
    assert wakeup["comm"] == "main"


def test_names_that_events_have_are_as_they_were(tmp_path):
    path = tmp_path / "a.dat"
    written(path, [(1, 100, 0, -1, [b"old", 10, b"", 0])])
    ((*_, fields),) = events_of(converter.read(path))
    assert (fields["prev_comm"], fields["next_comm"]) == ("old", "")


def test_what_tools_call_a_task_without_a_name_is_no_name(tmp_path):
    for way in ("", "dat"):
        path = tmp_path / f"a{way}.dat"
        written(path, [(1, 100, 0, -1, [b"<...>", 30, b"main", 10])])
        assert b"30 <...>" not in path.read_bytes()


def test_a_thread_that_comes_after_its_events_is_that_of_its_events(tmp_path):
    trace = trace_of(CLASSES, [(0, 1, 0, -1, [5, 6])], [(0, 2, 0, -1, [6, 5])], tids=())
    batches = trace.make_batches

    def growing():
        first, second = batches()
        yield first
        trace.processes.append(Process(5, "five"))
        trace.threads.append(Thread(5, 0, "late"))
        yield second

    trace.make_batches = growing
    path = tmp_path / "a.dat"
    losses = {loss.code: loss.count for loss in converter.write(trace, path)}
    assert losses["thread-added"] == 2
    again = collect(converter.read(path))
    assert [(one.tid, one.name) for one in again.threads] == [(5, "late"), (6, "")]
    assert [place for *_, place, _ in events_of(again)] == ["late", ""]


def test_a_list_of_threads_has_the_tasks_that_only_switches_name(tmp_path):
    path = tmp_path / "a.fxt"
    # 40 has a process without threads; -1 is no task, and 10 has a name in the table.
    trace = trace_of(
        CLASSES,
        [(1, 100, 0, -1, [b"old", 10, b"grep", 23218])],
        [(1, 200, 0, -1, [b"grep", 23218, b"swapper/0", 0]), (1, 300, 1, -1, [b"x", -1, b"y", 40])],
        strings_as_ids=False,
        processes=[*TABLES["processes"], Process(40, "forty")],
        threads=TABLES["threads"],
    )
    losses = {loss.code: loss.count for loss in converter.write(trace, path)}
    assert losses["thread-added"] == 3
    again = collect(converter.read(path))
    added = {one.tid: (one.name, again.processes[one.process]) for one in again.threads}
    assert {tid: (name, process.pid, process.name) for tid, (name, process) in added.items()} == {
        10: ("main", 10, "ten"),
        21: ("", 20, "twenty"),
        30: ("", 30, ""),
        23218: ("grep", 23218, "grep"),
        0: ("swapper", 0, "swapper"),
        40: ("y", 40, "forty"),
    }


@needs_trace_processor
def test_a_viewer_of_fxt_names_the_tasks_that_only_switches_name(tmp_path):
    path = tmp_path / "a.fxt"
    written(
        path,
        [(1, 100, 0, -1, [b"main", 10, b"grep", 23218]), (1, 200, 0, -1, [b"", 23218, b"", 0])],
    )
    shown = "select s.ts, t.tid, t.name from sched_slice s join thread t using (utid) order by 1"
    assert answer(path, shown) == [["100", "23218", "grep"]]


class TestFirstSwitch:
    """Of the first switch of a CPU, and the first after a gap, -1 is the task that leaves."""

    def left(self, tmp_path, *rows):
        path = tmp_path / "a.dat"
        losses = written(path, rows)
        what = "first-switch-task-guessed"
        found = [
            (fields["prev_pid"], fields["prev_comm"])
            for _, kind, _, fields in events_of(converter.read(path))
            if kind is Kind.SCHED_SWITCH
        ]
        return found, losses.get(what, 0)

    def test_it_is_the_task_of_the_event_before(self, tmp_path):
        switch = (1, 300, 0, -1, [b"", -1, b"x", 5])
        assert self.left(tmp_path, (4, 100, 0, 0, [1]), (4, 200, 1, 2, [1]), switch) == (
            [(10, "main")],
            1,
        )
        tmp_path.joinpath("a.dat").unlink()
        assert self.left(tmp_path, (4, 100, 0, 1, [1]), (4, 200, 0, -1, [1]), switch) == (
            [(21, "twenty")],
            1,
        )

    def test_it_is_the_idle_one_without_a_name_where_nothing_tells(self, tmp_path):
        rows = [
            (4, 100, 1, 0, [1]),
            (1, 200, 0, -1, [b"", -1, b"x", 10]),
            (1, 300, 0, -1, [b"", -1, b"x", 10]),
        ]
        assert self.left(tmp_path, *rows) == ([(0, "<...>"), (0, "<...>")], 2)

    def test_tasks_that_are_told_are_as_they_were(self, tmp_path):
        assert self.left(tmp_path, (1, 200, 0, -1, [b"old", 0, b"x", 10])) == ([(0, "old")], 0)
