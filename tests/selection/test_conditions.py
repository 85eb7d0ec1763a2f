"""Conditions hold where evaluating them event by event says so; what is none is pointed at."""

import operator
from fnmatch import fnmatchcase

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.traces.small_traces import event_class, trace_of
from support.traces.strategies import traces

from converter.errors import SelectionError
from converter.ir.columns import value
from converter.ir.field_classes import (
    ArrayClass,
    BooleanClass,
    BytesClass,
    FloatClass,
    IntegerClass,
    Label,
    Member,
    OptionalClass,
    StringClass,
    StructureClass,
    VariantClass,
)
from converter.ir.kinds import Kind, Role
from converter.selection.conditions import Conditions, classes_wanted
from converter.selection.expressions import parse_clause
from converter.selection.selection import Selection

SIGNS = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def chosen(trace, **selection):
    """The numbers of the events of a trace that a selection wants, times apart."""
    conditions = Conditions(trace, Selection(**selection))
    masks = [conditions.mask(batch) for batch in trace.batches()]
    return np.flatnonzero(np.concatenate(masks)).tolist()


U8, I64, U64, TEXT = IntegerClass(8), IntegerClass(64, True), IntegerClass(64), StringClass()
STATE = IntegerClass(8, labels=(Label(0, 0, "R"), Label(1, 9, "S")))
FLAGS = IntegerClass(8, labels=(Label(1, 1, "off"), Label(4, 4, "resched")), flags=True)

SWITCH = event_class(
    Kind.SCHED_SWITCH,
    "sched_switch",
    "sched",
    prev_pid=(I64, Role.PREV_TID),
    prev_state=STATE,
    next_comm=(TEXT, Role.NEXT_COMM),
    next_pid=(I64, Role.NEXT_TID),
)
OTHER = event_class(
    Kind.TYPED,
    "other",
    "mine",
    pid=U8,
    big=U64,
    low=I64,
    flags=FLAGS,
    share=FloatClass(),
    on=BooleanClass(),
    maybe=OptionalClass(U8),
    either=VariantClass((Member("number", U8), Member("text", TEXT))),
    inner=StructureClass(
        (
            Member("depth", U8),
            Member("of.all", OptionalClass(TEXT)),
            Member("far", StructureClass((Member("x", U8),))),
        )
    ),
    data=BytesClass(),
    several=ArrayClass(U8),
)
SLICE = event_class(Kind.SLICE_BEGIN, name=(TEXT, Role.NAME), category=(TEXT, Role.CATEGORY))


def inner(depth, name):
    return [("depth", depth), ("of.all", name), ("far", [("x", depth)])]


TRACE = trace_of(
    [SWITCH, OTHER, SLICE],
    [
        (0, 100, 0, 1, (10, 0, b"xterm", 11)),
        (0, 200, 1, 2, (11, 1, b"bash", 0)),
        (1, 300, 0, 1, (1, 2**64 - 1, -1, 5, 0.5, 1, None, ("number", 3), inner(1, b"a"), b"", [])),
    ],
    [
        (1, 400, -1, -1, (2, 7, 7, 0, 2.0, 0, 4, ("text", b"t"), inner(2, None), b"x", [1])),
        (2, 500, -1, 0, (b"draw", b"ui")),
        (2, 600, -1, 0, (b"sched_switch", b"")),
    ],
)


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("sched_switch: prev_pid == 10", [0]),
        ("sched_switch: prev_pid == 10 && next_comm ~ 'x*'", [0]),
        ("sched:*: prev_pid == 10 || next_pid == 0", [0, 1]),
        ("prev_pid != 10", [1]),
        ("!(prev_pid == 10)", [1, 2, 3, 4, 5]),
        ("prev_pid in (10, 0xb)", [0, 1]),
        ("next_comm in ('bash', 'zsh')", [1]),
        ("next_comm !~ 'x*'", [1]),
        ("next_comm > 'c'", [0]),
        ('next_comm == "xterm" || pid == 2', [0]),
        (".pid == 2", [3]),
        ("pid == 10", [0, 2]),
        ("tid == 0", [4, 5]),
        ("comm == 't11'", [1]),
        ("cpu == 0", [0, 2]),
        ("cpu >= 0", [0, 1, 2]),
        ("cpu > -1", [0, 1, 2]),
        ("ts <= 200ns", [0, 1]),
        ("ts > 0.0000003", [3, 4, 5]),
        ("300ns < ts && ts < 600ns", [3, 4]),
        ("prev_state == 'S'", [1]),
        ("prev_state ~ '[RS]'", [0, 1]),
        ("prev_state != 'R'", [1]),
        ("flags == 'resched'", [2]),
        ("flags & 4", [2]),
        ("flags & 0x5 == 5", [2]),
        ("flags", [2]),
        ("share > 0.75", [3]),
        ("on", [2]),
        ("maybe == 4", [3]),
        ("maybe != 4", []),
        ("either == 3", [2]),
        ("either ~ '?'", [3]),
        ("inner.depth == 2", [3]),
        ("inner.of.all == 'a'", [2]),
        ("inner.depth.x == 2", []),
        ("inner.far.x == 2", [3]),
        ("pid.x == 2", []),
        ("big == 18446744073709551615", [2]),
        ("big == low", [3]),
        ("big > low", [2]),
        ("low < big", [2]),
        ("low == -1", [2]),
        ("low > -1", [3]),
        ("low < 18446744073709551615", [2, 3]),
        ("big >= -1", [2, 3]),
        ("`next_comm` == 'bash'", [1]),
        ("draw: name == 'draw'", [4]),
        ("ui:*: name", [4]),
        ("nothing == 1", []),
        ("data == 'x'", []),
        ("several == 1", []),
    ],
)
def test_conditions(where, expected):
    assert chosen(TRACE, where=(where,)) == expected


def test_one_of_several_conditions_is_enough():
    assert chosen(TRACE, where=("prev_pid == 10", "mine:other: on")) == [0, 2]


@pytest.mark.parametrize(
    ("where", "told"),
    [
        ("prev_pidd == 1 || cpu == 5", "no event has a field prev_pidd; the nearest is prev_pid"),
        # Fields of events that are not there are not told as well.
        (
            "sched_switsh: nothing == 1",
            "no event is called sched_switsh; the nearest is sched_switch",
        ),
        ("sched_switch: share > 1", "none of the events that are asked has a field share"),
    ],
)
def test_names_that_no_event_has_are_told(where, told):
    conditions = Conditions(TRACE, Selection(where=(where,)))
    for batch in TRACE.batches():
        conditions.mask(batch)
    assert conditions.unmatched() == [told]


@pytest.mark.parametrize(
    ("selection", "left_out"),
    [
        (Selection(events=("other",), cpus=frozenset({0})), [0]),
        (Selection(events=("other",), tids=("10",)), None),
        (Selection(where=("other: on",)), None),
    ],
)
def test_classes_that_a_reader_may_leave_out(selection, left_out):
    classes = [SWITCH, OTHER, SLICE]
    wanted = classes_wanted(selection, classes)
    assert left_out == (wanted and [n for n, one in enumerate(classes) if not wanted(one)])


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        (("sched_switch",), [0, 1, 5]),
        (("sched:*",), [0, 1]),
        (("mine:other", "draw"), [2, 3, 4]),
        (("!sched:*",), [2, 3, 4, 5]),
        (("*", "!ui:*"), [0, 1, 2, 3, 5]),
        (("slice_begin",), [4, 5]),
        (("nothing",), []),
    ],
)
def test_names_of_events(events, expected):
    assert chosen(TRACE, events=events) == expected


def test_cpus():
    assert chosen(TRACE, cpus=frozenset({1, 7})) == [1]


@pytest.mark.parametrize(
    ("text", "message", "position"),
    [
        ("sched_switch: prev_pid == && x", "a value is expected", 26),
        ("prev_pid = 5", "use == to compare", 9),
        ("prev_pid == 5 next_pid == 6", "the end is expected", 14),
        ("(a == 1", "')' is expected", 7),
        ("a in 5", "'(' is expected", 5),
        ("a in (1, b)", "a value is expected", 9),
        ("a ~ 5", "a pattern is expected", 4),
        ("a & 'x'", "a mask is an integer", 4),
        ("5 == 6", "a field is expected", 0),
        ("5", "a comparison is expected", 1),
        ("!", "a value is expected", 1),
        ("a == 'open", "the text has no closing quote", 5),
        ("a | b", "use || for or", 2),
        ("a == 5x", "this means nothing", 5),
        ("a & b", "a value is expected", 4),
        ("a == " + "9" * 50, "too many digits", 5),
        ("(" * 5000, "nested too deep", 100),
        ("!" * 5000, "nested too deep", 100),
    ],
)
def test_what_is_no_condition_is_pointed_at(text, message, position):
    with pytest.raises(
        SelectionError, match=message.replace("(", "\\(").replace(")", "\\)")
    ) as got:
        parse_clause(text)
    assert got.value.position == position


@given(st.text(alphabet="ab1.'\"()!&|=<>~ ,`:-x"))
def test_any_text_is_a_condition_or_an_error(text):
    try:
        clause = parse_clause(text)
    except SelectionError:
        return
    assert clause.text == text


@given(traces(), st.data())
def test_columns_compare_as_their_values_do(trace, data):
    fields = [
        field
        for one in trace.event_classes
        for field in one.fields
        if isinstance(field.type, IntegerClass | FloatClass | StringClass)
        and "`" not in field.name
        and "." not in field.name
        and field.name.strip()
    ]
    batches = list(trace.batches())
    if not fields or not batches:
        return
    field = data.draw(st.sampled_from(fields))
    held = [
        value(batch.tables[number].column(i), one.type, row, trace.strings)
        for batch in batches
        for number, table in batch.tables.items()
        for i, one in enumerate(trace.event_classes[number].fields)
        if one.name == field.name and isinstance(one.type, type(field.type))
        for row in range(len(table))
    ]
    numbers = st.integers(-(2**64), 2**65)
    simple = [item for item in held if isinstance(item, int) and not isinstance(item, bool)]
    if isinstance(field.type, StringClass):
        wanted = data.draw(st.sampled_from([b"a", b"", b"x*"]))
        sign = data.draw(st.sampled_from([*SIGNS, "~"]))
        text = f'.`{field.name}` {sign} "{wanted.decode()}"'
    else:
        wanted = data.draw(st.sampled_from(simple) if simple else numbers)
        sign = data.draw(st.sampled_from(list(SIGNS)))
        text = f".`{field.name}` {sign} {wanted}"
    conditions = Conditions(trace, Selection(where=(text,)))
    for batch in batches:
        mask = conditions.mask(batch)
        for place in range(len(batch)):
            number, row = int(batch.class_id[place]), int(batch.row[place])
            fields_here = trace.event_classes[number].fields
            first = next((i for i, f in enumerate(fields_here) if f.name == field.name), None)
            expected = False
            if first is not None:
                kind = fields_here[first].type
                item = value(batch.tables[number].column(first), kind, row, trace.strings)
                expected = naive(kind, item, sign, wanted)
            if expected is not None:
                assert bool(mask[place]) == expected


def naive(kind, item, sign, wanted):
    """What Python says of the two values; None where that is another matter."""
    match kind:
        case StringClass() if isinstance(wanted, bytes):
            if sign == "~":
                return fnmatchcase(item.decode("utf-8", "surrogateescape"), wanted.decode())
            return SIGNS[sign](item, wanted)
        case IntegerClass() | BooleanClass() if isinstance(wanted, int):
            return SIGNS[sign](int(item), wanted)
        case FloatClass() if isinstance(wanted, int):
            return bool(SIGNS[sign](item, float(wanted)))
        case IntegerClass() | FloatClass() | StringClass() | BooleanClass():
            return False if not getattr(kind, "labels", ()) else None
    return None
