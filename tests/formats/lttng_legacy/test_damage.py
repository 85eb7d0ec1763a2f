"""Damaged legacy traces: what is good is delivered with a warning, or there is a TraceError, and nothing else."""

from __future__ import annotations

import json
import struct
from random import Random

import pytest
from support.ctf.lttng_legacy_files import (
    FIXTURES,
    START,
    Trace,
    contents,
    events,
    opened,
    sample,
    save,
    written,
)
from support.traces.small_traces import trace_of

import converter
from converter.errors import TraceError, UnsupportedError
from converter.formats.lttng_legacy.recording import TABLES_NAME
from converter.ir.collect import collect
from converter.ir.events import EventClass, Field
from converter.ir.field_classes import FloatClass, IntegerClass
from converter.ir.invariants import check
from converter.ir.kinds import Kind
from converter.limits import limited

VERSIONS = [
    {},
    {"heartbeat": False, "alignment": 4, "big_endian": True},
    {"literal": True},
    {"version": (2, 2)},
    {"version": (2, 6), "alignment": 8, "arch_size": 8},
]


def attempt(folder, files, *, write=True):
    """Read, check and write a trace; the trace, or the error."""
    save(files, folder)
    try:
        trace = collect(opened(folder))
        check(trace)
        if write:
            written(trace, folder.with_name("out"))
    except UnsupportedError as error:
        return str(error)
    except TraceError as error:
        return str(error)
    return trace


@pytest.mark.parametrize("options", VERSIONS, ids=str)
def test_truncation(tmp_path, options):
    files = sample(**options).build()
    name = next(one for one in files if one in ("cpu_0", "kernel_0"))
    whole = len(events(opened(save(files, tmp_path / "whole"))))
    data = files[name]
    counts = set()
    for size in [*range(0, 64, 9), *range(64, min(len(data), 230), 4), len(data) - 1]:
        trace = attempt(tmp_path / "in", {**files, name: data[:size]}, write=size % 16 == 0)
        assert not isinstance(trace, str)
        count = len(events(trace))
        assert count == whole or size == 0 or trace.warnings
        counts.add(count)
    assert counts == {1, 2, 3, 4, whole}


@pytest.mark.parametrize("options", VERSIONS, ids=str)
def test_flipped_bits(tmp_path, options):
    """Any change of any byte ends in a trace or an error."""
    files = sample(**options).build()
    rng = Random(str(options))
    for _ in range(25):
        changed = dict(files)
        name = rng.choice(sorted(files))
        data = bytearray(files[name].rstrip(b"\0") + bytes(8))
        for _ in range(rng.choice((1, 1, 3))):
            at = rng.randrange(len(data))
            data[at] = rng.choice((data[at] ^ 1 << rng.randrange(8), 0, 255, rng.randrange(256)))
        changed[name] = bytes(data)
        attempt(tmp_path / "in", changed)


def with_member(data, at, form, value):
    return data[:at] + struct.pack(form, value) + data[at + struct.calcsize(form) :]


@pytest.mark.parametrize(
    ("at", "form", "value", "message"),
    [
        (22, "<B", 3, "arch_size"),
        (23, "<B", 3, "alignment"),
        (40, "<Q", 0, "start_freq"),
    ],
)
def test_headers_that_make_no_sense(tmp_path, at, form, value, message):
    files = {
        name: with_member(data, at, form, value)
        for name, data in sample(version=(2, 6)).build().items()
    }
    with pytest.raises(TraceError, match=message):
        opened(save(files, tmp_path))


@pytest.mark.parametrize(
    ("at", "value", "count"),
    [
        (52, 20, 5),  # data_size: less than the header
        (52, 1 << 31, 5),  # more than the block
        (56, 4, 1),  # sb_size: less than the header
        (16, 0, 1),  # no magic number
    ],
)
def test_blocks_that_make_no_sense(tmp_path, at, value, count):
    """Of the second block: what precedes it stays."""
    trace = Trace(version=(2, 6))
    trace.declare("kernel", "plain", 0, "n %d")
    trace.event("kernel", 0, START, 0, trace.payload(("i", 1)))
    trace.new_block("kernel", 0, START + 10)
    for number in range(4):
        trace.event("kernel", 0, START + 11 + number, 0, trace.payload(("i", number)))
    files = trace.build()
    assert len(files["kernel_0"]) == 256
    files["kernel_0"] = with_member(files["kernel_0"], 128 + at, "<I", value)
    read = opened(save(files, tmp_path))
    check(read)
    found = events(read)
    assert found[0][0] == START
    assert len(found) >= count
    assert read.warnings


def test_sizes_that_are_not_those_of_the_format(tmp_path):
    trace = Trace()
    trace.declare("cpu", "number", 128, "n %d")
    trace.event("cpu", 0, START, 128, b"\1\0")
    trace.event("cpu", 0, START + 1, 128, trace.payload(("i", 5)))
    read = opened(save(trace.build(), tmp_path))
    assert [one[5] for one in events(read)] == [[0], [5]]
    assert "not of the size" in read.warnings[0].message


def test_files_of_other_versions_are_left_out(tmp_path):
    files = sample(version=(2, 6)).build()
    files["other_0"] = sample(version=(2, 5)).build()["kernel_0"]
    files["alien_0"] = b"no trace at all" * 30
    read = opened(save(files, tmp_path))
    assert len(events(read)) == 5
    assert len(read.warnings) == 2


def test_names_with_numbers_that_are_no_cpus(tmp_path):
    files = sample(version=(2, 6)).build()
    files["kernel_99999999"] = files["kernel_0"]
    read = opened(save(files, tmp_path))
    assert len(events(read)) == 5
    assert "CPU" in read.warnings[0].message


@pytest.mark.parametrize("options", VERSIONS, ids=str)
def test_nothing_but_damage_is_an_error(tmp_path, options):
    size = 75 if options.get("version") else 105 if options.get("literal") else 113
    broken = {name: data[:size] for name, data in sample(**options).build().items()}
    with pytest.raises(TraceError):
        list(opened(save(broken, tmp_path)).batches())


@pytest.mark.parametrize(
    "data",
    [
        b"", b"[]", b"{}", b"\xff", b'{"version":2}', b"[" * 100_000,
        b'{"version":1,"processes":[],"threads":[[1,0,""]],"clock":["","",null,null],"clock_domains":[],"environment":{}}',
        b'{"version":1,"processes":[],"threads":[],"clock":["","",null,"0"],"clock_domains":[],"environment":{}}',
        b'{"version":1,"processes":[[1,"\\ud800",null,[]]],"threads":[],"clock":["","",null,null],"clock_domains":[],"environment":{}}',
    ],
)  # fmt: skip
def test_damaged_tables_are_left_out(tmp_path, data):
    files = sample(version=(2, 6)).build()
    save(files | {TABLES_NAME: data}, tmp_path)
    read = opened(tmp_path)
    assert any("not the tables of a trace" in str(warning) for warning in read.warnings)
    (tmp_path / TABLES_NAME).unlink()
    assert events(read) == events(opened(tmp_path))


def test_tables_of_another_trace(tmp_path):
    """Markers without the context that such traces have are those of a kernel without threads."""
    held = {
        "version": 1, "processes": [[5, "p", None, []]], "threads": [[5, 0, "t"]],
        "clock": ["ns", "", None, "1000000000"], "clock_domains": [], "environment": {},
    }  # fmt: skip
    save(sample(version=(2, 6)).build() | {TABLES_NAME: json.dumps(held).encode()}, tmp_path)
    read = opened(tmp_path)
    check(read)
    assert {one[4] for one in events(read)} == {None}


@pytest.mark.parametrize("options", VERSIONS[3:], ids=str)
def test_zeros_are_no_events(tmp_path, options):
    """The block goes on behind them, and the next one is read."""
    trace = Trace(**options)
    trace.declare("kernel", "number", 0, "n %d")
    for number in range(40):
        trace.event("kernel", 0, START + 1 + number, 0, trace.payload(("i", number + 1)))
    trace.new_block("kernel", 0, START + 100)
    trace.event("kernel", 0, START + 101, 0, trace.payload(("i", 100)))
    files = trace.build()
    name = next(one for one in files if one.rpartition("/")[2] == "kernel_0")
    hole = files[name].index((11).to_bytes(4, "little")) - 4
    files[name] = files[name][:hole] + bytes(80) + files[name][hole + 80 :]
    read = opened(save(files, tmp_path))
    size = (files[name].index((12 + 20).to_bytes(4, "little")) - hole) // 21
    behind = 11 + -(-80 // size)
    expected = [*range(1, 11), *range(behind, 41)]
    assert [one[5] for one in events(read)] == [*([n] for n in expected), [100]]
    assert [one[0] for one in events(read)][:-1] == [START + n for n in expected]
    (warning,) = read.warnings
    assert warning.offset == hole
    assert "damaged block" in warning.message


def test_damaged_bytes_of_a_real_trace(tmp_path):
    with converter.open_trace(FIXTURES / "net-2.6.tar.gz") as trace:
        converter.write(trace, tmp_path / "whole", "lttng_legacy")
    files = contents(tmp_path / "whole")
    rng = Random(1)
    for _ in range(6):
        name = rng.choice(sorted(files))
        data = bytearray(files[name])
        at = rng.randrange(len(data))
        data[at : at + 4] = rng.randbytes(4)
        attempt(tmp_path / "in", {**files, name: bytes(data)})


def test_no_trace_has_more_fields_than_there_is_memory_for(tmp_path):
    """A format of many fields under many ids, or many channels that each have all markers."""
    format = "%d" * 30
    trace = Trace(version=(2, 6))
    for id in range(10):
        trace.declare("kernel", "many", id, format)
    assert opened(save(trace.build(), tmp_path / "few")).event_classes
    for id in range(10, 20):
        trace.declare("kernel", "many", id, " ")
    trace.declare("kernel", "many", 20, format)
    with (
        pytest.raises(TraceError, match=r"500 fields .* in all"),
        limited({"lttng_legacy.fields": 500}),
    ):
        opened(save(trace.build(), tmp_path / "ids"))
    trace = Trace()
    trace.declare("", "many", 128, format)
    for number in range(20):
        trace.event(f"control/c{number}", 0, START, 128)
    with (
        pytest.raises(TraceError, match=r"500 fields .* in all"),
        limited({"lttng_legacy.fields": 500}),
    ):
        opened(save(trace.build(), tmp_path / "channels"))


# Embedded in another format


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("version", "2.9"), ("version", 2), ("literal", 1), ("big_endian", None), ("start", -1),
        ("header", {}), ("classes", [[1]]), ("classes", None), ("classes", [["kernel", 1 << 16, "", []]]),
        ("classes", [["kernel", 0, "", [1.5]]]), ("files", [["kernel"]]), ("files", [["k\0", 0]]),
        ("files", [["kernel", 1 << 20]]), ("files", [["../up", 0]]), ("files", []),
        ("declarations", [[0]]), ("declarations", [[0, 0, "k", "n", 0, [4, 4, 4, 4, 3], None]]),
        ("declarations", [[0, 7, "k", "n", 0, [4, 4, 4, 4, 0], None]]), ("declarations", []),
    ],
)  # fmt: skip
def test_damaged_sidecars_are_refused(tmp_path, name, value):
    trace = collect(opened(save(sample(version=(2, 6)).build(), tmp_path / "in")))
    trace.sidecar["lttng_legacy"][name] = value
    with pytest.raises(TraceError):
        written(trace, tmp_path / "out")


@pytest.mark.parametrize("member", ["arch_size", "alignment", "start_freq", "start_time_sec"])
def test_damaged_headers_of_sidecars_are_refused(tmp_path, member):
    trace = collect(opened(save(sample(version=(2, 6)).build(), tmp_path / "in")))
    trace.sidecar["lttng_legacy"]["header"][member] = -1
    with pytest.raises(TraceError, match="not what a trace keeps"):
        written(trace, tmp_path / "out")


def test_sidecars_of_other_markers_are_refused(tmp_path):
    """Formats whose fields are not those of the classes."""
    for format in ("n %d", "n %d m %d o %s", " ", "%s %s %s"):
        trace = collect(opened(save(sample(version=(2, 6)).build(), tmp_path / "in")))
        for one in trace.sidecar["lttng_legacy"]["declarations"]:
            if one[3] == "sched_schedule" and one[6] is not None:
                one[6] = format
        with pytest.raises(UnsupportedError, match="no longer those of its markers"):
            written(trace, tmp_path / "out")


# What cannot be written


@pytest.mark.parametrize(
    ("field", "cpu", "message"),
    [
        (Field("x", FloatClass()), 0, "no marker holds"),
        (Field("two words", IntegerClass(32)), 0, "no marker holds"),
        (Field("x", IntegerClass(32)), -1, "no CPU"),
    ],
)
def test_what_the_format_lacks_is_refused(tmp_path, field, cpu, message):
    trace = trace_of([EventClass(Kind.TYPED, "a", "b", (field,))], [(0, 5, cpu, 0, (1,))])
    with pytest.raises(UnsupportedError, match=message):
        written(trace, tmp_path / "out")


def test_times_before_zero_are_refused(tmp_path):
    trace = trace_of([EventClass(Kind.TYPED, "a", "b")], [(0, -5, 0, 0, ())])
    with pytest.raises(UnsupportedError, match="before zero"):
        written(trace, tmp_path / "out")


def _numbered(count, options):
    """A trace of one block of events with numbers, and the file that they are in."""
    trace = Trace(**options, block_size=8192)
    trace.declare("kernel", "number", 0, "n %d")
    for number in range(count):
        trace.event("kernel", 0, START + 7 * number, 0, trace.payload(("i", number + 1)))
    files = trace.build()
    return files, next(one for one in files if one.rpartition("/")[2] == "kernel_0")


@pytest.mark.parametrize("options", VERSIONS, ids=str)
@pytest.mark.parametrize("kind", ["overwritten", "lost"])
def test_a_block_goes_on_behind_a_hole(tmp_path, options, kind):
    files, name = _numbered(300, options)
    data = files[name]
    order = "big" if options.get("big_endian") else "little"
    begin, end = (data.index(number.to_bytes(4, order)) for number in (100, 120))
    filling = Random(1).randbytes(end - begin) if kind == "overwritten" else b""
    read = opened(save({**files, name: data[:begin] + filling + data[end:]}, tmp_path))
    found = {one[5][0]: one[0] for one in events(read)}
    expected = {number: START + 7 * (number - 1) for number in range(1, 301)}
    missing = expected.items() - found.items()
    assert len(missing) <= 24, sorted(missing)
    assert {number for number, _ in missing} <= set(range(98, 124))
    # What is left of one event, and of another, may make one more.
    assert len(found.items() - expected.items()) <= 2
    if kind == "overwritten":
        assert any("damaged block" in str(warning) for warning in read.warnings)


def test_places_where_a_block_goes_on_are_counted(tmp_path):
    files, name = _numbered(300, {"version": (2, 6)})
    data = bytearray(files[name])
    for number in range(20, 300, 20):
        at = data.index(number.to_bytes(4, "little"))
        data[at : at + 24] = b"\xff" * 24
    save({**files, name: bytes(data)}, tmp_path)
    with limited({"holes": 4}):
        few = opened(tmp_path)
        assert 70 < len(events(few)) < 110
        assert "limits={'holes': 8}" in "".join(map(str, few.warnings))
    assert len(events(opened(tmp_path))) > 200
