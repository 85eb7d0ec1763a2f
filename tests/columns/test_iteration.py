"""Events one by one are the same as in columns."""

import pytest

import converter

RECORDING = "roundtrip_fixtures/trace_cmd/small.dat"


def test_events_are_those_of_the_columns():
    trace = converter.read(RECORDING)
    columns = trace.events("sched_switch")
    events = [*trace.iter_events("sched_switch")]
    assert len(events) == len(columns)
    for event, row in zip(events, columns.rows(), strict=True):
        assert (event.ts, event.cpu, event.tid, event.pid) == tuple(
            row[name] for name in ("ts", "cpu", "tid", "pid")
        )
        assert (event.name, event.system, event.kind) == ("sched_switch", "sched", "sched_switch")
        assert (event.thread, event.process) == (row["thread"], row["process"])
        # A field that is called as a column of all events has another name there.
        assert event.fields == {name: row[name] for name in event.fields}
        assert event["prev_comm"] == row["prev_comm"]


def test_a_field_that_there_is_not():
    event = next(converter.read(RECORDING).iter_events("sched_switch", fields=["prev_comm"]))
    assert event.get("next_comm") is None
    assert event.get("prev_comm") == event["prev_comm"] == "git"
    assert "prev_comm" in event
    assert "next_comm" not in event
    with pytest.raises(
        KeyError, match="sched_switch has no field 'next_comm': there are prev_comm"
    ):
        event["next_comm"]
    assert repr(event).startswith("<TraceEvent 827,282,964,583 cpu 0 git-23217 sched_switch: prev")


def test_slices_are_called_as_they_are():
    builder = converter.TraceBuilder()
    builder.slice("load", 10, 5, builder.thread(1, "main"), args={"path": "/etc", "list": [1, 2]})
    builder.instant("vsync", 20)
    load, vsync = builder.trace().iter_events()
    assert (load.name, load.kind, load["path"], load["list"]) == (
        "load",
        "slice_complete",
        "/etc",
        [1, 2],
    )
    assert (vsync.name, vsync.tid, vsync.thread, vsync.cpu) == ("vsync", None, None, None)
    assert repr(vsync).startswith("<TraceEvent 20 vsync:")
