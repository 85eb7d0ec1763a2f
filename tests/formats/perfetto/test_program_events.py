"""Tracepoints of programs in Perfetto's importer: instants on the tracks of their threads; a kernel's are its own."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest
from support.ctf.files import FIXTURES
from support.viewers.trace_processor import answer, needs_trace_processor, number

import converter
from converter.ir.kinds import Kind

ON_THREADS = """select t.tid, count(*) from slice s join thread_track k on s.track_id = k.id
    join thread t using (utid) group by 1 order by 1"""
ARGUMENTS = """select a.flat_key, coalesce(a.string_value, a.int_value, a.real_value) from slice s
    join args a using (arg_set_id) where s.id = (select min(id) from slice where name = '{}')"""


def converted(name: str, tmp_path: Path) -> Path:
    target = tmp_path / "out.pftrace"
    converter.convert(FIXTURES / name, target)
    return target


def kinds(path: Path) -> set[Kind]:
    with converter.open_trace(path) as trace:
        for _ in trace.batches():
            pass
        return {one.kind for one in trace.event_classes}


@pytest.mark.parametrize("name", ["ctf_small", "ctf2_small"])
def test_what_programs_record_is_read_as_instants_of_their_threads(name: str, tmp_path: Path):
    source = FIXTURES / name
    target = converted(name, tmp_path)
    assert kinds(source) == {Kind.TYPED}
    assert kinds(target) == {Kind.INSTANT}
    found = []
    for path in (source, target):
        with converter.open_trace(path) as trace:
            places = [
                (int(ts), trace.threads[thread].tid)
                for batch in trace.batches()
                for ts, thread in zip(batch.ts, batch.thread.tolist(), strict=True)
            ]
        found.append(sorted(places))
    # Their clocks start at other times.
    before, after = ([(ts - places[0][0], tid) for ts, tid in places] for places in found)
    assert before == after


def test_what_a_kernel_records_stays_that(tmp_path: Path):
    # A viewer has no call stacks of events: perf's CPU samples are samples, too.
    assert kinds(converted("perf_ctf", tmp_path)) == {Kind.TYPED, Kind.SAMPLE}


def test_a_merged_trace_knows_which_are_which(tmp_path: Path):
    target = tmp_path / "out.pftrace"
    inputs = [FIXTURES / name for name in ("perf_ctf", "ctf_small")]
    with ExitStack() as opened:
        traces = [opened.enter_context(converter.open_trace(path)) for path in inputs]
        converter.write(converter.merge(traces), target)
    with converter.open_trace(target) as trace:
        counts = dict.fromkeys((Kind.TYPED, Kind.INSTANT, Kind.SAMPLE), 0)
        for batch in trace.batches():
            for class_id in batch.class_id.tolist():
                counts[trace.event_classes[class_id].kind] += 1
    assert counts == {Kind.TYPED: 11, Kind.INSTANT: 564, Kind.SAMPLE: 3}


@needs_trace_processor
def test_importers_show_them_on_their_threads_with_their_fields(tmp_path: Path):
    target = converted("ctf_small", tmp_path)
    assert number(target, "select count(*) from ftrace_event") == 0
    counts = {int(tid): int(count) for tid, count in answer(target, ON_THREADS)}
    assert sum(counts.values()) == 564
    assert len(counts) == 4
    assert number(target, "select end_ts - start_ts > 0 from trace_bounds") == 1
    shown = answer(target, ARGUMENTS.format("rich:arrays"))
    assert [value for key, value in shown if key == "debug.arr4"] == ["1", "-2", "3", "-4"]
    assert ["debug.cpu", "0"] in shown
    assert {"debug.ip", "debug.pthread_id", "debug.perf_thread_task_clock"} <= {
        key for key, _ in shown
    }
