"""What trace_processor shows of FXT in the shapes of its writers; `tests.fxt_producers` compares many more."""

from __future__ import annotations

from pathlib import Path

import fxt_producers
import pytest
from support.viewers.trace_processor import needs_trace_processor, printed

import converter

pytestmark = needs_trace_processor


def test_counters_without_numbers_are_reported(tmp_path: Path) -> None:
    source, output = tmp_path / "a.fxt", tmp_path / "b.json"
    source.write_bytes(fxt_producers.DOCUMENTS["counters_without_numbers"]())
    losses = converter.convert(source, output)
    assert [loss.count for loss in losses if loss.code.startswith("counter-without-number")] == [2]
    _, *rows = printed(output, "select value from counter")
    assert [float(value) for (value,) in rows] == [5]


#: Idle threads by weight, wakeups, koids beyond 32 bits; words after records.
@pytest.mark.parametrize("name", ["system_large_koids", "scope_words_of_instants"])
def test_a_document_is_shown_the_same(name: str, tmp_path: Path) -> None:
    assert fxt_producers.compared(name, tmp_path) == {}


@pytest.mark.parametrize("target", ["pftrace", "json"])
def test_idle_threads_and_wakers(target: str, tmp_path: Path) -> None:
    source, output = tmp_path / "a.fxt", tmp_path / f"b.{target}"
    source.write_bytes(fxt_producers.DOCUMENTS["system_switches"]())
    losses = converter.convert(source, output)
    query = """select ts, dur, s.cpu, priority, tid from sched_slice s join thread using (utid) where tid order by ts;
        select ts, dur, state, t.tid, w.tid as waker from thread_state s join thread t using (utid)
        left join thread w on w.utid = s.waker_utid where t.tid order by ts"""
    _, *rows = printed(output, query)
    assert rows == [
        ["1000", "500", "0", "20", "101"],
        ["1250", "450", "1", "24", "102"],
        ["ts", "dur", "state", "tid", "waker"],
        ["500", "400", "S", "101", "[NULL]"],
        ["900", "100", "R", "101", "101"],
        ["1000", "500", "Running", "101", "[NULL]"],
        ["1200", "50", "R", "102", "101"],
        ["1250", "450", "Running", "102", "[NULL]"],
        ["1500", "-1", "S", "101", "[NULL]"],
        ["1700", "-1", "S", "102", "[NULL]"],
    ]
    (shown,) = {loss.code: loss.count for loss in losses if loss.loss_class == "shown"}.items()
    assert shown == ("waiting-shown-runnable", 2)
