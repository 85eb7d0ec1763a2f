"""What FXT's conventions make of events of other formats."""

from __future__ import annotations

import json

import numpy as np
from support.fxt.files import events, opened, written
from support.traces.losses import line_of
from support.traces.small_traces import events_of

import converter
from converter.formats.fxt.capabilities import capabilities
from converter.formats.fxt.mapping import MODULE, NATIVE, SAMPLE
from converter.ir.canonical import difference
from converter.ir.collect import collect, with_batches
from converter.ir.columns import ListColumn, list_of_bytes
from converter.ir.events import Batch, EventClass, Field, Table
from converter.ir.field_classes import ArrayClass, IntegerClass, StringClass
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Process, Thread, Trace
from converter.projection.project import project


def slices_of_json(tmp_path, *slices):
    """Names of complete slices of a JSON document in the order of the FXT file, with other kinds and all losses."""
    members = ({"ph": "X", "pid": 1, "tid": 1, "name": n, "ts": t, "dur": d} for n, t, d in slices)
    (tmp_path / "a.json").write_text(json.dumps({"traceEvents": list(members)}))
    report = converter.convert(tmp_path / "a.json", tmp_path / "a.fxt")
    trace = converter.read(tmp_path / "a.fxt")
    shown = [(kind.name, fields.get("name")) for _, kind, _, fields in events_of(trace)]
    return shown, [line_of(loss) for loss in report]


def test_slices_of_one_time_begin_with_the_longest(tmp_path):
    slices = ("child", 1, 5), ("parent", 1, 10), ("5 ns", 20, 0.005)
    shown, losses = slices_of_json(tmp_path, *slices)
    assert shown == [("SLICE_COMPLETE", name) for name in ("parent", "child", "5 ns")]
    assert losses == []


def projected(event_class, columns, *, cpu=None):
    """A trace of one batch of events of one class, projected, and its losses as text."""
    count = len(columns[0])
    trace = Trace(
        format="other",
        processes=[Process(1)],
        threads=[Thread(1, 0)],
        event_classes=[event_class],
    )
    columns = [
        np.array([trace.strings.intern(text) for text in column], np.int32)
        if isinstance(column, list)
        else column
        for column in columns
    ]
    batch = Batch(
        ts=np.arange(count, dtype=np.int64),
        class_id=np.zeros(count, np.int32),
        row=np.arange(count, dtype=np.int32),
        tables={0: Table(count, columns)},
        thread=np.zeros(count, np.int32),
        cpu=cpu,
    )
    target, report = project(with_batches(trace, [batch]), capabilities(""), "fxt")
    target = collect(target)
    assert difference(target, opened(written(target))) is None
    return target, [line_of(loss) for loss in report]


def declared(shape):
    return EventClass(
        shape.kind, fields=tuple(field for field, _ in shape.fields), timed=shape.timed
    )


def test_long_stacks_are_cut():
    frames = ListColumn(np.array([0, 2, 302]), np.arange(302, dtype=np.uint64))
    target, losses = projected(declared(SAMPLE), [frames])
    assert [one["frames"] for one in events(target)] == [[0, 1], list(range(2, 257))]
    assert losses == ["list-cut event=sample field=frames limit=255 (1)"]


def test_samples_of_functions_are_instants_with_their_stack():
    frames = Field("frames", ArrayClass(StringClass()), Role.FRAMES)
    weight = Field("weight", IntegerClass(64, signed=True), Role.COUNT)
    event_class = EventClass(Kind.SAMPLE, "cycles", fields=(frames, weight))
    stacks = ListColumn(np.array([0, 2]), np.zeros(2, np.int32))
    target, losses = projected(event_class, [stacks, np.array([7])])
    (shown,) = events(target)
    assert (shown["name"], shown["weight"]) == (b"cycles", 7)
    assert [one["function"] for one in json.loads(shown["frames"])] == ["", ""]
    assert "event-as event=cycles shown=instant (1)" in losses


def test_long_names_and_build_ids_of_modules_are_cut():
    names = [b"libc.so", b"n" * 255, b"n" * 254 + "ö".encode()]
    build_ids = list_of_bytes([bytes(20), bytes(255), bytes(256)])
    target, losses = projected(declared(MODULE), [np.zeros(3, np.uint16), names, build_ids])
    assert [one["name"] for one in events(target)] == [b"libc.so", b"n" * 255, b"n" * 254]
    assert [len(one["build_id"]) for one in events(target)] == [20, 255, 255]
    assert losses == [
        "list-cut event=module field=build_id limit=255 (1)",
        "text-cut event=module field=name limit=255 (1)",
    ]


def test_native_records_of_other_formats_are_dropped():
    target, losses = projected(declared(NATIVE), [np.zeros(1, np.uint8), list_of_bytes([b"x"])])
    assert events(target) == []
    assert "native-dropped format=other name=unnamed (1)" in losses


def test_context_switches_get_weights():
    fields = (
        Field("prev_pid", IntegerClass(32, True), Role.PREV_TID),
        Field("next_pid", IntegerClass(32, True), Role.NEXT_TID),
    )
    columns = [np.array([0, 5], np.int32), np.array([5, 0], np.int32)]
    cpu = np.array([3, 3], np.int32)
    target, _ = projected(
        EventClass(Kind.SCHED_SWITCH, "sched_switch", "sched", fields), columns, cpu=cpu
    )
    idle = -(1 << 31)
    weights = [(one["outgoing_weight"], one["incoming_weight"]) for one in events(target)]
    assert weights == [(idle, 0), (0, idle)]
    assert [one["cpu"] for one in events(target)] == [3, 3]


def test_weights_are_priorities_and_states_that_fxt_lacks_are_named():
    fields = (
        Field("prev_pid", IntegerClass(32, True), Role.PREV_TID),
        Field("prev_prio", IntegerClass(32, True), Role.PREV_PRIORITY),
        Field("prev_state", IntegerClass(64, True), Role.PREV_STATE),
        Field("next_pid", IntegerClass(32, True), Role.NEXT_TID),
        Field("next_prio", IntegerClass(32, True), Role.NEXT_PRIORITY),
    )
    interruptible, uninterruptible, preempted = 1, 2, 256
    columns = [
        *(np.array([5, 6, 0], np.int32), np.array([120, 97, 120], np.int32)),
        np.array([interruptible, uninterruptible, preempted]),
        *(np.array([6, 0, 5], np.int32), np.array([97, 120, -2], np.int32)),
    ]
    event_class = EventClass(Kind.SCHED_SWITCH, "sched_switch", "sched", fields)
    target, losses = projected(event_class, columns, cpu=np.zeros(3, np.int32))
    idle = -(1 << 31)
    weights = [(one["outgoing_weight"], one["incoming_weight"]) for one in events(target)]
    assert weights == [(120, 97), (97, idle), (idle, -2)]
    assert {one for one in losses if one.startswith("state-")} == {
        "state-shown-as shown=S was=D (1)",
        "state-shown-as shown=R was=R+ (1)",
    }
