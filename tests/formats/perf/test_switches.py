"""Context switches that perf recorded without tracepoints are switches of tasks in other formats."""

import pytest
from support.profiles.perf_files import CPU, IDENTIFIER, SAMPLE_ID_ALL, TID, TIME, Maker
from support.viewers.trace_processor import answer, needs_trace_processor

import converter
from converter.ir.kinds import Kind

OUT, PREEMPT = 1 << 13, 1 << 14
SWITCH, SWITCH_CPU_WIDE = 14, 15


def switch(make, ts, tid, cpu, misc=0, other=None):
    """A record of a task, with the other one if it has both."""
    body = b"" if other is None else make.task(other, other)
    body += make.task(tid, tid) + make.words(ts) + make.pack("II", cpu, 0) + make.words(1)
    return make.record(SWITCH if other is None else SWITCH_CPU_WIDE, body, misc)


def recording(path, *records):
    make = Maker()
    attribute = make.attribute(IDENTIFIER | TID | TIME | CPU, flags=SAMPLE_ID_ALL)
    named = [
        make.comm(tid, tid, name, make.task(tid, tid) + make.words(1, 0, 1)) for tid, name in TASKS
    ]
    data = b"".join([*named, *(switch(make, *one) for one in records)])
    path.write_bytes(make.file([(attribute, [1])], data))
    return path


TASKS = (5, b"five"), (6, b"six"), (7, b"seven")
SLICES = "select ts, dur, cpu, tid, end_state from sched_slice join thread using (utid) order by ts"


@needs_trace_processor
@pytest.mark.parametrize("suffix", ["pftrace", "json"])
def test_a_task_runs_from_one_record_of_its_cpu_to_the_next(tmp_path, suffix):
    source = recording(
        tmp_path / "perf.data",
        (1000, 5, 1, OUT | PREEMPT, 6),
        # The same said again.
        (1000, 6, 1, 0, 5),
        (4000, 6, 1, OUT, 7),
        (4000, 7, 1, 0, 6),
        (9000, 7, 1, OUT, 5),
    )
    target = tmp_path / f"b.{suffix}"
    converter.convert(source, target)
    found = [row for row in answer(target, SLICES) if row[0] != "0"]
    assert found[:2] == [["1000", "3000", "1", "6", "S"], ["4000", "5000", "1", "7", "S"]]
    # Perfetto's importer of perf.data skips the records.
    assert answer(source, SLICES) == []


@needs_trace_processor
def test_records_of_one_task_are_switches_from_and_to_it(tmp_path):
    source = recording(tmp_path / "perf.data", (1000, 5, 0), (3000, 5, 0, OUT), (8000, 5, 0))
    target = tmp_path / "b.pftrace"
    converter.convert(source, target)
    assert ["1000", "2000", "0", "5", "S"] in answer(target, SLICES)


def test_tracepoints_and_perf_itself_keep_the_records(tmp_path):
    source = recording(tmp_path / "perf.data", (1000, 5, 1, OUT, 6), (1000, 6, 1, 0, 5))
    target = tmp_path / "b.data"
    converter.convert(source, target)
    assert target.read_bytes() == source.read_bytes()


def test_switches_of_merged_recordings_are_switches_of_tasks(tmp_path):
    sources = [
        recording(tmp_path / f"{number}.data", (1000, 5, 0), (3000, 5, 0, OUT)) for number in (1, 2)
    ]
    converter.convert(sources, tmp_path / "b.pftrace")
    with converter.open_trace(tmp_path / "b.pftrace") as trace:
        kinds = [
            trace.event_classes[number].kind
            for batch in trace.batches()
            for number in batch.class_id
        ]
        assert kinds.count(Kind.SCHED_SWITCH) == 4
