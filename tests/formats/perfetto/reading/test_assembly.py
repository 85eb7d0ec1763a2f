"""A batch is put together from parts: whose events go between those of others, class by class in their order."""

from types import SimpleNamespace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from converter.formats.perfetto.reading.assembly import Part, assemble

CLASSES = 6


def part_of(events, *, is_even):
    """A part of classes with even numbers, or with odd ones: its column says where an event stands in the part."""
    packets = sorted(packet for packet, _ in events)
    classes = [2 * (number % (CLASSES // 2)) + (not is_even) for _, number in events]
    return Part(
        packet=np.array(packets, np.int32),
        ts=np.array(packets, np.int64),
        class_id=np.array(classes, np.int32),
        thread=None,
        cpu=None,
        track=None,
        columns=lambda _, events: [lambda: events.positions],
    )


EVENTS = st.lists(st.tuples(st.integers(0, 20), st.integers(0, CLASSES)), min_size=1)


@given(first=EVENTS, second=EVENTS, are_two=st.booleans())
def test_rows_of_each_class_are_its_events_in_order(first, second, are_two):
    parts = [part_of(first, is_even=True)]
    if are_two:
        parts.append(part_of(second, is_even=False))
    window = SimpleNamespace(data=SimpleNamespace(data=np.zeros(1, np.uint8)))
    batch = assemble(parts, lambda _: 1, 0, window, lambda: None)
    assert len(batch) == sum(len(part.ts) for part in parts)
    assert np.all(batch.ts[1:] >= batch.ts[:-1])
    for number, table in batch.tables.items():
        part = parts[number % 2]
        of_class = np.flatnonzero(part.class_id == number)
        assert table.column(0).tolist() == of_class.tolist()
        rows = batch.row[batch.class_id == number]
        assert rows.tolist() == list(range(len(of_class)))
        assert batch.ts[batch.positions(number)].tolist() == part.ts[of_class].tolist()
    assert batch.tables.keys() == set(batch.class_id.tolist())
