"""What trace_processor shows of FXT in the shapes of its writers; `tests.fxt_producers` compares many more."""

from __future__ import annotations

from pathlib import Path

import fxt_producers
import pytest
from support.fxt.shapes import document
from support.fxt.writer import Writer
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


@pytest.mark.parametrize(
    ("rate", "rows", "is_reported"),
    [
        (32_768, [["30517578", "91552"], ["31127929", "122071"]], False),
        # The importer's nanosecond of a later tick is another.
        (24_000_000, [["41666", "125"], ["42500", "166"]], True),
        (1_024_000_000, [["976", "3"], ["996", "4"]], True),
    ],
)
def test_ticks_that_are_no_nanoseconds_are_shown_as_the_same_in_json(
    rate: int, rows: list[list[str]], is_reported: bool, tmp_path: Path
) -> None:
    writer = Writer()
    writer.provider(1, b"p", rate)
    writer.thread(1, 10, 11)
    for start, end in ((1000, 1003), (1020, 1024)):
        writer.slice(start, end, 1, b"s")
    source, output = tmp_path / "a.fxt", tmp_path / "b.json"
    source.write_bytes(writer.bytes())
    codes = {loss.code for loss in converter.convert(source, output)}
    assert ("times-rounded-by-viewers" in codes) is is_reported
    assert printed(source, "select ts, dur from slice order by ts")[1:] == rows
    shown = printed(output, "select ts, dur from slice order by ts")[1:]
    assert (shown == rows) is (rate < 500_000_000)
    (batch,) = converter.read(output).batches()
    assert batch.ts.tolist() == [1000, 1020]
    assert batch.tables[0].column(2).tolist() == [3, 4]


#: Drawn files in which events of one time, or ends among others, are shown otherwise.
@pytest.mark.parametrize(
    ("seed", "target", "code"),
    [
        (650316, "json", "slice-end-cut"),
        (651336, "json", "slice-end-cut"),
        (651409, "json", "depth-at-shared-time"),
        (650574, "pftrace", "thread-moved-at-once"),
    ],
)
def test_what_is_shown_otherwise_at_one_time_is_reported(
    seed: int, target: str, code: str, tmp_path: Path
) -> None:
    source = tmp_path / "a.fxt"
    source.write_bytes(document(seed))
    losses = converter.convert(source, tmp_path / f"b.{target}")
    assert [loss.count for loss in losses if loss.loss_class == "shown"] == [1]
    assert [loss.count for loss in losses if loss.code == code] == [1]
