"""Recordings of perf are read: files made record by record, and what perf itself prints of them."""

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
import zstandard
from support.profiles import perf_files
from support.profiles.drawn_perf import drawn
from support.profiles.perf_files import (
    COMPRESSED,
    FINISHED_ROUND,
    FORK,
    IDENTIFIER,
    KERNEL,
    KERNEL_MARK,
    MMAP,
    SAMPLE,
    SAMPLE_ID_ALL,
    USER_MARK,
    USUAL,
    Maker,
)

import converter
from converter import registry
from converter.errors import TraceError
from converter.formats.elf.functions import functions_of, functions_of_map
from converter.formats.perf.data.reading import read
from converter.formats.perf.data.reading import samples as kernel
from converter.ir.collect import collect
from converter.ir.columns import value
from converter.ir.kinds import Kind
from converter.projection.losses import LossClass
from converter.projection.project import project
from converter.selection.selection import Selection
from converter.storage.opening import open_source
from converter.storage.source import MemorySource

FIXTURES = Path(__file__).parents[3] / "roundtrip_fixtures/perf"
#: The name of the event of attributes without flags.
NAME = "cpu-clock:HG"
CHAIN = USUAL | perf_files.CALLCHAIN


def rows(data, **options):
    """The events in their order: time, tid, class, and values by name."""
    trace = read(MemorySource("perf.data", data), **options)
    found = []
    for batch in trace.batches():
        one = {}
        for number, table in batch.tables.items():
            event_class = trace.event_classes[number]
            for row, position in enumerate(batch.positions(number).tolist()):
                values = {
                    field.name: value(table.column(index), field.type, row, trace.strings)
                    for index, field in enumerate(event_class.fields)
                }
                thread = int(batch.thread[position])
                tid = trace.threads[thread].tid if thread >= 0 else -1
                one[position] = (int(batch.ts[position]), tid, event_class.name, values)
        found += [one[position] for position in sorted(one)]
    return trace, found


def frames(values):
    return [(dict(frame)["mapping"].decode(), dict(frame)["rel_pc"]) for frame in values["frames"]]


def simple(order, records, *, sample_type=USUAL, flags=0, version=2):
    make = Maker(order)
    return make.file([(make.attribute(sample_type, flags=flags), [1])], records, version=version)


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("order", "<>")
def test_both_byte_orders_and_versions_are_read(order, version):
    make = Maker(order)
    records = make.comm(7, 8, b"worker") + make.sample(5, 7, 8) + make.sample(6, 7, 7, period=3)
    trace, found = rows(simple(order, records, version=version))
    assert [(row[0], row[1], row[2]) for row in found] == [
        (0, 8, "comm"),
        (5, 8, NAME),
        (6, 7, NAME),
    ]
    assert [row[3]["weight"] for row in found[1:]] == [1, 3]
    assert [(thread.tid, thread.name) for thread in trace.threads] == [(8, "worker"), (7, "")]
    assert trace.processes[0].pid == 7
    assert trace.clock.name == "perf"
    assert not trace.warnings


@pytest.mark.parametrize("order", "<>")
def test_what_perf_writes_into_a_pipe_is_read(order):
    make = Maker(order)
    attribute = make.attribute(USUAL, config=2, size=112, flags=0)
    records = make.record(perf_files.ATTR, attribute + make.words(4, 5))
    host = make.pack("QI", 3, 64) + b"box".ljust(64, b"\0")
    records += make.record(perf_files.FEATURE, host) + make.sample(9)
    trace, found = rows(make.pipe(records))
    assert [row[:3] for row in found] == [(9, 1, "page-faults:HG")]
    assert trace.environment == {"hostname": "box"}
    assert trace.sidecar["perf"]["attributes"] == [{"attr": attribute, "ids": [4, 5], "name": ""}]


def test_records_are_in_the_order_of_time_and_those_without_come_first():
    make = Maker()
    end = make.record(FINISHED_ROUND)
    times = [[5, 9, 3, 8], [7, 12, 6], [10, 11]]
    records = b"".join(b"".join(map(make.sample, each)) + end for each in times)
    _, found = rows(simple("<", make.mmap(1, 0x1000, 0x1000, 0, b"/a") + records))
    assert [row[0] for row in found] == [0, *sorted(ts for each in times for ts in each)]
    assert found[0][2] == "mmap"


def test_compressed_records_are_one_stream():
    make = Maker()
    samples = b"".join(make.sample(ts) for ts in range(1, 400))
    compress = zstandard.ZstdCompressor().compressobj()
    records = b""
    for at in range(0, len(samples), 1000):
        packed = compress.compress(samples[at : at + 1000])
        packed += compress.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)
        records += make.record(COMPRESSED, packed + b"")
    trace, found = rows(simple("<", records))
    assert [row[0] for row in found] == list(range(1, 400))
    assert not trace.warnings
    trace, found = rows(simple("<", records[: len(records) // 2]))
    assert 0 < len(found) < 399 and trace.warnings


@pytest.mark.parametrize("order", "<>")
def test_every_part_of_a_sample_is_a_field(order):
    make = Maker(order)
    attribute = make.attribute(
        (1 << 24) - 1, flags=0, read_format=1 | 4 | 8, branches=1 << 17, registers=0b101
    )
    body = make.words(1, 0x10) + make.task(2, 3) + make.words(4, 0x20, 1, 6)
    body += make.pack("II", 9, 0) + make.words(7)
    body += make.words(1, 100, 50, 1)
    body += make.words(1, 0x10)
    body += make.pack("I", 4) + b"rawd"
    body += make.words(1, 0x99, 0xA, 0xB, 0xC)
    body += make.words(2, 0x51, 0x52)
    body += make.words(8) + b"stackbyt" + make.words(5)
    body += make.words(11, 12, 13)
    body += make.words(1, 0x61, 0x62)
    body += make.words(14, 15, 16, 17)
    body += make.words(8) + b"auxbytes"
    data = make.file([(attribute, [1])], make.record(SAMPLE, body))
    _, found = rows(data)
    (ts, tid, _, values) = found[0]
    assert (ts, tid) == (4, 3)
    values.pop("frames")
    branch = [("from", 0xA), ("to", 0xB), ("flags", 0xC)]
    assert values == {
        "weight": 7,
        "ip": 0x10,
        "addr": 0x20,
        "id": 1,
        "stream_id": 6,
        "read": [1, 100, 50, 1],
        "raw": b"rawd",
        "brstack_index": 0x99,
        "brstack": [branch],
        "uregs_abi": 2,
        "uregs": [0x51, 0x52],
        "ustack": b"stackbyt",
        "ustack_size": 5,
        "local_weight": 11,
        "data_src": 12,
        "transaction": 13,
        "iregs_abi": 1,
        "iregs": [0x61, 0x62],
        "phys_addr": 14,
        "cgroup": 15,
        "data_page_size": 16,
        "code_page_size": 17,
        "aux": b"auxbytes",
    }
    # Cut anywhere, it is a record whose bytes are kept.
    for size in range(0, len(body), 8):
        _, cut = rows(make.file([(attribute, [1])], make.record(SAMPLE, body[:size])))
        assert cut[0][2] == "sample"
        assert cut[0][3]["payload"] == make.record(SAMPLE, body[:size])


def test_samples_are_of_the_event_with_their_id():
    make = Maker()
    kinds = USUAL | IDENTIFIER
    events = [(make.attribute(kinds, config=n, flags=0), [10 + n, 20 + n]) for n in (0, 2, 3)]

    def sample(id):
        body = make.words(id, 0x1000) + make.task(1, 1) + make.words(id, 1)
        return make.record(SAMPLE, body)

    records = b"".join(map(sample, (10, 12, 13, 22, 99)))
    _, found = rows(make.file(events, records))
    names = {row[0]: row[2] for row in found if row[2] != "sample"}
    assert names == {
        10: NAME,
        12: "page-faults:HG",
        13: "context-switches:HG",
        22: "page-faults:HG",
    }
    assert [row[3]["payload"] for row in found if row[2] == "sample"] == [sample(99)]


def test_frames_are_those_of_the_mappings_at_their_time():
    make = Maker()
    flags, end = SAMPLE_ID_ALL, lambda ts: make.task(1, 1) + make.words(ts)
    sample_type = CHAIN

    def mapped(ts, pid, start, size, offset, name):
        return make.mmap(pid, start, size, offset, name, end(ts))

    chain = [KERNEL_MARK, 0xFFFF_FFFF_8100_0010, USER_MARK, 0x1010, 0x9999]
    body = make.pack("iiii", 2, 1, 2, 1) + make.words(4)
    kernel_map = make.pack("ii", -1, 0) + make.words(0xFFFF_FFFF_8100_0000, 0x1000, 0)
    kernel_map += make.text(b"[kernel.kallsyms]_text") + end(1)
    records = make.record(MMAP, kernel_map, KERNEL)
    records += mapped(1, 1, 0x1000, 0x1000, 0x300, b"/lib") + make.sample(2, chain=chain)
    # In the middle of the mapping there is another from now on.
    records += mapped(3, 1, 0x1800, 0x100, 0, b"/new")
    records += make.record(FORK, body + end(4))
    records += make.sample(5, 2, 2, chain=[USER_MARK, 0x17FF, 0x1800, 0x18FF, 0x1900, 0x2000])
    records += make.sample(6, 3, 3, chain=[USER_MARK, 0x1010])
    # The same address after another mapping, and in the child, whose mappings stay.
    records += mapped(7, 1, 0x1000, 0x800, 0, b"/late")
    records += make.sample(8, 1, 1, chain=[USER_MARK, 0x1010])
    records += make.sample(9, 2, 2, chain=[USER_MARK, 0x1010])
    # The kernel's mappings changed; a chain without frames has the address of the sample.
    module = make.pack("ii", -1, 0) + make.words(0xFFFF_FFFF_8100_0000, 0x1000, 0)
    records += make.record(MMAP, module + make.text(b"[module]") + end(10), KERNEL)
    records += make.sample(11, chain=chain) + make.sample(12, chain=[USER_MARK])
    records += make.sample(13, chain=[]) + make.sample(14, chain=chain)
    _, found = rows(simple("<", records, sample_type=sample_type, flags=flags))
    stacks = {row[0]: frames(row[3]) for row in found if row[2] == NAME}
    assert stacks[11] == [("[module]", 0x10), ("/late", 0x10), ("", 0x9999)]
    assert len(stacks[12]) == 1
    assert stacks[12] == stacks[13]
    assert stacks[14] == stacks[11]
    assert stacks[2] == [("[kernel.kallsyms]", 0x10), ("/lib", 0x310), ("", 0x9999)]
    assert stacks[5] == [
        ("/lib", 0xAFF),
        ("/new", 0),
        ("/new", 0xFF),
        ("/lib", 0xC00),
        ("", 0x2000),
    ]
    assert stacks[6] == [("", 0x1010)]
    assert stacks[8] == [("/late", 0x10)]
    assert stacks[9] == [("/lib", 0x310)]


def test_names_are_those_of_the_last_record_and_of_the_parent():
    make = Maker()
    body = make.pack("iiii", 2, 1, 2, 1) + make.words(4)
    records = make.comm(1, 1, b"old") + make.record(FORK, body) + make.comm(1, 1, b"new")
    trace, _ = rows(simple("<", records + make.sample(9, 2, 2)))
    assert {thread.tid: thread.name for thread in trace.threads} == {1: "old", 2: "new"} or {
        thread.tid: thread.name for thread in trace.threads
    } == {1: "new", 2: "new"}


def test_damage_costs_what_is_damaged():
    make = Maker()
    samples = [make.sample(ts) for ts in range(1, 30)]
    size = len(samples[0])
    whole = b"".join(samples)
    trace, found = rows(simple("<", whole[: 9 * size] + bytes(64) + whole[9 * size :]))
    assert [row[0] for row in found] == list(range(1, 30))
    assert len(trace.warnings) == 2
    trace, found = rows(simple("<", whole)[: -3 * size - 5])
    assert len(found) == 25 and trace.warnings
    with pytest.raises(TraceError, match=r"record\.size"):
        rows(simple("<", bytes(64)))
    for size in range(8, 104):
        with pytest.raises(TraceError):
            rows(simple("<", whole)[:size])


def test_a_recording_that_perf_did_not_end_is_read():
    make = Maker()
    data = bytearray(simple("<", make.sample(5)))
    data[48:56] = bytes(8)
    trace, found = rows(bytes(data))
    assert [row[0] for row in found] == [5]
    assert "did not end" in str(trace.warnings[0])


def test_positions_of_an_event_that_there_is_not_are_refused():
    events = kernel.SampledEvents(big_endian=False)
    with pytest.raises(ValueError, match="no such event"):
        events.positions(0)
    with pytest.raises(ValueError, match="no such event"):
        events.add_id(1, 0)


_HEAD = re.compile(r"^.*?(-?\d+) +(\d+)\.(\d{6}): +(\d+) (\S+): *$")


def printed(text):
    """The samples in the text of `perf script`: tid, microseconds, period, event, addresses."""
    found = []
    for line in text.splitlines():
        head = _HEAD.match(line)
        if head:
            ts = int(head[2]) * 1_000_000 + int(head[3])
            found.append((int(head[1]), ts, int(head[4]), head[5], []))
        elif line.strip():
            found[-1][4].append(int(line.split()[0], 16))
    return found


def as_printed(data):
    return [
        (tid, ts // 1000, values["weight"], name, [rel_pc for _, rel_pc in frames(values)])
        for ts, tid, name, values in rows(data)[1]
        if "frames" in values
    ]


def test_a_recording_is_what_perf_printed_of_it():
    data = (FIXTURES / "pipe.data").read_bytes()
    assert as_printed(data) == printed((FIXTURES / "pipe.script.txt").read_text())


@pytest.mark.skipif(shutil.which("perf") is None, reason="perf is not installed")
@pytest.mark.parametrize("order", "<>")
def test_perf_prints_the_same(order, tmp_path):
    make = Maker(order)
    end = make.task(1, 1) + make.words(1)
    records = make.mmap(1, 0x1000, 0x1000, 0x300, b"/no/lib", end)
    for ts in (9000, 5000, 7000):
        records += make.sample(ts, chain=[USER_MARK, 0x1010 + ts % 64, 0x1999, 0x5000])
    records += make.record(FINISHED_ROUND)
    data = simple(order, records, sample_type=CHAIN, flags=SAMPLE_ID_ALL)
    (tmp_path / "perf.data").write_bytes(data)
    command = ["perf", "script", "-F", "tid,time,period,event,ip", "-i", tmp_path / "perf.data"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert len(printed(text)) == 3
    assert as_printed(data) == printed(text)


def test_functions_of_files_are_those_of_their_symbol_tables():
    if shutil.which("nm") is None:
        pytest.skip("nm is not installed")
    path = kernel.__file__
    text = subprocess.run(["nm", path], capture_output=True, text=True, check=True).stdout
    expected = {line.split()[2] for line in text.splitlines() if line.split()[1] in "tT"}
    with open_source(path) as source:
        found = functions_of(source)
    names = {name.decode() for name in found.names}
    assert len(names) > 20
    assert names <= expected | {"_init", "_fini"}
    assert (found.start[1:] > found.start[:-1]).all()
    with pytest.raises(TraceError):
        functions_of(MemorySource("none", b"\x7fELF" + bytes(60)))


def test_functions_that_a_program_made_are_found_by_address():
    found = functions_of_map(b"10 8 first one\nnothing\n20 4 second\n")
    offsets = np.array([0xF, 0x10, 0x17, 0x18, 0x23, 0x24], np.uint64)
    assert found.find(offsets).tolist() == [-1, 0, 0, -1, 1, -1]
    assert found.names == [b"first one", b"second"]


def test_functions_of_frames_are_named(tmp_path):
    make = Maker()
    (tmp_path / "tmp").mkdir()
    (tmp_path / "tmp/perf-1.map").write_text("1000 20 _ZN3jit4codeEv\n")
    symbols = tmp_path / "kallsyms"
    symbols.write_text("ffffffff81000000 T start\nffffffff81000100 T end\n")
    kernel_map = make.pack("ii", -1, 0) + make.words(*[0xFFFF_FFFF_8100_0000, 0x1000] * 1)
    kernel_map += make.words(0xFFFF_FFFF_8100_0000) + make.text(b"[kernel.kallsyms]_text")
    records = make.record(MMAP, kernel_map, KERNEL) + make.mmap(1, 0x1000, 0x1000, 0, b"//anon")
    chain = [KERNEL_MARK, 0xFFFF_FFFF_8100_0010, USER_MARK, 0x1010, 0x1030]
    data = simple("<", records + make.sample(5, chain=chain), sample_type=CHAIN)
    _, found = rows(data, kallsyms=str(symbols), symfs=str(tmp_path))
    names = [dict(frame)["function"] for frame in found[-1][3]["frames"]]
    assert names == [b"start", b"jit::code", b""]
    assert found[-1][3]["frames"][1][1] == ("mapping", b"/tmp/perf-1.map")


def test_records_of_tasks_have_their_kinds():
    make = Maker()
    records = make.comm(1, 1, b"name", misc=perf_files.EXEC) + make.sample(5)
    trace, found = rows(simple("<", records))
    kinds = {each.name: each.kind for each in trace.event_classes}
    assert kinds == {"comm": Kind.TASK_RENAME, NAME: Kind.SAMPLE}
    assert found[0][3] == {"pid": 1, "tid": 1, "comm": b"name", "exec": True}


@pytest.mark.parametrize("target", ["gecko", "folded", "pprof", "speedscope"])
def test_the_address_of_a_sample_is_that_of_its_innermost_frame_in_profiles(target):
    make = Maker()
    records = make.mmap(1, 0x1000, 0x1000, 0, b"/a") + make.sample(5, chain=[USER_MARK, 0x1010])
    trace = read(MemorySource("perf.data", simple("<", records, sample_type=CHAIN)))
    result, losses = project(trace, registry.format_named(target)[0].capabilities(""), target)
    collect(result)
    assert [one.loss_class for one in losses if one.code == "field-dropped"] == [LossClass.DETAIL]


def test_frames_that_perfetto_shows_otherwise_of_the_input_are_a_shown_loss():
    make = Maker()
    kernel = make.words(0xFFFF_FFFF_8100_0010) + make.task(1, 1) + make.words(1, 1, 0)
    alone = make.record(SAMPLE, kernel, KERNEL) + make.sample(2, chain=[USER_MARK, 0x1000])
    called = make.sample(3, chain=[USER_MARK, 0x1000, 0x2000])
    for records, count in ((alone + called, 2), (make.sample(4, chain=[USER_MARK, 0x1000]), 0)):
        trace, _ = rows(simple("<", records, sample_type=CHAIN))
        has, _ = registry.format_named("perfetto")
        projected, losses = project(trace, has.capabilities(""), "perfetto")
        collect(projected)
        found = [(one.count, one.loss_class) for one in losses if one.code == "frames-as-recorded"]
        assert found == [(count, LossClass.SHOWN)] * (count > 0)


# Drawn recordings


def test_any_parts_of_samples_are_read():
    for seed in range(20):
        data, expected = drawn(seed)
        trace, found = rows(data)
        assert not trace.warnings
        for (ts, tid, _, values), (time, task, drawn_values) in zip(found, expected, strict=True):
            values.pop("frames")
            assert (ts, tid, values) == (max(time, 0), task, drawn_values), seed


def dumped(path):
    """The samples as `perf script -D` dumps them, without their places, and as `perf script` prints them."""
    dump, text = (
        subprocess.run(
            ["perf", "script", "-i", path, *more], capture_output=True, text=True, check=False
        ).stdout
        for more in (["-D"], [])
    )
    lines = [line for line in dump.splitlines() if re.match(r".*PERF_RECORD_SAMPLE|\.{2}", line)]
    return [re.sub(r"^.*(?=PERF_RECORD_SAMPLE)", "", line) for line in lines], text


@pytest.mark.skipif(shutil.which("perf") is None, reason="perf is not installed")
@pytest.mark.parametrize("seed", [1, 2])
def test_perf_reads_the_same_of_a_part_with_all_samples(seed, tmp_path):
    original, part = tmp_path / "original.data", tmp_path / "part.data"
    original.write_bytes(drawn(seed).data)
    converter.convert(original, part, target_format="perf", selection=Selection(since="0"))
    lines, text = dumped(part)
    assert lines
    assert (lines, text) == dumped(original)
