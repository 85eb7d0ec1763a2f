"""Recordings in CTF are read as Babeltrace reads them."""

from __future__ import annotations

import gzip
import math
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support.ctf.files import FIXTURES, open_trace
from support.ctf.oracle import babeltrace_events, comparable, reader_events, with_thread_contexts

from converter.formats.ctf.mapping import joined_name
from converter.ir.columns import value
from converter.ir.field_classes import (
    ArrayClass,
    FieldClass,
    FloatClass,
    IntegerClass,
    StringClass,
    Style,
)
from converter.ir.kinds import Role

#: A directory with more recordings, which are too large to be kept here: basic-kernel-analysis of lttng-ref-traces,
#: mpi_gather, flipping-endianness and ctf-sequence-empty of tracecompass-test-traces.
MORE = os.environ.get("TRACECONV_CTF_TRACES", "")
USER = ("vpid", "vtid", "procname")


def assert_as_babeltrace(path: Path, contexts: tuple[str, ...]) -> None:
    theirs = babeltrace_events(*sorted(file.parent for file in path.rglob("metadata")))
    trace = open_trace(path)
    mine = reader_events(trace)
    lost = [event["lost"] for event in theirs if "lost" in event]
    assert [event["lost"] for event in mine if "lost" in event] == lost
    epoch = trace.clock.epoch_ns or 0
    rate = trace.clock.ticks_per_second
    assert rate is not None
    theirs = [event for event in theirs if "lost" not in event]
    mine = [event for event in mine if "lost" not in event]
    # Ticks are compared from the first on, and with their origin where Babeltrace does not round times.
    first, own_first = min(event["ts"] for event in theirs), min(event["ts"] for event in mine)
    if rate == 1_000_000_000:
        assert min(event["ns"] for event in theirs) == epoch + own_first
    for event in theirs:
        del event["ns"]
        event["ts"] -= first
        event["context"].sort()
        if event["name"].startswith("sched_"):
            # Priorities are delivered as ftrace counts them.
            event["payload"] = [
                [name, item + 100 if name in ("prio", "prev_prio", "next_prio") else item]
                for name, item in event["payload"]
            ]
    for event in mine:
        event["ts"] -= own_first
    expected = comparable(theirs)
    found = comparable(with_thread_contexts(trace, mine, contexts))
    assert len(found) == len(expected)
    # Babeltrace 2.0.4 leaves the value of the record before in a text whose length is 0.
    different = [
        (one, other)
        for one, other in zip(found, expected, strict=True)
        if one != other and not re.fullmatch(_with_any_text(one), other)
    ]
    assert not different


def _with_any_text(event: str) -> str:
    return re.escape(event).replace('""', '"[^"]*"')


@pytest.mark.parametrize(
    ("name", "contexts"),
    [("ctf_small", USER), ("ctf_lost", ("", "vtid", "")), ("ctf_cyg", USER), ("perf_ctf", ())],
)
def test_recordings_read_as_by_babeltrace(name: str, contexts: tuple[str, ...]) -> None:
    assert_as_babeltrace(FIXTURES / name, contexts)


@pytest.mark.parametrize(
    "name", ["mpi_gather", "basic-kernel-analysis", "flipping-endianness", "ctf-sequence-empty"]
)
def test_further_recordings_read_as_by_babeltrace(name: str) -> None:
    path = Path(MORE) / name
    if not MORE or not path.is_dir():
        pytest.skip("TRACECONV_CTF_TRACES names no directory with this recording")
    assert_as_babeltrace(path, ())


def _shown(declared: FieldClass, item: Any) -> str:
    """A value as Babeltrace 2.1 prints it."""
    match declared:
        case IntegerClass(_, _, style, labels, False):
            text = f"0x{item:X}" if style is Style.HEXADECIMAL else str(item)
            if not labels:
                return text
            names = [f'"{label.text}"' for label in labels if label.low <= item <= label.high]
            return f"( {', '.join(names) or '<unknown>'} : container = {text} )"
        case FloatClass():
            return f"{'-' * (math.isnan(item) and math.copysign(1, item) < 0)}{item:g}"
        case StringClass():
            return f'"{item.decode()}"'
        case ArrayClass(element):
            parts = ", ".join(f"[{i}] = {_shown(element, each)}" for i, each in enumerate(item))
            return f"[ {parts} ]" if parts else "[ ]"
    raise AssertionError(declared)


def test_ctf_2_reads_as_babeltrace_2_1_prints_it() -> None:
    golden = gzip.decompress((FIXTURES / "ctf2_small.babeltrace.txt.gz").read_bytes()).decode()
    trace = open_trace(FIXTURES / "ctf2_small")
    assert trace.variant == "2"
    lines = []
    for batch in trace.batches():
        for i in range(len(batch)):
            declared = trace.event_classes[int(batch.class_id[i])]
            table = batch.tables[int(batch.class_id[i])]
            thread = trace.threads[int(batch.thread[i])]
            pid = trace.processes[thread.process].pid
            payload: list[str] = []
            context = [f"vpid = {pid}", f"vtid = {thread.tid}", f'procname = "{thread.name}"']
            for number, field in enumerate(declared.fields):
                item = value(table.column(number), field.type, int(batch.row[i]), trace.strings)
                shown = f"{field.name} = {_shown(field.type, item)}"
                (context if field.role is Role.CONTEXT else payload).append(shown)
            lines.append(
                f"[{batch.ts[i]:020}] {joined_name(declared.category, declared.name)}: "
                f"{{ cpu_id = {batch.cpu[i]} }}, {{ {', '.join(context)} }}, "
                + (f"{{ {', '.join(payload)} }}" if payload else "{ }")
            )
    expected = []
    for line in golden.splitlines():
        time, _, rest = line.partition(" ")
        name = re.search(r"\(\d+\) (\S+:\S+: .*)", rest)
        assert name is not None
        expected.append(f"{time} " + re.sub(r"_\w+_length = \d+, ", "", name[1]))
    assert lines == expected


def test_perf_data_converted_by_perf(tmp_path: Path) -> None:
    perf = shutil.which("perf")
    if perf is None:
        pytest.skip("perf is not installed")
    data, target = tmp_path / "perf.data", tmp_path / "ctf"
    record = [perf, "record", "-q", "-e", "cpu-clock", "-o", str(data), "--", "true"]
    if subprocess.run(record, capture_output=True, check=False).returncode:
        pytest.skip("perf cannot record here")
    convert = [perf, "data", "-i", str(data), "convert", "--all", "--to-ctf", str(target)]
    if subprocess.run(convert, capture_output=True, check=False).returncode:
        pytest.skip("perf is built without CTF")
    assert_as_babeltrace(target, ())
