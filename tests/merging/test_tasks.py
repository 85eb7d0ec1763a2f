"""Tasks, CPUs and tracks: those of one machine are one, those of several stay apart."""

from collections import Counter

import numpy as np
import pytest
from support.traces.losses import line_of
from support.traces.small_traces import event_class, events_of, trace_of

from converter.errors import UnsupportedError
from converter.ir.field_classes import IntegerClass, StringClass
from converter.ir.kinds import Kind, Role
from converter.ir.symbols import SymbolTable
from converter.ir.trace import ClockDomain, Process, Thread, Trace, Track, TrackScope
from converter.merging.machines import HOST_TRACE_ID, TRACE_ID, host_recordings
from converter.merging.merge import merge
from converter.projection.losses import LossClass

INSTANT = event_class(Kind.INSTANT, name=(StringClass(), Role.NAME))
WAKEUP = event_class(
    *(Kind.SCHED_WAKEUP, "sched_wakeup", "sched"),
    pid=(IntegerClass(32, signed=True), Role.TID),
    target_cpu=(IntegerClass(32, signed=True), Role.TARGET_CPU),
)
MONO = ClockDomain("mono")


def trace(processes, threads, *, host=None, cpu=0, tracks=(), **more):
    """A trace with a wakeup of each thread by itself, and an instant on each track."""
    return trace_of(
        [WAKEUP, INSTANT],
        [
            *((0, i, cpu, i, [thread[0], cpu]) for i, thread in enumerate(threads)),
            *((1, 100 + i, -1, -1, [b"here"], i) for i in range(len(tracks))),
        ],
        clock=MONO,
        processes=[Process(*one) for one in processes],
        threads=[Thread(*one) for one in threads],
        tracks=list(tracks),
        environment={} if host is None else {"hostname": host},
        **more,
    )


def tasks(merged):
    for _ in merged.batches():
        pass
    return [(merged.processes[one.process].pid, one.tid, one.name) for one in merged.threads]


def test_a_thread_is_one_and_named_by_whoever_knows():
    one = trace([(5, "app")], [(5, 0, ""), (6, 0, "worker")])
    other = trace([(5, "")], [(5, 0, "main"), (6, 0, "")])
    merged = merge([one, other])
    assert tasks(merged) == [(5, 5, "main"), (5, 6, "worker")]
    assert [process.name for process in merged.processes] == ["app"]
    assert not list(merged.losses)


def test_a_name_that_was_cut_is_no_other_name():
    one = trace([(5, "app")], [(5, 0, "a-long-name-of-")])
    other = trace([(5, "app")], [(5, 0, "a-long-name-of-a-thread")])
    for inputs in ([one, other], [other, one]):
        merged = merge(inputs)
        assert tasks(merged) == [(5, 5, "a-long-name-of-a-thread")]
        assert not list(merged.losses)


def test_names_that_differ_are_told():
    one = trace([(5, "app")], [(5, 0, "main")])
    other = trace([(5, "app")], [(5, 0, "ui")])
    merged = merge([one, other], names=["a", "b"])
    assert tasks(merged) == [(5, 5, "main")]
    assert list(map(line_of, merged.losses)) == [
        "merge-name-differs id=5 input=b name=ui shown=main what=thread (1)"
    ]


def test_what_inputs_say_otherwise_of_a_process_is_that_of_the_first_by_name():
    one = trace([(5, "app", 1, ("app", "-x"))], [(5, 0, "app")])
    other = trace([(5, "app", 2, ("app",))], [(5, 0, "app")])
    for inputs, names in (([one, other], ["a", "b"]), ([other, one], ["b", "a"])):
        merged = merge(inputs, names=names)
        (process,) = merged.processes
        assert (process.parent_pid, process.command_line) == (1, ("app", "-x"))
        assert list(map(line_of, merged.losses)) == [
            "merge-command-line-differs input=b pid=5 (1)",
            "merge-parent-differs input=b parent=2 pid=5 (1)",
        ]


def test_threads_of_an_id_in_several_processes_stay_apart():
    one = trace([(1, "a"), (2, "b")], [(1, 0, "main"), (1, 1, "main")])
    other = trace([(1, "a")], [(1, 0, "main")])
    assert tasks(merge([one, other])) == [(1, 1, "main"), (2, 1, "main")]


def test_a_thread_that_a_kernel_takes_for_a_process_is_of_its_own():
    kernel = trace([(5, "app"), (6, "worker")], [(5, 0, "app"), (6, 1, "worker")])
    user = trace([(5, "app")], [(6, 0, "worker")])
    for inputs in ([kernel, user], [user, kernel]):
        merged = merge(inputs)
        assert sorted(tasks(merged)) == [(5, 5, "app"), (5, 6, "worker")]
        assert [process.pid for process in merged.processes] == [5]


def test_a_small_number_of_another_name_is_no_thread_of_the_kernel():
    kernel = trace([(2, "kthreadd")], [(2, 0, "kthreadd")])
    user = trace([(1, "program")], [(2, 0, "renderer")])
    assert sorted(tasks(merge([kernel, user]))) == [(1, 2, "renderer"), (2, 2, "kthreadd")]


def two_machines():
    tracks = [Track("load", TrackScope.CPU, 1), Track("jobs")]
    return [
        trace([(0, ""), (5, "app")], [(0, 0, ""), (5, 1, "app")], host=host, cpu=1, tracks=tracks)
        for host in ("one", "two")
    ]


def test_tasks_and_cpus_of_several_machines_stay_apart():
    merged = merge(two_machines(), names=["a", "b"])
    assert tasks(merged) == [
        (0, 0, ""),
        (5, 5, "app"),
        (10_000_005, 10_000_005, "app"),
    ]
    woken = [
        (fields["pid"], fields["target_cpu"])
        for _, kind, _, fields in events_of(merged)
        if kind is Kind.SCHED_WAKEUP
    ]
    assert woken == [(0, 1), (0, 3), (5, 1), (10_000_005, 3)]
    assert [batch.cpu.tolist() for batch in merged.batches()] == [[1, 3, 1, 3, -1, -1, -1, -1]]
    assert [(track.name, track.owner) for track in merged.tracks] == [
        ("load", 1),
        ("jobs", -1),
        ("load", 3),
        ("two: jobs", -1),
    ]
    assert [one.machine for one in merged.inputs] == ["one", "two"]
    assert [line_of(loss) for loss in merged.losses] == [
        "merge-cpus-moved first=2 machine=two (1)",
        "merge-ids-moved by=10000000 machine=two (1)",
    ]


def test_ids_that_no_other_machine_has_stay_what_they_are():
    inputs = [
        trace([(0, ""), (pid, "app")], [(0, 0, ""), (pid, 1, "app")], host=host)
        for host, pid in (("one", 5), ("three", 7), ("two", 6), ("zwei", 6))
    ]
    merged = merge(inputs)
    assert [tid for _, tid, _ in tasks(merged)] == [0, 5, 7, 6, 30_000_006]


def test_clocks_of_several_machines_are_not_one():
    merged = merge(two_machines())
    assert "offsets=" in merged.inputs[1].doubt


def test_the_command_line_knows_better_than_the_environment():
    merged = merge(two_machines(), names=["a", "b"], machines={"m": ["a", "b"]})
    assert tasks(merged) == [(0, 0, ""), (5, 5, "app")]
    assert not list(merged.losses)
    alike = [trace([(5, "app")], [(5, 0, "app")]) for _ in range(2)]
    merged = merge(alike, names=["a", "b"], machines={"m": ["a"], "n": ["b"]})
    assert [tid for _, tid, _ in tasks(merged)] == [5, 10_000_005]


@pytest.mark.parametrize(
    ("traces", "words"),
    [
        (
            lambda: [
                trace([(5, "")], [(5, 0, "")], host="a", cpu=1 << 30),
                trace([], [], host="b"),
            ],
            "CPU 107",
        ),
        (lambda: [trace([], [], host=str(i)) for i in range(201)], "201 machines"),
    ],
)
def test_machines_that_cannot_be_told_apart_are_refused(traces, words):
    with pytest.raises(UnsupportedError, match=words):
        merge(traces())


def test_numbers_that_are_no_ids_are_no_other_ones_on_another_machine():
    inputs = [trace([], [], host=host) for host in "ab"]
    for one in inputs:
        one.processes, one.threads = [Process(2**64 - 1)], [Thread(2**64 - 1, 0)]
    assert tasks(merge(inputs)) == [(2**64 - 1, 2**64 - 1, "")]


def test_environments_are_one_and_differences_are_named():
    one, other = trace([], []), trace([], [])
    one.environment = {"hostname": "vm", "tracer_name": "trace-cmd"}
    other.environment = {"hostname": "vm", "tracer_name": "lttng-ust", "vpid": 7}
    expected = {
        "hostname": "vm",
        "tracer_name": "trace-cmd",
        "b.tracer_name": "lttng-ust",
        "vpid": 7,
    }
    assert merge([one, other], names=["a", "b"]).environment == expected


def test_native_data_stays_behind_as_a_detail():
    one, other = trace([], []), trace([], [])
    one.sidecar = {"ctf": {"files": [], "version": 1}}
    losses = list(merge([one, other], names=["a", "b"]).losses)
    assert [(line_of(loss), loss.loss_class) for loss in losses] == [
        ("native-data format=ctf in a name=files (1)", LossClass.DETAIL),
        ("native-data format=ctf in a name=version (1)", LossClass.DETAIL),
    ]


def test_what_viewers_show_of_records_and_native_data_is_lost_by_name():
    one, other = trace([], []), trace([], [])
    one.format = "perfetto"
    one.sidecar = {"perfetto": {"clock_snapshot": []}}
    one.sidecar_shown = {"perfetto": Counter({"battery": 2})}
    one.records_shown = Counter({"machine_id": 1})

    def batches():
        # As readers that come to more while they read.
        one.records_shown["machine_id"] = 3
        yield from ()

    one.make_batches = batches
    merged = merge([one, other], names=["a", "b"])
    list(merged.batches())
    list(merged.batches())
    losses = {line_of(loss): loss.loss_class for loss in merged.losses}
    assert losses["native-data-shown format=perfetto in a name=battery (2)"] is LossClass.SHOWN
    assert losses["record-field format=perfetto name=machine_id (3)"] is LossClass.SHOWN


def test_symbols_are_those_of_all():
    one, other = trace([], []), trace([], [])
    one.symbols = SymbolTable(lambda: (np.array([1, 5], np.uint64), [b"a", b"b"]))
    other.symbols = SymbolTable(lambda: (np.array([3, 5], np.uint64), [b"c", b"d"]))
    merged = merge([one, other])
    addresses, names = merged.symbols.entries()
    assert (addresses.tolist(), list(names)) == ([1, 3, 5], [b"a", b"c", b"b"])


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        ([(7, None), (8, 7), (9, 7)], [7, 7, 7]),
        ([(8, 7), (9, 7)], [7, 7]),
        # A guest alone has the times of nobody else.
        ([(8, 7), (None, None)], [None, None]),
        ([(0, None), (1, 0), (None, None)], [0, 0, None]),
    ],
)
def test_guests_are_of_their_hosts_recording(ids, expected):
    environments = [
        {
            key: value
            for key, value in zip((TRACE_ID, HOST_TRACE_ID), pair, strict=True)
            if value is not None
        }
        for pair in ids
    ]
    traces = [Trace(format="none", environment=one) for one in environments]
    assert host_recordings(traces) == expected
