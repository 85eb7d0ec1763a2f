"""Of a packet's records only those are delivered that a part of the trace needs."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.ctf.files import Bits, Stream

import converter
from converter.ir.collect import collect
from converter.selection.select import selected
from converter.selection.selection import Selection

STREAM = Stream(
    {
        "app:tick": "uint32_t _n; string _text;",
        "ros2:callback_start": "uint64_t _callback;",
        "ros2:callback_end": "uint64_t _callback;",
        "ros2:rclcpp_callback_register": "uint64_t _callback; string _symbol;",
    },
    context="int32_t _vpid; int32_t _vtid;",
)
COUNT = 1000


def record(event: int, ts: int, payload: bytes) -> Bits:
    return STREAM.record(event, ts, bytes([7, 0, 0, 0] * 2) + payload)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    handle = bytes([0x10] + [0] * 7)
    records = [record(3, 5, handle + b"on_timer\0"), record(1, 6, handle)]
    records += [
        record(0, 10 * n, n.to_bytes(4, "little") + b"x" * (n % 7) + b"\0") for n in range(1, COUNT)
    ]
    records.append(record(2, 10 * COUNT, handle))
    STREAM.write(tmp_path / "one", STREAM.packet(records, begin=1))
    return tmp_path / "one"


@pytest.mark.parametrize(
    ("since", "until", "ticks"),
    [("+5000ns", "+5094ns", 9), (None, "+94ns", 9), ("+9900ns", None, 9)],
)
def test_records_around_a_window_are_gone_past(
    source: Path, since: str | None, until: str | None, ticks: int
) -> None:
    selection = Selection(since=since, until=until)
    with converter.open_trace(source) as trace:
        expected = events_of(selected(trace, selection).trace)
    with converter.open_trace(source) as trace:
        part = selected(trace, selection, narrow=True)
        assert events_of(part.trace) == expected
        # The callback that is open, its name, and one record behind.
        assert ticks <= part.counts.read <= ticks + 4
        assert part.trace.symbols is not None
        assert part.trace.symbols.entries()[1] == [b"on_timer"]
    names = [name for _, name in expected]
    assert names.count("tick") == ticks
    assert names.count("callback_start") == 1


def events_of(trace: converter.Trace) -> list[tuple[int, str]]:
    found = collect(trace)
    return [
        (ts, found.event_classes[number].name)
        for batch in found.batches()
        for ts, number in zip(batch.ts.tolist(), batch.class_id.tolist(), strict=True)
    ]


@pytest.mark.parametrize("until", ["+94ns", "+5s"])
def test_the_first_time_is_known_without_reading_all(source: Path, until: str) -> None:
    with converter.open_trace(source) as trace:
        assert trace.seeking is not None
        assert trace.seeking.first() == 5
        assert trace.seeking.last() is None
        part = selected(trace, Selection(until=until), narrow=True)
        assert next(iter(part.trace.batches())).ts[0] == 5
