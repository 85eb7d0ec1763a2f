"""Messages of ROS 2: flows from where one is published to the callback that gets it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from support.ctf_files import Bits, Stream, open_trace
from support.trace_processor import needs_trace_processor
from viewers.trace_processor import tables_of

import converter
from converter.ir.kinds import Kind, Role

#: As tracetools declares them (ros2_tracing, tracetools/include/tracetools/tp_call.h).
ROS = Stream(
    {
        "ros2:callback_start": "uint64_t _callback; int32_t _is_intra_process;",
        "ros2:callback_end": "uint64_t _callback;",
        "ros2:rmw_publish": "uint64_t _rmw_publisher_handle; uint64_t _message; uint64_t _timestamp;",
        "ros2:rmw_take": (
            "uint64_t _rmw_subscription_handle; uint64_t _message; uint64_t _source_timestamp;"
            "int32_t _taken;"
        ),
        "ros2:rcl_take": "uint64_t _message;",
        "ros2:rclcpp_ring_buffer_enqueue": (
            "uint64_t _buffer; uint64_t _index; uint64_t _size; int32_t _overwritten;"
        ),
        "ros2:rclcpp_ring_buffer_dequeue": "uint64_t _buffer; uint64_t _index; uint64_t _size;",
    },
    context="int32_t _vpid; int32_t _vtid;",
)


def i32(*values: int) -> bytes:
    return b"".join(value.to_bytes(4, "little") for value in values)


def ros(event: str, ts: int, pid: int, *values: int, last: bytes = b"") -> Bits:
    payload = i32(pid, pid) + b"".join(value.to_bytes(8, "little") for value in values) + last
    return ROS.record(list(ROS.events).index(f"ros2:{event}"), ts, payload)


def start(ts: int, pid: int, callback: int) -> Bits:
    return ros("callback_start", ts, pid, callback, last=i32(0))


def end(ts: int, pid: int, callback: int) -> Bits:
    return ros("callback_end", ts, pid, callback)


def publish(ts: int, pid: int, stamp: int) -> Bits:
    return ros("rmw_publish", ts, pid, 1, 0x99, stamp)


def take(ts: int, pid: int, stamp: int, taken: int = 1) -> Bits:
    return ros("rmw_take", ts, pid, 5, 0x55, stamp, last=i32(taken))


RECORDS = [
    start(1000, 7, 0x10),
    publish(1100, 7, 777),
    end(1200, 7, 0x10),
    take(2000, 8, 777),
    # What comes between is not what handles the message.
    ros("rcl_take", 2010, 8, 0x55),
    start(2100, 8, 0x20),
    publish(2200, 8, 888),
    end(2300, 8, 0x20),
    # One of two subscriptions has the message twice as late; one process asks in vain.
    take(3000, 9, 888),
    take(3010, 7, 888, taken=0),
    start(3020, 7, 0x30),
    end(3030, 7, 0x30),
    start(3100, 9, 0x40),
    end(3200, 9, 0x40),
    take(4000, 10, 888),
    start(4100, 10, 0x50),
    # Of the next callback nothing says what it is for.
    end(4200, 10, 0x50),
    start(4300, 10, 0x60),
    end(4400, 10, 0x60),
]
ARROWS = [(1100, 2100), (2200, 3100), (2200, 4100)]

#: In ring buffers: two processes' at one address, and one place that is used again.
QUEUED = [
    ros("rclcpp_ring_buffer_enqueue", 100, 7, 0xB0, 0, 1, last=i32(0)),
    ros("rclcpp_ring_buffer_enqueue", 110, 8, 0xB0, 0, 1, last=i32(0)),
    ros("rclcpp_ring_buffer_enqueue", 120, 7, 0xB0, 1, 2, last=i32(0)),
    ros("rclcpp_ring_buffer_dequeue", 200, 7, 0xB0, 0, 1),
    start(210, 7, 0x10),
    end(220, 7, 0x10),
    ros("rclcpp_ring_buffer_enqueue", 230, 7, 0xB0, 0, 2, last=i32(0)),
    ros("rclcpp_ring_buffer_dequeue", 300, 7, 0xB0, 0, 1),
    start(310, 7, 0x10),
    end(320, 7, 0x10),
    ros("rclcpp_ring_buffer_dequeue", 330, 8, 0xB0, 0, 1),
    start(340, 8, 0x10),
    end(350, 8, 0x10),
]
QUEUED_ARROWS = [(100, 210), (110, 340), (230, 310)]


def written(records: Sequence[Bits], folder: Path) -> Path:
    return ROS.write(folder / "source", ROS.packet(records))


def test_messages_have_ids(tmp_path: Path) -> None:
    trace = open_trace(written([*RECORDS, *QUEUED[:4]], tmp_path))
    list(trace.batches())
    roles = {
        one.name: (one.kind, [(field.name, field.role) for field in one.fields if field.role])
        for one in trace.event_classes
    }
    assert roles["rmw_publish"] == (Kind.MESSAGE_SEND, [("timestamp", Role.ID)])
    taken = [("source_timestamp", Role.ID), ("taken", Role.COUNT)]
    assert roles["rmw_take"] == (Kind.MESSAGE_RECEIVE, taken)
    queued = [("buffer", Role.SCOPE), ("index", Role.ID)]
    assert roles["rclcpp_ring_buffer_enqueue"] == (Kind.MESSAGE_SEND, queued)
    assert roles["rclcpp_ring_buffer_dequeue"] == (Kind.MESSAGE_RECEIVE, queued)


def test_publications_that_do_not_say_when_are_events(tmp_path: Path) -> None:
    stream = Stream({"ros2:rmw_publish": "uint64_t _message;"})
    trace = open_trace(stream.write(tmp_path, stream.packet(stream.record(0, 1, bytes(8)))))
    list(trace.batches())
    assert [one.kind for one in trace.event_classes] == [Kind.TYPED]


@pytest.mark.parametrize(
    ("records", "arrows"), [(RECORDS, ARROWS), (QUEUED, QUEUED_ARROWS)], ids=["taken", "queued"]
)
def test_flows_end_in_the_callback(
    records: Sequence[Bits], arrows: Sequence[tuple[int, int]], tmp_path: Path
) -> None:
    converter.convert(written(records, tmp_path), tmp_path / "x.json", target_format="chrome")
    events = json.loads((tmp_path / "x.json").read_text())["traceEvents"]
    begins = {one["id"]: round(one["ts"] * 1000) for one in events if one["ph"] == "s"}
    ends = [(one["id"], round(one["ts"] * 1000)) for one in events if one["ph"] == "f"]
    assert sorted((begins[id], ts) for id, ts in ends) == arrows


@needs_trace_processor
@pytest.mark.parametrize("name", ["x.pftrace", "x.json", "x.fxt"])
def test_viewers_draw_them_from_publication_to_callback(name: str, tmp_path: Path) -> None:
    losses = converter.convert(written(RECORDS, tmp_path), tmp_path / name)
    tables = tables_of(tmp_path / name)
    slices = {row["id"]: row for row in tables["slices"]}
    found = [(slices[row["source"]], slices[row["target"]]) for row in tables["flows"]]
    # Where flows do not fork, that to a second who receives the message is a named loss.
    forks = name != "x.fxt"
    drawn = ARROWS if forks else ARROWS[:2]
    assert sorted((one["ts"], other["ts"]) for one, other in found) == drawn
    assert {one["name"] for one, _ in found} == {"rmw_publish"}
    lost = [loss.count for loss in losses if "who received them" in loss.what]
    assert lost == ([] if forks else [1])


@pytest.mark.parametrize("target", ["trace_cmd", "uftrace", "ctf+2"])
def test_elsewhere_they_stay_events(target: str, tmp_path: Path) -> None:
    converter.convert(written(RECORDS, tmp_path), tmp_path / "x", target_format=target)
    trace = converter.read(tmp_path / "x")
    names = [
        trace.event_classes[number].name for batch in trace.batches() for number in batch.class_id
    ]
    assert names.count("rmw_publish") == 2 and names.count("rmw_take") == 4
