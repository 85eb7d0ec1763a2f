"""Small traces written as Perfetto, and what is in the packets."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb
from support.traces.small_traces import fields_at
from support.traces.strategies import batch_of

from converter.formats.perfetto import FORMAT, mapping, tracepoints
from converter.formats.perfetto.protobuf.descriptors import typed_event
from converter.formats.perfetto.reading.reader import read
from converter.formats.perfetto.writing.writer import write
from converter.ir.collect import collect, with_batches
from converter.ir.events import EventClass
from converter.ir.field_classes import (
    ArrayClass,
    BooleanClass,
    FieldClass,
    IntegerClass,
    StringClass,
)
from converter.ir.trace import Process, Thread, Trace
from converter.projection.project import project
from converter.storage.opening import open_source
from converter.storage.sink import BufferSink

CAPABILITIES = FORMAT.capabilities("")
NAME, CATEGORY = mapping.NAME, mapping.CATEGORY
SWITCH = tracepoints.tracepoint_class("sched", "sched_switch", typed_event(4).fields)


def written(trace: Trace) -> bytes:
    """The trace as Perfetto."""
    sink = BufferSink()
    write(trace, sink, "")
    return sink.getvalue()


def opened(data: bytes) -> Trace:
    """The trace that the reader makes of these bytes."""
    return read(open_source(data))


def parsed(data: bytes) -> pb.Trace:
    """The trace that protobuf makes of these bytes."""
    return pb.Trace.FromString(data)


def projected(trace: Trace) -> Trace:
    """The trace as Perfetto can have it."""
    return collect(project(trace, CAPABILITIES, "perfetto")[0])


def trace_of(
    event_class: EventClass, *rows: tuple[Any, ...], thread: int = 0, cpu: int = -1, track: int = -1
) -> Trace:
    """A trace with events of one class, a nanosecond apart, by process 10 with thread 11."""
    trace = Trace(
        format="other",
        processes=[Process(10, "proc")],
        threads=[Thread(11, 0, "main")],
        event_classes=[event_class],
    )
    events = [(0, 100 + i, cpu, thread, track, row) for i, row in enumerate(rows)]
    return with_batches(trace, [batch_of(trace, events)])


def events_of(trace: Trace) -> list[dict[str, Any]]:
    """The fields of each event, by name."""
    found = []
    for batch in trace.batches():
        found += [fields_at(trace, batch, place) for place in range(len(batch))]
    return found


def kernel_events(data: bytes) -> list[pb.FtraceEvent]:
    """The events of all bundles."""
    return [event for packet in parsed(data).packet for event in packet.ftrace_events.event]


def track_events(data: bytes) -> list[pb.TrackEvent]:
    """The track events of all packets."""
    return [p.track_event for p in parsed(data).packet if p.HasField("track_event")]


def drawn(kind: FieldClass) -> st.SearchStrategy[Any]:
    """Values of a field; empty bytes of classes that typed events do not have."""
    match kind:
        case IntegerClass(bits, True):
            return st.integers(-(1 << bits - 1), (1 << bits - 1) - 1)
        case IntegerClass(bits):
            return st.integers(0, (1 << bits) - 1)
        case BooleanClass():
            return st.booleans()
        case ArrayClass(element):
            return st.lists(drawn(element), max_size=3)
        case StringClass():
            return st.text(max_size=5).map(str.encode)
    return st.just(b"")
