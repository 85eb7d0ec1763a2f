"""Small traces, and writing and reading them as trace.dat."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from converter.formats.ftrace.capabilities import capabilities
from converter.formats.trace_cmd.reading.reader import read
from converter.formats.trace_cmd.writing.writer import write
from converter.ir.collect import collect, with_batches
from converter.ir.events import Batch, EventClass, Field, Table
from converter.ir.field_classes import IntegerClass, StringClass
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Process, Thread, Trace
from converter.kernels.tables.strings import StringTable
from converter.projection.project import project
from converter.storage.opening import open_source
from converter.storage.sink import BufferSink

CAPABILITIES = capabilities("")


def written(trace: Trace, variant: str = "") -> bytes:
    """The trace as trace.dat."""
    sink = BufferSink()
    write(trace, sink, variant)
    return sink.getvalue()


def read_back(data: bytes) -> Trace:
    """The trace that the reader makes of a file."""
    with open_source(data) as source:
        return collect(read(source))


def encoded(trace: Trace) -> Trace:
    """Other batches than the reader's own make the writer encode pages from columns."""
    return dataclasses.replace(trace, make_batches=lambda: iter(trace.make_batches()))


def made_anew(data: bytes) -> bytes:
    """The file again, with its pages made of the columns that the reader delivers."""
    with open_source(data) as source:
        return written(encoded(read(source)))


def projected(trace: Trace) -> Trace:
    """The trace as trace.dat can have it."""
    return project(trace, CAPABILITIES, "trace_cmd")[0]


def trace_of(
    event_class: EventClass,
    columns: list[Any],
    ts: Sequence[int],
    *,
    cpu: int = 0,
    threads: Sequence[Thread] = (),
    strings: StringTable | None = None,
    **places: Any,
) -> Trace:
    """A trace of one class; places are those of `Batch`."""
    count = len(ts)
    trace = Trace("none", processes=[Process(1, "init")], threads=list(threads))
    trace.strings = strings or trace.strings
    trace.add_class(event_class)
    batch = Batch(
        ts=np.array(ts, np.int64),
        class_id=np.zeros(count, np.int32),
        row=np.arange(count, dtype=np.int32),
        tables={0: Table(count, columns)},
        cpu=np.full(count, cpu, np.int32),
        **places,
    )
    return with_batches(trace, [batch])


#: Class and columns of an event with one number.
NUMBER = EventClass(Kind.TYPED, "number", "test", (Field("n", IntegerClass(64, signed=True)),))


def slices(names: Sequence[bytes]) -> Trace:
    """A slice of each name, one behind the other, in one thread."""
    trace = Trace("none", processes=[Process(7, "game")], threads=[Thread(8, 0, "render")])
    begin = EventClass(Kind.SLICE_BEGIN, fields=(Field("name", StringClass(), Role.NAME),))
    trace.add_class(begin)
    trace.add_class(EventClass(Kind.SLICE_END))
    count = len(names)
    class_id = np.array([0, 1] * count, np.int32)
    ids = np.array([trace.strings.intern(name) for name in names], np.int32)
    batch = Batch(
        ts=np.arange(2 * count, dtype=np.int64),
        class_id=class_id,
        row=np.repeat(np.arange(count, dtype=np.int32), 2),
        tables={0: Table(count, [ids]), 1: Table(count, [])},
        thread=np.zeros(2 * count, np.int32),
    )
    return with_batches(trace, [batch])
