"""Messages of ROS 2: flows from where one is published to the callback that gets it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from support.ctf.files import Bits, Stream, open_trace
from support.ctf.ros_files import QUEUED, RECORDS, ROS
from support.viewers.trace_processor import needs_trace_processor
from viewers.trace_processor import tables_of

import converter
from converter.ir.kinds import Kind, Role

ARROWS = [(1100, 2100), (2200, 3100), (2200, 4100)]

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
    lost = [loss.count for loss in losses if loss.code == "message-second-receiver"]
    assert lost == ([] if forks else [1])


@pytest.mark.parametrize("target", ["trace_cmd", "uftrace", "ctf+2"])
def test_elsewhere_they_stay_events(target: str, tmp_path: Path) -> None:
    converter.convert(written(RECORDS, tmp_path), tmp_path / "x", target_format=target)
    trace = converter.read(tmp_path / "x")
    names = [
        trace.event_classes[number].name for batch in trace.batches() for number in batch.class_id
    ]
    assert names.count("rmw_publish") == 2 and names.count("rmw_take") == 4
