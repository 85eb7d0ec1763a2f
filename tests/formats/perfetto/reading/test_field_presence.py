"""Fields that a kernel event lacks are no fields of its class: written anew, importers show as much of it as before."""

from __future__ import annotations

import pytest
from support.perfetto.files import File, kernel_compact, kernel_event
from support.perfetto.writing import events_of, opened, parsed, written
from support.traces.losses import line_of
from support.viewers.trace_processor import answer, needs_trace_processor

import converter
from converter.formats.perfetto.layout import CPU_STARTS
from converter.ir.collect import with_batches
from converter.ir.trace import Trace

ARGUMENTS = """
    select f.ts, f.name, a.key, a.display_value from ftrace_event f join args a using (arg_set_id) order by 1, 2, 3
"""
SCHED = (
    "select ts, dur, cpu, tid, end_state from sched_slice join thread using (utid) order by 1, 3"
)


def changed(data: bytes) -> bytes:
    """A file whose events are written anew."""
    trace = opened(data)
    return written(with_batches(trace, [one.with_tables(one.tables) for one in trace.batches()]))


def names(trace: Trace) -> list[list[str]]:
    """The names of the fields of each event."""
    return [list(fields) for fields in events_of(trace)]


def some_fields() -> bytes:
    """Events of two names, some of them without fields that others have."""
    file = File()
    bundle = file.bundle(1)
    kernel_event(bundle, 10, 1, "irq_handler_entry", irq=7, name="timer", handler=0)
    kernel_event(bundle, 11, 1, "irq_handler_entry", irq=0, name="timer")
    kernel_event(bundle, 12, 1, "irq_handler_entry", name="")
    kernel_event(bundle, 13, 1, "sched_switch", next_pid=5, next_comm="a")
    kernel_event(bundle, 14, 5, "sched_switch", prev_pid=5, prev_state=0)
    kernel_event(bundle, 15, 5, "sys_enter")
    return file.bytes()


def test_absent_fields_are_none_of_the_class():
    found = names(opened(some_fields()))
    assert [fields[1:] for fields in found[:3]] == [
        ["irq", "name", "handler"],
        ["irq", "name"],
        ["name"],
    ]
    # Without both tasks it is no switch, and a list has no element.
    assert [fields[1:] for fields in found[3:]] == [
        ["prev_pid", "next_comm", "next_pid"],
        ["prev_pid", "prev_state", "next_pid"],
        ["args"],
    ]


def test_absent_fields_stay_absent():
    before, after = (
        [event for packet in parsed(data).packet for event in packet.ftrace_events.event]
        for data in (some_fields(), changed(some_fields()))
    )
    for event in before:
        if event.HasField("sched_switch"):
            event.sched_switch.prev_pid = event.sched_switch.prev_pid
            event.sched_switch.next_pid = event.sched_switch.next_pid
    known = [(event.timestamp, event.WhichOneof("event")) for event in before]
    assert known == [(event.timestamp, event.WhichOneof("event")) for event in after]
    for one, other in zip(before, after, strict=True):
        fields = getattr(one, one.WhichOneof("event")).ListFields()
        assert fields == getattr(other, other.WhichOneof("event")).ListFields()


def test_of_too_many_combinations_what_is_absent_is_zero():
    optional = [f"{name}_{end}" for name in ("src", "dst") for end in "xywh"]
    file = File()
    bundle = file.bundle(0)
    for number in range(1 << len(optional)):
        given = {name: 1 for place, name in enumerate(optional) if number >> place & 1}
        kernel_event(bundle, number, 1, "mdp_sspp_change", **given)
    trace = opened(file.bytes())
    assert len(names(trace)) == 1 << len(optional)
    assert len(trace.event_classes) == 65
    assert any("combinations" in str(warning) for warning in trace.warnings)


def begun_late() -> bytes:
    """Switches on two CPUs, of which one was recorded later than the other."""
    file = File()
    for cpu, since in ((0, 1000), (1, 0)):
        bundle = file.bundle(cpu)
        bundle.previous_bundle_end_timestamp = since
        for ts in (1100, 1200) if cpu == 0 else (500, 1150):
            kernel_event(bundle, ts, ts, "sched_switch", prev_pid=ts, prev_state=0, next_pid=ts + 1)
    lost = file.bundle(1)
    lost.lost_events = True
    lost.previous_bundle_end_timestamp = 1160
    kernel_event(lost, 1300, 7, "sched_switch", prev_pid=7, prev_state=1, next_pid=8)
    return file.bytes()


def test_since_when_cpus_were_recorded_is_kept():
    again = changed(begun_late())
    for data in (begun_late(), again, changed(again)):
        assert opened(data).sidecar["perfetto"][CPU_STARTS] == [[0, 1000]]


def test_events_that_importers_hide_are_counted_where_others_show_them(tmp_path):
    source = tmp_path / "a.pftrace"
    source.write_bytes(begun_late())
    name = "ftrace events before the tracing of all CPUs starts"
    with converter.open_trace(source) as trace:
        for _ in range(2):
            report = converter.write(trace, tmp_path / "b.dat", force=True)
            assert f"hidden-event-unhidden name={name} (1)" in map(line_of, report)
    assert not converter.convert(source, tmp_path / "b.pftrace")


def test_compact_switches_that_importers_hide_are_counted_where_they_are_shown(tmp_path):
    source = tmp_path / "a.pftrace"
    source.write_bytes(kernel_compact())
    # At the time of another event of its CPU a switch is not compact.
    with converter.open_trace(source) as trace:
        batches = [one.with_tables(one.tables) for one in trace.batches()]
        anew = converter.write(with_batches(trace, batches), tmp_path / "b.pftrace")
        moved = [one.at_times(one.ts // 40) for one in batches]
        at_once = converter.write(with_batches(trace, moved), tmp_path / "c.pftrace")
    other = converter.convert(source, tmp_path / "b.json")
    hidden = [
        {one for one in map(line_of, report) if "compact" in one}
        for report in (anew, at_once, other)
    ]
    assert hidden == [
        set(),
        {"compact-switch-unhidden (2)"},
        {"hidden-event-unhidden name=compact switches from unknown tasks (2)"},
    ]


@needs_trace_processor
@pytest.mark.parametrize("data", [some_fields(), begun_late()], ids=["fields", "starts"])
def test_what_is_written_anew_is_shown_as_before(data, tmp_path):
    before, after = tmp_path / "before.pftrace", tmp_path / "after.pftrace"
    before.write_bytes(data)
    after.write_bytes(changed(data))
    assert answer(before, SCHED) == answer(after, SCHED) != []
    shown = [row for row in answer(before, ARGUMENTS) if row[1] != "sched_switch"]
    assert shown == [row for row in answer(after, ARGUMENTS) if row[1] != "sched_switch"]
