"""The Perfetto reader on damaged files: a good prefix, what goes on behind damage, or an error, and warnings."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
from google.protobuf.descriptor_pb2 import DescriptorProto
from support.inputs.protobuf_fields import sized
from support.perfetto.files import FILES, File, kernel_event
from support.perfetto.reading import events, opened

from converter.errors import TraceError
from converter.formats.perfetto.protobuf.descriptors import described_event
from converter.formats.perfetto.reading.reader import read
from converter.ir import invariants
from converter.limits import limited
from converter.storage.opening import open_source


@pytest.mark.parametrize("rest", [b"\x1a\x7f", b"\x0b", b"\xff" * 11])
def test_an_event_of_a_bundle_that_is_damaged_is_told(rest: bytes) -> None:
    # A time, and what is no field, or one that is longer than the event.
    event = b"\x08\x05" + rest
    bundle = b"\x08\x01" + b"".join(
        b"\x12" + bytes([len(one)]) + one for one in (b"\x08\x04", event, b"\x08\x06")
    )
    packet = b"\x0a" + bytes([len(bundle)]) + bundle
    trace = read(open_source(b"\x0a" + bytes([len(packet)]) + packet))
    assert [ts for batch in trace.batches() for ts in batch.ts.tolist()] == [4, 5, 6]
    (warning,) = trace.warnings
    assert warning.message == "events that cannot be read to their ends"
    assert warning.offset == 4


@pytest.mark.parametrize("field", [12, 59])
def test_state_of_a_sequence_that_is_damaged_is_told(field: int) -> None:
    """Interned data and defaults that are longer than what holds them."""
    state = bytes([field << 3 & 127 | 2 | (0x80 if field > 15 else 0)])
    state += bytes([field >> 4]) * (field > 15) + b"\x03\x5a\x7f\x08"
    packet = (
        b"\x50\x01\x68\x01" + state
    )  # trusted_packet_sequence_id, SEQ_INCREMENTAL_STATE_CLEARED
    trace = read(open_source(b"\x0a" + bytes([len(packet)]) + packet + FILES["timeline"]()))
    assert sum(map(len, trace.batches()))
    (warning,) = (one for one in trace.warnings if "ends" in one.message)
    assert warning.message == "interned data or defaults that cannot be read to their ends"


@pytest.mark.parametrize("number", [12, 31, 36, 42, 45, 46, 47, 48])
def test_an_event_with_a_list_that_is_cut_is_kept_as_a_packet(number: int) -> None:
    """Packed numbers of which the last goes on behind the list: flows, extra counters and their tracks."""
    whole = b"\x01" * 8
    for numbers, kept in ((whole, False), (whole + b"\x80", True)):
        # type: TYPE_INSTANT, timestamp, trusted_packet_sequence_id, SEQ_INCREMENTAL_STATE_CLEARED
        event = sized(11, b"\x48\x03" + sized(number, numbers))
        packet = b"\x40\x07\x50\x01\x68\x01" + event
        trace = read(open_source(sized(1, packet)))
        assert [ts for batch in trace.batches() for ts in batch.ts.tolist()] == [7]
        told = "track events that are damaged or lack their sequence's state are kept as packets"
        assert [one.message for one in trace.warnings] == [told] * kept


@pytest.mark.parametrize("number", [31, 45])
def test_defaults_with_a_list_that_is_cut_are_told(number: int) -> None:
    packet = b"\x50\x01\x68\x01" + sized(59, sized(11, sized(number, b"\x80")))
    trace = read(open_source(sized(1, packet) + FILES["timeline"]()))
    assert sum(map(len, trace.batches()))
    (warning,) = (one for one in trace.warnings if "ends" in one.message)
    assert warning.message == "interned data or defaults that cannot be read to their ends"


@pytest.mark.parametrize("name", ["kernel_compact", "timeline", "interned", "compressed", "tables"])
def test_every_cut_ends_in_a_prefix_or_an_error(name):
    data = FILES[name]()
    whole = sum(len(batch) for batch in opened(data).batches())
    cuts = set()
    # By a step that meets each place of a packet.
    for end in range(0, len(data), 3):
        try:
            trace = opened(data[:end])
            count = sum(len(batch) for batch in trace.batches())
        except TraceError:
            continue
        assert count <= whole
        cuts.add(bool(trace.warnings))
    assert True in cuts


@pytest.mark.parametrize("name", FILES)
def test_flipped_bytes_end_in_a_trace_or_an_error(name):
    data = FILES[name]()
    random = np.random.default_rng(len(name))
    for _ in range(20 if len(data) < 10_000 else 5):
        damaged = bytearray(data)
        for _ in range(int(random.integers(1, 6))):
            damaged[int(random.integers(len(data)))] = int(random.integers(256))
        with contextlib.suppress(TraceError):
            invariants.check(opened(bytes(damaged)))


@pytest.mark.parametrize(
    "data", [b"", b"\x0a", b"\x0a\xff\xff\xff\xff\x7f", b"\x07rubbish", bytes(40)]
)
def test_nothing_usable_is_an_error(data):
    with pytest.raises(TraceError) as caught:
        list(opened(data).batches())
    assert caught.value.offset == 0


@pytest.mark.parametrize("hole", [bytes(100), b"\xff" * 100, b"\x0a\xff\x7f"])
def test_packets_go_on_after_damage(hole):
    def packets(first):
        file = File()
        for ts in range(first, first + 6):
            kernel_event(file.bundle(0), ts, 1, "softirq_raise")
            file.trace.packet[-1].trusted_packet_sequence_id = 1
        return file.bytes()

    before = packets(1)
    trace = opened(before + hole + packets(7))
    assert [ts for ts, *_ in events(trace)] == list(range(1, 13))
    assert [one.offset for one in trace.warnings] == [len(before), len(before) + len(hole)]
    assert "go on after the damage" in str(trace.warnings[1])


def test_a_file_of_nothing_but_damage_is_given_up():
    file = File()
    for _ in range(5):
        kernel_event(file.bundle(0), 1, 1, "softirq_raise")
        file.trace.packet[-1].trusted_packet_sequence_id = 1
    with limited({"holes": 10}):
        trace = opened((file.bytes() + b"\xff" * 11) * 20)
        assert sum(len(batch) for batch in trace.batches()) == 5 * 11
    assert "limits={'holes': 20}" in str(trace.warnings[-1])


def test_a_compressed_packet_that_is_damaged_costs_only_itself():
    file = File()
    kernel_event(file.bundle(0), 1, 1, "softirq_raise")
    file.packet().compressed_packets = b"rubbish"
    kernel_event(file.bundle(0), 2, 1, "softirq_raise")
    trace = opened(file.bytes())
    assert [ts for ts, *_ in events(trace)] == [1, 2]
    assert [warning.message for warning in trace.warnings] == ["a compressed packet is damaged"]


@pytest.mark.parametrize("name", [b"my_event", b"value_name"])
def test_described_names_that_are_not_utf8_are_text_or_damage(name):
    described = DescriptorProto(name="my_event")
    described.field.add(name="value_name", number=1, type=4, label=1)
    event = described_event(described.SerializeToString().replace(name[-4:], b"\xff" * 4))
    if event is not None:
        assert "\udcff" * 4 in event[0] + event[1][0].name


def test_a_bundle_of_nothing_but_damaged_switches_has_no_events():
    switches = b'\t"\x01x*\x01x2\t"\x01x*\x01x2\x01\0'
    bundle = b'\x08\0"' + bytes([len(switches)]) + switches
    packet = b"\n" + bytes([len(bundle)]) + bundle + b"P\x03"
    trace = read(open_source(b"\n" + bytes([len(packet)]) + packet))
    assert sum(len(batch) for batch in trace.batches()) == 0
    assert "compact_sched" in str(trace.warnings[0])
