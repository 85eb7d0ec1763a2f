"""Windows of a stream are decoded ahead, as many as are wanted, and come in its order with what was wrong with them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.system.pool import own_pool

from converter.errors import TraceError
from converter.formats.ftrace.ring_buffer.batches import Events, StreamReader
from converter.storage.pool.workers import TaskGroup

#: A window of so many events, or what is said of a place where one should be.
PLANNED: list[int | str] = ["first", 3, 0, 2, "second", "third", 1, 4, 5, 6, "last"]


class Stream:
    def __init__(self) -> None:
        self.planned = 0

    def windows(self) -> Iterator[int | TraceError]:
        for entry in PLANNED:
            self.planned += 1
            yield entry if isinstance(entry, int) else TraceError(entry, offset=0)


class Decoding:
    """What is said of a window, beside its events: that it was decoded."""

    def scan(self, stream, window, spare):
        events = Events(8) if spare is None else spare
        events.count = window
        return events, [TraceError(f"of {window}", offset=0)]


@pytest.mark.parametrize("ahead", [1, 2, 4])
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_all_windows_come_in_order_with_their_errors(ahead, threads):
    stream = Stream()
    with own_pool(threads), TaskGroup() as pool:
        reader = StreamReader(Decoding(), stream, pool, ahead)
        found: list[int | str] = []
        events = None
        given = 0
        while True:
            events = reader.next(events)
            said = [error.message for error in reader.errors]
            found += [each for each in said if not each.startswith("of ")]
            given += len(said)
            assert stream.planned <= given + ahead + 1
            reader.errors = []
            if events is None:
                break
            found.append(events.count)
    assert found == [entry for entry in PLANNED if entry]
    assert given == len(PLANNED)
