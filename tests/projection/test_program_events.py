"""Tracepoints of programs are instants where viewers take tracepoints for a kernel's."""

import dataclasses

from support.traces.small_traces import event_class, events_of, projected, trace_of
from support.traces.target_capabilities import EVERYTHING

from converter.ir.field_classes import IntegerClass
from converter.ir.kinds import Kind

VALUE = IntegerClass(8)
OWN = event_class(Kind.TYPED, "end", "app", x=(VALUE,))
KERNEL = event_class(Kind.TYPED, "mm_page_alloc", "kmem", x=(VALUE,))
SHOWING_INSTANTS = dataclasses.replace(EVERYTHING, program_instants=True)


def held(*events, capabilities=SHOWING_INSTANTS):
    """Kinds, names and CPUs of events of both classes, of which the first is a program's; and the losses."""
    trace = trace_of([OWN, KERNEL], list(events))
    trace.of_programs.add(OWN)
    target, losses = projected(trace, capabilities)
    found = []
    for batch in target.batches():
        for number in batch.class_id.tolist():
            one = target.event_classes[number]
            found.append((one.kind, one.name))
    return found, [fields for *_, fields in events_of(target)], losses


def test_those_of_programs_are_instants_under_both_names_with_all_their_fields():
    (first, second), (fields, _), losses = held((0, 5, 1, 0, (7,)), (1, 6, 0, 0, (8,)))
    assert first == (Kind.INSTANT, "")
    assert second == (Kind.TYPED, "mm_page_alloc")
    assert fields == {"name": "app:end", "category": "app", "x": 7}
    assert [loss for loss in losses if "event=app:end shown=instant" in loss]
    assert not [loss for loss in losses if "mm_page_alloc" in loss]


def test_those_on_no_cpu_are_no_kernels():
    events = [(1, ts, cpu, 0, (ts,)) for ts, cpu in enumerate((-1, 0, -1, 3))]
    kinds, fields, _ = held(*events)
    instant, typed = (Kind.INSTANT, ""), (Kind.TYPED, "mm_page_alloc")
    assert kinds == [instant, typed, instant, typed]
    assert [one["x"] for one in fields] == [0, 1, 2, 3]
    assert fields[0]["name"] == "kmem:mm_page_alloc"
    assert [kind for kind, _ in held(*(event for event in events if event[2] < 0))[0]] == [
        Kind.INSTANT,
        Kind.INSTANT,
    ]


def test_a_format_that_keeps_tracepoints_keeps_them():
    kinds, _, losses = held((0, 5, 1, 0, (7,)), (1, 6, -1, 0, (8,)), capabilities=EVERYTHING)
    assert kinds == [(Kind.TYPED, "end"), (Kind.TYPED, "mm_page_alloc")]
    assert losses == []
