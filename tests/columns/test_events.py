"""Columns by name have each value of each event, whatever its type."""

import numpy as np
import pytest
from hypothesis import given
from support.traces.small_traces import event_class, trace_of
from support.traces.strategies import traces

import converter
from converter.analysis.columns.resolved import resolved
from converter.ir.columns import value
from converter.ir.display.text import unique_names, utf8_text
from converter.ir.event_columns import EventColumns
from converter.ir.field_classes import (
    ArrayClass,
    BytesClass,
    FloatClass,
    IntegerClass,
    Label,
    Member,
    NullClass,
    OptionalClass,
    StringClass,
    StructureClass,
    VariantClass,
)
from converter.ir.kinds import TICK_ROLES, Kind, Role
from converter.ir.trace import ClockDomain


def plain(field_class, item):
    """A value of the representation as Python has it."""
    match field_class:
        case StringClass():
            return utf8_text(item)
        case ArrayClass(element):
            return [plain(element, one) for one in item]
        case StructureClass(members):
            names = unique_names([member.name for member in members])
            held = [plain(member.type, one) for member, (_, one) in zip(members, item, strict=True)]
            return dict(zip(names, held, strict=True))
        case VariantClass(options):
            option = next(option for option in options if option.name == item[0])
            return item[0], plain(option.type, item[1])
        case OptionalClass(element):
            return None if item is None else plain(element, item)
    return item


def pythonic(item):
    """What stands in a column, without NumPy's types; what is no number equals itself."""
    if item is np.ma.masked:
        return None
    if isinstance(item, np.ndarray):
        return [pythonic(one) for one in item.tolist()]
    if isinstance(item, np.generic):
        return pythonic(item.item())
    if isinstance(item, dict):
        return {name: pythonic(one) for name, one in item.items()}
    if isinstance(item, list | tuple):
        return type(item)(pythonic(one) for one in item)
    return "NaN" if isinstance(item, float) and item != item else item


@given(traces())
def test_each_value_of_each_event_is_in_its_row(trace):
    columns = trace.events()
    at = 0
    for batch in trace.batches():
        for i in range(len(batch)):
            number = int(batch.class_id[i])
            event = trace.event_classes[number]
            assert columns["event"][at] == (utf8_text(event.name) or event.kind.name.lower())
            assert columns["kind"][at] == event.kind.name.lower()
            thread = trace.threads[batch.thread[i]] if batch.thread[i] >= 0 else None
            assert pythonic(columns["tid"][at]) == (thread and thread.tid)
            assert columns["thread"][at] == (utf8_text(thread.name) or None if thread else None)
            assert pythonic(columns["cpu"][at]) == (
                int(batch.cpu[i]) if batch.cpu[i] >= 0 else None
            )
            held = [pythonic(columns[name][at]) for name in columns if not name.endswith("_label")]
            for index, field in enumerate(event.fields):
                if field.role not in TICK_ROLES:
                    column = batch.tables[number].column(index)
                    item = value(column, field.type, int(batch.row[i]), trace.strings)
                    assert pythonic(plain(field.type, item)) in held
            at += 1
    assert columns.count == at
    assert all(len(columns[name]) == at for name in columns)


@given(traces())
def test_a_stream_has_what_all_have(trace):
    whole = trace.events()
    pieces = list(trace.stream_events())
    assert sum(piece.count for piece in pieces) == whole.count
    for name in ("ts", "tid", "event"):
        streamed = [pythonic(item) for piece in pieces for item in piece[name]]
        assert streamed == [pythonic(item) for item in whole[name]]


def small_trace():
    state = IntegerClass(8, labels=(Label(0, 0, "off"), Label(1, 9, "on")))
    first = event_class(Kind.TYPED, "a", "s", n=state, text=StringClass())
    second = event_class(Kind.TYPED, "b", "s", n=IntegerClass(16), wait=IntegerClass(64))
    clock = ClockDomain("c", 3_000_000_000, epoch_ns=1_000_000)
    events = [
        (0, 30, 1, 1, [3, b"x"]),
        (1, 45, -1, 2, [500, 9]),
        (0, 60, 1, -1, [77, b"\xff"]),
    ]
    return trace_of([first, second], events, clock=clock)


def test_times_numbers_texts_and_labels():
    events = small_trace().events("s:a")
    assert events["ts"].tolist() == [10, 20]
    assert events["time"].tolist() == [1_000_010, 1_000_020]
    assert events["time"].dtype == np.dtype("datetime64[ns]")
    assert events["tid"].tolist() == [10, None]
    assert events["thread"].tolist() == ["t10", None]
    assert events["n"].dtype == np.uint8
    assert events["n_label"].tolist() == ["on", None]
    assert events["text"].tolist() == ["x", "\\xff"]


def test_classes_share_a_column_if_its_type_is_the_same():
    events = small_trace().events()
    assert events["n"].tolist() == [3, None, 77]
    assert events["b.n"].tolist() == [None, 500, None]
    assert events["text"].tolist() == ["x", None, "\\xff"]


def test_events_are_those_that_are_called_so():
    """The end of a call is an event of its own; that of a slice has no name, and comes with its begin."""
    number = (IntegerClass(64), Role.SYSCALL_NUMBER)
    classes = [
        event_class(Kind.SYSCALL_ENTRY, "sys_enter", "raw", nr=number),
        event_class(Kind.SYSCALL_EXIT, "sys_exit", "raw", nr=number),
        event_class(Kind.SLICE_BEGIN, name=(StringClass(), Role.NAME)),
        event_class(Kind.SLICE_END),
    ]
    rows = [(0, 1, [1]), (2, 2, [b"f"]), (2, 3, [b"g"]), (3, 4, []), (3, 5, []), (1, 6, [1])]
    trace = trace_of(classes, [(number, ts, 0, 0, values, -1) for number, ts, values in rows])

    assert trace.events("sys_exit")["ts"].tolist() == [6]
    assert trace.events("raw:sys_enter")["ts"].tolist() == [1]
    assert trace.events("raw:*")["ts"].tolist() == [1, 6]
    assert trace.events("!sys_enter", "!g")["ts"].tolist() == [2, 5, 6]
    assert trace.events("g")["ts"].tolist() == [3, 4]


def test_only_the_fields_that_are_wanted_are_read():
    events = small_trace().events("a", fields=["n_label"])
    assert list(events)[11:] == ["n_label"]
    with pytest.raises(KeyError, match="no column 'text' of 2 rows: there are ts, time"):
        events["text"]


def test_durations_are_nanoseconds():
    wait = event_class(Kind.SLICE_COMPLETE, duration=(IntegerClass(64), Role.DURATION))
    trace = trace_of([wait], [(0, 30, 0, 0, [9])], clock=ClockDomain("c", 3_000_000_000))
    assert trace.events()["duration"].tolist() == [3]


def test_numbers_of_64_bits_without_a_sign():
    made = event_class(Kind.TYPED, "a", "s")
    trace = trace_of([made], [(0, 1, 0, 0, []), (0, 2, 0, 1, [])], tids=(5, (1 << 64) - 1))
    assert trace.events()["tid"].tolist() == [5, (1 << 64) - 1]


@pytest.mark.parametrize(
    ("tids", "shown"), [((-5, 7), [-5, 7]), ((-5, (1 << 64) - 1), [-5, -1])], ids=str
)
def test_negative_ids_are_signed(tids, shown):
    made = event_class(Kind.TYPED)
    trace = trace_of([made], [(0, 1, 0, 0, []), (0, 2, 0, 1, [])], tids=tids)
    assert trace.events()["tid"].tolist() == shown


@pytest.mark.parametrize(
    ("held", "items"),
    [
        (ArrayClass(IntegerClass(8)), [[1, 2], [], [3]]),
        (ArrayClass(StringClass()), [[b"a"], [b"b", b"c"]]),
        (StructureClass((Member("a", IntegerClass(8)), Member("a", NullClass()))), [[("a", 1), ("a", None)]]),
        (VariantClass((Member("x", IntegerClass(8)), Member("y", StringClass()))), [("y", b"t"), ("x", 4)]),
        (OptionalClass(FloatClass()), [None, 1.5]),
        (OptionalClass(BytesClass()), [None, b"\0"]),
        (OptionalClass(OptionalClass(IntegerClass(8))), [3, None]),
    ],
    ids=lambda item: type(item).__name__,
)  # fmt: skip
def test_values_of_every_type(held, items):
    trace = trace_of(
        [event_class(Kind.TYPED, "a", "s", n=held)], [(0, 1, 0, 0, [i]) for i in items]
    )
    found = [pythonic(item) for item in trace.events()["n"]]
    assert found == [pythonic(plain(held, item)) for item in items]


def test_a_column_that_does_not_hold_its_type_is_noticed():
    with pytest.raises(TypeError, match="a list does not hold"):
        resolved(BytesClass(), [], None)


def test_a_thread_is_found_by_its_number():
    trace = trace_of([], tids=(0, 10, 11))
    assert trace.thread(11) is trace.threads[2]
    assert trace.thread(11, 11) is trace.threads[2]
    with pytest.raises(LookupError, match="no thread 12"):
        trace.thread(12)
    trace.threads.append(converter.Thread(11, 0))
    with pytest.raises(LookupError, match="2 threads 11, of processes 0, 11: name one"):
        trace.thread(11)
    assert trace.thread(11, 0) is trace.threads[3]


def test_everything_is_shown_in_one_line():
    trace = small_trace()
    assert repr(trace.events("a", fields=())) == (
        "<EventColumns of 2 rows: ts, time, event, system, kind, cpu, tid, pid, thread, process, track>"
    )
    assert repr(trace.event_classes[0]) == "<EventClass typed 's:a': n, text>"
    assert repr(trace.event_classes[0].fields[0]) == "<Field n: uint8>"
    many = event_class(Kind.TYPED, "e", "", **{f"f{i}": StringClass() for i in range(14)})
    assert repr(many).endswith("f10, f11, and 2 more>")
    nested = converter.Field("x", ArrayClass(OptionalClass(FloatClass(32)), 3), Role.VALUE, "K")
    assert repr(nested) == "<Field x: float32?[3], value, K>"


def test_columns_are_a_mapping_of_names():
    events = small_trace().events("a")
    assert isinstance(events, EventColumns)
    assert dict(events)["n"].tolist() == [3, 77]


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda trace: trace.events("sched_swich"), "no event is called sched_swich; the nearest"),
        (lambda trace: trace.events("a", fields=["m"]), "no event has a field m"),
        (lambda trace: list(trace.iter_events("nosuch")), "no event is called nosuch$"),
        (lambda trace: list(trace.stream_events(fields="nosuch")), "no event has a field nosuch$"),
        (
            lambda trace: list(converter.select(trace, converter.Selection(tids=99)).batches()),
            "no thread has the id 99$",
        ),
    ],
)
def test_a_name_that_nothing_has_is_a_warning_at_the_line_of_the_caller(ask, said):
    trace = trace_of(
        [event_class(Kind.TYPED, name, "s", n=IntegerClass(8)) for name in ("a", "sched_switch")],
        [(0, 1, 0, 0, [3]), (1, 2, 0, 0, [4])],
    )
    with pytest.warns(converter.SelectionWarning, match=said) as found:
        ask(trace)
    assert found[0].filename == __file__


def test_a_single_field_and_a_column_of_all_events_may_be_named():
    events = small_trace().events("a", fields="n")
    assert events.columns[-1] == "n"
    assert small_trace().events(["a"], fields=["ts", "n"])["n"].tolist() == [3, 77]
