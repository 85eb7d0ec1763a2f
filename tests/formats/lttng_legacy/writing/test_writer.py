"""The laws of legacy LTTng: what is written reads back as it was, and a trace survives its own round trip."""

from __future__ import annotations

import shutil
import tarfile
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.ctf.lttng_legacy_files import (
    FIXTURES,
    START,
    VARIANTS_1,
    VARIANTS_2,
    Trace,
    contents,
    opened,
    sample,
    save,
    spelled,
    written,
)
from support.traces.field_strategies import names
from support.traces.strategies import fitted_traces, traces

import converter
from converter.errors import UnsupportedError
from converter.formats.lttng_legacy.capabilities import capabilities
from converter.formats.lttng_legacy.layout import Version
from converter.formats.lttng_legacy.recording import TABLES_NAME
from converter.formats.table import portable_sidecar
from converter.ir.canonical import difference
from converter.ir.collect import collect
from converter.ir.invariants import check
from converter.ir.kinds import Kind
from converter.projection.engine.texts import plain_identifier
from converter.projection.project import project

CAPABILITIES = capabilities("")
LETTERS = st.text("abcXYZ019_", min_size=1, max_size=6)


@pytest.fixture(name="folder", scope="module")
def _folder():
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder) / "trace"


def unlike(trace, other):
    """How two traces differ, or what they keep of their files besides the events; files themselves may differ."""
    one, another = (replace(each, sidecar=_without_files(each)) for each in (trace, other))
    return difference(one, another, sidecar=True)


def _without_files(trace):
    sidecar = portable_sidecar(trace)
    return {
        name: {key: value for key, value in held.items() if key not in ("contents", "left_behind")}
        for name, held in sidecar.items()
    }


def through(trace, folder, variant):
    """The trace as it is read back."""
    shutil.rmtree(folder, ignore_errors=True)
    return opened(written(trace, folder, variant))


# The laws

WRITTEN = st.sampled_from(["2.6", "1.0"])


@given(variant=WRITTEN, data=st.data())
def test_what_the_format_holds_survives(folder, variant, data):
    texts = st.binary(max_size=8).map(lambda text: text.replace(b"\0", b""))
    trace = data.draw(
        fitted_traces(
            CAPABILITIES,
            # Numbers of lost events are not arbitrary.
            kinds=CAPABILITIES.kinds.keys() - {Kind.DISCARDED},
            names_of_fields=LETTERS.map(plain_identifier),
            strings=texts,
        )
    )
    again = through(trace, folder, variant)
    assert difference(trace, again) is None
    assert again.warnings == []
    check(again)


@given(variant=WRITTEN, trace=traces())
def test_what_is_projected_survives(folder, variant, trace):
    projected = collect(project(trace, capabilities(variant), "lttng_legacy")[0])
    again = through(projected, folder, variant)
    assert difference(projected, again) is None
    # Also when its files are not copied.
    anew = through(collect(again), folder.with_name("other"), "")
    assert unlike(again, anew) is None


@given(name=names())
def test_names_become_identifiers(name):
    assert plain_identifier(plain_identifier(name)) == plain_identifier(name)
    assert not set(plain_identifier(name)) & set(" .%#~")


@pytest.mark.parametrize("options", [*VARIANTS_1, *VARIANTS_2], ids=spelled)
def test_a_trace_survives_encoding_anew(tmp_path, options):
    trace = collect(opened(save(sample(**options).build(), tmp_path / "in")))
    again = opened(written(trace, tmp_path / "out"))
    assert unlike(trace, again) is None
    assert again.warnings == []


@pytest.mark.parametrize("options", [{}, {"literal": True}, {"version": (2, 6)}], ids=str)
def test_an_unchanged_trace_is_copied(tmp_path, options):
    files = sample(**options).build() | {"system.xml": b"<system/>", "bookmarks": b"<bookmark/>"}
    save(files, tmp_path / "in")
    assert contents(written(opened(tmp_path / "in"), tmp_path / "out")) == files


@pytest.mark.parametrize("name", ["kernel-2.5", "net-2.6"])
def test_real_traces_survive(tmp_path, name):
    path = FIXTURES / f"{name}.tar.gz"
    with tarfile.open(path) as archive:
        archive.extractall(tmp_path / "in", filter="data")
    converter.convert(path, tmp_path / "copy", target_format="lttng_legacy")
    assert contents(tmp_path / "copy") == contents(tmp_path / "in")
    trace = collect(opened(tmp_path / "in"))
    again = opened(written(trace, tmp_path / "anew"))
    assert unlike(trace, again) is None


@pytest.mark.parametrize("variant", ["2.6", "1.0"])
def test_a_real_trace_as_another_version(tmp_path, variant):
    path = FIXTURES / "kernel-2.5.tar.gz"
    report = converter.convert(path, tmp_path / "out", target_format=f"lttng_legacy+{variant}")
    assert len(report)
    with converter.open_trace(path) as trace, converter.open_trace(tmp_path / "out") as again:
        projected = collect(project(trace, CAPABILITIES, "lttng_legacy")[0])
        assert difference(projected, again) is None
        assert again.variant == variant


# Encoding anew what only a kernel's trace has


def test_members_of_headers_that_mean_nothing_are_kept(tmp_path):
    kept = {"arch_variant": 5, "float_word_order": 1234, "flight_recorder": 1}
    kept |= {"start_monotonic": 1 << 40}
    layout = Version(1, 0).layout
    sizes = {name: size for name, _, size in layout.members}
    files = sample().build()
    for name, data in files.items():
        changed = bytearray(data)
        for member, value in kept.items():
            at, size = layout.offset(member), sizes[member]
            changed[at : at + size] = value.to_bytes(size, "little")
        files[name] = bytes(changed)
    save(files, tmp_path / "in")
    trace = collect(opened(tmp_path / "in"))
    written(trace, tmp_path / "anew")
    for data in contents(tmp_path / "anew").values():
        header = layout.parse(data, big_endian=False)
        assert {member: header[member] for member in kept} == kept


def test_compact_channels_are_encoded_anew(tmp_path):
    trace = Trace(tscbits=8, data_shift=14, truncate=4)
    trace.declare("cpu", "small", 8, "value #b1u%u rest %d")
    for number in range(30):
        payload = trace.payload(("i", -number))
        trace.event("compact", 0, START + 3000 * number, 8, payload, data=number)
    # Farther from the one before than the header can say.
    trace.new_block("compact", 0, START + (1 << 20))
    trace.event("compact", 0, START + (1 << 20), 8, trace.payload(("i", 0)), data=255)
    read = collect(opened(save(trace.build(), tmp_path / "in")))
    again = opened(written(read, tmp_path / "out"))
    assert unlike(read, again) is None


@pytest.mark.parametrize("alignment", [0, 4])
def test_gaps_of_a_heartbeat_trace_take_heartbeats(tmp_path, alignment):
    trace = Trace(alignment=alignment)
    trace.declare("cpu", "plain", 128, " ")
    for ts in (START, START + (1 << 32) + 5, 1 << 40):
        trace.new_block("cpu", 0, ts)
        trace.event("cpu", 0, ts, 128)
    read = collect(opened(save(trace.build(), tmp_path / "in")))
    again = opened(written(read, tmp_path / "out"))
    assert unlike(read, again) is None
    assert len(contents(tmp_path / "out")["cpu_0"]) == 4096


@pytest.mark.parametrize("version", [(2, 2), (2, 4), (2, 6)], ids=str)
def test_lost_events_are_counted_anew(tmp_path, version):
    trace = Trace(version=version)
    trace.declare("kernel", "plain", 5, " ")
    trace.event("kernel", 0, START, 5)
    trace.new_block("kernel", 0, START + 50, (7, 1))
    trace.event("kernel", 0, START + 60, 5)
    trace.event("kernel", 0, START + 70, 99, b"unknown", full=True)
    read = collect(opened(save(trace.build(), tmp_path / "in")))
    again = opened(written(read, tmp_path / "out"))
    assert unlike(read, again) is None


def test_blocks_of_damaged_size_take_no_room(tmp_path):
    """A header may say 4 GiB: no block of the output is larger than a file of the input."""
    files = sample().build()
    for name, data in files.items():
        files[name] = data[:36] + b"\xff" * 4 + data[40:]
    read = collect(opened(save(files, tmp_path / "in")))
    found = contents(written(read, tmp_path / "out"))
    assert max(len(data) for data in found.values()) <= 8192


def test_many_blocks(tmp_path):
    """Blocks are of at most 64 KiB; all of a file of an older version are of one size."""
    trace = Trace(version=(2, 3))
    trace.declare("kernel", "text", 0, "text %s")
    for number in range(200):
        if number % 2 == 0:
            trace.new_block("kernel", 0, START + number)
        trace.event("kernel", 0, START + number, 0, b"x" * 1500 + b"\0")
    read = collect(opened(save(trace.build(), tmp_path / "in")))
    files = contents(written(read, tmp_path / "out"))
    assert len(files["kernel_0"]) % 4096 == 0
    assert unlike(read, opened(tmp_path / "out")) is None


def test_another_version_needs_a_projection(tmp_path):
    trace = collect(opened(save(sample(version=(2, 6)).build(), tmp_path / "in")))
    with pytest.raises(UnsupportedError, match="only when projected"):
        written(trace, tmp_path / "out", "1.0")


@pytest.mark.parametrize("name", ["kernel-2.5", "net-2.6"])
def test_a_trace_that_travelled_in_another_format(tmp_path, monkeypatch, name):
    """Without its files: classes come with batches then, and the sidecar is all that is left of them."""
    monkeypatch.setattr("converter.formats.lossless.travelling.MOST", 10)
    path = FIXTURES / f"{name}.tar.gz"
    converter.convert(path, tmp_path / "out.fxt", lossless=True)
    converter.convert(tmp_path / "out.fxt", tmp_path / "back", target_format="lttng_legacy")
    assert unlike(converter.read(path), converter.read(tmp_path / "back")) is None


@pytest.mark.parametrize("options", [{}, {"version": (2, 2)}, {"version": (2, 6)}], ids=str)
def test_versions_that_travelled_in_another_format(tmp_path, options):
    save(sample(**options).build(), tmp_path / "in")
    converter.convert(tmp_path / "in", tmp_path / "out.tcir")
    converter.convert(tmp_path / "out.tcir", tmp_path / "back", target_format="lttng_legacy")
    again = opened(tmp_path / "back")
    assert unlike(opened(tmp_path / "in"), again) is None


# Traces of other formats


def test_kernel_events_come_out_as_the_tracers(tmp_path):
    source = FIXTURES.parent / "trace_cmd" / "small.dat"
    converter.convert(source, tmp_path / "out", target_format="lttng_legacy")
    with converter.open_trace(tmp_path / "out") as trace:
        kinds: dict[tuple[Kind, str, str], int] = {}
        for batch in trace.batches():
            for id, table in batch.tables.items():
                held = trace.event_classes[id]
                key = (held.kind, held.category, held.name)
                kinds[key] = kinds.get(key, 0) + len(table)
    assert kinds[Kind.SCHED_SWITCH, "kernel", "sched_schedule"] == 182
    metadata = contents(tmp_path / "out")["metadata_0"]
    assert b"kernel\0sched_schedule\0prev_pid %d next_pid %d prev_state #2d%hd " in metadata
    assert min(contents(tmp_path / "out")).startswith("kernel_")
    assert TABLES_NAME in contents(tmp_path / "out")


@pytest.mark.parametrize("variant", ["2.6", "1.0"])
def test_the_same_kinds_come_back_as_trace_dat(tmp_path, variant):
    source = FIXTURES.parent / "trace_cmd" / "small.dat"
    converter.convert(source, tmp_path / "out", target_format=f"lttng_legacy+{variant}")
    converter.convert(tmp_path / "out", tmp_path / "back.dat")

    def switches(path):
        with converter.open_trace(path) as trace:
            found = []
            for batch in trace.batches():
                for id, table in batch.tables.items():
                    if trace.event_classes[id].kind is Kind.SCHED_SWITCH:
                        names = [field.name for field in trace.event_classes[id].fields]
                        columns = [
                            table.column(names.index(name)).tolist()
                            for name in ("prev_pid", "next_pid", "prev_state")
                        ]
                        times = batch.ts[batch.positions(id)].tolist()
                        found += list(zip(times, *columns, strict=True))
            return found

    assert switches(tmp_path / "back.dat") == switches(source)


# Perfetto


def test_perfetto_shows_processes_system_calls_and_scheduling(tmp_path):
    from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace as Packets

    converter.convert(FIXTURES / "kernel-2.5.tar.gz", tmp_path / "out.pftrace")
    packets = Packets.FromString((tmp_path / "out.pftrace").read_bytes()).packet
    processes = {
        process.pid: process for packet in packets for process in packet.process_tree.processes
    }
    assert processes[1].cmdline[0] == "init"
    events = [event for packet in packets for event in packet.ftrace_events.event]
    switches = [event.sched_switch for event in events if event.HasField("sched_switch")]
    assert len(switches) == 95
    assert any(switch.next_pid in processes for switch in switches)
    entered = [event for event in events if event.HasField("sys_enter")]
    left = [event.sys_exit for event in events if event.HasField("sys_exit")]
    assert (len(entered), len(left)) == (521, 520)
    assert {event.sys_enter.id for event in entered} >= {3, 4}
    assert any(event.pid in processes for event in entered)
    # A call ends with the number that it began with.
    assert {event.id for event in left} <= {event.sys_enter.id for event in entered} | {-1}
