"""Flows in formats whose viewers bind them otherwise: to which slice, and which events belong together."""

import json

import pytest
from support.fxt.files import event, start
from support.perfetto.files import BEGIN, END, File
from support.traces.small_traces import event_class, events_of, trace_of
from support.viewers.trace_processor import answer, errors, needs_trace_processor

import converter
from converter.formats.fxt.record_types import EventType as Event
from converter.ir.field_classes import StringClass
from converter.ir.kinds import Kind, Role
from converter.ir.semantics import FlowBinding, Semantics, semantics_form, semantics_of
from converter.projection.losses import LossReport
from converter.projection.passes.flows.next_slices import at_next_slices

ARROWS = """select a.name, b.name from flow f
    join slice a on a.id = f.slice_out join slice b on b.id = f.slice_in order by 1, 2"""
COMPLETE, BEGINS, ENDS = Event.DURATION_COMPLETE, Event.DURATION_BEGIN, Event.DURATION_END


def arrows(path):
    return [tuple(row) for row in answer(path, ARROWS)]


def fxt(path, *events):
    """A file with events of a kind, time, thread, and name or flow's id; complete slices have their end."""
    parts = [start("little")]
    for kind, ts, tid, name, *tail in events:
        flow = kind in (Event.FLOW_BEGIN, Event.FLOW_STEP, Event.FLOW_END)
        text = b"flow" if flow else name
        last = name if flow else (tail[0] if tail else None)
        parts.append(event("little", kind, ts, thread=(100, tid), name=text, tail=last))
    path.write_bytes(b"".join(parts))
    return path


@needs_trace_processor
def test_flows_outside_of_slices_are_at_no_other_slice(tmp_path):
    source = fxt(
        tmp_path / "a.fxt",
        # The slice of no time has ended when the flow begins, which is before the slice of its time.
        (BEGINS, 10, 1, b"ended"),
        (ENDS, 10, 1, b"ended"),
        (Event.FLOW_BEGIN, 20, 1, 1),
        (COMPLETE, 20, 1, b"late", 30),
        (COMPLETE, 40, 2, b"end", 50),
        (Event.FLOW_END, 41, 2, 1),
        # An end outside of slices ends nothing: the second begin is ignored.
        (COMPLETE, 50, 1, b"from", 60),
        (Event.FLOW_BEGIN, 51, 1, 2),
        (Event.FLOW_END, 60, 3, 2),
        (COMPLETE, 60, 3, b"early", 70),
        (COMPLETE, 80, 2, b"again", 90),
        (Event.FLOW_BEGIN, 81, 2, 2),
        (COMPLETE, 100, 3, b"to", 110),
        (Event.FLOW_END, 101, 3, 2),
    )
    assert arrows(source) == [("from", "to")]
    for target in ("json", "pftrace"):
        path = tmp_path / f"a.{target}"
        report = converter.convert(source, path)
        assert [one.count for one in report if one.code == "flow-outside-slices"] == [2]
        assert arrows(path) == [("from", "to")]


@needs_trace_processor
def test_flows_at_the_end_of_complete_slices_and_after_it(tmp_path):
    source = fxt(
        tmp_path / "a.fxt",
        # At the very end of a slice, and inside of another that ends there, too.
        (COMPLETE, 5, 1, b"out", 20),
        (COMPLETE, 10, 1, b"a", 20),
        (Event.FLOW_BEGIN, 20, 1, 1),
        (COMPLETE, 30, 2, b"b", 40),
        (Event.FLOW_STEP, 40, 2, 1),
        (COMPLETE, 40, 2, b"next", 50),
        (COMPLETE, 50, 3, b"c", 60),
        (Event.FLOW_END, 60, 3, 1),
        # Later than the end, with something else inside.
        (COMPLETE, 10, 4, b"d", 20),
        (Event.INSTANT, 15, 4, b"i"),
        (Event.FLOW_BEGIN, 25, 4, 2),
        (COMPLETE, 30, 5, b"e", 40),
        (Event.FLOW_END, 70, 5, 2),
    )
    wanted = [("a", "b"), ("b", "c"), ("i", "e")]
    assert arrows(source) == wanted
    for name in ("b.pftrace", "c.json"):
        losses = converter.convert(source, tmp_path / name)
        assert arrows(tmp_path / name) == wanted, name
        assert not errors(tmp_path / name)
        assert not [one for one in losses if "flow" in one.code and one.loss_class == "shown"]


@needs_trace_processor
def test_an_id_that_the_end_of_a_flow_sets_free(tmp_path):
    source = fxt(
        tmp_path / "a.fxt",
        *(
            one
            for n in range(3)
            for one in (
                (COMPLETE, 100 * n, 1, b"from%d" % n, 100 * n + 10),
                (Event.FLOW_BEGIN, 100 * n + 5, 1, 7),
                (COMPLETE, 100 * n + 20, 2, b"to%d" % n, 100 * n + 30),
                (Event.FLOW_END, 100 * n + 25, 2, 7),
            )
        ),
    )
    wanted = [(f"from{n}", f"to{n}") for n in range(3)]
    for path in (source, tmp_path / "b.pftrace", tmp_path / "c.json"):
        if path != source:
            converter.convert(source, path)
        assert arrows(path) == wanted, path
        assert not errors(path)


def json_file(path, *events):
    path.write_text(json.dumps([{"pid": 1, **one} for one in events]))
    return path


def complete(name, ts, tid, **more):
    return {"ph": "X", "name": name, "ts": ts, "dur": 10, "tid": tid, **more}


def flow(phase, ts, tid, id=1, name="f", **more):
    return {"ph": phase, "ts": ts, "tid": tid, "id": id, "name": name, "cat": "c", **more}


@needs_trace_processor
def test_flows_to_the_next_slice_in_fxt(tmp_path):
    source = json_file(
        tmp_path / "a.json",
        complete("s", 0, 1),
        flow("s", 1, 1),
        flow("f", 15, 2),
        complete("around", 10, 3),
        flow("f", 15, 3, 2),
        flow("s", 2, 1, 2),
        complete("next", 20, 2),
        # An instant is a slice, too.
        {"ph": "i", "s": "t", "ts": 17, "tid": 3, "name": "instant"},
    )
    target = tmp_path / "b.fxt"
    losses = {one.code: one for one in converter.convert(source, target)}
    assert arrows(target) == arrows(source) == [("s", "instant"), ("s", "next")]
    assert not errors(target)
    moved = losses["flow-moved-to-next-slice"]
    assert (moved.count, moved.loss_class) == (2, "kept")


def test_ends_of_flows_wait_for_many_batches():
    name = {"name": (StringClass(), Role.NAME)}
    classes = [event_class(Kind.SLICE_BEGIN, **name), event_class(Kind.FLOW_END, **name)]
    batches = [
        [(1, 5, -1, 0, (b"f1",)), (1, 6, -1, 1, (b"f2",))],
        [(0, 10, -1, 1, (b"other",))],
        [(1, 12, -1, 1, (b"f3",)), (0, 15, -1, 0, (b"own",))],
    ]
    trace = trace_of(classes, *batches)
    trace.semantics = Semantics(flows=FlowBinding.NEXT_UNLESS_STATED)
    report = LossReport()
    result = at_next_slices(trace, report)
    seen = [(ts, fields["name"]) for ts, _, _, fields in events_of(result)]
    assert seen == [(10, "other"), (10, "f2"), (15, "own"), (15, "f1")]
    assert {one.code: one.count for one in report} == {
        "flow-moved-to-next-slice": 2,
        "flow-end-without-slice": 1,
    }


@needs_trace_processor
def test_flow_ids_of_slices(tmp_path):
    ids = {"bind_id": "0x111"}
    source = json_file(
        tmp_path / "a.json",
        complete("a", 0, 1, flow_out=True, **ids),
        complete("b", 20, 2, flow_in=True, flow_out=True, **ids),
        {"ph": "B", "name": "c", "ts": 40, "tid": 3, "flow_in": True, **ids},
        # Where they end, viewers of JSON do not look for them, nor at instants.
        {"ph": "E", "ts": 50, "tid": 3, "flow_in": True, **ids},
        {"ph": "i", "s": "t", "name": "i", "ts": 60, "tid": 3, "flow_in": True, **ids},
    )
    assert arrows(source) == [("a", "b"), ("b", "c")]
    for name in ("b.pftrace", "c.fxt"):
        losses = converter.convert(source, tmp_path / name)
        assert arrows(tmp_path / name) == arrows(source), name
        left_out = "flow-id-not-followed"
        assert [one.count for one in losses if one.code == left_out] == [2]


@needs_trace_processor
def test_flow_ids_at_the_end_of_a_slice_of_perfetto(tmp_path):
    file = File()
    for tid in (1, 2):
        file.thread_track(tid, 1, tid, f"t{tid}")
    for ts, kind, tid, direction in ((0, BEGIN, 1, 0), (10, END, 1, 2), (20, BEGIN, 2, 1)):
        made = file.event(1000 * ts, kind, "ab"[tid - 1] if kind == BEGIN else "", tid)
        if direction:
            made.legacy_event.bind_id = 0x111
            made.legacy_event.flow_direction = direction
    file.event(30_000, END, "", 2)
    source = tmp_path / "a.pftrace"
    source.write_bytes(file.bytes())
    assert arrows(source) == [("a", "b")]
    for name in ("b.fxt", "c.pftrace"):
        converter.convert(source, tmp_path / name)
        assert arrows(tmp_path / name) == [("a", "b")], name
    losses = {one.code: one for one in converter.convert(source, tmp_path / "d.json")}
    lost = losses["arrows-at-ends"]
    assert (lost.count, lost.loss_class) == (1, "shown")


@needs_trace_processor
def test_flows_of_one_id_and_several_names_in_fxt(tmp_path):
    source = json_file(
        tmp_path / "a.json",
        complete("a", 0, 1),
        complete("b", 0, 2),
        flow("s", 1, 1),
        flow("s", 1, 2, name="g"),
        complete("c", 20, 1),
        complete("d", 20, 2),
        flow("f", 21, 1, name="g", bp="e"),
        flow("f", 21, 2, bp="e"),
        complete("e", 40, 1),
        flow("s", 41, 1, id="abc"),
        complete("g", 60, 2),
        flow("f", 61, 2, id="0xabc", bp="e"),
        # A flow ends a second time: an arrow that FXT does not have.
        complete("h", 80, 2),
        flow("f", 81, 2, bp="e"),
    )
    assert arrows(source) == [("a", "d"), ("a", "h"), ("b", "c"), ("e", "g")]
    target = tmp_path / "b.fxt"
    losses = {one.code: one for one in converter.convert(source, target)}
    assert arrows(target) == [("a", "d"), ("b", "c"), ("e", "g")]
    lost = losses["flow-after-end"]
    assert (lost.count, lost.loss_class) == (1, "shown")


@pytest.mark.parametrize("name", ["chrome", "fxt", "perfetto"])
def test_rules_survive_as_values(name):
    module = pytest.importorskip(f"converter.formats.{name}.mapping")
    assert semantics_of(semantics_form(module.SEMANTICS)) == module.SEMANTICS
