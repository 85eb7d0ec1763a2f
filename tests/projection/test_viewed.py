"""What a format whose viewer reads records in its own way asks of the projection: FXT, as Perfetto shows it."""

from pathlib import Path

import pytest
from support.traces.small_traces import brief, event_class, projected, trace_of
from support.traces.target_capabilities import PROFILER
from support.viewers.trace_processor import answer, needs_trace_processor

import converter
from converter.formats.fxt.capabilities import capabilities
from converter.ir.field_classes import FloatClass, IntegerClass, StringClass
from converter.ir.kinds import Kind, Role
from converter.projection.losses import LossClass

I32 = IntegerClass(32, True)
TEXT = StringClass()
SWITCH = event_class(
    Kind.SCHED_SWITCH,
    "sched_switch",
    "sched",
    prev_pid=(I32, Role.PREV_TID),
    next_pid=(I32, Role.NEXT_TID),
)
WAKING = event_class(Kind.SCHED_WAKING, "sched_waking", "sched", pid=(I32, Role.TID))
COUNTER = event_class(
    Kind.COUNTER,
    "memory",
    name=(TEXT, Role.NAME),
    used=(I32, Role.VALUE),
    free=(FloatClass(64), Role.VALUE),
    unit=TEXT,
    common_flags=I32,
)
LOG = event_class(Kind.LOG, message=(TEXT, Role.MESSAGE))
FXT = capabilities("")
CLOCKS = Path(__file__).parents[2] / "roundtrip_fixtures/perfetto/clocks.pftrace"


def kinds(*batches, classes=(SWITCH, WAKING), target=FXT):
    trace, losses = projected(trace_of(list(classes), *batches), target)
    return [line[0] for line in brief(trace)], losses


def test_wakeups_of_running_threads_are_instants():
    found, losses = kinds(
        [
            (1, 1, 0, 1, (11,)),
            (0, 2, 0, 1, (10, 11)),
            (1, 3, 0, 1, (11,)),
            (0, 4, 1, 0, (0, 10)),
            (1, 5, 0, 1, (10,)),
            (0, 6, 0, 1, (11, 0)),
            (1, 7, 0, 1, (11,)),
        ]
    )
    assert found == [
        "SCHED_WAKEUP at cpu 0",
        "SCHED_SWITCH at cpu 0",
        "INSTANT sched_waking at t10",
        "SCHED_SWITCH at cpu 1",
        "INSTANT sched_waking at t10",
        "SCHED_SWITCH at cpu 0",
        "SCHED_WAKEUP at cpu 0",
    ]
    assert "event-as event=sched:sched_waking shown=instant (2)" in losses


def test_what_runs_is_known_across_batches():
    found, _ = kinds(
        [(0, 1, 0, 1, (10, 11)), (0, 2, 1, 1, (0, 12))],
        [(1, 3, 0, 1, (11,)), (1, 4, 0, 1, (12,)), (1, 5, 0, 1, (13,))],
        [(0, 6, 0, 1, (11, 0)), (1, 7, 0, 1, (11,)), (1, 8, 0, 1, (12,))],
    )
    instant, wakeup = "INSTANT sched_waking at t10", "SCHED_WAKEUP at cpu 0"
    switches = ["SCHED_SWITCH at cpu 0", "SCHED_SWITCH at cpu 1"]
    assert found == [*switches, instant, instant, wakeup, switches[0], wakeup, instant]


def test_other_formats_keep_them():
    found, _ = kinds([(0, 2, 0, 1, (10, 11)), (1, 3, 0, 1, (11,))], target=PROFILER)
    assert found == ["SCHED_SWITCH at cpu 0", "SCHED_WAKEUP at cpu 0"]


def test_a_wakeup_by_nobody_known_has_no_waker():
    target, _ = projected(
        trace_of([SWITCH, WAKING], [(1, 1, 0, -1, (11,)), (1, 2, 0, 0, (11,))]), FXT
    )
    assert brief(target, "waker") == [
        ("SCHED_WAKEUP at cpu 0", None),
        ("SCHED_WAKEUP at cpu 0", 0),
    ]


def test_scheduling_stands_in_the_order_of_time():
    """As buffers of CPUs are drained, one after the other."""
    target, _ = projected(
        trace_of(
            [SWITCH],
            [(0, 5, 0, 1, (0, 10)), (0, 9, 0, 1, (10, 0)), (0, 7, 1, 1, (0, 11))],
        ),
        FXT,
    )
    assert brief(target, "next_tid") == [
        ("SCHED_SWITCH at cpu 0", 10),
        ("SCHED_SWITCH at cpu 1", 11),
        ("SCHED_SWITCH at cpu 0", 0),
    ]


def test_cpus_that_end_the_importer_are_not_written():
    target, losses = projected(
        trace_of(
            [SWITCH], [(0, 1, 4095, 1, (0, 10)), (0, 2, 4096, 1, (0, 11)), (0, 3, -1, 1, (0, 12))]
        ),
        FXT,
    )
    assert [place for (place,) in brief(target)] == [
        "SCHED_SWITCH at cpu 4095",
        "SCHED_SWITCH at cpu 0",
        "SCHED_SWITCH at cpu 0",
    ]
    assert "cpu-too-high limit=4095 (1)" in losses
    assert any(one.startswith("cpu-unknown-shown-on-0") for one in losses)


def test_counters_have_numbers_alone():
    target, losses = projected(
        trace_of([COUNTER], [(0, 1, -1, 1, (b"memory", 5, 2.5, b"MB", 1))]), FXT
    )
    assert brief(target, "used", "free", "unit", "common_flags") == [
        ("COUNTER memory at t10", 5, 2.5, None, None),
        ("INSTANT memory at t10", None, None, "MB", 1),
    ]
    assert "counter-arguments-in-instants event=memory (1)" in losses


def test_log_events_of_other_formats_are_seen():
    trace = trace_of([LOG], [(0, 1, -1, 1, (b"started",))])
    target, losses = projected(trace, FXT)
    assert brief(target, "message") == [("INSTANT log at t10", "started")]
    assert "event-as event=log entry shown=instant (1)" in losses
    trace.format = "target"
    # That is the format that `projected` projects to.
    target, _ = projected(trace, FXT)
    assert brief(target, "message") == [("LOG at t10", "started")]


@needs_trace_processor
@pytest.mark.parametrize("target", ["json", "fxt"])
def test_a_date_that_viewers_no_longer_show_is_a_loss(tmp_path, target):
    date = "select to_realtime(trace_start())"
    first, second = tmp_path / f"a.{target}", tmp_path / "b.json"
    report = converter.convert(CLOCKS, first)
    assert answer(CLOCKS, date) == [["1700000000000000500"]]
    assert answer(first, date) == [["[NULL]"]]
    losses = {one.code: one.loss_class for one in report}
    assert losses["wall-clock-unshown"] is LossClass.SHOWN
    # What such a file had, nobody saw.
    again = converter.convert(first, second, force=True)
    assert "wall-clock-unshown" not in {one.code for one in again}
    # The date is in the file.
    assert converter.read(second).clock.epoch_ns == converter.read(CLOCKS).clock.epoch_ns


@needs_trace_processor
@pytest.mark.parametrize("target", ["pftrace", "json", "fxt"])
def test_a_soft_interrupt_has_the_name_of_the_low_bits_of_its_vector(tmp_path, target):
    vector = (IntegerClass(64), Role.VECTOR)
    classes = [
        event_class(Kind.SOFTIRQ_ENTRY, "softirq_entry", "irq", vec=vector),
        event_class(Kind.SOFTIRQ_EXIT, "softirq_exit", "irq", vec=vector),
    ]
    rows = [(0, 100, 0, -1, [(1 << 32) + 3]), (1, 200, 0, -1, [(1 << 32) + 3])]
    first, path = tmp_path / "first.pftrace", tmp_path / f"a.{target}"
    converter.write(trace_of(classes, rows), first)
    converter.convert(first, path)
    shown = answer(path, "select ts, dur, name from slice")
    assert shown == [["100", "100", "NET_RX"]]
