"""Batches made ahead: the same batches, tables of their time, errors where they belong."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from converter.errors import TraceError
from converter.ir.columns import Column
from converter.ir.events import Batch, EventClass, Field, Table
from converter.ir.field_classes import IntegerClass
from converter.ir.kinds import Kind
from converter.ir.trace import Process, Thread, Trace, Track
from converter.streaming import pipeline
from converter.streaming.pipeline import Pipeline
from tests.support.system.pool import own_pool

COUNT = 5


@pytest.fixture(autouse=True)
def every_batch_is_worth_threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(pipeline, "_WORTHWHILE", 1)
    with own_pool(3):
        yield


class Growing:
    """A trace whose tables grow with every batch; counts how many batches and columns were made."""

    def __init__(self, fails_at: int = -1, count: int = COUNT) -> None:
        self.made = 0
        self.decoded_on: list[threading.Thread] = []
        self.closed = False
        self._fails_at = fails_at
        self._count = count
        fields = (Field("number", IntegerClass(64, signed=True)),)
        self.trace = Trace(
            "test",
            processes=[Process(1)],
            event_classes=[EventClass(Kind.TYPED, "numbered", fields=fields)],
            make_batches=self._batches,
        )

    def _batches(self) -> Iterator[Batch]:
        trace = self.trace
        try:
            for number in range(self._count):
                if number == self._fails_at:
                    raise TraceError("damaged", offset=number)
                trace.threads.append(Thread(number, 0))
                trace.tracks.append(Track(f"track {number}"))
                trace.add_class(EventClass(Kind.TYPED, f"class {number}"))
                trace.sidecar.setdefault("test", {}).setdefault("notes", []).append(number)
                if number == 2:
                    # Of threads that are known already.
                    trace.threads[0].name = "named late"
                    trace.processes[0].name = "process named late"
                self.made += 1
                yield self._batch(number)
            trace.threads.append(Thread(100, 0, "at the end"))
        finally:
            self.closed = True

    def _batch(self, number: int) -> Batch:
        return Batch(
            ts=np.array([number], np.int64),
            class_id=np.zeros(1, np.int32),
            row=np.zeros(1, np.int32),
            tables={0: Table(1, [self._column(number)])},
        )

    def _column(self, number: int) -> Callable[[], Column]:
        def decoded() -> Column:
            self.decoded_on.append(threading.current_thread())
            return np.array([number], np.int64)

        return decoded


def numbers(trace: Trace) -> list[int]:
    found = []
    for batch in trace.batches():
        column = batch.tables[0].column(0)
        assert isinstance(column, np.ndarray)
        found.append(int(column[0]))
    return found


def test_batches_come_in_order_with_the_tables_of_their_time() -> None:
    source = Growing()
    with Pipeline(source.trace) as ahead:
        for number, batch in enumerate(ahead.batches()):
            # Whatever the other thread has done meanwhile.
            time.sleep(0.01)
            assert batch.ts.tolist() == [number]
            assert len(ahead.threads) == len(ahead.tracks) == number + 1
            assert len(ahead.event_classes) == number + 2
            names = ("named late", "process named late") if number >= 2 else ("", "")
            assert (ahead.threads[0].name, ahead.processes[0].name) == names
            assert ahead.sidecar == {"test": {"notes": list(range(number + 1))}}
        assert [thread.tid for thread in ahead.threads] == [0, 1, 2, 3, 4, 100]
        assert ahead.strings is source.trace.strings
    assert source.made == COUNT


def test_columns_are_decoded_where_batches_are_made() -> None:
    source = Growing()
    with Pipeline(source.trace) as ahead:
        for number, _ in enumerate(ahead.batches()):
            assert len(source.decoded_on) > number
    assert len(source.decoded_on) == COUNT


def test_who_only_reads_decodes_nothing() -> None:
    source = Growing()
    with Pipeline(source.trace, decodes=False) as ahead:
        for number, batch in enumerate(ahead.batches()):
            assert len(source.decoded_on) == number
            batch.tables[0].column(0)
    assert set(source.decoded_on) == {threading.current_thread()}


def test_each_stage_is_a_batch_ahead_of_the_next() -> None:
    source = Growing()
    with (
        Pipeline(source.trace, decodes=False) as read,
        Pipeline(read) as decoded,
    ):
        for number, batch in enumerate(decoded.batches()):
            while source.made < min(number + 3, COUNT):
                time.sleep(0.001)
            time.sleep(0.01)
            assert batch.ts.tolist() == [number]
            assert source.made <= number + 3
            assert len(decoded.threads) == number + 1
            assert decoded.sidecar == {"test": {"notes": list(range(number + 1))}}
        assert [thread.tid for thread in decoded.threads] == [0, 1, 2, 3, 4, 100]
    assert "traceconv-worker" in {one.name for one in source.decoded_on}


@pytest.mark.parametrize("fails_at", range(COUNT))
def test_errors_come_through_all_stages(fails_at: int) -> None:
    source = Growing(fails_at)
    seen = 0
    with (
        pytest.raises(TraceError, match="damaged"),
        Pipeline(source.trace, decodes=False) as read,
        Pipeline(read) as decoded,
    ):
        for _ in decoded.batches():
            seen += 1
    assert seen == fails_at
    assert source.closed


def test_stages_end_when_who_writes_fails() -> None:
    source = Growing(count=1000)
    with (
        pytest.raises(ValueError, match="enough"),
        Pipeline(source.trace, decodes=False) as read,
        Pipeline(read) as decoded,
    ):
        for number, _ in enumerate(decoded.batches()):
            if number == 2:
                raise ValueError("enough")
    assert source.made <= 7
    assert source.closed


def test_at_most_one_batch_is_made_ahead() -> None:
    source = Growing()
    with Pipeline(source.trace) as ahead:
        for number, _ in enumerate(ahead.batches()):
            time.sleep(0.01)
            assert source.made <= number + 2


def test_small_batches_need_no_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "_WORTHWHILE", 2)
    source = Growing()
    with Pipeline(source.trace) as ahead:
        assert numbers(ahead) == list(range(COUNT))
        assert len(ahead.threads) == COUNT + 1
    assert set(source.decoded_on) == {threading.current_thread()}


@pytest.mark.parametrize("fails_at", range(COUNT))
def test_errors_are_raised_where_the_batch_would_have_come(fails_at: int) -> None:
    source = Growing(fails_at)
    seen = 0
    with (
        pytest.raises(TraceError, match="damaged") as caught,
        Pipeline(source.trace) as ahead,
    ):
        for _ in ahead.batches():
            seen += 1
    assert (seen, caught.value.offset) == (fails_at, fails_at)
    assert source.closed


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_what_is_under_way_ends_when_the_caller_fails(error: type[BaseException]) -> None:
    source = Growing(count=1000)
    with pytest.raises(error), Pipeline(source.trace) as ahead:
        for number, _ in enumerate(ahead.batches()):
            if number == 2:
                raise error
    assert source.made <= 5
    assert source.closed


def test_batches_can_be_left_and_read_again() -> None:
    source = Growing()
    with Pipeline(source.trace) as ahead:
        for _ in ahead.batches():
            break
        assert numbers(ahead) == list(range(COUNT))
        assert numbers(ahead) == list(range(COUNT))


def test_a_trace_without_events_has_its_tables() -> None:
    source = Growing(count=0)
    with Pipeline(source.trace) as ahead:
        assert len(ahead.processes) == 1
        assert numbers(ahead) == []
        assert [thread.tid for thread in ahead.threads] == [100]
