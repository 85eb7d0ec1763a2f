"""Profiles of V8 in JSON are samples in Perfetto's traces, and profiles again in JSON made of these."""

import json
import random

from draw_json import GRAMMAR
from support.traces.losses import line_of
from support.viewers.drawing import shown
from support.viewers.trace_processor import needs_trace_processor

import converter
from converter.ir.kinds import Kind, Role
from converter.projection.project import project
from converter.registry import format_named

PLACE = {"ph": "P", "id": "0x1", "cat": "v8", "pid": 1, "tid": 2}


def node(number, name, parent=None):
    around = {} if parent is None else {"parent": parent}
    return {"id": number, "callFrame": {"functionName": name, "url": "u"}, **around}


def chunk(ts, nodes, samples, deltas):
    data = {"cpuProfile": {"nodes": nodes, "samples": samples}, "timeDeltas": deltas}
    return {**PLACE, "name": "ProfileChunk", "ts": ts, "args": {"data": data}}


def start(ts):
    return {**PLACE, "name": "Profile", "ts": ts, "args": {"data": {"startTime": ts}}}


PROFILE = [
    start(100),
    chunk(200, [node(1, "root"), node(2, "main", 1)], [2, 1, 2], [10, 20, 5]),
    chunk(300, [node(7, "leaf", 2), node(8, "", 7)], [7, 8, 9], [-3, 40, 1]),
    {"ph": "X", "name": "x", "ts": 100, "dur": 5, "pid": 1, "tid": 2},
]


def samples_of(trace):
    """Time and frames of the samples in a trace as Perfetto holds it."""
    held, losses = project(trace, format_named("perfetto")[0].capabilities(""), "perfetto")
    found = []
    for batch in held.batches():
        for number, table in batch.tables.items():
            event_class = held.event_classes[number]
            if event_class.kind is not Kind.SAMPLE or not len(table):
                continue
            column = table.column(event_class.index_of(Role.FRAMES))
            names = [held.strings[int(one)].decode() for one in column.values.members[0]]
            for at in batch.positions(number).tolist():
                row = batch.row[at]
                of = slice(int(column.offsets[row]), int(column.offsets[row + 1]))
                found.append((int(batch.ts[at]), names[of]))
    return found, [line_of(loss) for loss in losses]


def read(tmp_path, events):
    path = tmp_path / "in.json"
    path.write_text(json.dumps(events))
    return converter.read(path)


def test_profiles_become_samples(tmp_path):
    found, losses = samples_of(read(tmp_path, PROFILE))
    assert found == [
        (110_000, ["main", "root"]),
        (130_000, ["root"]),
        (135_000, ["main", "root"]),
        (132_000, ["leaf", "main", "root"]),
        (172_000, ["(anonymous)", "leaf", "main", "root"]),
    ]
    assert "call-stacks-added profiler=V8's CPU profiles (5)" in losses


def test_children_say_who_is_around_them(tmp_path):
    root = {**node(1, "root"), "children": [2]}
    found, _ = samples_of(read(tmp_path, [start(0), chunk(1, [root, node(2, "main")], [2], [1])]))
    assert found == [(1000, ["main", "root"])]


VALUES = [
    None,
    -1,
    1 << 65,
    1.5,
    float("nan"),
    "x",
    [],
    [[1]],
    [None],
    {},
    {"id": 1},
    [{"id": 1}],
    True,
]


def test_any_values_in_them_are_read(tmp_path):
    rng = random.Random(1)
    for _ in range(40):
        events = json.loads(json.dumps(PROFILE[:3]))
        for event in events:
            data = event["args"]["data"]
            tree = data.get("cpuProfile", data)
            where = rng.choice([data, tree, *tree.get("nodes", [])])
            where[rng.choice(list(where))] = rng.choice(VALUES)
        samples_of(read(tmp_path, events))


@needs_trace_processor
def test_trace_processor_shows_the_same_samples(tmp_path):
    source = tmp_path / "in.json"
    # A sample of a node that is not there is an error.
    events = json.loads(json.dumps(PROFILE))
    del events[2]["args"]["data"]["cpuProfile"]["nodes"][1]
    events[2]["args"]["data"]["cpuProfile"]["samples"] = [7, 2, 7]
    source.write_text(json.dumps(events))
    made, back = tmp_path / "made.pftrace", tmp_path / "back.json"
    converter.convert(source, made)
    converter.convert(made, back)
    wanted = shown(source, GRAMMAR)["samples"]
    assert wanted.total() == 6
    assert shown(made, GRAMMAR)["samples"] == wanted
    assert shown(back, GRAMMAR)["samples"] == wanted
