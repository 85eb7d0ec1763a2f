import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.traces.small_traces import brief, event_class, events_of, projected, trace_of
from support.traces.target_capabilities import PROFILER, RECORDER, VIEWER

from converter.ir.columns import list_of_bytes
from converter.ir.field_classes import IntegerClass, StringClass
from converter.ir.kinds import Kind, Role
from converter.kernels.tables.strings import StringTable
from converter.projection.domain.atrace import KIND_OF_PHASE
from converter.projection.domain.markers import parse_marker_ids, parse_marker_texts

PRINT = event_class(
    Kind.MARK,
    "print",
    "ftrace",
    ip=(IntegerClass(64), Role.INSTRUCTION),
    buf=(StringClass(), Role.MESSAGE),
)


def parsed(*texts):
    strings = StringTable()
    rows = list_of_bytes(list(texts))
    columns = parse_marker_texts(strings, rows.values, rows.offsets)
    ids = np.array([strings.intern(text) for text in texts], np.int32)
    for one, other in zip(columns, parse_marker_ids(strings, ids), strict=True):
        np.testing.assert_array_equal(one, other)
    return [
        (chr(phase) if phase else "", tgid, strings[name], strings[track], value)
        for phase, tgid, name, track, value, _ in zip(*(c.tolist() for c in columns), strict=True)
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"B|12|a slice\n", ("B", 12, b"a slice", b"", 0)),
        (b"B|12|a|b|c", ("B", 12, b"a|b|c", b"", 0)),
        (b"B|12|", ("B", 12, b"[empty slice name]", b"", 0)),
        (b"B||name\0\0", ("B", -1, b"name", b"", 0)),
        (b"tracing_mark_write: B|1|x", ("B", 1, b"x", b"", 0)),
        (b"E", ("E", -1, b"", b"", 0)),
        (b"E\n", ("E", -1, b"", b"", 0)),
        (b"E|12", ("E", 12, b"", b"", 0)),
        (b"E|", ("E", -1, b"", b"", 0)),
        (b"E|12|M62", ("E", 12, b"", b"", 0)),
        (b"C|12|heap|size|-5", ("C", 12, b"heap|size", b"", -5)),
        (b"C|12|c|9223372036854775807", ("C", 12, b"c", b"", 2**63 - 1)),
        (b"C|12|c|-9223372036854775808", ("C", 12, b"c", b"", -(2**63))),
        (b"S|12|work|77", ("S", 12, b"work", b"", 77)),
        (b"F|12|work|77", ("F", 12, b"work", b"", 77)),
        # What follows is HarmonyOS's level of the trace, its category and arguments.
        (b"S|12|H:work|77|M62", ("S", 12, b"H:work", b"", 77)),
        (b"F|12|H:work|77|M62|cat|k=1", ("F", 12, b"H:work", b"", 77)),
        (b"C|12|c|-5|M62", ("C", 12, b"c", b"", -5)),
        (b"G|12|track|job|3|M62", ("G", 12, b"job", b"track", 3)),
        (b"S|12|a|b|5", ("S", 12, b"a|b", b"", 5)),
        (b"N|12|track|now|M62", ("N", 12, b"now", b"track", 0)),
        (b"I|12|now|M62", ("I", 12, b"now", b"", 0)),
        (b"I|12|now", ("I", 12, b"now", b"", 0)),
        (b"N|12|track|now", ("N", 12, b"now", b"track", 0)),
        (b"G|12|track|job|3", ("G", 12, b"job", b"track", 3)),
        (b"H|12|track|job|3", ("H", 12, b"job", b"track", 3)),
        (b"H|12|track|3", ("H", 12, b"", b"track", 3)),
        ("B|1|é".encode(), ("B", 1, "é".encode(), b"", 0)),
    ],
)
def test_messages(text, expected):
    assert parsed(text) == [expected]


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"\n",
        b"hello",
        b"Bang",
        b"B",
        b"B|x|name",
        b"B|-1|name",
        b"B|12",
        b"B|99999999999999999999|name",
        b"C|12|name",
        b"C|12|name|",
        b"C|12|name|1.5",
        b"C|12|name|9223372036854775808",
        b"C|12|5",
        b"S|12|name|",
        b"G|12|track|3",
        b"H|12|3",
        b"N|12|name",
        b"Q|12|name",
        b"tracing_mark_write: ",
    ],
)
def test_other_text(text):
    assert parsed(text)[0][0] == ""


@given(st.lists(st.one_of(st.binary(max_size=40), st.from_regex(rb"[A-Z]\|[0-9]*(\|[^\n\0]*)*"))))
def test_any_text_is_parsed_alike_from_both_kinds_of_column(texts):
    for phase, tgid, _, _, _ in parsed(*texts):
        assert phase == "" or phase in KIND_OF_PHASE
        assert tgid >= -1


def test_columns_are_checked():
    strings = StringTable()
    values = np.zeros(3, np.uint8)
    for offsets in ([0, 4], [2, 1], [-1, 0]):
        with pytest.raises(ValueError, match="text 0"):
            parse_marker_texts(strings, values, np.array(offsets))
    with pytest.raises(ValueError, match="no offsets"):
        parse_marker_texts(strings, values, np.zeros(0, np.int64))
    with pytest.raises(ValueError, match="string 1 of 1"):
        parse_marker_ids(strings, np.array([0, 1], np.int32))


MESSAGES = [
    b"B|10|outer\n",
    b"C|10|heap|5\n",
    b"S|10|async|7\n",
    b"I|10|now\n",
    b"G|10|track|job|3\n",
    b"H|10|track|job|3\n",
    b"N|10|track|tick\n",
    b"F|10|async|7\n",
    b"E|10\n",
    b"free text\n",
]


def marks(*messages, **options):
    return trace_of(
        [PRINT], [(0, i, 0, 1, (0x1234, text)) for i, text in enumerate(messages)], **options
    )


@pytest.mark.parametrize("strings_as_ids", [True, False])
def test_messages_become_a_timeline(strings_as_ids):
    target, losses = projected(marks(*MESSAGES, strings_as_ids=strings_as_ids), PROFILER)
    assert brief(target, "id", "value", "track") == [
        ("SLICE_BEGIN outer at t10", None, None, None),
        ("COUNTER heap at t10", 0, 5, None),
        ("ASYNC_BEGIN async at t10", 7, None, None),
        ("INSTANT now at t10", None, None, None),
        ("ASYNC_BEGIN job at t10", 3, None, "track"),
        ("ASYNC_END job at t10", 3, None, "track"),
        ("INSTANT tick at t10", None, None, "track"),
        ("ASYNC_END async at t10", 7, None, None),
        ("SLICE_END at t10", None, None, None),
        ("LOG at t10", None, None, None),
    ]
    fields = [fields for *_, fields in events_of(target)]
    assert fields[0] == {"name": "outer", "category": "", "ip": 0x1234, "cpu": 0}
    # The address is no value of the counter.
    assert fields[1]["ip"] == "4660"
    assert fields[-1] == {"message": "free text\n"}
    assert not any("process ids" in loss for loss in losses)


def test_text_is_an_instant_where_there_are_no_log_messages():
    target, _ = projected(marks(b"free text"), VIEWER)
    assert brief(target, "buf") == [("INSTANT print at t10", "free text")]


def test_all_is_text_where_there_is_no_timeline():
    target, _ = projected(marks(*MESSAGES), RECORDER)
    assert {event[1] for event in events_of(target)} == {Kind.TYPED}
    assert len(events_of(target)) == len(MESSAGES)


def test_a_counter_belongs_to_the_process_that_the_message_names():
    target, losses = projected(marks(b"C|11|heap|5", b"C|99|heap|5"), PROFILER)
    assert brief(target) == [("COUNTER heap at t11",), ("COUNTER heap at t10",)]
    assert "marker-process-id (1)" in losses


def test_messages_without_a_message():
    bare = event_class(Kind.MARK, "bputs", "ftrace", ip=(IntegerClass(64), Role.INSTRUCTION))
    target, _ = projected(trace_of([bare], [(0, 0, 0, 1, (1,))]), PROFILER)
    assert brief(target) == [("INSTANT bputs at t10",)]


def test_ends_on_tracks_have_the_names_of_their_begins():
    first = [b"G|10|t|one|1", b"G|10|t|two|2", b"G|10|u|three|1", b"H|10|t|1", b"H|10|t|9"]
    second = [b"H|10|u|1", b"G|10|t|four|2", b"H|10|t|2", b"H|10|t|2", b"H|10|t|own|1"]
    trace = trace_of(
        [PRINT],
        [(0, i, 0, 1, (0, text)) for i, text in enumerate(first)],
        [(0, 9, 0, 1, (0, text)) for text in second],
    )
    for _ in range(2):
        target, _ = projected(trace, PROFILER)
        ends = [fields["name"] for _, kind, _, fields in events_of(target) if "END" in kind.name]
        assert ends == ["one", "", "three", "four", "four", "own"]
