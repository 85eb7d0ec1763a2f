"""Ids that a target's viewers do not tell apart get other numbers: each its own, whatever comes later."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from support.traces.losses import line_of

from converter.ir.collect import collect
from converter.ir.events import Batch, EventClass, Field, Table
from converter.ir.field_classes import IntegerClass
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Process, Thread, Trace
from converter.projection.capabilities import Capabilities, KindSupport
from converter.projection.losses import LossClass, LossReport
from converter.projection.project import project

_TID = IntegerClass(64)
SWITCH = EventClass(
    Kind.SCHED_SWITCH,
    fields=(Field("prev_tid", _TID, Role.PREV_TID), Field("next_tid", _TID, Role.NEXT_TID)),
)
NEW = 1 << 30


def limited(bits: int) -> Capabilities:
    """A format whose viewers tell apart ids of so many bits."""
    return Capabilities(
        {Kind.SCHED_SWITCH: KindSupport(SWITCH.fields, cpu=True)}, shown_id_bits=bits
    )


def of_ids(*ids: int, switches: list[tuple[int, int]] | None = None) -> Trace:
    """A trace whose processes have one thread each, of the same id; each occurs with a batch of its own."""
    trace = Trace(format="source", event_classes=[SWITCH])

    def batches() -> Iterator[Batch]:
        for number, id in enumerate(ids):
            if number == len(trace.processes):
                trace.processes.append(Process(id, f"p{number}"))
                trace.threads.append(Thread(id, number))
            columns = np.array((switches or [(0, 0)] * len(ids))[number], np.uint64)
            table = Table(1, [columns[:1], columns[1:]])
            yield Batch(
                ts=np.array([number], np.int64),
                class_id=np.zeros(1, np.int32),
                row=np.zeros(1, np.int32),
                tables={0: table},
                thread=np.array([number], np.int32),
                cpu=np.zeros(1, np.int32),
            )

    trace.make_batches = batches
    return trace


def shown(trace: Trace, bits: int, format_name: str = "target") -> tuple[list[int], LossReport]:
    """The ids of processes in a target, which are those of their threads."""
    target, report = project(trace, limited(bits), format_name)
    target = collect(target)
    ids = [process.pid for process in target.processes]
    assert ids == [thread.tid for thread in target.threads]
    return ids, report


@pytest.mark.parametrize("bits", [31, 32])
def test_the_limit(bits: int) -> None:
    last = (1 << bits) - 1
    kept = [0, 1, NEW - 1, NEW, NEW + 1, last - 1, last]
    assert shown(of_ids(*kept), bits)[0] == kept
    ids, report = shown(of_ids(last + 1, last + 2, (1 << 62) + 7, (1 << 64) - 1, -3), bits)
    assert ids == [NEW, NEW + 1, NEW + 7, 2 * NEW - 1, 2 * NEW - 3]
    assert {(line_of(loss), loss.loss_class) for loss in report} == {
        (
            f"id-too-large bits={bits} shown={NEW} was={last + 1} what={what} (5)",
            LossClass.SHOWN,
        )
        for what in ("process", "thread")
    }


def test_ids_that_fit_are_no_loss() -> None:
    ids, report = shown(of_ids(0, 1, NEW, (1 << 32) - 1), 32)
    assert len(set(ids)) == 4 and not report


def test_a_later_id_does_not_meet_a_new_one() -> None:
    one, other = (1 << 32) + 5, NEW + 5
    ids, report = shown(of_ids(one, other, (1 << 33) + 5, 5), 32)
    assert ids[0] == NEW + 5 and ids[3] == 5
    assert len(set(ids)) == 4
    assert any(
        one.code == "id-taken" and dict(one.parameters)["was"] == 1073741829 for one in report
    )
    # One that occurred before keeps its number.
    assert shown(of_ids(other, one), 32)[0][0] == other


def test_the_number_follows_from_the_id() -> None:
    ids = [(1 << 32) + 5, (1 << 40) + 8, (1 << 62) + 1]
    forward, backward = (shown(of_ids(*some), 31)[0] for some in (ids, ids[::-1]))
    assert forward == backward[::-1]


def test_fields_of_events_have_the_same_numbers() -> None:
    wide = (1 << 40) + 9
    trace = of_ids(wide, 4, 5, switches=[(wide, 4), (4, NEW + 9), (1 << 50, (1 << 64) - 1)])
    target, _ = project(trace, limited(32), "target")
    found = [
        [int(column[0]) for column in (batch.tables[0].column(0), batch.tables[0].column(1))]
        for batch in collect(target).batches()
    ]
    # All ones is no id; one that only an event has has a number, too.
    assert found[0] == [NEW + 9, 4]
    assert found[1][0] == 4 and found[1][1] not in (NEW + 9, 4)
    assert found[2] == [NEW, (1 << 64) - 1]
    # The same again.
    assert [batch.thread.tolist() for batch in target.batches()] == [[0], [1], [2]]


def test_a_format_keeps_its_own_ids() -> None:
    ids = [(1 << 32) + 5, 5]
    assert shown(of_ids(*ids), 32, "source")[0] == ids


def test_names_that_come_later() -> None:
    trace = of_ids(1 << 40, 2)
    target, _ = project(trace, limited(32), "target")
    batches = target.batches()
    next(batches)
    trace.threads[0].name = "worker"
    list(batches)
    assert target.threads[0].name == "worker"


def test_many_ids_that_want_one_number() -> None:
    ids = [n << 32 for n in range(1, 20_001)]
    trace = Trace(format="source", processes=[Process(id) for id in ids])
    target, _ = project(trace, Capabilities({}, shown_id_bits=32), "target")
    assert len({process.pid for process in target.processes}) == len(ids)
