"""Writing trace.dat: the law, the kernel's layout of pages, and what trace-cmd makes of the files."""

import dataclasses
import shutil
import subprocess
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import fitted_traces, texts, traces, with_batches

from converter.errors import TraceError
from converter.filters.clock_rates import scaled
from converter.formats.trace_cmd.capabilities import capabilities, identifier
from converter.formats.trace_cmd.event_schemas import EVENTS, FormatMaker, kernel_format
from converter.formats.trace_cmd.page_writer import PageWriter, Records, SpoolMaker
from converter.formats.trace_cmd.reader import read
from converter.formats.trace_cmd.record_layout import record_program
from converter.formats.trace_cmd.trace_tables import TABLES_OPTION, read_tables
from converter.formats.trace_cmd.writer import write
from converter.ir.canonical import difference
from converter.ir.collect import collect
from converter.ir.columns import ListColumn, list_of_bytes
from converter.ir.events import Batch, EventClass, Field, Table
from converter.ir.field_classes import ArrayClass, BytesClass, IntegerClass, StringClass
from converter.ir.kinds import Kind, Role
from converter.ir.trace import ClockDomain, Process, Thread, Trace
from converter.kernels.marker_text import join_texts
from converter.kernels.ring_buffer_emit import INTEGER, PageEmitter, RecordColumns, RecordLayout
from converter.kernels.strings import StringTable
from converter.linux_tracepoints import meaning
from converter.projection import project
from converter.sink import BufferSink
from converter.source import open_source

VARIANTS = ("", "v7", "v6", "v7_zlib", "v7_none")
CAPABILITIES = capabilities("")
#: Texts that the kernel's arrays of 16 characters hold.
SHORT_TEXTS = (
    texts(utf8_only=False, max_bytes=15)
    .map(lambda text: text.replace(b"\0", b"z"))
    .filter(lambda text: len(text) < 16)
)
IDENTIFIERS = st.from_regex(r"\A[a-z][a-z0-9_]{0,7}\Z")

needs_trace_cmd = pytest.mark.skipif(
    shutil.which("trace-cmd") is None, reason="trace-cmd is not installed"
)


def written(trace, variant=""):
    sink = BufferSink()
    write(trace, sink, variant)
    return sink.getvalue()


def read_back(data):
    with open_source(data) as source:
        return collect(read(source))


def encoded(trace):
    """Other batches than the reader's own make the writer encode pages from columns."""
    return dataclasses.replace(trace, make_batches=lambda: iter(trace.make_batches()))


def projected(trace):
    return project(trace, CAPABILITIES, "trace_cmd")[0]


def report(path, *arguments):
    done = subprocess.run(
        ["trace-cmd", "report", *arguments, path], capture_output=True, check=True
    )
    lines = done.stdout.split(b"\n")
    return [line for line in lines if not line.startswith((b"cpus=", b"version ="))]


# The law


@given(traces(), st.sampled_from(VARIANTS))
def test_reading_what_was_written_gives_the_projection(trace, variant):
    fitted = projected(trace)
    back = read_back(written(fitted, variant))
    assert back.warnings == []
    assert difference(fitted, back) is None


@given(
    fitted_traces(CAPABILITIES, names_of_fields=IDENTIFIERS, strings=SHORT_TEXTS),
    st.sampled_from(VARIANTS),
)
def test_what_fits_survives_and_loses_nothing(trace, variant):
    assert difference(trace, read_back(written(trace, variant))) is None
    fitted, losses = project(trace, CAPABILITIES, "trace_cmd")
    collect(fitted)
    assert list(losses) == []


@settings(max_examples=15)
@given(fitted_traces(CAPABILITIES, names_of_fields=IDENTIFIERS, strings=SHORT_TEXTS))
def test_a_file_survives_all_versions_and_new_pages(trace):
    data = written(trace)
    for variant in ("v6", "v7", ""):
        with open_source(data) as source:
            held = read(source)
            again = written(encoded(held), variant)
            data = written(held, variant)
        assert difference(trace, read_back(again)) is None
        assert difference(trace, read_back(data)) is None


# Traces made by hand


def trace_of(event_class, columns, ts, *, cpu=0, threads=(), strings=None, **places):
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


def blob_events(sizes, *, kind=Kind.TYPED):
    column = list_of_bytes([bytes([i % 251]) * size for i, size in enumerate(sizes)])
    fields = (Field("data", BytesClass()),)
    return EventClass(kind, "blob", "test", fields), [column]


#: Class and columns of an event with one number.
NUMBER = EventClass(Kind.TYPED, "number", "test", (Field("n", IntegerClass(64, signed=True)),))


def slices(names):
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


def messages(trace):
    result = []
    for batch in trace.batches():
        for number, table in batch.tables.items():
            index = trace.event_classes[number].index_of(Role.MESSAGE)
            column = table.column(index)
            data = column.values.tobytes()
            bounds = column.offsets.tolist()
            rows = [data[a:b] for a, b in pairwise(bounds)]
            result += zip(batch.positions(number).tolist(), rows, strict=True)
    return [text for _, text in sorted(result)]


def test_slices_become_atrace_text():
    back = read_back(written(projected(slices([b"frame", b"a|b", b"two\nlines", b""]))))
    assert messages(back) == [
        b"B|7|frame", b"E|7", b"B|7|a|b", b"E|7", b"B|7|two_lines", b"E|7", b"B|7|", b"E|7",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "fields", "values", "expected"),
    [
        (Kind.INSTANT, [("name", Role.NAME, b"tick")], {}, b"I|1|tick"),
        (
            Kind.COUNTER,
            [("name", Role.NAME, b"mem|ory"), ("value", Role.VALUE, -5)],
            {},
            b"C|1|mem_ory|-5",
        ),
        (
            Kind.ASYNC_BEGIN,
            [("name", Role.NAME, b"load"), ("id", Role.ID, 2**64 - 1)],
            {},
            b"S|1|load|18446744073709551615",
        ),
        (
            Kind.ASYNC_END,
            [("name", Role.NAME, b"load"), ("id", Role.ID, 3)],
            {},
            b"F|1|load|3",
        ),
        (Kind.LOG, [("message", Role.MESSAGE, b"hello")], {}, b"hello"),
    ],
)
def test_timeline_events_become_atrace_text(kind, fields, values, expected):
    strings = StringTable()
    declared, columns = [], []
    for name, role, value in fields:
        if isinstance(value, bytes):
            declared.append(Field(name, StringClass(), role))
            columns.append(np.array([strings.intern(value)], np.int32))
        else:
            number = IntegerClass(64, signed=value < 0)
            declared.append(Field(name, number, role))
            columns.append(np.array([value], number.dtype))
    trace = trace_of(
        EventClass(kind, fields=tuple(declared)),
        columns,
        [5],
        threads=[Thread(1, 0, "main")],
        strings=strings,
        thread=np.zeros(1, np.int32),
    )
    assert messages(read_back(written(projected(trace)))) == [expected]


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


def test_pages_of_every_geometry_read_back():
    strings = StringTable()
    layout = RecordLayout(b"\0" * 16, np.array([[INTEGER, 8, 8, 0, 0]], np.int32), 4)
    values = np.arange(1000, dtype=np.int64)
    for long_size in (4, 8):
        for page_size in (64, 4096):
            emitter = PageEmitter(page_size, long_size, False, strings)
            stream = emitter.add_stream()
            columns = RecordColumns(layout, [values], len(values))
            zeros = np.zeros(1000, np.int32)
            done = emitter.emit(
                0, values, zeros, np.arange(1000, dtype=np.int32), zeros, zeros, {0: columns}
            )
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
        lambda: RecordLayout(b"\0" * 8, np.array([[99, 0, 4, 0, 0]], np.int32), -1),
        lambda: RecordLayout(b"\0" * 8, np.array([[INTEGER, 6, 4, 0, 0]], np.int32), -1),
        lambda: RecordLayout(b"\0" * 8, np.zeros((0, 5), np.int32), 5),
        lambda: RecordColumns(layout, [one], 1),
        lambda: RecordColumns(layout, [ts], 2),
        lambda: RecordColumns(layout, [], 1),
        lambda: PageEmitter(4095, 8, False, strings),
        lambda: PageEmitter(4096, 2, False, strings),
        lambda: emitter.emit(0, ts, one + 1, one, one, one, {0: columns}),
        lambda: emitter.emit(0, ts, one, one + 1, one, one, {0: columns}),
        lambda: emitter.emit(0, ts, one, one, one + 1, one, {0: columns}),
        lambda: emitter.emit(0, ts, one, one, one - 1, one, {0: columns}),
        lambda: emitter.append_pages(0, b"\0" * 8192, 8192),
        lambda: emitter.take(3, 1),
    ):
        with pytest.raises(ValueError, match=r"^[a-z]"):
            bad()
    assert emitter.emit(0, ts, one, one, one, one, {0: columns}) == (1, 0)


def test_texts_are_joined_and_cleaned():
    strings = StringTable()
    ids = np.array([strings.intern(b"a|b"), strings.intern(b"")], np.int32)
    numbers = np.array([-(2**63), 7], np.int64)
    offsets, characters, changed = join_texts(2, [b"B|", numbers, (ids, b"|\n")], strings)
    data = characters.tobytes()
    assert [data[a:b] for a, b in pairwise(offsets)] == [
        b"B|-9223372036854775808a_b", b"B|7",
    ]  # fmt: skip
    assert changed == 1
    with pytest.raises(ValueError, match="for each row"):
        join_texts(2, [numbers[:1]], strings)
    with pytest.raises(ValueError, match="for each row"):
        join_texts(2, [(ids + 9, b"")], strings)


@given(
    st.fractions(min_value=Fraction(1, 1 << 40), max_value=1 << 40),
    st.lists(st.integers(-(2**63), 2**63 - 1), max_size=5),
)
def test_times_are_scaled_exactly(factor, ticks):
    low, high = -(2**63), 2**63 - 1
    expected = [
        min(max(tick * factor.numerator // factor.denominator, low), high) for tick in ticks
    ]
    assert scaled(np.array(ticks, np.int64), factor).tolist() == expected


def test_a_clock_of_another_rate_becomes_nanoseconds():
    trace = trace_of(NUMBER, [np.arange(3, dtype=np.int64)], [1, 2, 30])
    trace.clock = ClockDomain("tsc", Fraction(3_000_000_000))
    fitted, losses = project(trace, CAPABILITIES, "trace_cmd")
    assert fitted.clock.ticks_per_second == 1_000_000_000
    (batch,) = fitted.batches()
    assert batch.ts.tolist() == [0, 0, 10]
    assert any("nanoseconds" in loss.what for loss in losses)


def test_arguments_of_system_calls_are_six():
    fields = (
        Field("id", IntegerClass(64, signed=True), Role.SYSCALL_NUMBER),
        Field("args", ArrayClass(IntegerClass(64)), Role.SYSCALL_ARGUMENTS),
    )
    lists = ListColumn(np.array([0, 2, 2, 9], np.int64), np.arange(9, dtype=np.uint64))
    columns = [np.arange(3, dtype=np.int64), lists]
    trace = trace_of(EventClass(Kind.SYSCALL_ENTRY, fields=fields), columns, [1, 2, 3])
    fitted, losses = project(trace, CAPABILITIES, "trace_cmd")
    (batch,) = read_back(written(fitted)).batches()
    column = batch.tables[0].column(1)
    assert column.values.reshape(3, 6).tolist() == [
        [0, 1, 0, 0, 0, 0], [0] * 6, [2, 3, 4, 5, 6, 7],
    ]  # fmt: skip
    assert [loss.count for loss in losses if loss.kind == "truncated"] == [1]


def test_long_names_of_tasks_are_cut_and_counted():
    strings = StringTable()
    name = np.array([strings.intern(b"a name of more than 15")], np.int32)
    tid = np.array([5], np.int32)
    fields = (
        Field("comm", StringClass(), Role.COMM),
        Field("pid", IntegerClass(32, signed=True), Role.TID),
    )
    trace = trace_of(
        EventClass(Kind.SCHED_WAKING, fields=fields), [name, tid], [1], strings=strings
    )
    fitted, losses = project(trace, CAPABILITIES, "trace_cmd")
    back = read_back(written(fitted))
    (batch,) = back.batches()
    index = back.event_classes[0].index_of(Role.COMM)
    assert back.strings[int(batch.tables[0].column(index)[0])] == b"a name of more "
    assert any(loss.kind == "truncated" for loss in losses)


def test_threads_with_the_same_id_stay_apart():
    trace = trace_of(
        NUMBER,
        [np.arange(3, dtype=np.int64)],
        [1, 2, 3],
        threads=[Thread(1, 0, "a"), Thread(1, 1, "b"), Thread(2**40, 1, "c")],
        thread=np.array([0, 1, 2], np.int32),
    )
    trace.processes.append(Process(2, "other"))
    fitted = projected(trace)
    back = read_back(written(fitted))
    assert difference(fitted, back) is None
    numbers = read_tables(back.sidecar["trace_cmd"]["options"]).numbers
    assert numbers[0] == 1
    assert len(set(numbers)) == 3


@pytest.mark.parametrize(
    "data",
    [
        b"", b"[]", b"{}", b"\xff", b'{"processes": 1}',
        b'{"processes":[],"threads":[[1,1,0,""]],"clock":["","",null,null],"clock_domains":[],"environment":{}}',
        b'{"processes":[],"threads":[],"clock":["","",null,"1e999999999"],"clock_domains":[],"environment":{}}',
        b'{"processes":[],"threads":[],"clock":["","",null,"0"],"clock_domains":[],"environment":{}}',
        b'{"processes":[],"threads":[],"clock":["","",9223372036854775808,null],"clock_domains":[],"environment":{}}',
        b'{"processes":[[1,"\\ud800",null,[]]],"threads":[],"clock":["","",null,null],"clock_domains":[],"environment":{}}',
        b"[" * 100_000,
    ],
)  # fmt: skip
def test_damaged_tables_are_refused(data):
    with pytest.raises(TraceError):
        read_tables([(TABLES_OPTION, data)])


# Event formats


@pytest.mark.parametrize("kind", EVENTS, ids=lambda kind: kind.name)
def test_schemas_are_what_the_reader_takes_them_for(kind):
    system, name = EVENTS[kind]
    assert meaning(system, name).kind is kind
    format = kernel_format(kind)
    assert (format.system, format.name) == (system, name)
    assert format.print_fmt.startswith('"')
    end = 8
    for field in format.fields:
        assert field.offset >= end
        end = field.offset + field.size


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
    small.append(Records(ts, zeros, rows, zeros, zeros), {0: program.bind(table)})
    pages = b"".join(map(bytes, small.finish()[0].parts()))
    large.append_pages(0, pages, 4096)
    joined = b"".join(map(bytes, large.finish()[0].parts()))
    assert len(pages) // 4096 > 2 * len(joined) // 16384
    spools.close()


# What trace-cmd makes of it


@needs_trace_cmd
@settings(max_examples=30)
@given(traces(max_events=30))
def test_trace_cmd_prints_every_event(tmp_path_factory, trace):
    fitted = projected(trace)
    count = sum(map(len, fitted.batches()))
    path = tmp_path_factory.getbasetemp() / "any.dat"
    path.write_bytes(written(fitted))
    for arguments in (("-N",), ("-R",)):
        text = b"\n".join(report(path, *arguments))
        assert b"UNKNOWN EVENT" not in text
        assert b"FAILED TO PARSE" not in text
    # Texts may have line ends in them.
    assert text.count(b"[") >= count - text.count(b"EVENTS DROPPED")


@needs_trace_cmd
@pytest.mark.parametrize("variant", ["v7", "v7_none", "v6"])
def test_trace_cmd_accepts_files(tmp_path, variant):
    path = tmp_path / "slices.dat"
    path.write_bytes(written(projected(slices([b"frame"] * 5000)), variant))
    lines = report(path, "-t")
    assert len(lines) == 10_001
    assert (
        lines[0].split()
        == b"render-8 [000] 0.000000000: print: tracing_mark_write: B|7|frame".split()
    )
    subprocess.run(["trace-cmd", "dump", "--all", path], capture_output=True, check=True)
    other = tmp_path / "other.dat"
    subprocess.run(
        ["trace-cmd", "convert", "-i", path, "-o", other, "--file-version", "6", "--compression", "none"],
        capture_output=True, check=True,
    )  # fmt: skip
    assert report(other, "-t", "-R") == report(path, "-t", "-R")


FIXTURES = sorted(
    path
    for path in (Path(__file__).parent.parent / "roundtrip_fixtures").rglob("*.dat")
    if path.read_bytes().startswith(b"\x17\x08\x44tracing")
)


@needs_trace_cmd
@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.name)
@pytest.mark.parametrize("encode", [False, True], ids=["copied", "encoded"])
def test_trace_cmd_prints_the_same_of_a_copy(tmp_path, path, encode):
    expected = report(path, "-t", "-R")
    following = path
    for variant in ("", "v6", "v7"):
        copy = tmp_path / f"{variant}.dat"
        with open_source(following) as source:
            trace = read(source)
            if encode:
                trace = encoded(trace)
            copy.write_bytes(written(trace, variant))
        assert report(copy, "-t", "-R") == expected
        following = copy
