"""Samples of call stacks in formats of events: what each keeps of their names, weights and frames."""

import json

import pytest
from support.traces.strategies import batch_of

import converter
from converter.ir.collect import collect, with_batches
from converter.ir.columns import value
from converter.ir.events import EventClass
from converter.ir.kinds import Kind
from converter.ir.trace import Process, Thread, Trace
from converter.projection.timeline_fields import FRAMES, weight

FRAME = {"function": "leaf", "mapping": "/bin/app", "rel_pc": 16, "source": "", "line": 0}
STACK = [(name, one.encode() if isinstance(one, str) else one) for name, one in FRAME.items()]


def trace():
    made = Trace(
        format="other",
        processes=[Process(10, "app")],
        threads=[Thread(11, 0, "worker")],
        event_classes=[EventClass(Kind.SAMPLE, "cycles", fields=(FRAMES, weight("")))],
    )
    rows = [(0, 100, 1, 0, -1, ([STACK, STACK], 7)), (0, 200, 1, 0, -1, ([], 8))]
    return with_batches(made, [batch_of(made, rows)])


def kept(path):
    """The kind, the name, and the fields of the events that a file has."""
    read = collect(converter.read(path))
    found = []
    for batch in read.batches():
        for number, row in zip(batch.class_id.tolist(), batch.row.tolist(), strict=True):
            event_class, table = read.event_classes[number], batch.tables[number]
            values = {
                field.name: value(table.column(i), field.type, row, read.strings)
                for i, field in enumerate(event_class.fields)
            }
            name = values.get("name", event_class.name.encode())
            found.append((event_class.kind, name, values["frames"], values["weight"]))
    return found


@pytest.mark.parametrize("name", ["x.ctf", "x.parquet", "x.arrow", "x.tcir"])
def test_stacks_stay_lists_of_frames(tmp_path, name):
    converter.write(trace(), tmp_path / name)
    stacks = ([STACK, STACK], 7), ([], 8)
    assert kept(tmp_path / name) == [(Kind.SAMPLE, b"cycles", *one) for one in stacks]


@pytest.mark.parametrize(
    ("name", "kind"),
    [("x.dat", Kind.TYPED), ("x.lttng", Kind.TYPED), ("x.fxt", Kind.INSTANT)],
)
def test_stacks_are_text_in_events_and_instants(tmp_path, name, kind):
    report = converter.write(trace(), tmp_path / name)
    (first, second) = kept(tmp_path / name)
    assert first[:2] == second[:2] == (kind, b"cycles")
    assert (first[3], second[3]) == (7, 8)
    # Addresses are hexadecimal there.
    assert json.loads(first[2]) == [{**FRAME, "rel_pc": "0x10"}] * 2
    assert second[2] == b"[]"
    assert {"event-as", "field-as-text"} <= {loss.code for loss in report}
