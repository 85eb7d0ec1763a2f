"""Records before a window are passed over, and what is open when it begins is known all the same."""

from __future__ import annotations

import random

import pytest
from support.traces.small_traces import events_of
from support.uftrace.files import (
    BAZ,
    ENTRY,
    EXIT,
    FOO,
    LOST,
    MAIN,
    ORDERS,
    TID,
    Directory,
)

import converter
from converter.formats.uftrace.reading import seeking
from converter.ir.collect import collect
from converter.selection.select import selected
from converter.selection.selection import Selection

OTHER = TID + 1
#: Of each task: one at a tick, and the two in turn.
COUNT = 3_000


def walk(directory, seed, place, slope=0.0):
    """Calls that nest, many of them still open at the end: the deeper the steeper the slope."""
    random_ = random.Random(seed)
    stack, records = [], []
    for number in range(COUNT):
        time = 10 + 2 * number + place
        if not stack or random_.random() < 0.5 + slope:
            stack.append(random_.choice((MAIN, FOO, BAZ)))
            records.append(directory.record(time, ENTRY, len(stack) - 1, stack[-1]))
        else:
            address = stack.pop()
            records.append(directory.record(time, EXIT, len(stack), address))
    return records


def part(path, start, end, *, narrow):
    """The events of a window, and how many events were read."""
    with converter.open_trace(path) as trace:
        first = 10
        selection = Selection(since=f"+{start - first}ns", until=f"+{end - first}ns")
        result = selected(trace, selection, narrow=narrow)
        return events_of(collect(result.trace)), result.counts, list(trace.warnings)


@pytest.fixture
def directory(monkeypatch):
    """Two tasks, whose files are passed over by windows that are no multiple of a record."""
    monkeypatch.setattr(seeking, "WINDOW", 1000)
    made = Directory()
    made.task_txt += f"TASK timestamp=0.000000003 tid={OTHER} pid={TID}\n"
    return made


@ORDERS
@pytest.mark.parametrize("slope", [0.0, 0.4], ids=["calls", "deeper_than_depths_count"])
def test_a_part_is_the_same_with_less_read(directory, tmp_path, big_endian, slope):
    directory.big_endian = big_endian
    for place, tid in enumerate((TID, OTHER)):
        directory.tasks[tid] = b"".join(walk(directory, tid, place, slope))
    path = directory.write(tmp_path / "recording")
    for start in (11, 500, 2_400, 5_999):
        whole, all_, _ = part(path, start, start + 50, narrow=False)
        found, few, warnings = part(path, start, start + 50, narrow=True)
        assert found == whole
        assert (few.kept, warnings) == (all_.kept, [])
        if start > 2_000 and not slope:
            assert few.read < all_.read - start / 2
            assert not few.all_read


@pytest.mark.parametrize(
    "other",
    [
        lambda made: made.record(0, LOST, 0, 3),
        lambda made: made.event(0, 1_000_000),
        lambda made: made.record(0, ENTRY, 700, FOO),
        lambda made: made.record(0, EXIT, 0, 0x9000),
        lambda made: made.record(0, EXIT, 900, FOO),
    ],
    ids=["lost", "event", "entry_further_in", "exit_of_another", "exit_further_in"],
)
def test_a_file_with_other_records_is_read_from_its_start(directory, tmp_path, other):
    records = walk(directory, 1, 0)
    # Its time is that of what it replaces.
    records[1_000] = records[1_000][:8] + other(directory)[8:]
    directory.tasks = {TID: b"".join(records), OTHER: b"".join(walk(directory, 2, 1))}
    path = directory.write(tmp_path / "recording")
    assert part(path, 4_000, 4_100, narrow=True)[0] == part(path, 4_000, 4_100, narrow=False)[0]
    one, both = (part(path, at, at + 100, narrow=True)[1].read for at in (4_000, 1_500))
    assert COUNT < one < both


def test_values_are_not_passed_over(directory, tmp_path):
    """How large they are, their functions tell."""
    directory.argspec = "foo@arg1/i32"
    value = directory.pack("iI", 1, 2)
    records = [
        directory.record(10 + number, kind, 0, FOO, value if kind == ENTRY else None)
        for number, kind in enumerate([ENTRY, EXIT] * 500)
    ]
    directory.tasks[TID] = b"".join(records)
    path = directory.write(tmp_path / "recording")
    found, counts, warnings = part(path, 501, 600, narrow=True)
    assert found == part(path, 501, 600, narrow=False)[0]
    assert (counts.read, warnings) == (1_000, [])
