"""Kernel recordings by way of Perfetto and other formats: they come back as `trace-cmd report` printed them before."""

import json
import re
import shutil
import subprocess
from collections import defaultdict
from itertools import product
from pathlib import Path

import pytest
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb
from support.perfetto.files import File, kernel_event
from support.trace_cmd.files import File as Recording
from support.trace_cmd.files import Kernel, format_text
from support.traces.losses import line_of
from support.traces.small_traces import events_of

import converter
from converter.formats.perfetto import mapping
from converter.ir.canonical import difference
from converter.ir.kinds import Kind
from converter.projection.losses import LossKind
from converter.selection.selection import Selection

FIXTURES = Path(__file__).parents[3] / "roundtrip_fixtures/trace_cmd"

#: What lines without an event are about.
LOST = "(lost events|discarded)"
#: What reports say that is about no event.
ABOUT_NO_EVENT = {"native-data", "track-dropped", "field-name-of-format"}

needs_trace_cmd = pytest.mark.skipif(
    shutil.which("trace-cmd") is None, reason="trace-cmd is not installed"
)
recordings = pytest.mark.parametrize("name", sorted(path.name for path in FIXTURES.glob("*.dat")))


def report(path):
    """The lines of `trace-cmd report -t -R` by event, in their order, without the names of buffers."""
    command = ["trace-cmd", "report", "-t", "-R", str(path)]
    output = subprocess.run(command, capture_output=True, check=True, timeout=60).stdout
    lines = defaultdict(list)
    for whole in output.decode("utf-8", "replace").splitlines():
        line = re.sub(r"^ *(\w+: +)?(?=.*\[\d+\] +\d+\.\d+: )", "", whole)
        event = re.search(r"\[\d+\].* \d+\.\d+: (\w+): ", line)
        lines[event[1] if event else LOST].append(line)
    return dict(lines)


def there_and_back(name, folder, way="perfetto"):
    """The recording by way of a format, and what both conversions lost."""
    there = converter.convert(FIXTURES / name, folder / f"a.{way}", target_format=way)
    back = converter.convert(folder / f"a.{way}", folder / "b.dat")
    return folder / "b.dat", [*there, *back]


WAYS = [
    *(("perfetto", path.name) for path in sorted(FIXTURES.glob("*.dat"))),
    *product(("fxt", "chrome", "ctf"), ("lost.dat", "scratch_v6_min.dat", "small.dat")),
]


@needs_trace_cmd
@pytest.mark.parametrize(("way", "name"), WAYS)
def test_an_event_that_loses_nothing_is_printed_as_before(way, name, tmp_path):
    path, losses = there_and_back(name, tmp_path, way)
    named = " ".join(line_of(loss) for loss in losses if loss.code not in ABOUT_NO_EVENT)
    if any(("shown", "marker") in loss.parameters for loss in losses):
        # Text that another event became.
        named += " print"
    before, after = report(FIXTURES / name), report(path)
    different = {
        event for event in before.keys() | after.keys() if before.get(event) != after.get(event)
    }
    unnamed = {event for event in different if not re.search(rf"\b(\w+:)?{event}\b", named)}
    assert unnamed == set()


@needs_trace_cmd
def test_a_recording_of_one_buffer_is_printed_as_before(tmp_path):
    for name in ("small.dat", "lost.dat"):
        path, losses = there_and_back(name, tmp_path)
        assert report(path) == report(FIXTURES / name)
        assert all(loss.kind is LossKind.UNSHOWN or loss.code == "native-data" for loss in losses)
        path.unlink()
        (tmp_path / "a.perfetto").unlink()


@recordings
def test_all_that_perfetto_loses_of_a_recording_is_reported(name, tmp_path):
    """Reading the output gives the very trace that was read, but for what the report names."""
    with converter.open_trace(FIXTURES / name) as trace:
        losses = converter.write(trace, tmp_path / "a.pftrace")
        named = {
            loss.code
            for loss in losses
            if loss.kind is not LossKind.UNSHOWN and loss.code != "native-data-detail"
        }
        before = converter.read(FIXTURES / name)
        before.sidecar = {}
        after = converter.read(tmp_path / "a.pftrace")
        after.sidecar = {}
        if named <= {"native-data"}:
            assert difference(before, after) is None
        else:
            assert difference(before, after) is not None
    assert named <= {
        *("native-data", "track-dropped", "text-not-utf8"),
        *("buffer-as-argument", "track-as-thread"),
    }


def test_typed_events_keep_to_their_messages(tmp_path):
    """What a message has a field for is there; other fields stand behind, and a trace attribute names them."""
    converter.convert(FIXTURES / "small.dat", tmp_path / "a.pftrace")
    trace = pb.Trace.FromString((tmp_path / "a.pftrace").read_bytes())
    events = [event for packet in trace.packet for event in packet.ftrace_events.event]
    exits = [e.sched_process_exit for e in events if e.HasField("sched_process_exit")]
    assert {(e.comm, e.prio, e.HasField("tgid")) for e in exits} == {
        ("true", 120, False),
        ("ls", 120, False),
        ("sleep", 120, False),
    }
    assert all(e.WhichOneof("event") for e in events)
    assert not any(packet.ftrace_events.generic_event_descriptors for packet in trace.packet)
    attributes = [a for packet in trace.packet for a in packet.trace_attributes.attribute]
    assert "traceconv.events" in [attribute.key for attribute in attributes]


def test_lost_events_keep_their_number(tmp_path):
    converter.convert(FIXTURES / "lost.dat", tmp_path / "a.pftrace")
    with converter.open_trace(tmp_path / "a.pftrace") as trace:
        counts = []
        for batch in trace.batches():
            for number, table in batch.tables.items():
                if trace.event_classes[number].kind is Kind.DISCARDED:
                    assert trace.event_classes[number] == mapping.COUNTED_LOST_EVENTS
                    counts += table.column(0).tolist()
    assert len(counts) == 2
    assert 13029 in counts


@pytest.mark.parametrize("count", [1, 100])
def test_packets_behind_a_trace_that_travels_along_are_read(count, tmp_path):
    """Files of packets can be joined; then the trace is what its packets say."""
    out = tmp_path / "a.pftrace"
    converter.convert(FIXTURES / "scratch_v7_be64.dat", out, lossless=True)
    further = pb.Trace()
    bundle = further.packet.add().ftrace_events
    bundle.cpu = 0
    for number in range(count):
        bundle.event.add(timestamp=number + (1 << 60), pid=1).softirq_raise.vec = 3
    out.write_bytes(out.read_bytes() + further.SerializeToString())
    with converter.open_trace(out) as trace:
        counts = [len(batch) for batch in trace.batches()]
        kinds = {event_class.kind for event_class in trace.event_classes}
        messages = [warning.message for warning in trace.warnings]
    with converter.open_trace(FIXTURES / "scratch_v7_be64.dat") as before:
        assert sum(counts) == sum(map(len, before.batches())) + count
    assert Kind.NATIVE not in kinds
    assert "a trace that travels in this one is not at its end, and left alone" in messages


@needs_trace_cmd
def test_scheduling_that_goes_through_fxt_is_printed_as_before(tmp_path):
    """What FXT has records for comes back with all that was there, and what its records have beside it."""
    converter.convert(FIXTURES / "small.dat", tmp_path / "a.fxt")
    converter.convert(tmp_path / "a.fxt", tmp_path / "b.pftrace")
    converter.convert(tmp_path / "b.pftrace", tmp_path / "c.dat")
    before, after = report(FIXTURES / "small.dat"), report(tmp_path / "c.dat")
    assert len(before["sched_switch"]) == len(after["sched_switch"]) > 100
    for one, other in zip(before["sched_switch"], after["sched_switch"], strict=True):
        assert other.startswith(one)


def test_packets_of_other_sorts_are_named_in_losses(tmp_path):
    # One of process_stats, and one of a field that nobody declares.
    packets = [b"\x40\x05\x4a\x00", b"\x40\x06\x8a\xf4\x03\x00"]
    source = tmp_path / "a.pftrace"
    source.write_bytes(b"".join(b"\x0a" + bytes([len(packet)]) + packet for packet in packets))
    with converter.open_trace(source) as trace:
        list(trace.batches())
        names = {(one.category, one.name) for one in trace.event_classes}
    report = converter.convert(source, tmp_path / "b.dat")
    assert names == {("TracePacket", "process_stats"), ("TracePacket", "8001")}
    shown = {dict(loss.parameters)["name"] for loss in report if loss.kind is LossKind.UNSHOWN}
    assert shown == {name for _, name in names}
    assert report.events_not_shown == 2


@pytest.mark.parametrize("with_marks", [True, False])
def test_slices_that_share_a_stack_with_marks_are_named(with_marks, tmp_path):
    file = File()
    file.thread_track(1, 5, 5, "t")
    file.event(10, 1, "slice", 1)
    if with_marks:
        kernel_event(file.bundle(0), 15, 5, "print", buf="B|5|mark\n")
    file.event(20, 2, "", 1)
    (tmp_path / "a.pftrace").write_bytes(file.bytes())
    report = converter.convert(tmp_path / "a.pftrace", tmp_path / "b.dat")
    assert any(loss.code == "slice-end-mixes-with-marks" for loss in report) is with_marks


STATE = {"name": "Running", "ph": "T", "ts": 20, "dur": 5, "pid": 1, "tid": 2, "args": {"cpu": 1}}


def task_states(path: Path) -> list[tuple[int, int, int]]:
    """Time, task and state of those that importers read."""
    trace = pb.Trace()
    trace.ParseFromString(path.read_bytes())
    return sorted(
        (packet.timestamp, event.tid, event.state)
        for packet in trace.packet
        if packet.HasField("generic_kernel_task_state_event")
        for event in [packet.generic_kernel_task_state_event]
    )


def test_states_of_threads_are_those_of_tasks_and_come_back(tmp_path):
    source = tmp_path / "a.json"
    states = [STATE, STATE | {"name": "S", "ts": 25}, STATE | {"ts": 40, "tid": 3}]
    source.write_text(json.dumps({"traceEvents": states}))
    losses = converter.convert(source, tmp_path / "b.pftrace")
    assert losses.events_not_shown == 0
    running, sleeping = 3, 4
    assert task_states(tmp_path / "b.pftrace") == [
        *((20_000, 2, running), (25_000, 2, sleeping)),
        *((40_000, 3, running), (45_000, 3, sleeping)),
    ]
    converter.convert(tmp_path / "b.pftrace", tmp_path / "c.json")
    events = json.loads((tmp_path / "c.json").read_text())["traceEvents"]
    assert [event for event in events if event["ph"] == "T"] == states


def test_states_do_not_depend_on_where_batches_end(tmp_path, monkeypatch):
    source = tmp_path / "a.json"
    states = [STATE | {"ts": 20 + 5 * (i // 2), "tid": 2 + i % 2} for i in range(9)]
    source.write_text(json.dumps({"traceEvents": states}))
    converter.convert(source, tmp_path / "whole.pftrace")
    monkeypatch.setattr("converter.ir.trace.Trace.events_of_a_batch", lambda *_: 2)
    converter.convert(source, tmp_path / "parts.pftrace")
    assert task_states(tmp_path / "whole.pftrace") == task_states(tmp_path / "parts.pftrace")


@pytest.mark.parametrize(
    "other",
    [{"name": "waiting"}, {"args": {}}, {"args": {"cpu": -1}}, {"pid": 5}],
    ids=["no scheduler's", "on no CPU", "on a bad CPU", "of two threads"],
)
def test_states_that_are_none_of_a_task_are_not_shown(tmp_path, other):
    source = tmp_path / "a.json"
    states = [STATE | other]
    if "pid" in other:
        states.append(STATE)
    source.write_text(json.dumps({"traceEvents": states}))
    losses = converter.convert(source, tmp_path / "b.pftrace")
    assert losses.events_not_shown == len(states)
    assert task_states(tmp_path / "b.pftrace") == []


@pytest.mark.parametrize("suffix", ["json", "fxt", "pftrace"])
def test_arrows_between_slices_are_not_lost_in_silence(suffix, tmp_path):
    trace = pb.Trace()
    ids = [{"flow_ids": [7, 8]}, {"terminating_flow_ids": [7]}]
    kinds = [pb.TrackEvent.TYPE_SLICE_BEGIN, pb.TrackEvent.TYPE_SLICE_END]
    for i, (kind, said) in enumerate((kind, said) for said in ids for kind in kinds):
        event = {"type": kind, "track_uuid": 5, "name": "a", **said}
        trace.packet.add(timestamp=1000 * i, trusted_packet_sequence_id=1, track_event=event)
    source = tmp_path / "a.pftrace"
    source.write_bytes(trace.SerializeToString())
    losses = converter.convert(source, tmp_path / f"b.{suffix}")
    # What begins is connected by events; ends are not, for importers find no slice there.
    arrows = {line_of(loss) for loss in losses if loss.code == "arrow-ids-unshown"}
    names = () if suffix == "pftrace" else ("flow_ids", "terminating_flow_ids")
    assert arrows == {f"arrow-ids-unshown event=slice end field={name} (1)" for name in names}


@pytest.mark.parametrize(("binds", "is_moved"), [({}, True), ({"bp": "e"}, False)])
def test_arrows_to_the_next_slice_move_there_where_they_end_at_the_one_around(
    binds, is_moved, tmp_path
):
    slices = [{"ph": "X", "ts": ts, "dur": 5, "name": "a", "pid": 1, "tid": ts} for ts in (1, 20)]
    flow = {"id": 7, "name": "f", "cat": "c", "pid": 1}
    ends = [flow | {"ph": "s", "ts": 2, "tid": 1}, flow | {"ph": "f", "ts": 19, "tid": 20} | binds]
    source = tmp_path / "a.json"
    source.write_text(json.dumps({"traceEvents": slices + ends}))
    lost = {loss.code for loss in converter.convert(source, tmp_path / "b.fxt")}
    moved = "flow-moved-to-next-slice"
    assert (moved in lost) is is_moved
    for suffix in ("pftrace", "json"):
        losses = converter.convert(source, tmp_path / f"c.{suffix}")
        assert not any("flow" in loss.code for loss in losses)


@pytest.mark.parametrize("target", ["perfetto", "fxt"])
def test_fields_that_no_message_declares_are_lost_by_name(tmp_path, target):
    """A newer recorder's fields are in records that are copied, and in the report where these are not."""
    file = File()
    for start in range(0, 100, 10):
        bundle = file.bundle(1)
        event = kernel_event(bundle, start, 5, "sched_waking", comm="a", pid=7, success=1)
        # Fields 60 and 61: a number, and a text.
        event.sched_waking.MergeFromString(b"\xe0\x03\x05\xea\x03\x02hi")
        kernel_event(bundle, start + 1, 5, "sched_process_free", comm="a", pid=7)
    source = tmp_path / "a.pftrace"
    source.write_bytes(file.bytes())
    lost = {
        f"field {number} of sched:sched_waking, which no message declares" for number in (60, 61)
    }

    def reported(selection=None):
        output = tmp_path / f"b.{target}"
        report = converter.convert(
            source, output, target_format=target, selection=selection, force=True
        )
        return {
            dict(loss.parameters)["name"]: loss.count
            for loss in report
            if loss.code == "record-field"
        }

    # Of the whole trace Perfetto has the records as they were.
    assert reported() == ({} if target == "perfetto" else dict.fromkeys(lost, 10))
    assert reported(Selection(events=("sched_waking",))) == dict.fromkeys(lost, 10)


def test_the_function_tracer_s_events_keep_their_addresses(tmp_path):
    kernel = Kernel()
    function = format_text(
        "function", 1, "unsigned long ip 8 8 0\nunsigned long parent_ip 16 8 0", '"%ps", REC->ip'
    )
    record = kernel.record(1, kernel.common(1, 42) + kernel.pack("QQ", (1 << 64) - 1, 0))
    recording = Recording(kernel, {0: kernel.page(10, record)}, formats={"ftrace": [function]})
    (tmp_path / "a.dat").write_bytes(recording.version_7())
    report = converter.convert(tmp_path / "a.dat", tmp_path / "b.pftrace")
    assert {loss.code for loss in report} <= {"native-data", "native-data-detail"}
    ((_, kind, _, fields),) = events_of(converter.read(tmp_path / "b.pftrace"))
    assert (kind, fields["ip"], fields["parent_ip"]) == (Kind.FUNCTION, (1 << 64) - 1, 0)
