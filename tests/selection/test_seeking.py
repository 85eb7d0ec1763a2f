"""What is not read of a file where a part of it is wanted, is not missed."""

import numpy as np
import pytest
from support.traces.small_traces import events_of

import converter
from converter.fixtures import synthetic_trace
from converter.ir.collect import collect
from converter.selection.select import selected
from converter.selection.selection import Selection

#: Formats whose readers find their way, and kinds that their files hold as they are.
VARIANTS = [
    "trace_cmd+v7",
    "trace_cmd+v7_zlib",
    "trace_cmd+v7_none",
    "trace_cmd+v6",
    "ctf+1.8",
    "ctf+2",
]


@pytest.fixture(scope="module", params=VARIANTS)
def path(request, tmp_path_factory):
    """A file of many pages, or packets."""
    path = tmp_path_factory.mktemp("seeking") / "trace"
    trace = synthetic_trace("typed" if "ctf" in request.param else "sched", 60_000, 1)
    converter.write(trace, path, request.param)
    return path


def window_of(path):
    """A hundredth of the time of a file, in its middle, as texts; and that in ticks."""
    with converter.open_trace(path) as trace:
        ts = np.concatenate([batch.ts for batch in trace.batches()])
        rate = trace.clock.ticks_per_second
    first, last = int(ts.min()), int(ts.max())
    start, end = first + (last - first) // 2, first + (last - first) // 2 + (last - first) // 100
    assert rate == 10**9
    return (start, end), (f"+{start - first}ns", f"+{end - first}ns")


def inside(trace, start):
    """The events behind the start of the window: those at it may be what was so before."""
    return sorted(
        (repr(event) for event in events_of(trace) if event[0] > start),
    )


def test_a_part_is_the_same_with_less_read(path):
    (start, _), (since, until) = window_of(path)
    selection = Selection(since=since, until=until)
    with converter.open_trace(path) as trace:
        whole = selected(trace, selection)
        expected = inside(collect(whole.trace), start)
    with converter.open_trace(path) as trace:
        part = selected(trace, selection, narrow=True)
        assert inside(collect(part.trace), start) == expected
    assert expected
    assert whole.counts.all_read
    assert not part.counts.all_read
    assert part.counts.read < whole.counts.read / 2
    assert part.counts.kept == whole.counts.kept
    assert trace.warnings == []


def test_all_is_read_where_that_is_asked_for(path):
    _, (since, until) = window_of(path)
    with converter.open_trace(path) as trace:
        count = sum(
            len(batch) for batch in trace.batches() if batch.ts[0] < trace_time(until, path)
        )
    selection = Selection(since=since, until=until, read_all=True)
    with converter.open_trace(path) as trace:
        part = selected(trace, selection, narrow=True)
        collect(part.trace)
    assert part.counts.read == count


def trace_time(text, path):
    """A time behind the start of a file in its ticks."""
    with converter.open_trace(path) as trace:
        return int(next(trace.batches()).ts[0]) + int(text[1:-2])


def test_the_end_is_found(path):
    """How long before the end is known without reading what is before."""
    with converter.open_trace(path) as trace:
        whole = collect(selected(trace, Selection(last="50us")).trace)
    with converter.open_trace(path) as trace:
        part = selected(trace, Selection(last="50us"), narrow=True)
        found = collect(part.trace)
    start = min(int(batch.ts.min()) for batch in whole.batches())
    assert inside(found, start) == inside(whole, start)
    assert not part.counts.all_read


def test_a_part_can_be_read_again(path):
    _, (since, until) = window_of(path)
    with converter.open_trace(path, selection=Selection(since=since, until=until)) as part:
        first, second = events_of(part), events_of(part)
    assert first == second


def test_who_asks_for_no_part_gets_all(path):
    """A selection of an open trace is not for the trace itself."""
    _, (since, until) = window_of(path)
    with converter.open_trace(path) as trace:
        part = converter.select(trace, Selection(since=since, until=until))
        few = sum(len(batch) for batch in part.batches())
        all_of_it = sum(len(batch) for batch in trace.batches())
    assert few < all_of_it / 2


def test_slices_that_go_on_end_with_the_window(tmp_path):
    """Pages behind the window are not read, and yet it is known that the trace goes on."""
    path, part = tmp_path / "trace.dat", tmp_path / "part.pftrace"
    converter.write(synthetic_trace("timeline", 60_000, 1), path)
    _, (since, until) = window_of(path)
    converter.convert(path, part, selection=Selection(since=since, until=until))
    with converter.open_trace(part) as trace:
        kinds = [kind.name for _, kind, _, _ in events_of(trace)]
    assert kinds.count("SLICE_BEGIN") == kinds.count("SLICE_END")
