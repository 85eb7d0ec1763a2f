"""The Perfetto reader against protobuf's own parser, one feature a file, and what the parser does not say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb
from support.perfetto import oracle as perfetto_oracle
from support.perfetto.events import typed_event_numbers
from support.perfetto.files import BEGIN, COUNTER, END, FILES, INSTANT, File, kernel_event
from support.perfetto.reading import events, opened

from converter.formats.perfetto import FORMAT, mapping, tracepoints
from converter.formats.perfetto.protobuf.descriptors import (
    typed_event,
)
from converter.ir import canonical, invariants
from converter.ir.kinds import Kind, Role
from converter.ir.trace import TrackScope
from converter.projection.domain.linux_tracepoints import MEANINGS
from converter.storage.opening import open_source


@pytest.mark.parametrize("name", FILES)
def test_reads_what_protobuf_reads(name):
    data = FILES[name]()
    invariants.check(opened(data))
    if name != "compressed":  # whose zstd the oracle does not know
        assert perfetto_oracle.differences(open_source(data)) == []


@pytest.mark.parametrize("name", FILES)
def test_reading_again_gives_the_same(name):
    trace = opened(FILES[name]())
    first = canonical.dump(trace, sidecar=True)
    warnings = list(trace.warnings)
    assert canonical.dump(trace, sidecar=True) == first
    assert trace.warnings == warnings


def test_each_typed_event_has_a_system():
    named = {tracepoints.tracepoint_of(number) for number in typed_event_numbers()}
    assert len(named) == len(typed_event_numbers())
    assert {system for system, _ in named} == {system for system, _ in tracepoints.SYSTEMS}
    assert tracepoints.number_of_tracepoint()["sched", "sched_switch"] == 4
    assert tracepoints.number_of_tracepoint()["irq_vectors", "local_timer_exit"] == 560
    assert tracepoints.tracepoint_of(typed_number("mali_tracing_mark_write")) == (
        "mali",
        "tracing_mark_write",
    )
    assert set(tracepoints.SYMBOL_FIELDS) <= {
        (event.field_name, item.name)
        for event in map(typed_event, typed_event_numbers())
        for item in event.fields
    }


def typed_number(name):
    return next(n for n in typed_event_numbers() if typed_event(n).field_name == name)


def test_meanings_name_fields_that_the_messages_have():
    numbers = tracepoints.number_of_tracepoint()
    # Not typed: the function tracer's own events, and trace_printk's.
    assert {name for system, name in MEANINGS if (system, name) not in numbers} == {
        "function",
        "fgraph_retaddr_entry",
        "bprint",
        "bputs",
    }
    known = {point: tracepoints.known_meaning(*point) for point in numbers}
    assert {point for point in MEANINGS if point in numbers} <= {
        point for point, meaning in known.items() if meaning is not None
    }
    for (system, name), meaning in known.items():
        if meaning is None:
            continue
        declared = tracepoints.tracepoint_class(
            system, name, typed_event(numbers[system, name]).fields
        )
        assert declared.kind is meaning.kind
        assert {f.role for f in declared.fields} - {Role.NONE} <= {
            Role.CONTEXT_FLAGS,
            *meaning.roles.values(),
        }


def test_compressed_packets_stand_where_they_are():
    found = events(opened(FILES["compressed"]()))
    assert [ts for ts, *_ in found] == [10, 20, 30, 40]


def test_compact_switches_have_the_task_before():
    switches = [e for e in events(opened(FILES["kernel_compact"]())) if e[1] == "sched_switch"]
    cpu0 = [(ts, tid, f["prev_pid"], f["prev_comm"], f["next_pid"]) for ts, _, tid, f in switches]
    assert cpu0[:3] == [
        (1010, None, -1, b"", 40),
        (1030, 40, 40, b"task0", 0),
        (1060, 0, 0, b"swapper", 50),
    ]


def test_what_ran_before_lost_events_is_unknown():
    trace = opened(FILES["kernel_lost"]())
    found = [(ts, label) for ts, label, *_ in events(trace)]
    assert found == [(100, "sched_switch"), (99, "DISCARDED"), (101, "sched_switch")]
    assert [f["prev_pid"] for _, label, _, f in events(trace) if label == "sched_switch"] == [
        -1,
        -1,
    ]


def test_events_of_a_bundle_are_in_order_of_time():
    found = events(opened(FILES["kernel_compact"]()))
    assert [ts for ts, *_ in found[:7]] == sorted(ts for ts, *_ in found[:7])


def test_generic_events_of_the_same_shape_share_a_class():
    trace = opened(FILES["kernel_generic"]())
    names = [event_class.name for event_class in trace.event_classes]
    list(trace.batches())
    names = [event_class.name for event_class in trace.event_classes]
    assert sorted(names) == ["bare", "denser", "mine"]
    denser = next(e for e in events(trace) if e[1] == "denser")
    assert denser[3] == {"common_flags": 0, "i": -3, "u": 8, "s": b"hi", "b": b"\xff"}
    assert trace.event_classes[names.index("denser")].category == "test"


def test_events_that_nothing_declares_are_kept():
    event = b"\x08\x05\x10\x07\xc2\xbb\x01\x02hi\xd0\x0f\x00"  # field 3000 of FtraceEvent
    bundle = b"\x08\x01\x12" + bytes([len(event)]) + event
    packet = b"\x0a" + bytes([len(bundle)]) + bundle
    trace = opened(b"\x0a" + bytes([len(packet)]) + packet)
    assert events(trace) == [(5, "3000", 7, {"common_flags": 0, "message": b"hi"})]


def test_threads_get_the_process_that_a_later_tree_names():
    trace = opened(FILES["tables"]())
    batch = next(iter(trace.batches()))
    thread = trace.threads[batch.thread[0]]
    assert (thread.tid, thread.name, trace.processes[thread.process].pid) == (21, "b:worker", 20)
    assert trace.processes[thread.process].parent_pid == 1
    assert trace.environment == {"sysname": "Linux", "kernel_release": "6.1", "machine": "x86_64"}


def test_log_entries_samples_and_other_packets():
    found = {label: fields for _, label, _, fields in events(opened(FILES["tables"]()))}
    assert found["LOG"]["message"] == b"again"
    frames = [dict(frame)["function"] for frame in found["SAMPLE"]["frames"]]
    assert frames == [b"inner", b"outer"]
    natives = [
        (label, fields["field"])
        for _, label, _, fields in events(opened(FILES["tables"]()))
        if "packet" in fields
    ]
    assert natives == [("android_log", 39), ("battery", 38), ("ftrace_stats", 34)]
    assert opened(FILES["tables"]()).symbols.lookup(7) == (b"do_work", 0)


def test_what_importers_show_of_packets_about_the_trace_is_counted():
    file = File()
    file.packet().system_info.hz = 100
    file.trace.packet[0].system_info.device_tree_compatibles.append("board")
    file.trace.packet[0].system_info.utsname.release = "6.1"
    file.packet().trace_config.unique_session_name = "s"
    for rank in (1, 2):
        file.track(rank, f"t{rank}").sibling_order_rank = rank
    file.trace.packet[2].track_descriptor.description = "what it is"
    file.trace.packet[3].track_descriptor.description = "cpu 3"
    attributes = file.packet().trace_attributes
    for key in ("build", "traceconv.trace"):
        attributes.attribute.add(key=key, string_value="{}")
    trace = opened(file.bytes())
    assert trace.environment["hz"] == 100
    assert trace.sidecar_shown["perfetto"] == {
        "system_info.release": 1,
        "system_info.device_tree_compatibles": 1,
        "trace_config": 1,
        "track_descriptor.sibling_order_rank": 2,
        "track_descriptor.description": 1,
        "trace_attributes": 1,
    }


def test_what_no_event_says_of_packets_is_counted():
    file = File()
    processes = file.packet().process_tree.processes
    processes.add(pid=1, uid=0, is_kthread=True)
    processes.add(pid=2, process_start_from_boot=5)
    file.track(1, "").counter.type = 1
    file.track(2, "other").counter.type = 2
    for sequence, name in ((1, ""), (2, "named")):
        defaults = file.packet(sequence=sequence).trace_packet_defaults
        defaults.perf_sample_defaults.timebase.raw_event.config = 5
        defaults.perf_sample_defaults.timebase.name = name
    trace = opened(file.bytes())
    assert trace.records_shown["unit of thread times"] == 1
    assert trace.records_shown["timebase of samples"] == 1
    assert trace.sidecar_shown["perfetto"] == {
        "process_tree.uid": 1,
        "process_tree.is_kthread": 1,
        "process_tree.process_start_from_boot": 1,
    }


def test_metadata_packets_are_in_the_sidecar():
    trace = opened(FILES["tables"]())
    sidecar = trace.sidecar["perfetto"]
    assert sorted(sidecar) == ["process_tree", "system_info", "trace_uuid"]
    assert all(isinstance(packet, bytes) for packets in sidecar.values() for packet in packets)


def test_tracks_have_scopes_parents_and_units():
    trace = opened(FILES["timeline"]())
    list(trace.batches())
    tracks = {track.name: track for track in trace.tracks}
    assert tracks["lane"].scope is TrackScope.THREAD
    assert trace.tracks[tracks["nested lane"].parent] == tracks["lane"]
    assert tracks["of process"].scope is TrackScope.PROCESS
    assert (tracks["bytes in use"].unit, tracks["power"].unit) == ("bytes", "mW")
    assert tracks["global"].identity == 5


def test_a_derived_uuid_is_no_identity():
    file = File()
    uuid = mapping.derived_uuid(b"lane", TrackScope.GLOBAL, (-1,), 0, "")
    file.track(uuid, "lane")
    file.track(9, "cpu lane").description = "cpu 3"
    file.event(1, BEGIN, "x", uuid)
    file.event(2, BEGIN, "x", 9)
    trace = opened(file.bytes())
    list(trace.batches())
    assert [(t.name, t.scope, t.owner, t.identity) for t in trace.tracks] == [
        ("lane", TrackScope.GLOBAL, -1, 0),
        ("cpu lane", TrackScope.CPU, 3, 9),
    ]


def test_tracks_that_are_their_own_ancestors_end():
    file = File()
    file.track(5, "a", 6)
    file.track(6, "b", 5)
    file.event(1, INSTANT, "x", 5)
    trace = opened(file.bytes())
    invariants.check(trace)
    assert any(track.name == "a" for track in trace.tracks)


def test_times_are_on_the_trace_clock():
    trace = opened(FILES["clocks"]())
    times = [(fields["name"], ts) for ts, _, _, fields in events(trace)]
    assert times == [
        (b"boottime", 1_000_500),
        (b"monotonic", 1_000_600),
        (b"own", 1_100_000),
        (b"increment", 1_010_000),
        (b"increment", 1_030_000),
        (b"unrelated", 77),
        (b"later", 2_000_005),
    ]
    assert trace.clock.name == "boottime"
    assert trace.clock.epoch_ns == 1_700_000_000_000_000_000 - 1_000_000
    assert [clock.name for clock in trace.clock_domains] == ["realtime", "monotonic"]
    assert any("clock 200" in str(warning) for warning in trace.warnings)


def test_bundles_on_other_clocks():
    file = File()
    snapshot = file.packet().clock_snapshot
    snapshot.clocks.add(clock_id=6, timestamp=1000)
    snapshot.clocks.add(clock_id=5, timestamp=400)
    local = file.bundle(0)
    local.ftrace_clock, local.ftrace_timestamp, local.boot_timestamp = 3, 10, 500
    kernel_event(local, 12, 1, "softirq_raise")
    raw = file.bundle(1)
    raw.ftrace_clock = 4
    kernel_event(raw, 405, 1, "softirq_raise")
    assert [ts for ts, *_ in events(opened(file.bytes()))] == [502, 1005]


def test_snapshots_count_for_later_packets():
    """Of kernel events and track events, with the times that trace_processor v52 shows."""
    times = ((900, 9900), (3000, 12000), (1500, 10500), (3000, 21200), (1999, 10999))
    snapshots = {0: (10000, 1000), 2: (20200, 2000)}
    file = File()
    file.track(5, "t")
    for i, (ts, _) in enumerate(times):
        if i in snapshots:
            snapshot = file.packet().clock_snapshot
            for clock, time in zip((6, 5), snapshots[i], strict=True):
                snapshot.clocks.add(clock_id=clock, timestamp=time)
        raw = file.bundle(1)
        raw.ftrace_clock = 4
        kernel_event(raw, ts, 1, "softirq_raise")
        file.event(ts, INSTANT, "a", 5)
        file.trace.packet[-1].timestamp_clock_id = 5
    found = sorted(ts for ts, *_ in events(opened(file.bytes())))
    assert found == sorted(shown for _, shown in times for _ in range(2))


def test_another_primary_clock():
    file = File()
    snapshot = file.packet().clock_snapshot
    snapshot.primary_trace_clock = 3
    snapshot.clocks.add(clock_id=6, timestamp=1000)
    snapshot.clocks.add(clock_id=3, timestamp=100)
    kernel_event(file.bundle(0), 1010, 1, "softirq_raise")
    trace = opened(file.bytes())
    assert trace.clock.name == "monotonic"
    assert [ts for ts, *_ in events(trace)] == [110]


def test_sequence_timestamps_of_old_chrome():
    file = File()
    descriptor = file.packet(sequence=4, sequence_flags=1).thread_descriptor
    descriptor.pid, descriptor.tid, descriptor.reference_timestamp_us = 1, 2, 1000
    descriptor.reference_thread_time_us = 50
    # Absolute times are of their event alone, also for the importer.
    for time, thread_time in (
        ({"timestamp_delta_us": 5}, {"thread_time_delta_us": 3}),
        ({"timestamp_absolute_us": 5000}, {"thread_time_absolute_us": 900}),
        ({"timestamp_delta_us": 6}, {"thread_time_delta_us": 2}),
    ):
        event = file.packet(sequence=4).track_event
        event.type = INSTANT
        for name, value in (time | thread_time).items():
            setattr(event, name, value)
    snapshot = file.packet().clock_snapshot
    snapshot.clocks.add(clock_id=3, timestamp=0)
    snapshot.clocks.add(clock_id=6, timestamp=7)
    found = events(opened(file.bytes()))
    assert [(ts, tid, fields.get("thread_time")) for ts, _, tid, fields in found] == [
        (1_005_007, 2, 53_000),
        (5_000_007, 2, 900_000),
        (1_011_007, 2, 55_000),
    ]


def test_legacy_phases_have_their_kinds():
    found = {
        fields["name"][-1:].decode(): (label, fields)
        for _, label, _, fields in events(opened(FILES["legacy"]()))
        if fields["name"] != b"elsewhere"
    }
    for phase, kind in mapping.PHASE_KINDS.items():
        label, fields = found[phase]
        assert label == kind.name
        expected = None if phase == mapping.default_phase(kind) else phase.encode()
        assert fields.get("phase") == expected
    assert found["("][0] == Kind.INSTANT.name
    assert (found["b"][1]["id.local"], found["b"][1]["id_scope"]) == (2**64 - 1, b"scope")
    assert found["X"][1]["duration"] == 12_000


def test_incremental_counters_are_summed_in_their_unit():
    found = [
        f["value"]
        for _, label, _, f in events(opened(FILES["extra_counters"]()))
        if label == "COUNTER"
    ]
    assert found == [100, 101, 2.5, 102]


def test_the_packet_of_a_snapshot_is_no_step_of_an_incremental_clock():
    """Importers read it before they give a packet a time."""
    file = File()
    packet = file.packet(1000, 3, sequence_flags=1)
    packet.timestamp_clock_id = 6
    packet.trace_packet_defaults.timestamp_clock_id = 64
    packet.clock_snapshot.clocks.add(clock_id=6, timestamp=1000)
    packet.clock_snapshot.clocks.add(clock_id=64, timestamp=1000, is_incremental=True)
    other = file.packet(6000, 3)
    other.clock_snapshot.clocks.add(clock_id=6, timestamp=6000)
    other.clock_snapshot.clocks.add(clock_id=3, timestamp=5500)
    file.packet(50, 3, sequence_flags=2).track_event.type = INSTANT
    assert [ts for ts, *_ in events(opened(file.bytes()))] == [1050]


@pytest.mark.parametrize(
    ("name", "kind", "times"),
    [("", 1, [5000, 10000, 15000]), ("thread_time", 0, [5000, 10000, 15000]), ("other", 1, [])],
)
def test_the_counter_of_a_threads_time_is_that_of_the_slices(name, kind, times):
    """By its name, as importers know it."""
    file = File()
    file.thread_track(2, 10, 11, "worker")
    descriptor = file.track(3, name, 2)
    descriptor.counter.type, descriptor.counter.is_incremental = kind, True
    descriptor.counter.unit_multiplier = 1000
    for ts, of in ((1, BEGIN), (5, INSTANT), (9, END)):
        event = file.packet(ts, 7, sequence_flags=1 if ts == 1 else 0).track_event
        event.type, event.track_uuid = of, 2
        event.extra_counter_track_uuids.append(3)
        event.extra_counter_values.append(5)
    found = events(opened(file.bytes()))
    assert [f["thread_time"] for *_, f in found if "thread_time" in f] == times
    counters = [f["value"] for _, label, _, f in found if label == "COUNTER"]
    assert counters == ([] if times else [5000, 10000, 15000])


def test_increments_of_a_counter_are_those_of_their_sequence():
    file = File()
    for sequence in (1, 2):
        packet = file.packet(0, sequence, sequence_flags=1)
        packet.track_descriptor.uuid = 10
        packet.track_descriptor.name = "increments"
        packet.track_descriptor.counter.is_incremental = True
    for ts, sequence, value in ((1, 1, 100), (2, 2, 50), (3, 1, 10), (4, 2, 5)):
        event = file.packet(ts, sequence, sequence_flags=2).track_event
        event.type, event.track_uuid, event.counter_value = COUNTER, 10, value
    file.packet(5, 1, sequence_flags=1)
    event = file.packet(6, 1, sequence_flags=2).track_event
    event.type, event.track_uuid, event.counter_value = COUNTER, 10, 7
    assert [f["value"] for *_, f in events(opened(file.bytes()))] == [100, 50, 110, 55, 7]


@pytest.mark.parametrize("with_type", [False, True])
def test_a_sequence_has_the_thread_that_a_descriptor_of_a_track_names(with_type):
    file = File()
    packet = file.packet(0, 3, sequence_flags=1)
    packet.track_descriptor.uuid = 10
    packet.track_descriptor.thread.pid, packet.track_descriptor.thread.tid = 5, 6
    for ts, sequence, uuid in ((1, 3, None), (2, 3, 0), (3, 3, 99), (4, 4, None)):
        event = file.packet(ts, sequence).track_event
        if with_type:
            event.type = INSTANT
        else:
            event.legacy_event.phase = ord("I")
        if uuid is not None:
            event.track_uuid = uuid
    overridden = file.packet(5, 3).track_event
    overridden.track_uuid, overridden.legacy_event.tid_override = 0, 7
    overridden.legacy_event.phase = ord("I")
    # A track that is named counts more.
    overridden = file.packet(6, 3).track_event
    overridden.track_uuid, overridden.legacy_event.tid_override = 99, 7
    overridden.legacy_event.phase = ord("I")
    # No track, said of an event with a type, is none; said of one of old, it is the thread's.
    expected = [6, None if with_type else 6, None, None, 7, None]
    assert [tid for _, _, tid, _ in events(opened(file.bytes()))] == expected


def test_what_is_overridden_by_the_pid_or_tid_0_is_on_the_idle_task():
    file = File()
    packet = file.packet(0, 3, sequence_flags=1)
    packet.track_descriptor.uuid = 10
    packet.track_descriptor.thread.pid, packet.track_descriptor.thread.tid = 5, 6
    for ts, overrides in enumerate(({"tid": 0}, {"pid": 9, "tid": 0}, {"pid": 0, "tid": 7}, {})):
        event = file.packet(1 + ts, 3).track_event
        event.legacy_event.phase = ord("I")
        for key, number in overrides.items():
            setattr(event.legacy_event, f"{key}_override", number)
    trace = opened(file.bytes())
    batch = next(trace.batches())
    threads = [trace.threads[one] for one in batch.thread]
    tasks = [(trace.processes[one.process].pid, one.tid) for one in threads]
    assert tasks == [(0, 0), (0, 0), (0, 0), (5, 6)]


def test_names_of_functions_are_those_of_their_sequence_until_it_is_cleared():
    file = File()

    def blocked(ts: int, sequence: int, iid: int, flags: int = 0, **symbols: str) -> None:
        packet = file.packet(sequence=sequence, sequence_flags=flags)
        packet.ftrace_events.cpu = 0
        kernel_event(packet.ftrace_events, ts, 1, "sched_blocked_reason", caller=iid)
        for key, name in symbols.items():
            packet.interned_data.kernel_symbols.add(iid=int(key[1:]), str=name.encode())

    blocked(1, 3, 1, 1, _1="first", _5="fifth")
    blocked(2, 4, 1, 1, _1="other")
    blocked(3, 3, 1)
    blocked(4, 4, 5)
    blocked(5, 3, 1, 1, _1="third")
    blocked(6, 4, 1)
    blocked(7, 3, 2)
    trace = opened(file.bytes())
    assert trace.symbols is not None
    callers = [f["caller"] for *_, f in events(trace)]
    names = trace.symbols.names(np.array(callers, np.uint64))
    # What nothing names on its own sequence has the name that its number has elsewhere, as an address has.
    assert names == [b"first", b"other", b"first", b"fifth", b"third", b"other", None]
    assert trace.symbols.lookup(2) is None


def test_what_no_argument_stands_for_is_kept_as_it_was():
    file = File()
    event = file.event(1, INSTANT, "x", 5)
    event.log_message.body_iid = 3
    event.chrome_latency_info.trace_id = 9
    ((_, _, _, fields),) = events(opened(file.bytes()))
    again = type(event).FromString(fields["track_event"])
    assert (again.log_message.body_iid, again.chrome_latency_info.trace_id) == (3, 9)


def test_events_without_a_time_have_that_of_the_event_before():
    trace = opened(FILES["tables"]())
    (*_,) = trace.batches()
    batch = next(iter(trace.batches()))
    untimed = [i for i in range(len(batch)) if not trace.event_classes[batch.class_id[i]].timed]
    assert untimed
    assert all(batch.ts[i] == batch.ts[i - 1] for i in untimed)


def test_windows_join_without_a_gap(monkeypatch):
    whole = canonical.dump(opened(FILES["interned"]()))
    monkeypatch.setattr("converter.formats.perfetto.reading.packets.WINDOW_BYTES", 64)
    assert canonical.dump(opened(FILES["interned"]())) == whole
    monkeypatch.setattr("converter.formats.perfetto.reading.packets.WINDOW_PACKETS", 1)
    assert canonical.dump(opened(FILES["interned"]())) == whole


@pytest.mark.parametrize("name", FILES)
def test_sniff_knows_each_file(name):
    assert FORMAT.sniff(FILES[name]()[:4096])


@pytest.mark.parametrize(
    "head", [b"", b"\x0a", b"\n\nplain text\n", b"\n{}", b"\x0a\x00\x00", b"\x1f\x8b\x08"]
)
def test_sniff_refuses_other_files(head):
    assert not FORMAT.sniff(head)


@pytest.mark.parametrize("name", FILES)
def test_fixtures_are_what_the_functions_make(name):
    folder = Path(__file__).parents[4] / "roundtrip_fixtures" / "perfetto"
    stored = pb.Trace.FromString((folder / f"{name}.pftrace").read_bytes())
    assert stored == pb.Trace.FromString(FILES[name]())
