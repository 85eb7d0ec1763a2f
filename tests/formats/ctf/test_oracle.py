"""CTF as Babeltrace 2 reads it: traces that are written again, in either version, and those of other formats."""

from __future__ import annotations

import gzip
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from support.ctf.files import Stream
from support.ctf.oracle import babeltrace_events

import converter
from converter.formats.ctf.metadata.files import parse_metadata
from converter.ir.columns import value
from converter.ir.kinds import Kind
from converter.ir.trace import Trace

FIXTURES = Path(__file__).parents[3] / "roundtrip_fixtures"
RECORDINGS = ["ctf_cyg", "ctf_lost", "ctf_small", "perf_ctf"]
BABELTRACE = shutil.which("babeltrace2")

needs_babeltrace = pytest.mark.skipif(BABELTRACE is None, reason="babeltrace2 is not installed")


def text_of(path: Path) -> list[str]:
    """What Babeltrace prints of a trace, with everything that it can."""
    assert BABELTRACE is not None
    command = [BABELTRACE, "--clock-cycles", "--fields=all", "--names=all", str(path)]
    result = subprocess.run(command, capture_output=True, check=True, text=True, errors="replace")
    assert not re.search(r"^\d.* [EF] ", result.stderr, re.MULTILINE), result.stderr
    return result.stdout.splitlines()


def streams_of(folder: Path) -> dict[str, bytes]:
    """All files but the metadata, by relative name."""
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in folder.rglob("*")
        if file.is_file() and file.name != "metadata"
    }


def assert_same_through_ctf2(path: Path, tmp_path: Path) -> None:
    converter.convert(path, tmp_path / "two", target_format="ctf+2")
    converter.convert(tmp_path / "two", tmp_path / "one", target_format="ctf+1.8")
    for metadata in (tmp_path / "two").rglob("metadata"):
        assert parse_metadata(metadata.read_bytes()).version == (2, 0)
    assert streams_of(path) == streams_of(tmp_path / "two") == streams_of(tmp_path / "one")
    assert text_of(path) == text_of(tmp_path / "one")


# The other version


@needs_babeltrace
@pytest.mark.parametrize("name", RECORDINGS)
def test_recordings_go_through_ctf_2(name: str, tmp_path: Path) -> None:
    assert_same_through_ctf2(FIXTURES / "ctf" / name, tmp_path)


@needs_babeltrace
def test_ctf_2_becomes_what_babeltrace_2_1_prints_of_it(tmp_path: Path) -> None:
    """Debian's Babeltrace 2.0 reads no CTF 2, but what is made of it. It shows another text for an empty one."""
    converter.convert(FIXTURES / "ctf/ctf2_small", tmp_path / "one", target_format="ctf+1.8")
    golden = gzip.decompress((FIXTURES / "ctf/ctf2_small.babeltrace.txt.gz").read_bytes())
    command = [str(BABELTRACE), "--clock-cycles", "--fields=all", str(tmp_path / "one")]
    found = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    stale = re.compile(r'(_seqtext_length = 0, seqtext = )"[^"]*"')
    assert stale.sub(r'\1""', found).splitlines() == golden.decode().splitlines()


@needs_babeltrace
@pytest.mark.parametrize("order", ["le", "be"])
def test_packed_records_go_through_ctf_2(order: str, tmp_path: Path) -> None:
    """What barectf writes: integers of any width at any bit, structures with an alignment, few features."""
    stream = Stream(
        {
            "packed": "integer { size = 3; align = 1; } a; integer { size = 13; align = 1;"
            " signed = true; base = 16; } b; enum : integer { size = 4; align = 1; }"
            ' { "run" = 1 ... 7, "stop", "again" = 9 } state;'
            " struct { integer { size = 5; align = 1; } x; } align(32) inner;",
            "texts": "string { encoding = ASCII; } word; uint8_t __n_length;"
            " struct { uint8_t _v; integer { size = 16; align = 16; } _w; } _n[__n_length];"
            " floating_point { exp_dig = 8; mant_dig = 24; align = 8; } real;"
            " integer { size = 8; align = 8; encoding = UTF8; } text[5];",
            "choice": "enum : uint8_t { one = 1, two = 2 ... 3 } _tag;"
            " variant <_tag> { uint8_t one; struct { uint32_t big; } two; } _chosen;",
        },
        order=order,
        frequency=3_000_000_001,
        offset=7,
    )
    # Payloads are aligned as their members are, and begin behind 81 bytes of headers and context.
    packed = stream.bits().integer(0, 24)
    inner = stream.bits().integer(5, 3).integer(-77 & 0x1FFF, 13).integer(3, 4).integer(17, 5, 32)
    packed.bits += inner.bits
    first = stream.packet([stream.record(0, 5, packed)], begin=5, end=5)
    texts = stream.bits().u8(0)
    items = stream.bits().text(b"word").u8(2)
    for item in (1, 2):
        items.align(16).u8(item).number(item * 300, 2, 16)
    texts.bits += items.float(1.5, "f").raw(b"abc\0z").bits
    second = stream.packet([stream.record(1, 6, texts)], begin=6, end=6, sequence=1)
    choices = [
        stream.record(2, 7, stream.bits().u8(1).u8(9)),
        stream.record(2, 8, stream.bits().u8(3).number(70_000, 4)),
    ]
    third = stream.packet(choices, begin=7, end=8, sequence=2)
    path = stream.write(tmp_path / "packed", first, second, third)
    lines = text_of(path)
    assert len(lines) == 4
    assert "a = 5, b = 0xFFB3" in lines[0] and "x = 17" in lines[0]
    assert "w = 600" in lines[1]
    assert_same_through_ctf2(path, tmp_path)


# Other formats

#: What lttng-modules call the events and fields of the kernel.
KERNEL_NAMES = {"softirq_entry": "irq_softirq_entry", "softirq_exit": "irq_softirq_exit"}
KERNEL_FIELDS = {
    "sched_switch": {"prev_pid": "prev_tid", "next_pid": "next_tid"},
    "sched_waking": {"pid": "tid"},
    "sched_process_fork": {"parent_pid": "parent_tid", "child_pid": "child_tid"},
    "sched_process_exec": {"pid": "tid", "old_pid": "old_tid"},
    "sched_process_exit": {"pid": "tid"},
}


def kernel_events(trace: Trace) -> list[dict[str, Any]]:
    """What lttng-modules would have recorded of the events of a trace.dat file."""
    events = []
    for batch in trace.batches():
        for i in range(len(batch)):
            declared = trace.event_classes[int(batch.class_id[i])]
            table, row = batch.tables[int(batch.class_id[i])], int(batch.row[i])
            payload: dict[str, Any] = {}
            for number, field in enumerate(declared.fields):
                item = value(table.column(number), field.type, row, trace.strings)
                if isinstance(item, bytes):
                    item = item.partition(b"\0")[0].decode()
                if field.name in ("prio", "prev_prio", "next_prio"):
                    item -= 100
                payload[KERNEL_FIELDS.get(declared.name, {}).get(field.name, field.name)] = item
            thread = trace.threads[int(batch.thread[i])]
            events.append(
                {
                    "ts": int(batch.ts[i]),
                    "name": KERNEL_NAMES.get(declared.name, declared.name),
                    "cpu": int(batch.cpu[i]),
                    "tid": thread.tid,
                    "payload": payload,
                }
            )
    return events


def test_every_event_and_field_of_a_kernel_trace(tmp_path: Path) -> None:
    source = FIXTURES / "trace_cmd/small.dat"
    converter.convert(source, tmp_path / "out", target_format="ctf")
    found = []
    for event in babeltrace_events(tmp_path / "out"):
        context = dict(event["context"])
        found.append(
            {
                "ts": event["ts"],
                "name": event["name"],
                "cpu": event["cpu"],
                "tid": context["tid"],
                "payload": dict(event["payload"]),
            }
        )
    expected = kernel_events(converter.read(source))
    assert Counter(event["name"] for event in found) == Counter(event["name"] for event in expected)
    key = ("ts", "cpu")
    assert sorted(found, key=lambda event: [event[one] for one in key]) == sorted(
        expected, key=lambda event: [event[one] for one in key]
    )


@needs_babeltrace
def test_babeltrace_passes_over_what_travels(tmp_path: Path) -> None:
    source = FIXTURES / "trace_cmd/small.dat"
    converter.convert(source, tmp_path / "plain", target_format="ctf")
    converter.convert(source, tmp_path / "whole", target_format="ctf", lossless=True)
    assert (tmp_path / "whole/.traceconv").exists()
    assert text_of(tmp_path / "whole") == text_of(tmp_path / "plain")


@needs_babeltrace
@pytest.mark.parametrize(
    "source",
    [
        "trace_cmd/instances.dat",
        "trace_cmd/lost.dat",
        "trace_cmd/uprobes.dat",
        "perfetto/kernel_typed.pftrace",
        "perfetto/kernel_lost.pftrace",
        "perfetto/timeline.pftrace",
        "chrome/features.json",
    ],
)
@pytest.mark.parametrize("variant", ["1.8", "2"])
def test_babeltrace_reads_each_event_of_other_formats(
    source: str, variant: str, tmp_path: Path
) -> None:
    """Of CTF 2 what the metadata of 1.8 say, which are made of it where there are words for them."""
    path = FIXTURES / source
    converter.convert(path, tmp_path / "out", target_format=f"ctf+{variant}")
    readable = tmp_path / "out"
    if variant == "2":
        readable = tmp_path / "one"
        converter.convert(tmp_path / "out", readable, target_format="ctf+1.8")
    trace = converter.read(path)
    kinds = Counter(
        trace.event_classes[number].kind
        for batch in trace.batches()
        for number, table in batch.tables.items()
        for _ in range(len(table))
    )
    lost = kinds.pop(Kind.DISCARDED, 0)
    assert len(text_of(readable)) == kinds.total() > 0
    assert lost or "lost" not in source
