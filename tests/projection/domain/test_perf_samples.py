"""Events of perf's samples get samples besides, where viewers show call stacks."""

import dataclasses

import pytest
from support.traces.small_traces import events_of, trace_of

from converter.ir.collect import collect
from converter.ir.columns import value
from converter.ir.events import EventClass, Field
from converter.ir.field_classes import ArrayClass, IntegerClass
from converter.ir.kinds import Kind, Role
from converter.projection.domain.perf_samples import has_stack, is_sample, with_samples
from converter.projection.losses import LossReport
from converter.projection.timeline_fields import ADDRESSES, CALLSTACK, FRAMES, weight

U64, S32 = IntegerClass(64), IntegerClass(32, True)
FIELDS = (Field("perf_ip", U64), Field("perf_tid", S32), Field("perf_pid", S32))
CALLERS = Field("perf_callchain", ArrayClass(U64))
MARK = (1 << 64) - 4095
ALONE = EventClass(Kind.TYPED, "cpu-clock", fields=FIELDS)
WITH_CALLERS = EventClass(Kind.TYPED, "cycles", fields=(*FIELDS, CALLERS))
OTHER = EventClass(Kind.TYPED, "e", "s", (*FIELDS, Field("x", U64)))


def test_samples_are_after_their_events_with_their_frames():
    trace = trace_of(
        [ALONE, OTHER, WITH_CALLERS],
        [
            (2, 1, 0, 1, (7, 10, 10, [(1 << 64) - 512, 7, 8, (1 << 64) - 1, 9])),
            (0, 2, 1, 2, (5, 11, 11)),
            (1, 3, 1, 2, (5, 11, 11, 1)),
            (2, 4, 0, 1, (6, 10, 10, [])),
        ],
        [(2, 5, 0, 1, (6, 10, 10, [MARK])), (2, 6, 0, 1, (6, 10, 10, [MARK - 1, 2]))],
    )
    report = LossReport()
    result = collect(with_samples(trace, report))
    found = []
    for batch in result.batches():
        for i, number in enumerate(batch.class_id.tolist()):
            event_class = result.event_classes[number]
            if event_class.kind is not Kind.SAMPLE:
                found.append(event_class.name)
                continue
            column = batch.tables[number].column(0)
            place = int(batch.ts[i]), int(batch.cpu[i]), int(batch.thread[i])
            assert event_class.fields == (ADDRESSES,)
            frames = value(column, ADDRESSES.type, int(batch.row[i]), result.strings)
            found.append((*place, frames))
    assert found == [
        "cycles", (1, 0, 1, [7, 8, 9]), "cpu-clock", (2, 1, 2, [5]), "e", "cycles", (4, 0, 1, [6]),
        "cycles", (5, 0, 1, [6]), "cycles", (6, 0, 1, [MARK - 1, 2]),
    ]  # fmt: skip
    assert [loss.count for loss in report] == [5]


@pytest.mark.parametrize("event_class", [ALONE, WITH_CALLERS])
def test_what_is_a_sample(event_class):
    assert is_sample(event_class)
    fields = event_class.fields
    context = Field("procname", U64, Role.CONTEXT)
    assert is_sample(EventClass(Kind.TYPED, "e", fields=(*fields, context)))
    assert not is_sample(EventClass(Kind.TYPED, "e", fields=(*fields, Field("x", U64))))
    assert not is_sample(EventClass(Kind.TYPED, "e", fields=fields[1:]))
    assert not is_sample(EventClass(Kind.SYSCALL_ENTRY, "e", fields=fields))


def test_samples_have_the_name_and_the_period_of_their_event():
    period = Field("perf_period", U64)
    clock = EventClass(Kind.TYPED, "cpu-clock:u", fields=(*FIELDS, period))
    cycles = EventClass(Kind.TYPED, "cycles", fields=(*FIELDS, period))
    # Two events of one name, which differ in what they record.
    again = EventClass(Kind.TYPED, "cycles", fields=(period, *FIELDS))
    trace = trace_of(
        [clock, cycles, again],
        [
            (0, 1, 0, 1, (7, 10, 10, 100)),
            (2, 2, 0, 1, (3, 8, 10, 10)),
            (1, 3, 0, 1, (9, 10, 10, 5)),
        ],
    )
    result = collect(with_samples(trace, LossReport()))
    samples = [
        (one.name, one.fields[1], batch.tables[number].column(1).tolist())
        for batch in result.batches()
        for number, one in enumerate(result.event_classes)
        if one.kind is Kind.SAMPLE
    ]
    assert sorted(samples, key=str) == [
        ("cpu-clock:u", weight("ns"), [100]),
        ("cycles", weight(""), [3]),
        ("cycles", weight(""), [5]),
    ]


STACK = [[("function", b"f"), ("mapping", b"/bin/x"), ("rel_pc", 16), ("source", b""), ("line", 0)]]
TRACEPOINT = EventClass(
    Kind.TYPED,
    "e",
    "s",
    (
        Field("ip", U64),
        Field("ip", U64, Role.CONTEXT),
        Field("period", U64, Role.CONTEXT),
        Field("addr", U64, Role.CONTEXT),
        CALLSTACK,
    ),
)
SAMPLE_FIELDS = (FRAMES, Field("ip", U64), weight(""))


@pytest.mark.parametrize("rows", [0, 1])
@pytest.mark.parametrize("kinds", [(), {Kind.INSTANT}, {Kind.SAMPLE}])
def test_stacks_of_tracepoints_are_samples(kinds, rows):
    trace = trace_of(
        [OTHER, TRACEPOINT],
        [(1, 3, 1, 2, (5, 6, 7, 8, STACK))][:rows] or [(0, 1, 0, 1, (1, 2, 3, 4))],
    )
    report = LossReport()
    result = collect(with_samples(trace, report, kinds))
    found = [
        (one.kind, one.name, {field.name for field in one.fields}) for one in result.event_classes
    ]
    event = (Kind.TYPED, "e", {"ip", "addr"})
    sample = (Kind.SAMPLE, "s:e", {"frames", "ip", "weight"})
    stays = kinds != {Kind.SAMPLE}
    expected = [event] * stays + [sample] * (not stays or rows)
    assert [one for one in found if "perf_ip" not in one[2]] == expected
    events = [(place[0], list(values.values())) for *place, values in events_of(result)]
    if rows:
        assert result.event_classes[-1].fields == SAMPLE_FIELDS
        assert events[-1][1] == [STACK, 6, 7]
        assert len(events) == 1 + stays
    assert [loss.count for loss in report] == [1] * rows


@pytest.mark.parametrize(
    ("kinds", "of_stacks", "codes"),
    [
        ((), True, ["tracepoint-sample-unshown (1)"]),
        ({Kind.SAMPLE}, True, []),
        ((), False, []),
    ],
)
def test_tracepoints_without_a_stack_are_no_samples(kinds, of_stacks, codes):
    bare = dataclasses.replace(TRACEPOINT, fields=TRACEPOINT.fields[:-1])
    trace = trace_of([bare, OTHER], [(0, 3, 1, 2, (5, 6, 7, 8))])
    report = LossReport()
    collect(with_samples(trace, report, kinds, of_stacks=of_stacks))
    assert [f"{loss.code} ({loss.count})" for loss in report] == codes


def test_stacks_stay_where_viewers_show_them_at_events():
    trace = trace_of([TRACEPOINT], [(0, 3, 1, 2, (5, 6, 7, 8, STACK))])
    result = collect(with_samples(trace, LossReport(), of_stacks=False))
    assert result.event_classes == [TRACEPOINT]
    slices = EventClass(Kind.SLICE_BEGIN, "e", "s", (CALLSTACK,))
    assert not has_stack(slices)
    assert has_stack(TRACEPOINT)
