"""A part of a file whose other records are passed over is the part of the whole file, byte for byte."""

import io
import random
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.fxt import files as fxt
from support.fxt.strategies import files as fxt_documents

import converter
from converter.errors import SelectionWarning
from converter.fixtures import synthetic_trace
from converter.formats.fxt.record_types import ArgumentType, EventType, RecordType
from converter.selection.select import selected
from converter.selection.selection import Selection
from converter.storage.ranges import Ranges
from converter.storage.source import MemorySource

FIXTURES = Path("roundtrip_fixtures")
INPUTS = [
    "generated/fxt.fxt",
    "generated/fxt-be.fxt",
    "fxt/every-record-little.fxt",
    "fxt/magic-trace.fxt",
]
KINDS = ["sched", "timeline"]
VARIANTS = ["fxt", "fxt+be"]


def read(path, part, *, skims):
    """A part in the format that keeps all of a trace, its counts, and whether all was read."""
    with converter.open_trace(path) as trace, warnings.catch_warnings():
        warnings.simplefilter("ignore", SelectionWarning)
        held = selected(trace, part, narrow=skims)
        output = io.BytesIO()
        converter.write(held.trace, output, "ir")
        counts = (held.counts.kept, held.counts.added, held.counts.cut_flows)
    return output.getvalue(), counts, held.counts.all_read


def times_of(path):
    with converter.open_trace(path) as trace:
        found = [batch.ts for batch in trace.batches()]
        rate = trace.clock.ticks_per_second
    return np.sort(np.concatenate(found)), rate


def text(ticks, rate):
    return f"{ticks * 10**9 // int(rate) / 10**9:.9f}"


def windows(ts):
    """Windows about the times of records, between them, before and after all, and of all."""
    first, at, last = int(ts[0]), int(ts[len(ts) // 2]), int(ts[-1])
    yield from ((at - 1, at), (at, at), (at + 1, at + 1 + (last - at) // 3))
    yield from ((first - 9, first - 1), (last + 1, last + 9), (first - 1, last + 1))


def check(path):
    """Compare parts; return how many of them were read by passing over records."""
    ts, rate = times_of(path)
    skimmed = 0
    parts = [
        Selection(since=text(start, rate), until=text(end, rate))
        for start, end in (windows(ts) if len(ts) else ())
    ]
    for part in [*parts, Selection(last="20ns")]:
        expected, counts, _ = read(path, part, skims=False)
        found, found_counts, all_read = read(path, part, skims=True)
        assert found_counts == counts
        assert found == expected
        skimmed += not all_read
    return skimmed


@pytest.mark.parametrize("name", INPUTS)
def test_parts_of_recordings(name):
    assert check(FIXTURES / name) or "every-record" in name


@pytest.mark.parametrize("kinds", KINDS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_parts_of_made_files(variant, kinds, tmp_path):
    path = tmp_path / "trace"
    converter.write(synthetic_trace(kinds, 100, 3), path, variant)
    assert check(path) == len(list(windows(times_of(path)[0]))) + 1


def fxt_document(order, seed):
    """Records about each kind of state, in the order of time."""
    chance = random.Random(seed)
    ts, parts = 50, [fxt.start(order)]
    events = [*EventType, EventType.DURATION_BEGIN, EventType.DURATION_END]
    for _ in range(40):
        ts += chance.choice((0, 1, 1, 7))
        kind, thread = chance.choice(events), chance.choice((1, 2, (3, chance.randrange(3))))
        tails = {EventType.COUNTER: 1, EventType.DURATION_COMPLETE: ts + chance.randrange(40)}
        has_tail = kind is EventType.COUNTER or kind >= EventType.DURATION_COMPLETE
        argument = fxt.argument(
            chance.choice((1, 3, ArgumentType.STRING)), b"x", chance.randrange(2)
        )
        name = chance.choice((0, 1, 2, b"here"))
        held = [argument] * chance.randrange(3)
        tail = tails.get(kind, chance.randrange(2)) if has_tail else None
        parts.append(
            fxt.event(order, kind, ts, thread=thread, name=name, arguments=held, tail=tail)
        )
        tid = chance.randrange(3)
        header = {"scheduling_type": 2, "cpu": chance.randrange(2)}
        words = {"waking_thread": tid}
        if chance.random() < 0.5:
            header |= {"scheduling_type": 1, "outgoing_state": 1}
            words = {"outgoing_thread": chance.randrange(3), "incoming_thread": tid}
        parts.append(fxt.record(order, RecordType.SCHEDULING, header, timestamp=ts, **words))
        if chance.random() < 0.1:
            parts.append(fxt.string(order, 1, chance.choice((b"one", b"other"))))
    return b"".join(parts)


@pytest.mark.parametrize("order", fxt.ORDERS)
@pytest.mark.parametrize("seed", range(2))
def test_parts_of_drawn_files(order, seed, tmp_path):
    path = tmp_path / "trace.fxt"
    path.write_bytes(fxt_document(order, seed))
    assert check(path)


@settings(max_examples=4)
@given(st.sampled_from(fxt.ORDERS).flatmap(fxt_documents))
def test_parts_of_files_in_no_order(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("any") / "trace.fxt"
    path.write_bytes(data)
    check(path)


def test_ranges_are_read_as_one_input():
    data = bytes(range(256)) * 1024
    places = [(0, 3), (7, 1), (100, 90_000), (90_200, 0), (100_000, 50), (200_000, 40)]
    ranges = Ranges(MemorySource("trace", data), np.array(places, np.int64))
    expected = b"".join(data[offset : offset + size] for offset, size in places)
    assert ranges.size == len(expected)
    for offset, size in ((0, len(expected)), (2, 3), (3, 1), (90_003, 60), (len(expected), 9)):
        assert ranges.read(offset, size) == expected[offset : offset + size]
    assert [ranges.offset_in_file(at) for at in (0, 3, 4, 90_004)] == [0, 7, 100, 100_000]
