"""The layout of trace.dat that is written: event formats, and the kernel's ring-buffer pages."""

import dataclasses
from importlib import resources

import numpy as np
import pytest
from support.trace_cmd.writing import CAPABILITIES, NUMBER, projected, read_back, trace_of, written
from support.traces.strategies import with_batches

from converter import schemas
from converter.formats.ftrace.capabilities import identifier
from converter.formats.ftrace.event_format.fields import fields_of
from converter.formats.ftrace.event_format.new_formats import FIRST_ID, FormatMaker
from converter.formats.ftrace.kernel_formats import EVENTS, kernel_format
from converter.formats.ftrace.print_format.expressions import parse_print_fmt
from converter.formats.ftrace.ring_buffer.emit import (
    INTEGER,
    PageEmitter,
    RecordColumns,
    RecordLayout,
)
from converter.formats.ftrace.ring_buffer.page_writer import PageWriter, Records, SpoolMaker
from converter.formats.ftrace.ring_buffer.record_layout import record_program
from converter.formats.trace_cmd.reading.reader import read
from converter.ir.canonical import difference
from converter.ir.collect import collect
from converter.ir.columns import list_of_bytes
from converter.ir.events import Batch, EventClass, Field, Table
from converter.ir.field_classes import BytesClass, IntegerClass
from converter.ir.kinds import Kind
from converter.kernels.batches.event_arrays import EventArrays
from converter.kernels.tables.strings import StringTable
from converter.projection.domain.linux_tracepoints import meaning
from converter.storage.opening import open_source

# Event formats


SCHEMAS = sorted(
    (system.name, event.name)
    for system in (resources.files(schemas) / "ftrace/events").iterdir()
    for event in system.iterdir()
)


@pytest.mark.parametrize(("system", "name"), SCHEMAS)
def test_schemas_are_what_the_reader_takes_them_for(system, name):
    format = kernel_format(system, name)
    assert (format.system, format.name) == (system, name)
    assert 0 < format.id < FIRST_ID
    assert fields_of(format, 8, None)[0] is meaning(system, name).kind
    parse_print_fmt(format.print_fmt)
    end = 8
    for field in format.fields:
        assert field.offset >= end
        end = field.offset + field.size


def test_each_kind_has_a_schema():
    assert set(EVENTS.values()) <= set(SCHEMAS)
    assert all(meaning(*point).kind is kind for kind, point in EVENTS.items())
    numbers = [kernel_format(*point).id for point in SCHEMAS]
    assert len(set(numbers)) == len(numbers)


@pytest.mark.parametrize(
    "point",
    [("sched", "no_such_event"), ("..", "events"), ("sched/../irq", "softirq_entry"), ("", "")],
)
def test_no_schema_is_looked_for_elsewhere(point):
    assert kernel_format(*point) is None


def test_ids_of_formats_never_clash():
    maker = FormatMaker()
    classes = [
        EventClass(kind, EVENTS[kind][1], EVENTS[kind][0], (*support.fields, *support.trailing))
        for kind, support in CAPABILITIES.kinds.items()
        if kind in EVENTS
    ]
    typed = [dataclasses.replace(NUMBER, name=f"n{i}") for i in range(50)]
    typed = [
        dataclasses.replace(one, fields=(*one.fields, *CAPABILITIES.kinds[Kind.TYPED].trailing))
        for one in typed
    ]
    ids = [maker.make(one).format.id for one in (*classes, *typed, *classes)]
    assert len(set(ids)) == len(ids)


def test_arguments_of_a_mark_come_before_its_text():
    support = CAPABILITIES.kinds[Kind.MARK]
    fields = (*support.fields, Field("extra", IntegerClass(32)), *support.trailing)
    made = FormatMaker().make(EventClass(Kind.MARK, "print", "ftrace", fields))
    by_name = {field.name: field for field in made.format.fields}
    assert by_name["extra"].offset == 16
    assert by_name["buf"].offset == 24
    assert by_name["buf"].size == 0
    assert [field.name for field in made.format.fields] == ["ip", "buf", "extra"]
    record_program(made.format, EventClass(Kind.MARK, fields=fields), big_endian=False)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("plain", "plain"),
        ("a.b[0]", "a_b_0"),
        ("two words", "two_words"),
        ("9lives", "_9lives"),
        ("", "unnamed"),
        ("é", "unnamed"),
        ("common_pid", "_common_pid"),
    ],
)
def test_names_become_identifiers(name, expected):
    assert identifier(name) == expected
    assert identifier(expected) == expected


# Pages


def blob_events(sizes, *, kind=Kind.TYPED):
    column = list_of_bytes([bytes([i % 251]) * size for i, size in enumerate(sizes)])
    fields = (Field("data", BytesClass()),)
    return EventClass(kind, "blob", "test", fields), [column]


def test_an_event_larger_than_a_page_makes_all_pages_larger():
    event_class, columns = blob_events([10] * 300 + [9_000] + [10] * 300 + [40_000, 1])
    trace = trace_of(event_class, columns, np.arange(603) * 7, cpu=2)
    # Beyond what the capabilities allow a foreign argument, but not beyond what a page can hold.
    trace.event_classes[0] = dataclasses.replace(
        event_class, fields=(*event_class.fields, *CAPABILITIES.kinds[Kind.TYPED].trailing)
    )
    zeros = np.zeros(603, np.uint8)
    (batch,) = trace.batches()
    batch.tables[0] = Table(603, [*columns, zeros, zeros])
    for variant in ("v7", "v6"):
        data = written(trace, variant)
        with open_source(data) as source:
            back = read(source)
            assert back.sidecar["trace_cmd"]["page_size"] == 65536
            assert difference(trace, collect(back)) is None


def test_times_that_jump_and_go_back_stay_exact():
    ts = [5, 5, 2**27 + 4, 2**27 + 5, 2**28 + 6, 3, 2**59 + 1, 2**59, 0, 2**62, 2**62 + 2**58]
    # In batches of one event, so that the writer cannot put them in order.
    trace = trace_of(NUMBER, [np.arange(len(ts), dtype=np.int64)], ts)
    (batch,) = trace.batches()
    single = [
        Batch(
            ts=batch.ts[i : i + 1],
            class_id=batch.class_id[:1],
            row=batch.row[:1],
            tables={0: Table(1, [np.array([i], np.int64)])},
            cpu=batch.cpu[:1],
        )
        for i in range(len(ts))
    ]
    fitted = projected(with_batches(trace, single))
    back = read_back(written(fitted))
    found = [
        (time, value)
        for batch in back.batches()
        for time, value in zip(
            batch.ts.tolist(), batch.tables[0].column(0)[batch.row].tolist(), strict=True
        )
    ]
    assert sorted(found) == sorted(zip(ts, range(len(ts)), strict=True))


def events_of(ts, row, class_id=0, stream=0):
    zero = np.zeros(len(ts), np.int32)
    given = {"class_id": zero + class_id, "row": row, "stream": zero + stream}
    return EventArrays(ts=ts, **given, pid=zero)


def test_pages_of_every_geometry_read_back():
    strings = StringTable()
    layout = RecordLayout(b"\0" * 16, np.array([[INTEGER, 8, 8, 0, 0]], np.int32), 4)
    values = np.arange(1000, dtype=np.int64)
    for long_size in (4, 8):
        for page_size in (64, 4096):
            emitter = PageEmitter(page_size, long_size, False, strings)
            stream = emitter.add_stream()
            columns = RecordColumns(layout, [values], len(values))
            done = emitter.emit(events_of(values, np.arange(1000, dtype=np.int32)), {0: columns}, 0)
            assert done == (1000, 0)
            emitter.finish(stream)
            pages = emitter.take(stream, 1)
            per_page = (page_size - 8 - long_size) // 20
            assert len(pages) == -(-1000 // per_page) * page_size
            assert emitter.take(stream, 1) is None


def test_the_emitter_checks_what_it_is_given():
    strings = StringTable()
    layout = RecordLayout(b"\0" * 16, np.array([[INTEGER, 8, 8, 0, 0]], np.int32), 4)
    one = np.zeros(1, np.int32)
    ts = np.zeros(1, np.int64)
    columns = RecordColumns(layout, [ts], 1)
    emitter = PageEmitter(4096, 8, False, strings)
    emitter.add_stream()
    for bad in (
        lambda: RecordLayout(b"", np.array([[INTEGER, 0, 4, 0, 0]], np.int32), -1),
        lambda: RecordLayout(b"\0" * 8, np.array([[INTEGER, 2**31 - 1, 4, 0, 0]], np.int32), -1),
        lambda: RecordLayout(b"\0" * 8, np.array([[99, 0, 4, 0, 0]], np.int32), -1),
        lambda: RecordLayout(b"\0" * 8, np.array([[INTEGER, 6, 4, 0, 0]], np.int32), -1),
        lambda: RecordLayout(b"\0" * 8, np.zeros((0, 5), np.int32), 5),
        lambda: RecordColumns(layout, [one], 1),
        lambda: RecordColumns(layout, [ts], 2),
        lambda: RecordColumns(layout, [], 1),
        lambda: PageEmitter(4095, 8, False, strings),
        lambda: PageEmitter(4096, 2, False, strings),
        lambda: emitter.emit(events_of(ts, one, class_id=1), {0: columns}, 0),
        lambda: emitter.emit(events_of(ts, one + 1), {0: columns}, 0),
        lambda: emitter.emit(events_of(ts, one, stream=1), {0: columns}, 0),
        lambda: emitter.emit(events_of(ts, one, stream=-1), {0: columns}, 0),
        lambda: emitter.append_pages(0, b"\0" * 8192, 8192),
        lambda: emitter.take(3, 1),
    ):
        with pytest.raises(ValueError, match=r"^[a-z]"):
            bad()
    assert emitter.emit(events_of(ts, one), {0: columns}, 0) == (1, 0)


def test_pages_of_other_sizes_are_joined():
    event_class, columns = blob_events([20] * 500)
    spools = SpoolMaker(b"none", big_endian=False)
    fields = (*event_class.fields, *CAPABILITIES.kinds[Kind.TYPED].trailing)
    event_class = dataclasses.replace(event_class, fields=fields)
    made = FormatMaker().make(event_class)
    program = record_program(made.format, event_class, big_endian=False)
    zeros = np.zeros(500, np.int32)
    flags = np.zeros(500, np.uint8)

    def writer(page_size):
        return PageWriter(
            StringTable(), page_size=page_size, long_size=8, big_endian=False,
            compression=b"none", new_spool=spools,
        )  # fmt: skip

    small, large = writer(4096), writer(16384)
    table = Table(500, [*columns, flags, flags])
    ts = np.arange(500, dtype=np.int64) << 26
    rows = np.arange(500, dtype=np.int32)
    small.append(Records(ts, zeros, rows, zeros, zeros), {0: program.bind(table, StringTable())})
    pages = b"".join(map(bytes, small.finish()[0].parts()))
    large.append_pages(0, pages, 4096)
    joined = b"".join(map(bytes, large.finish()[0].parts()))
    assert len(pages) // 4096 > 2 * len(joined) // 16384
    spools.close()
