"""Arrow tables have each value of each event, whatever its type."""

import math
import sys
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from support.traces.small_traces import event_class, trace_of
from support.traces.strategies import traces

import converter
from converter.ir.columns import value
from converter.ir.display.text import unique_names
from converter.ir.field_classes import (
    ArrayClass,
    BytesClass,
    FloatClass,
    IntegerClass,
    Label,
    OptionalClass,
    StringClass,
    StructureClass,
    VariantClass,
)
from converter.ir.kinds import Kind, Role
from converter.ir.trace import ClockDomain

pa = pytest.importorskip("pyarrow", minversion="14.0.1")

GENERATED = Path(__file__).parent.parent.parent / "roundtrip_fixtures" / "generated"


def plain(field_class, item):
    """A value of the representation as Arrow gives it."""
    match field_class:
        case StringClass():
            return item.decode("utf-8", "backslashreplace")
        case FloatClass() if math.isnan(item):
            return "NaN"
        case ArrayClass(element):
            return [plain(element, one) for one in item]
        case StructureClass(members):
            names = unique_names([in_c(member.name) for member in members])
            return {
                name: plain(member.type, held)
                for name, member, (_, held) in zip(names, members, item, strict=True)
            }
        case VariantClass(options):
            names = unique_names([in_c(option.name) for option in options])
            return {
                name: plain(option.type, item[1]) if option.name == item[0] else None
                for name, option in zip(names, options, strict=True)
            }
        case OptionalClass(element):
            return None if item is None else plain(element, item)
    return item


def utf8(text):
    """A name as Arrow can hold it."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def in_c(text):
    """The same where Arrow's C interface ends it at a NUL."""
    return utf8(text).replace("\0", "\\x00")


def without_nan(item):
    if isinstance(item, float) and math.isnan(item):
        return "NaN"
    if isinstance(item, list):
        return [without_nan(one) for one in item]
    if isinstance(item, dict):
        return {name: without_nan(one) for name, one in item.items()}
    return item


def shown(table, column):
    """The values of a column; times as they are stored."""
    held = table[column]
    if pa.types.is_duration(held.type) or pa.types.is_timestamp(held.type):
        held = held.cast(pa.int64())
    return [without_nan(item) for item in held.to_pylist()]


def column_of(table, trace, number, index):
    """The column that a field of a class is in: its name is the field's, alone or behind the event's."""
    event_class = trace.event_classes[number]
    names = unique_names([in_c(field.name) or "field" for field in event_class.fields])
    return names[index], f"{in_c(event_class.name) or event_class.kind.name.lower()}.{names[index]}"


@given(traces())
def test_each_value_of_each_event_is_in_its_row(trace):
    table = trace.to_arrow()
    table.validate(full=True)
    columns = {name: shown(table, name) for name in table.column_names}
    at = 0
    for batch in trace.batches():
        for i in range(len(batch)):
            number = int(batch.class_id[i])
            event_class = trace.event_classes[number]
            assert columns["event"][at] == (utf8(event_class.name) or event_class.kind.name.lower())
            assert columns["kind"][at] == event_class.kind.name.lower()
            thread = trace.threads[batch.thread[i]] if batch.thread[i] >= 0 else None
            assert columns["tid"][at] == (thread and thread.tid)
            assert columns["cpu"][at] == (int(batch.cpu[i]) if batch.cpu[i] >= 0 else None)
            for index, field in enumerate(event_class.fields):
                if field.role in {Role.DURATION, Role.THREAD_TIME, Role.THREAD_DURATION}:
                    continue
                held = value(
                    batch.tables[number].column(index),
                    field.type,
                    int(batch.row[i]),
                    trace.strings,
                )
                name, qualified = column_of(table, trace, number, index)
                candidates = [
                    one
                    for one in table.column_names
                    if one in {name, qualified} or one.startswith(f"{qualified}#")
                ]
                assert plain(field.type, held) in [columns[one][at] for one in candidates]
            at += 1
    assert table.num_rows == at


@given(traces())
def test_a_stream_has_what_a_table_has(trace):
    table = trace.to_arrow()
    streamed = pa.RecordBatchReader.from_stream(trace).read_all()
    assert streamed.schema == table.schema
    assert [shown(streamed, name) for name in table.column_names] == [
        shown(table, name) for name in table.column_names
    ]


@pytest.mark.parametrize(
    "path", sorted(GENERATED.glob("*.losses.json")), ids=lambda path: path.name
)
def test_of_every_format(path):
    made = path.name.removesuffix(".losses.json")
    (path,) = (
        set(GENERATED.glob(f"{made}.*"))
        - set(GENERATED.glob("*.*.json"))
        - set(GENERATED.glob("*.trcfmt"))
    )
    with converter.open_trace(path) as trace:
        table = trace.to_arrow()
        events = sum(len(batch) for batch in trace.batches())
    table.validate(full=True)
    assert table.num_rows == events > 0


def test_times_are_nanoseconds_and_dates():
    switch = event_class(Kind.TYPED, "e", "s", n=IntegerClass(8))
    trace = trace_of(
        [switch],
        [(0, 30, 0, 0, [1]), (0, 45, 0, 0, [2])],
        clock=ClockDomain("c", Fraction(3_000_000_000), epoch_ns=1_000_000),
    )
    table = trace.to_arrow()
    assert (shown(table, "ts"), shown(table, "time")) == ([10, 15], [1_000_010, 1_000_015])
    assert table.schema.field("time").type == pa.timestamp("ns", "UTC")


def test_a_time_beyond_the_calendar_is_null():
    switch = event_class(Kind.TYPED, "e", "s", n=IntegerClass(8))
    trace = trace_of(
        [switch],
        [(0, 5, 0, 0, [1]), (0, 2**63 - 1, 0, 0, [2])],
        clock=ClockDomain("c", epoch_ns=7),
    )
    assert shown(trace.to_arrow(), "time") == [12, None]


def test_ticks_of_unknown_length_stay_ticks():
    switch = event_class(Kind.TYPED, "e", "s", n=IntegerClass(8))
    trace = trace_of([switch], [(0, 5, 0, 0, [1])], clock=ClockDomain("c", None, epoch_ns=7))
    table = trace.to_arrow()
    assert table.schema.field("ts").type == pa.int64()
    assert (shown(table, "ts"), shown(table, "time")) == ([5], [None])


def test_negative_ids_are_their_bits():
    made = event_class(Kind.TYPED)
    trace = trace_of([made], [(0, 1, 0, 0, []), (0, 2, 0, 1, [])], tids=(-5, 7))
    assert trace.to_arrow()["tid"].to_pylist() == [(1 << 64) - 5, 7]


def test_labels_and_texts_are_dictionaries():
    labelled = IntegerClass(8, labels=(Label(0, 0, "off"), Label(1, 9, "on")))
    flags = IntegerClass(8, labels=(Label(1, 1, "A"), Label(2, 2, "B")), flags=True)
    first = event_class(Kind.TYPED, "e", "s", state=labelled, flags=flags, text=StringClass())
    trace = trace_of(
        [first],
        [(0, 1, 0, 0, [0, 3, b"x"]), (0, 2, 0, 0, [5, 0, b"\xff"]), (0, 3, 0, 0, [77, 4, b"x"])],
    )
    table = trace.to_arrow()
    assert shown(table, "state") == [0, 5, 77]
    assert shown(table, "state_label") == ["off", "on", None]
    assert shown(table, "flags_label") == ["A|B", None, None]
    assert shown(table, "text") == ["x", "\\xff", "x"]
    assert len(table["text"].chunk(0).dictionary) == 2


def test_classes_share_a_column_if_its_type_is_the_same():
    first = event_class(Kind.TYPED, "a", "s", n=IntegerClass(8), pid=IntegerClass(8))
    second = event_class(Kind.TYPED, "b", "s", n=IntegerClass(8), pid=StringClass())
    third = event_class(Kind.TYPED, "c", "s", n=BytesClass())
    trace = trace_of(
        [first, second, third],
        [(0, 1, 0, 1, [1, 2]), (1, 2, 0, 1, [3, b"p"]), (2, 3, 0, -1, [b"\0"])],
    )
    table = trace.to_arrow()
    assert shown(table, "n") == [1, 3, None]
    assert shown(table, "c.n") == [None, None, b"\0"]
    # What all events have keeps its name.
    assert shown(table, "pid") == [10, 10, None]
    assert shown(table, "a.pid") == [2, None, None]
    assert shown(table, "b.pid") == [None, "p", None]


def test_events_are_wanted_by_name():
    first = event_class(Kind.TYPED, "a", "s", n=IntegerClass(8))
    second = event_class(Kind.TYPED, "b", "s", m=IntegerClass(8))
    trace = trace_of([first, second], [(0, 1, 0, 0, [1]), (1, 2, 0, 0, [2])])
    assert trace.to_arrow("s:b").column_names[-1] == "m"
    assert trace.to_arrow_reader("!b").read_all().column_names[-1] == "n"


def test_without_pyarrow_it_says_what_to_install(monkeypatch):
    for module in [name for name in sys.modules if name.startswith("converter.analysis.arrow")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    trace = trace_of([event_class(Kind.TYPED, "a", "s")], [])
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'traceconv\[arrow\]'"):
        trace.to_arrow()


def test_a_trace_is_shown_in_one_line():
    trace = trace_of([event_class(Kind.TYPED, "a", "s")], [(0, 1, 0, 0, []), (0, 9, 0, 0, [])])
    assert repr(trace) == (
        "<Trace none: 1 event classes, 3 threads of 3 processes, 0 tracks, clock ns>"
    )
    (batch,) = trace.batches()
    assert repr(batch) == "<Batch of 2 events of 1 classes from 1 to 9>"
    assert repr(batch.tables[0]) == "<Table of 2 rows, 0 columns>"
