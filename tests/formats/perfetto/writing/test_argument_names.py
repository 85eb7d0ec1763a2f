"""Names of arguments that importers take apart: with dots, with brackets, and empty ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from support.perfetto.files import INSTANT, File
from support.perfetto.writing import CAPABILITIES, opened, written
from support.traces.losses import line_of
from support.viewers.trace_processor import answer, needs_trace_processor

from converter.formats.perfetto.annotations import MAX_PATH, path_of
from converter.formats.perfetto.layout import AnnotationField
from converter.formats.perfetto.protobuf.messages import varint
from converter.ir.canonical import difference
from converter.ir.collect import collect
from converter.ir.trace import Trace
from converter.jobs.reading import read
from converter.projection.project import project

ARGUMENTS: dict[str, Any] = {
    "a.b.c": 1,
    ".l": 3,
    "x..y": 2,
    "t.": 4,
    "": "e",
    "est. occ %": 0.5,
    "http.method": "GET",
    "n": {"a.b": [1, 2], "": {"p.q": "s", "": 5}},
    "o.p": {"q.r": True},
}
#: What trace_processor v52 shows of them in the JSON.
SHOWN = [
    *("args..l=3", "args.=e", "args.a.b.c=1", "args.est. occ %=0.5"),
    *("args.http.method=GET", "args.n..=5", "args.n..p.q=s", "args.n.a.b[0]=1", "args.n.a.b[1]=2"),
    *("args.o.p.q.r=true", "args.t.=4", "args.x..y=2"),
]
QUERY = """select distinct group_concat(one, '|') from (select arg_set_id, key || '=' || display_value as one from args
    where key like 'args%' group by arg_set_id, one order by one) group by arg_set_id"""


def document(arguments: dict[str, Any]) -> bytes:
    one = {"name": "a", "pid": 1, "tid": 1, "ts": 1, "args": arguments}
    asynchronous = {"ph": "b", **one, "ts": 9, "id": 1, "cat": "c"}
    return json.dumps(
        [{"ph": "B", **one}, {"ph": "E", **one, "ts": 5, "args": {}}, asynchronous]
    ).encode()


def projected(data: bytes) -> tuple[Trace, list[str]]:
    found, losses = project(read(data, "chrome"), CAPABILITIES, "perfetto")
    trace = collect(found)
    return trace, [line_of(loss) for loss in losses if loss.loss_class == "shown"]


def test_names_are_read_back() -> None:
    trace, losses = projected(document(ARGUMENTS | {"[file]": "f.rs", "m.n": [1, "a", {"b.c": 2}]}))
    assert difference(trace, opened(written(trace))) is None
    assert losses == [
        f"argument-name-shown-as event={event} field=[file] shown=_file_ (1)"
        for event in ("async begin", "slice begin")
    ]


@needs_trace_processor
def test_importers_show_names_as_those_of_json(tmp_path: Path) -> None:
    path = tmp_path / "a.pftrace"
    data = written(projected(document(ARGUMENTS))[0])
    path.write_bytes(data)
    ((shown,),) = answer(path, QUERY)
    assert sorted(set(shown.split("|"))) == sorted(SHOWN)
    # A copy is shown the same.
    path.write_bytes(written(collect(project(opened(data), CAPABILITIES, "perfetto")[0])))
    assert answer(path, QUERY) == [[shown]]


def test_names_of_many_parts_are_not_nested() -> None:
    for count, nested in ((MAX_PATH, True), (MAX_PATH + 1, False)):
        name = ".".join("abcdefghij"[:count])
        assert (path_of(name) is not None) is nested
        trace, losses = projected(document({name: 1, "in": {name: 2}}))
        assert difference(trace, opened(written(trace))) is None
        assert bool(losses) is not nested


def test_names_of_a_perfetto_trace_stay() -> None:
    file = File()
    event = file.event(5, INSTANT, "a")
    event.debug_annotations.add(name="a.b", int_value=1)
    event.debug_annotations.add(name="", int_value=2)
    trace = opened(file.bytes())
    found, losses = project(trace, CAPABILITIES, "perfetto")
    assert not list(losses)
    again = written(collect(found))
    assert difference(trace, opened(again)) is None
    assert b"a.b" in again


def test_names_with_no_end_of_parts_are_read() -> None:
    # Each annotation has one entry and claims to be a part of a name.
    inner = b"\x18\x01"
    for _ in range(40):
        whole = varint(AnnotationField.WHOLE_NAME << 3 | 2) + b"\x03w.x"
        inner = b"\x5a" + varint(len(inner)) + inner + whole
    file = File()
    event = file.event(5, INSTANT, "a")
    event.debug_annotations.add().MergeFromString(inner)
    trace = opened(file.bytes())
    assert [len(batch) for batch in trace.batches()] == [1]
    assert [field.name for field in trace.event_classes[0].fields][-1] == "w.x"
