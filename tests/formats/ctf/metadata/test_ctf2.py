"""JSON sequences, the metadata of CTF 2: each fragment, and how a file frames them."""

from __future__ import annotations

import json
import struct
from uuid import UUID

import pytest
from hypothesis import given
from support.ctf.ctf2_fragments import PREAMBLE, STREAM, U8, sequence, structure
from support.ctf.metadata_strategies import trace_classes

from converter.errors import TraceError
from converter.formats.ctf.metadata.ctf2.printer import print_sequence
from converter.formats.ctf.metadata.files import PACKET_MAGIC, parse_metadata
from converter.formats.ctf.metadata.trace_class import TraceClass

# Fragments


def test_the_preamble_and_the_trace() -> None:
    uuid = UUID("2a6422d0-6cee-11e0-8c08-cb07d7b3a564")
    trace = parse_metadata(
        sequence(
            {**PREAMBLE, "uuid": list(uuid.bytes), "attributes": {"any": [1]}, "extensions": {}},
            {
                "type": "trace-class",
                "name": "session",
                "namespace": "lttng.org,2009",
                "uid": "7",
                "environment": {"hostname": "h", "tracer_major": 2, "big": (1 << 64) - 1},
            },
            STREAM,
        )
    )
    assert trace.version == (2, 0) and trace.uuid == uuid
    assert (trace.name, trace.namespace, trace.uid) == ("session", "lttng.org,2009", "7")
    assert trace.environment == {"hostname": "h", "tracer_major": 2, "big": (1 << 64) - 1}
    assert not trace.remarks


STREAM_ID = {**U8, "roles": ["data-stream-class-id"]}


def test_clock_classes() -> None:
    first = {
        "type": "clock-class",
        "id": "m",
        "name": "monotonic",
        "uid": "boot",
        "frequency": 3,
        "description": "a clock",
        "origin": "unix-epoch",
        "offset-from-origin": {"seconds": -5, "cycles": 2},
        "precision": 9,
        "accuracy": 0,
    }
    other = {
        "type": "clock-class",
        "id": "o",
        "frequency": 1,
        "origin": {"namespace": "n", "name": "boot", "uid": "u"},
    }
    # Clocks may come before the trace class.
    trace = parse_metadata(
        sequence(
            first,
            {"type": "trace-class", "packet-header-field-class": structure(id=STREAM_ID)},
            other,
            {**STREAM, "default-clock-class-id": "m"},
            {**STREAM, "id": 1},
        )
    )
    clock = trace.clocks["m"]
    assert (clock.name, clock.uid, clock.frequency, clock.description) == (
        "monotonic",
        "boot",
        3,
        "a clock",
    )
    assert (clock.offset_seconds, clock.offset_cycles, clock.unix_epoch) == (-5, 2, True)
    assert (clock.precision, clock.accuracy) == (9, 0)
    assert trace.clocks["o"].origin == ("n", "boot", "u") and not trace.clocks["o"].unix_epoch
    assert [stream.clock for stream in trace.streams.values()] == ["m", ""]


def test_streams_and_records() -> None:
    tracer = {"lttng.org,2009": {"log-level": "debug:line", "emf-uri": "uri", "more": 1}, "x": 2}
    record = {
        "type": "event-record-class",
        "id": 9,
        "data-stream-class-id": 4,
        "name": "a:b",
        "namespace": "n",
        "uid": "u",
        "attributes": tracer,
        "extensions": {},
    }
    stream = {
        "type": "data-stream-class",
        "id": 4,
        "name": "channel",
        "attributes": {"z": 1},
        "event-record-header-field-class": structure(id={**U8, "roles": ["event-record-class-id"]}),
    }
    trace = parse_metadata(sequence(stream, record, {**record, "id": 10, "attributes": {}}))
    assert list(trace.streams) == [4] and trace.streams[4].name == "channel"
    assert trace.streams[4].attributes == {"attributes": {"z": 1}}
    first, second = trace.streams[4].events.values()
    assert (first.id, first.name, first.payload) == (9, "a:b", None)
    assert (first.log_level, first.model_uri) == ("debug:line", "uri")
    assert first.attributes == {
        "namespace": "n",
        "uid": "u",
        "attributes": {"lttng.org,2009": {"more": 1}, "x": 2},
        "extensions": {},
    }
    assert second.log_level is None


# The sequence


def test_framing() -> None:
    fragments = [json.dumps(PREAMBLE), json.dumps(STREAM, indent=4)]
    expected = parse_metadata(sequence(STREAM))
    for text in (
        "\x1e" + "\n\x1e".join(fragments) + "\n",
        "\x1e" + "\x1e".join(fragments),
        "\n \x1e\n " + " \n\n\x1e \t".join(fragments) + "\n\n",
        "\x1e" + "\n\x1e\n\x1e".join(fragments) + "\n\0\0",
        "\n\x1e".join(fragments),
    ):
        assert parse_metadata(text.encode()) == expected


@pytest.mark.parametrize("order", ["<", ">"])
def test_a_sequence_in_packets(order: str) -> None:
    text = sequence(STREAM)
    uuid = bytes(range(16))

    def packet(part: bytes) -> bytes:
        bits = 8 * (37 + len(part))
        return (
            struct.pack(
                order + "I16sIIIBBBBB", PACKET_MAGIC, uuid, 0, bits, bits + 24, 0, 0, 0, 2, 0
            )
            + part
            + bytes(3)
        )

    assert parse_metadata(packet(text[:30]) + packet(text[30:])) == parse_metadata(text)


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("header", [44, 48])
def test_packets_that_say_the_size_of_their_header(order: str, header: int) -> None:
    """CTF2-PMETA-1.0, which ignores checksums."""
    text = sequence(STREAM)

    def packet(part: bytes, size: int = 8 * header) -> bytes:
        bits = 8 * (header + len(part))
        fields = PACKET_MAGIC, bytes(range(16)), 7, bits, bits + 24, 0, 0, 1, 2, 0, size
        return (
            struct.pack(order + "I16sIIIBBBBB3xI", *fields).ljust(header, b"\1") + part + bytes(3)
        )

    assert parse_metadata(packet(text[:30]) + packet(text[30:])) == parse_metadata(text)
    for size in (8 * 43, 8 * header + 1, 8 * (header + len(text)) + 8):
        with pytest.raises(TraceError, match=r"header_size|content_size"):
            parse_metadata(packet(text, size))


@given(trace=trace_classes(version=2))
def test_what_is_printed_reads_as_it_was(trace: TraceClass) -> None:
    assert parse_metadata(print_sequence(trace)) == trace
