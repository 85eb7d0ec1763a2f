"""Events of one time in Chrome JSON, whose viewers take ends first, then complete slices."""

from support.fxt.files import event, opened, start
from support.fxt.writer import Writer, number
from support.perfetto.files import File, kernel_event
from support.traces.small_traces import events_of
from support.viewers.trace_processor import answer, errors, needs_trace_processor

import converter
from converter.formats.chrome.capabilities import capabilities
from converter.formats.fxt.record_types import EventType as Event
from converter.ir.collect import collect
from converter.projection.project import project

ARROWS = "select a.name, b.name from flow f join slice a on a.id = f.slice_out join slice b on b.id = f.slice_in"
SLICES = "select name, ts, dur, depth from slice order by ts, name"
FROM, TO = (100, 101), (100, 102)


def fxt(tmp_path, *events):
    """A file with events of a kind, time, thread, and name or flow's id; complete slices have their end."""
    parts = [start("little")]
    for kind, ts, thread, name, *tail in events:
        flow = kind in (Event.FLOW_BEGIN, Event.FLOW_STEP, Event.FLOW_END)
        text = b"flow" if flow else name
        last = name if flow else (tail[0] if tail else None)
        parts.append(event("little", kind, ts, thread=thread, name=text, tail=last))
    path = tmp_path / "a.fxt"
    path.write_bytes(b"".join(parts))
    return path


def shown_otherwise(losses):
    return {one.code: one.count for one in losses if one.code.endswith("-at-shared-time")}


@needs_trace_processor
def test_a_flow_at_the_end_of_its_slice_moves_to_just_before(tmp_path):
    source = fxt(
        tmp_path,
        (Event.DURATION_BEGIN, 10, FROM, b"a"),
        (Event.FLOW_BEGIN, 20, FROM, 7),
        (Event.DURATION_END, 20, FROM, b"a"),
        (Event.DURATION_COMPLETE, 30, TO, b"around", 90),
        (Event.FLOW_END, 40, TO, 7),
        (Event.DURATION_COMPLETE, 40, TO, b"inside", 50),
    )
    target = tmp_path / "b.json"
    losses = converter.convert(source, target)
    assert not shown_otherwise(losses)
    assert {one.count for one in losses if one.code == "flow-moved-before-end"} == {2}
    for path in (source, target):
        assert [tuple(row) for row in answer(path, ARROWS)] == [("a", "around")]
        assert not errors(path)


@needs_trace_processor
def test_a_slice_that_takes_no_time_is_a_complete_one(tmp_path):
    source = fxt(
        tmp_path,
        (Event.DURATION_BEGIN, 10, FROM, b"a"),
        (Event.DURATION_BEGIN, 20, FROM, b"b"),
        (Event.DURATION_BEGIN, 20, FROM, b"c"),
        (Event.DURATION_END, 20, FROM, b"c"),
        (Event.DURATION_END, 20, FROM, b"b"),
        (Event.DURATION_BEGIN, 20, FROM, b"d"),
        (Event.DURATION_END, 30, FROM, b"d"),
        (Event.DURATION_END, 40, FROM, b"a"),
    )
    target = tmp_path / "b.json"
    losses = converter.convert(source, target)
    assert not shown_otherwise(losses)
    wanted = [["a", 10, 30, 0], ["b", 20, 0, 1], ["c", 20, 0, 2], ["d", 20, 10, 1]]
    for path in (source, target):
        assert [[row[0], *map(int, row[1:])] for row in answer(path, SLICES)] == wanted
        assert not errors(path)


def test_what_viewers_draw_otherwise_is_a_loss(tmp_path):
    source = fxt(
        tmp_path,
        (Event.DURATION_BEGIN, 10, FROM, b"a"),
        # Inside of a slice in the source, beside it in JSON.
        (Event.INSTANT, 20, FROM, b"i"),
        (Event.DURATION_END, 20, FROM, b"a"),
        (Event.DURATION_BEGIN, 10, TO, b"outer"),
        (Event.DURATION_BEGIN, 15, TO, b"inner"),
        (Event.DURATION_END, 20, TO, b"inner"),
        # In the outer one in the source, in none in JSON.
        (Event.FLOW_BEGIN, 20, TO, 7),
        (Event.DURATION_END, 20, TO, b"outer"),
    )
    assert shown_otherwise(converter.convert(source, tmp_path / "b.json")) == {
        "depth-at-shared-time": 1,
        "flow-at-shared-time": 1,
    }
    assert not shown_otherwise(converter.convert(source, tmp_path / "b.pftrace"))


def test_an_end_with_arguments_is_part_of_a_slice_that_takes_no_time():
    writer = Writer()
    writer.begin(10, FROM, b"a", arguments=[number(b"n", 1)])
    writer.begin(10, FROM, b"b", arguments=[number(b"n", 2), number(b"m", 3)])
    writer.end(10, FROM, b"b", arguments=[number(b"n", 4)])
    writer.end(10, FROM, b"a")
    writer.begin(20, FROM, b"c")
    writer.end(20, FROM, b"c", arguments=[number(b"k", 5)])
    target, _ = project(opened(writer.bytes()), capabilities(""), "chrome")
    found = [(one[1].name, one[3]) for one in events_of(collect(target))]
    assert [kind for kind, _ in found] == ["SLICE_COMPLETE"] * 3
    held = [{key: fields.get(key) for key in ("n", "m", "n#2", "k")} for _, fields in found]
    assert held == [
        {"n": 1, "m": None, "n#2": None, "k": None},
        {"n": 2, "m": 3, "n#2": 4, "k": None},
        {"n": None, "m": None, "n#2": None, "k": 5},
    ]


def test_a_slice_without_duration_before_a_longer_one_is_reported():
    writer = Writer()
    writer.slice(10, 10, FROM, b"point")
    writer.slice(10, 15, FROM, b"longer")
    target, losses = project(opened(writer.bytes()), capabilities(""), "chrome")
    collect(target)
    assert [one.count for one in losses if one.code == "depth-at-shared-time"] == [1]


@needs_trace_processor
def test_a_complete_slice_after_a_begin_of_its_time_is_inside(tmp_path):
    """trace_processor would take it before the begin, which would end with it."""
    source = fxt(
        tmp_path,
        (Event.DURATION_BEGIN, 10, FROM, b"pair"),
        (Event.DURATION_COMPLETE, 10, FROM, b"inside", 12),
        (Event.DURATION_END, 18, FROM, b"pair"),
        (Event.DURATION_COMPLETE, 20, FROM, b"alone", 25),
        (Event.DURATION_BEGIN, 20, TO, b"elsewhere"),
    )
    for suffix in ("json", "pftrace"):
        target = tmp_path / f"b.{suffix}"
        assert not shown_otherwise(converter.convert(source, target))
        for path in (source, target):
            assert [tuple(row) for row in answer(path, SLICES)] == [
                ("inside", "10", "2", "1"),
                ("pair", "10", "8", "0"),
                ("alone", "20", "5", "0"),
                ("elsewhere", "20", "-1", "0"),
            ]


@needs_trace_processor
def test_a_complete_slice_that_outlasts_a_begin_of_its_time_is_cut(tmp_path):
    target = tmp_path / "b.json"
    source = fxt(
        tmp_path,
        (Event.DURATION_BEGIN, 10, FROM, b"pair"),
        (Event.DURATION_COMPLETE, 10, FROM, b"longer", 20),
        (Event.DURATION_END, 18, FROM, b"pair"),
    )
    losses = converter.convert(source, target)
    assert [one.count for one in losses if one.code == "slice-end-cut"] == [1]
    assert [tuple(row) for row in answer(source, SLICES)] == [
        ("longer", "10", "10", "1"),
        ("pair", "10", "8", "0"),
    ]
    assert [tuple(row) for row in answer(target, SLICES)] == [
        ("longer", "10", "8", "1"),
        ("pair", "10", "8", "0"),
    ]


@needs_trace_processor
def test_interrupts_and_marks_that_take_no_time_end(tmp_path):
    file = File()
    bundle = file.bundle(0)
    kernel_event(bundle, 10, 5, "irq_handler_entry", irq=7, name="timer")
    kernel_event(bundle, 10, 5, "irq_handler_exit", irq=7, ret=1)
    kernel_event(bundle, 20, 5, "softirq_entry", vec=9)
    kernel_event(bundle, 20, 5, "softirq_exit", vec=9)
    kernel_event(bundle, 30, 5, "print", buf="B|5|mark\n")
    kernel_event(bundle, 30, 5, "print", buf="E|5\n")
    source, target = tmp_path / "a.pftrace", tmp_path / "b.json"
    source.write_bytes(file.bytes())
    losses = converter.convert(source, target)
    # An interrupt's begin and end have the same number.
    assert "field-renamed" not in {one.code for one in losses}
    for path in (source, target):
        assert [tuple(row) for row in answer(path, SLICES)] == [
            ("IRQ (timer)", "10", "0", "0"),
            ("RCU", "20", "0", "0"),
            ("mark", "30", "0", "0"),
        ]
