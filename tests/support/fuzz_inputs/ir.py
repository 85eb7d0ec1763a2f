"""Traces in the exact form that no fixture is like."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import zstandard
from support.fuzzing.corpus import Files
from support.fuzzing.outputs import written
from support.traces.any_traces import any_trace, long_texts, many_threads
from support.traces.small_traces import event_class, trace_of

from converter.errors import DefectError
from converter.formats.ir import layout
from converter.formats.ir import messages as pb
from converter.ir.field_classes import ArrayClass, IntegerClass, StringClass
from converter.ir.kinds import Kind
from converter.ir.trace import TrackScope

#: What a sidecar may hold.
_VALUES: tuple[Any, ...] = (
    None,
    True,
    -5,
    1 << 70,
    1.5,
    "text",
    "\ud800",
    b"\xff",
    [1, "a", None],
    {"a": {"b": []}},
)


def inputs() -> list[Files]:
    """Events with fields of any types, records that make no sense, and forms of JSON that are damaged."""
    found = []
    for seed in range(24):
        trace = any_trace(seed)
        trace.sidecar = {"fxt": {"a": list(_VALUES)}} if seed % 4 == 0 else {}
        found.append(written(trace, "ir+json" if seed % 3 == 2 else "ir"))
    found += [written(many_threads(), "ir"), written(long_texts(), "ir")]
    return [*found, *({"": data} for data in (*_messages(), *_forms()))]


def _records(*records: Any, packed: bool = False, **header: Any) -> bytes:
    head = {"magic": "traceconv-ir", "version": 1, "clock": {"rate": "1"}, **header}
    last = pb.Record(tail=pb.Tail())
    if packed:
        inside = pb.Trace(record=list(records)).SerializeToString()
        records = (pb.Record(zstd=zstandard.compress(inside)),)
    return b"".join(
        layout.frame(record.SerializeToString())
        for record in (pb.Record(header=pb.Header(**head)), *records, last)
    )


def _messages() -> Iterator[bytes]:
    """Records, compressed and not, that contradict each other or the limits."""
    of_class = {"event_class": [{"kind": int(Kind.TYPED), "name": b"a"}]}
    tables = pb.Record(tables=of_class)
    with_field = pb.Record(
        tables={
            "event_class": [
                {
                    "kind": int(Kind.TYPED),
                    "field": [{"name": b"n", "type": {"integer": {"bits": 8}}}],
                }
            ]
        }
    )
    for records in (
        (pb.Record(batch=pb.Batch(count=1 << 31)),),
        (pb.Record(batch=pb.Batch(count=3)),),
        (tables, pb.Record(batch=pb.Batch(count=1))),
        (tables, pb.Record(batch=pb.Batch(count=1, table=[{"event_class": 0, "rows": 1}]))),
        (tables, pb.Record(batch=pb.Batch(count=2, table=[{"event_class": 0, "rows": 1}]))),
        (tables, pb.Record(batch=pb.Batch(table=[{"event_class": 0, "rows": 1}]))),
        (tables, pb.Record(batch=pb.Batch(table=[{"event_class": 7, "rows": 1}]))),
        (with_field, pb.Record(batch=pb.Batch(count=1, table=[{"event_class": 0, "rows": 1}]))),
        (pb.Record(tables={"event_class": [{"kind": 19}]}),),
        (pb.Record(tables={"thread": [{"process": 3}]}),),
        (pb.Record(tables={"track": [{"index": 3}]}),),
        (pb.Record(tables={"track": [{"scope": int(TrackScope.CPU), "owner": -1}]}),),
        (pb.Record(tables={"string": [b"a", b"a"]}),),
        (pb.Record(zstd=b"no zstd"),),
        (pb.Record(zstd=zstandard.compress(b"no message")),),
        (pb.Record(),),
    ):
        yield _records(*records)
        yield _records(*records, packed=True)
    for header in (
        {"version": 7},
        {"magic": "x"},
        {"clock": {"rate": "0"}},
        {"clock": {"rate": "x/y"}},
    ):
        yield _records(tables, **header)
    length = {"array": {"length": 1 << 40, "element": {"boolean": {}}}}
    yield _records(
        pb.Record(tables={"event_class": [{"kind": 1, "field": [{"name": b"a", "type": length}]}]})
    )
    # Integers beyond their bits, arrays of another length, and numbers of strings that are not there.
    narrow, wide = IntegerClass(7), IntegerClass(8)
    for held, believed, value in (
        (wide, narrow, 200),
        (ArrayClass(wide), ArrayClass(wide, 3), [1, 2]),
        (IntegerClass(32), StringClass(), 77),
        (IntegerClass(32), IntegerClass(16), 1 << 20),
    ):
        trace = trace_of([event_class(Kind.TYPED, a=held)], [(0, 1, 0, 0, [value])] * 2)
        trace.event_classes[0] = event_class(Kind.TYPED, a=believed)
        for variant in ("ir", "ir+json"):
            try:
                yield written(trace, variant)[""]
            except DefectError:
                continue  # One form cannot be made of it.
    whole = written(any_trace(3), "ir")[""]
    yield from (whole[: len(whole) * part // 9] for part in range(1, 9))
    middle = len(whole) // 2
    yield whole[:middle] + b"\xff" * 9 + whole[middle:]
    yield b"\x0a\xff\xff\xff\xff\x7f" + whole


def _forms() -> Iterator[bytes]:
    """The JSON of the exact form, whose parts are others than expected."""
    whole = written(any_trace(5, classes=2, events=4), "ir+json")[""]
    for old, new in (
        (b'"events"', b'"event"'),
        (b'"kind"', b'"kin"'),
        (b'"clock"', b'"cloc"'),
        (b'"threads"', b'"threads":5,"x"'),
        (b"[1", b'["x"'),
        (b"]]", b"]"),
        (b'"name"', b'"nam"'),
        (b'"type"', b'"typ"'),
    ):
        yield whole.replace(old, new)
    yield from (whole[: len(whole) * part // 5] for part in range(1, 5))
    yield from (b'{"clock": 1}', b'{"clock":', b'{"clock": {}, "events": []}', b"{" + b"[" * 600)
