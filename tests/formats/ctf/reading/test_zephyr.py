"""Zephyr: threads that begin and cease to run, their names, interrupts."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.ctf.files import Stream, open_trace
from support.ctf.zephyr_files import MAIN, METADATA, RECORDS, WORKER
from support.viewers.trace_processor import needs_trace_processor
from viewers.trace_processor import tables_of

import converter
from converter.ir.columns import value
from converter.ir.kinds import Kind, Role

INTERRUPTS = [(500, 100), (1500, 100), (1550, 10)]
SCHEDULED = [(1000, 1000, MAIN), (2010, 990, WORKER)]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    folder.mkdir()
    (folder / "metadata").write_text(METADATA)
    (folder / "channel0_0").write_bytes(b"".join(RECORDS))
    return folder


def test_threads_are_switched_in_and_out(source: Path) -> None:
    trace = open_trace(source)
    (batch,) = trace.batches()
    assert set(batch.cpu.tolist()) == {0}
    tids = [trace.threads[i].tid if i >= 0 else None for i in batch.thread.tolist()]
    assert tids == [None] * 2 + [MAIN] * 7 + [WORKER] * 3 + [None, MAIN]
    names = {thread.tid: thread.name for thread in trace.threads}
    assert names == {MAIN: "main", WORKER: "worker"}
    switches = []
    for number, table in batch.tables.items():
        declared = trace.event_classes[number]
        if declared.kind is Kind.SCHED_SWITCH:
            for row, ts in enumerate(batch.ts[batch.positions(number)].tolist()):
                tasks = [
                    value(table.column(index), declared.fields[index].type, row, trace.strings)
                    for role in (Role.PREV_TID, Role.NEXT_TID)
                    if (index := declared.index_of(role)) is not None
                ]
                switches.append((ts, *tasks))
    assert sorted(switches) == [
        (1000, -1, MAIN),
        (2000, MAIN, -1),
        (2010, -1, WORKER),
        (3000, WORKER, -1),
        (4000, -1, MAIN),
    ]


def test_what_else_is_called_so_is_an_event(tmp_path: Path) -> None:
    stream = Stream({"thread_switched_in": "string thread_id;", "thread_switched_out": ""})
    records = [stream.record(0, 1, b"a\0"), stream.record(1, 2)]
    trace = open_trace(stream.write(tmp_path, stream.packet(records)))
    assert sum(len(batch) for batch in trace.batches()) == 2
    assert {one.kind for one in trace.event_classes} == {Kind.TYPED}


@needs_trace_processor
@pytest.mark.parametrize("name", ["x.pftrace", "x.json", "x.fxt"])
def test_viewers_show_interrupts_and_scheduling(name: str, source: Path, tmp_path: Path) -> None:
    converter.convert(source, tmp_path / name)
    tables = tables_of(tmp_path / name)
    slices = [(row["ts"], row["dur"]) for row in tables["slices"] if row["name"].startswith("IRQ")]
    assert slices == INTERRUPTS
    threads = [(row["ts"], row["dur"], row["tid"]) for row in tables["sched"] if row["tid"]]
    assert threads[:2] == SCHEDULED
    assert threads[2][::2] == (4000, MAIN)


@pytest.mark.parametrize("target", ["trace_cmd", "uftrace", "lttng_legacy", "aix", "ctf+2"])
def test_elsewhere_interrupts_stay(target: str, source: Path, tmp_path: Path) -> None:
    converter.convert(source, tmp_path / "x", target_format=target)
    trace = converter.read(tmp_path / "x")
    assert sum(len(batch) for batch in trace.batches()) >= len(RECORDS)
