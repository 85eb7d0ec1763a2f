"""The Perfetto writer: what is written reads back as it was, and the trace's own properties."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb
from support.perfetto.files import FILES, INSTANT, File
from support.perfetto.writing import (
    CAPABILITIES,
    CATEGORY,
    NAME,
    SWITCH,
    events_of,
    opened,
    parsed,
    projected,
    trace_of,
    written,
)
from support.traces.losses import line_of
from support.traces.strategies import fitted_traces, traces

from converter.errors import UnsupportedError
from converter.formats.perfetto import mapping, tracepoints
from converter.formats.perfetto.layout import PacketField
from converter.formats.perfetto.reading.metadata import TRACE_ATTRIBUTE
from converter.formats.perfetto.writing.metadata import packet_message
from converter.ir.canonical import difference
from converter.ir.collect import collect
from converter.ir.events import Batch, EventClass, Field
from converter.ir.field_classes import (
    BytesClass,
    IntegerClass,
)
from converter.ir.kinds import Kind, Role
from converter.ir.trace import ClockDomain, Process, Trace
from converter.projection.project import project

KINDS = CAPABILITIES.kinds.keys() - {Kind.NATIVE}


def with_own_tids(trace: Trace) -> Trace:
    """A fitted trace in which no two threads share a tid and each event is in one place."""
    trace.threads = [
        dataclasses.replace(thread, tid=number + 1) for number, thread in enumerate(trace.threads)
    ]
    return projected(trace)


def is_wider(event_class: EventClass) -> bool:
    """True if a number has more bits than the field of its role in the message."""
    point = (event_class.category, event_class.name)
    if point not in tracepoints.number_of_tracepoint():
        return False
    own = {field.role: field.type for field in event_class.fields}
    return any(
        isinstance(held := own.get(field.role), IntegerClass)
        and isinstance(field.type, IntegerClass)
        and field.role is not Role.NONE
        and held.bits > field.type.bits
        for _, field in tracepoints.message_fields(*point)
    )


# The laws


@given(data=st.data())
def test_what_the_format_holds_survives(data):
    trace = with_own_tids(data.draw(fitted_traces(CAPABILITIES, kinds=KINDS)))
    out = written(trace)
    again = opened(out)
    assert difference(trace, again) is None
    assert not again.warnings
    kinds = {event_class.kind for event_class in trace.event_classes}
    if not kinds & {Kind.LOG, Kind.SAMPLE} and not any(map(is_wider, trace.event_classes)):
        # Those have enumerations, of which protobuf puts numbers that it does not know behind all else. Numbers that
        # are wider than their message's field are cut by it.
        assert parsed(out).SerializeToString() == out


@given(trace=traces())
def test_what_is_projected_survives(trace):
    target = projected(trace)
    assert difference(target, opened(written(target))) is None


@pytest.mark.parametrize("name", FILES)
def test_a_file_survives_its_own_round_trip(name):
    data = FILES[name]()
    out = written(opened(data))
    assert difference(opened(data), opened(out)) is None
    if name != "compressed":
        assert out == data


@pytest.mark.parametrize("name", FILES)
def test_events_of_a_file_survive_without_its_packets(name):
    trace = opened(FILES[name]())
    encoded = dataclasses.replace(trace, make_batches=lambda: map(without_records, trace.batches()))
    assert difference(trace, opened(written(encoded))) is None


def test_threads_of_processes_that_nothing_tells_are_in_no_tree():
    file = File()
    file.bundle(0).event.add(timestamp=5, pid=7).sched_waking.pid = 8
    tree = file.packet().process_tree
    tree.threads.add(tid=8, tgid=6, name="known")
    trace = opened(file.bytes())
    encoded = dataclasses.replace(trace, make_batches=lambda: map(without_records, trace.batches()))
    data = written(encoded)
    assert difference(trace, opened(data)) is None
    told = [
        (thread.tid, thread.tgid)
        for packet in pb.Trace.FromString(data).packet
        for thread in packet.process_tree.threads
    ]
    assert told == [(8, 6)]


def test_what_packets_that_stay_refer_to_stands_in_front_of_them():
    file = File()
    for sequence, name in ((3, "of events"), (4, "of packets")):
        told = file.packet(1, sequence, sequence_flags=3 if sequence == 3 else 1)
        told.interned_data.event_names.add(iid=1, name=name)
        told.trace_packet_defaults.timestamp_clock_id = 6
        told.track_event.type = INSTANT
        told.track_event.name_iid = 1
    file.packet(2, 4, sequence_flags=2).gpu_log.log_message = "refers"
    trace = opened(file.bytes())
    assert list(trace.sidecar["perfetto"]) == ["interned_data"]
    encoded = dataclasses.replace(trace, make_batches=lambda: map(without_records, trace.batches()))
    data = written(encoded)
    assert difference(trace, opened(data)) is None
    packets = pb.Trace.FromString(data).packet
    state, native = (one for one in packets if one.trusted_packet_sequence_id == 4)
    assert [one.name for one in state.interned_data.event_names] == ["of packets"]
    assert state.trace_packet_defaults.timestamp_clock_id == 6
    assert (state.sequence_flags, native.gpu_log.log_message) == (1, "refers")


def test_what_records_say_and_events_do_not_is_lost_where_they_are_written_anew():
    file = File()
    file.packet(1, 3, previous_packet_dropped=1, machine_id=7).track_event.type = INSTANT
    file.packet(2, 3, previous_packet_dropped=1).track_event.type = INSTANT
    remainder = file.packet(3, 3).track_event
    remainder.type = INSTANT
    remainder.source_location_iid = 1
    _, report = project(opened(file.bytes()), CAPABILITIES, "perfetto")
    assert [line_of(loss) for loss in report] == [
        "record-field format=perfetto name=machine_id (1)",
        "record-field format=perfetto name=previous_packet_dropped (1)",
    ]
    target, report = project(opened(file.bytes()), CAPABILITIES, "perfetto")
    collect(target)
    lost = "sequence-texts (1)"
    assert lost in [line_of(loss) for loss in report]


def without_records(batch: Batch) -> Batch:
    """The batch without the packets that it was read from."""
    return batch.with_tables(batch.tables)


@pytest.mark.parametrize("name", FILES)
def test_a_file_survives_projected(name):
    trace = projected(opened(FILES[name]()))
    assert difference(trace, opened(written(trace))) is None


# The trace itself


def test_the_clock_keeps_its_name_and_wall_clock_time():
    trace = trace_of(SWITCH)
    trace.clock = ClockDomain("local", epoch_ns=1_700_000_000_000_000_000, description="per CPU")
    out = written(trace)
    (snapshot,) = [p.clock_snapshot for p in parsed(out).packet if p.HasField("clock_snapshot")]
    readings = {clock.clock_id: clock.timestamp for clock in snapshot.clocks}
    assert readings[1] - readings[6] == trace.clock.epoch_ns
    again = opened(out)
    assert (again.clock, again.clock_domains) == (trace.clock, [])


def test_other_rates_than_nanoseconds_are_refused():
    trace = trace_of(SWITCH)
    trace.clock = ClockDomain("ticks", ticks_per_second=1000)
    with pytest.raises(UnsupportedError, match="nanoseconds"):
        written(trace)
    assert opened(written(projected(trace))).clock.ticks_per_second == 1_000_000_000


def test_an_attribute_that_is_damaged_is_left_alone():
    clock = '{"name":"c","description":"","ticks_per_second":%s,"epoch_ns":%s}'
    whole = '{"clock":%s,"clock_domains":[],"environment":{%s}}'
    for content in (
        "",
        "[]",
        '{"clock":1}',
        '{"clock":{},"clock_domains":[],"environment":{}}',
        whole % (clock % ('"1e99999999"', "null"), ""),
        whole % (clock % ("null", "9223372036854775808"), ""),
        whole % (clock % ("null", "null"), r'"a":"\ud800"'),
    ):
        file = File()
        attribute = file.packet().trace_attributes.attribute.add()
        attribute.key, attribute.string_value = TRACE_ATTRIBUTE, content
        file.event(1, INSTANT, "x", 5)
        trace = opened(file.bytes())
        assert trace.clock.name == "boottime"
        assert [warning.message for warning in trace.warnings] == [
            f"the attribute {TRACE_ATTRIBUTE} is damaged"
        ]


def test_processes_keep_names_parents_and_command_lines():
    trace = trace_of(EventClass(Kind.INSTANT, fields=(NAME, CATEGORY)), (b"x", b""))
    trace.processes += [
        Process(20, "sh", 10, ("sh", "-c", "true")),
        Process(21, "renamed", 20, ("python3", "x.py")),
        Process(22, "", None, ("", "x")),
        Process(23, "", None, ("x", "")),
    ]
    assert difference(trace, opened(written(trace))) is None


def test_processes_whose_ids_are_too_long_stay_apart():
    trace = trace_of(EventClass(Kind.INSTANT, fields=(NAME, CATEGORY)), (b"x", b""))
    trace.processes += [Process(1 << 62, "wide"), Process(0, "idle")]
    target, report = project(trace, CAPABILITIES, "perfetto")
    target = collect(target)
    assert [process.name for process in target.processes] == ["proc", "wide", "idle"]
    assert len({process.pid for process in target.processes}) == 3
    assert "id-too-large bits=31 shown=1073741824 was='wide' what=process (1)" in [
        line_of(loss) for loss in report
    ]
    assert difference(target, opened(written(target))) is None


def test_packets_about_the_recording_are_written_again():
    again = opened(written(projected(opened(FILES["tables"]())))).sidecar["perfetto"]
    before = opened(FILES["tables"]()).sidecar["perfetto"]
    for name, packets in before.items():
        assert again[name][: len(packets)] == packets
    natives = [p for p in before if p not in again]
    assert natives == []


def test_the_computer_is_described_as_the_environment_says():
    environment = {
        "machine": "aarch64",
        "hostname": "board",
        "system_ram_bytes": 1 << 33,
        "hz": "?",
    }
    trace = Trace(format="other", environment=environment)
    again = opened(written(trace))
    assert again.environment == environment
    (packet,) = again.sidecar["perfetto"]["system_info"]
    found = packet_message(packet, PacketField.SYSTEM_INFO, "SystemInfo")
    assert found == {
        "utsname": {"machine": b"aarch64"},
        "machine_name": b"board",
        "system_ram_bytes": 1 << 33,
    }


def test_records_of_other_formats_are_dropped():
    native = EventClass(Kind.NATIVE, fields=mapping.NATIVE_PACKET.fields)
    target, report = project(
        trace_of(native, (1, b"\x08\x01"), thread=-1), CAPABILITIES, "perfetto"
    )
    assert sum(len(batch) for batch in target.batches()) == 0
    assert "native-dropped format=other name=unnamed (1)" in [line_of(loss) for loss in report]


def test_what_no_packet_holds_is_refused():
    payload = Field("payload", BytesClass(), Role.PAYLOAD)
    blob = EventClass(Kind.BLOB, fields=(NAME, payload))
    with pytest.raises(UnsupportedError, match="no packet holds"):
        written(trace_of(blob, (b"shot", b"\xff")))
    assert events_of(opened(written(projected(trace_of(blob, (b"shot", b"\xff"))))))


def test_kernel_events_without_a_message_are_written():
    file = File()
    file.bundle(0).event.add(timestamp=5, pid=7)
    trace = opened(file.bytes())
    assert [len(batch) for batch in opened(written(trace)).batches()] == [1]
