"""Columns of several tables are decoded at once: all of them, each once, errors where they belong."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from converter.errors import TraceError
from converter.ir.columns import Column
from converter.ir.events import Batch, Table
from converter.ir.trace import Trace
from converter.storage.pool.workers import use_workers, workers
from converter.streaming import pipeline
from converter.streaming.pipeline import Decoder
from tests.support.system.pool import own_pool

TABLES = 24


@pytest.fixture(autouse=True)
def four_threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(pipeline, "_LARGE_TABLE", 1)
    with own_pool(4):
        yield


class Decoded:
    """A batch of tables, the odd ones made of the even ones in front of them."""

    def __init__(self, fails: int = -1) -> None:
        self.times: Counter[int] = Counter()
        self._fails = fails
        tables: list[Table] = []
        for number in range(TABLES):
            derived = [tables[-1].lazy(0)] if number % 2 else []
            tables.append(Table(1, [*derived, self._column(number)]))
        self.batch = Batch(
            ts=np.zeros(TABLES, np.int64),
            class_id=np.arange(TABLES, dtype=np.int32),
            row=np.zeros(TABLES, np.int32),
            tables=dict(enumerate(tables)),
        )

    def _column(self, number: int) -> Callable[[], Column]:
        def decoded() -> Column:
            self.times[number] += 1
            if number == self._fails:
                raise TraceError("damaged", offset=number)
            # Another thread's turn, so that two would decode it if they could.
            threading.Event().wait(0.001)
            return np.array([number])

        return decoded


@pytest.mark.parametrize("parallel", [True, False])
def test_every_column_is_decoded_once(parallel):
    decoder = Decoder(Trace("test", decodes_in_parallel=parallel))
    decoded = Decoded()
    decoder.decode(decoded.batch)
    assert decoded.times == dict.fromkeys(range(TABLES), 1)
    last = decoded.batch.tables[TABLES - 1]
    assert [int(last.column(index)[0]) for index in range(last.width)] == [TABLES - 2, TABLES - 1]
    decoder.close()


def test_what_fails_is_raised_when_the_rest_is_done():
    decoder = Decoder(Trace("test", decodes_in_parallel=True))
    with pytest.raises(TraceError, match="damaged"):
        decoder.decode(Decoded(fails=3).batch)
    decoder.decode(Decoded().batch)
    decoder.close()


def test_there_are_as_many_threads_as_are_wanted_or_as_processors():
    assert workers() == 4
    use_workers(None)
    assert workers() >= 1
