"""Writing uftrace: what records hold, what the projection does to other traces, and what no directory can hold."""

from __future__ import annotations

import json
import struct

import numpy as np
import pytest
from support.traces.losses import line_of
from support.traces.strategies import batch_of, with_batches

import converter
from converter.errors import UnsupportedError
from converter.formats.uftrace.capabilities import capabilities
from converter.formats.uftrace.layout import HEADER_SIZE, Feature, parse_header
from converter.formats.uftrace.writing.emit import (
    BYTES,
    ENTRY,
    EVENT,
    EXIT,
    LOST,
    RAW,
    TEXT,
    VALUE,
    Emitter,
)
from converter.formats.uftrace.writing.writer import write
from converter.ir.canonical import difference
from converter.ir.collect import collect
from converter.ir.events import Batch, EventClass, Field, Table
from converter.ir.field_classes import ArrayClass, BytesClass, FloatClass, IntegerClass, StringClass
from converter.ir.kinds import Kind, Role
from converter.ir.trace import ClockDomain, Process, Thread, Trace, Track, TrackScope
from converter.kernels.batches.event_arrays import EventArrays
from converter.kernels.tables.strings import StringTable
from converter.projection.project import project
from converter.storage.outputs import open_sink

NAME = Field("name", StringClass(), Role.NAME)
CATEGORY = Field("category", StringClass(), Role.CATEGORY)
BEGIN = EventClass(Kind.SLICE_BEGIN, fields=(NAME, CATEGORY))
END = EventClass(Kind.SLICE_END)
TYPED = EventClass(Kind.TYPED, "event", "group")
U32 = IntegerClass(32)


def trace_of(events, **more):
    """A trace of events: (class, ts, thread, values), or with CPU and track behind."""
    given = {
        "processes": [Process(7, "process"), Process(8, "other", 7)],
        "threads": [Thread(7, 0, "main"), Thread(70, 0, ""), Thread(8, 1, "")],
    }
    trace = Trace("none", **(given | more))
    rows = []
    for event_class, ts, thread, values, *places in events:
        if event_class not in trace.event_classes:
            trace.event_classes.append(event_class)
        cpu, track = places or (-1, -1)
        rows.append((trace.event_classes.index(event_class), ts, cpu, thread, track, values))
    return with_batches(trace, [batch_of(trace, rows)])


def written(path, trace):
    with open_sink(path, directory=True) as sink:
        write(trace, sink, "")
    return {file.name: file.read_bytes() for file in path.iterdir()}


def fitted(path, trace):
    """The files of a trace as it is projected, and what that lost."""
    projected, losses = project(trace, capabilities(""), "uftrace")
    files = written(path, projected)
    return files, [line_of(loss) for loss in losses]


def records(data):
    """(time, type, more, depth, address) of records without values."""
    found = []
    for time, word in struct.iter_unpack("<QQ", data):
        found.append((time, word & 3, word >> 2 & 1, word >> 6 & 1023, word >> 16))
        assert word >> 3 & 7 == 5
    return found


@pytest.mark.parametrize("ts", [0, 5, 2**63 - 2, 2**63 - 1])
def test_what_stands_behind_the_last_event_has_a_time_that_is_read(ts, tmp_path):
    """A mark without which some commands show nothing, and one without which others forget kernel events."""
    trace, _ = project(trace_of([(TYPED, ts, 0, ())]), capabilities(""), "uftrace")
    written(tmp_path / "data", trace)
    again = converter.read(tmp_path / "data")
    assert not again.warnings
    assert [time for batch in again.batches() for time in batch.ts.tolist()] == [ts]


# Records


def test_entries_and_exits(tmp_path):
    events = [
        (BEGIN, 10, 0, (b"f", b"")),
        (BEGIN, 11, 0, (b"g", b"c")),
        (BEGIN, 12, 1, (b"f", b"")),
        (END, 13, 0, ()),
        (END, 14, 0, ()),
        (END, 15, 1, ()),
    ]
    files = written(tmp_path / "data", trace_of(events))
    assert records(files["7.dat"]) == [
        (10, 0, 0, 0, 0x401000),
        (11, 0, 0, 1, 0x401010),
        (13, 1, 0, 1, 0x401010),
        (14, 1, 0, 0, 0x401000),
    ]
    assert records(files["70.dat"]) == [(12, 0, 0, 0, 0x401000), (15, 1, 0, 0, 0x401000)]
    assert files["app.sym"].split(b"\n")[3:6] == [
        b"0000000000001000 T f",
        b"0000000000001010 T g",
        b"0000000000001020 ? __sym_end",
    ]
    assert "app.dbg" not in files
    assert files["default.opts"] == b""


def test_values_are_padded_one_by_one(tmp_path):
    fields = (
        Field("a", IntegerClass(8, True)),
        Field("b", StringClass()),
        Field("c", FloatClass(64)),
        Field("d", IntegerClass(16)),
    )
    begin = EventClass(Kind.SLICE_BEGIN, fields=(NAME, CATEGORY, *fields))
    end = EventClass(Kind.SLICE_END, fields=(Field("r", IntegerClass(64)),))
    events = [(begin, 10, 0, (b"f", b"", -1, b"abc", 0.5, 7)), (end, 11, 0, (9,))]
    files = written(tmp_path / "data", trace_of(events))
    values = b"\xff\0\0\0" + b"\3\0abc\0\0\0" + struct.pack("<d", 0.5) + b"\7\0\0\0"
    assert files["7.dat"] == (
        struct.pack("<QQ", 10, 4 | 5 << 3 | 0x401000 << 16)
        + values
        + struct.pack("<QQQ", 11, 1 | 4 | 5 << 3 | 0x401000 << 16, 9)
    )
    assert files["app.dbg"].split(b"\n")[1:4] == [
        b"F: 1000 f",
        b"A: @arg1/i8,arg2/s,arg3/f64,arg4/u16",
        b"R: @retval/u64",
    ]
    header = parse_header(files["info"])
    assert header.features & Feature.DEBUG_INFO
    assert b"\nauto-args:1\n" in files["info"]


def test_a_depth_never_carries_into_the_address(tmp_path):
    count = 1030
    events = [(BEGIN, i, 0, (b"f", b"")) for i in range(count)]
    files = written(tmp_path / "data", trace_of(events))
    found = records(files["7.dat"])
    assert [record[3] for record in found] == [i & 1023 for i in range(count)]
    assert {record[4] for record in found} == {0x401000}
    assert parse_header(files["info"]).max_stack == count + 1
    assert files["default.opts"] == b"-D 1031 --max-stack=1031\n"


def test_places_in_the_source_are_debug_information(tmp_path):
    """A function has one place: those of one name at two are two functions."""
    text = StringClass()
    placed = EventClass(Kind.SLICE_BEGIN, fields=(NAME, CATEGORY, Field("srcline", text)))
    valued = EventClass(
        Kind.SLICE_BEGIN, fields=(NAME, CATEGORY, Field("a", U32), Field("srcline", text))
    )
    behind = EventClass(
        Kind.SLICE_BEGIN, fields=(NAME, CATEGORY, Field("srcline", text), Field("a", U32))
    )
    events = [
        (placed, 1, 0, (b"f", b"", b"a b.c:7")),
        (placed, 2, 0, (b"f", b"", b"dir/c.c:8")),
        (placed, 3, 0, (b"f", b"", b"a b.c:7")),
        (valued, 4, 0, (b"f", b"", 5, b"c.c:9")),
        (placed, 5, 0, (b"g", b"", b"no place")),
        (behind, 6, 0, (b"g", b"", b"c.c:9", 6)),
    ]
    trace = trace_of(events)
    files = written(tmp_path / "data", trace)
    assert [record[4] for record in records(files["7.dat"][:48])] == [0x401000, 0x401010, 0x401000]
    assert files["app.dbg"].split(b"\n")[1:-1] == [
        *(b"F: 1000 f", b"L: 7 a b.c"),
        *(b"F: 1010 f", b"L: 8 dir/c.c"),
        *(b"F: 1020 f", b"L: 9 c.c", b"A: @arg1/u32"),
        *(b"F: 1040 g", b"A: @arg1/s,arg2/u32"),
    ]
    assert difference(trace, converter.read(tmp_path / "data")) is None


def test_threads_recorded_one_by_one_are_put_in_order(tmp_path):
    events = [
        (BEGIN, 20, 0, (b"f", b"")),
        (END, 30, 0, ()),
        (BEGIN, 5, 0, (b"g", b"")),
        (END, 6, 0, ()),
    ]
    files = written(tmp_path / "data", trace_of(events))
    assert [record[0] for record in records(files["7.dat"])] == [5, 6, 20, 30]


def test_names_that_would_end_a_line(tmp_path):
    events = [
        (BEGIN, 1, 0, (b"two\nlines", b"a\rb")),
        (BEGIN, 2, 0, (b"", b"")),
        (BEGIN, 3, 0, (b"caf\xe9", b"")),
    ]
    files = written(tmp_path / "data", trace_of(events))
    assert files["app.sym"].split(b"\n")[3:6] == [
        b"0000000000001000 T two lines",
        b"0000000000001010 T (no name)",
        b"0000000000001020 T caf\xe9",
    ]
    assert json.loads(files["traceconv.json"])["symbols"][2][0] == "caf\udce9"


def test_a_lost_record_is_not_the_first_of_a_task(tmp_path):
    lost = EventClass(Kind.DISCARDED, fields=(Field("count", IntegerClass(64, True), Role.COUNT),))
    events = [
        (lost, 5, 0, (3,)),
        (lost, 6, 0, ((1 << 48) - 1,)),
        (BEGIN, 7, 1, (b"f", b"")),
        (lost, 8, 1, (-1,)),
    ]
    files = written(tmp_path / "data", trace_of(events))
    assert [record[1:2] + record[4:] for record in records(files["7.dat"])] == [
        (0, 0x401000),
        (1, 0x401000),
        (2, 3),
        (2, (1 << 48) - 1),
    ]
    assert [record[1] for record in records(files["70.dat"])] == [0, 2]


def test_lost_records_behind_kernel_events_alone_stand_in_the_order_of_time(tmp_path):
    counter = EventClass(Kind.COUNTER, fields=(NAME, Field("v", U32, Role.VALUE)))
    lost = EventClass(Kind.DISCARDED, fields=(Field("count", IntegerClass(64, True), Role.COUNT),))
    events = [(counter, 2, 0, (b"c", 1)), (lost, 9, 0, (3,))]
    files, _ = fitted(tmp_path / "data", trace_of(events))
    found = records(files["7.dat"])
    assert [record[0] for record in found] == sorted(record[0] for record in found)
    assert [record[1] for record in found][:3] == [0, 1, 2]


def test_a_mark_stands_behind_the_last_kernel_event_of_a_task(tmp_path):
    counter = EventClass(Kind.COUNTER, fields=(NAME, Field("v", U32, Role.VALUE)))
    events = [
        (BEGIN, 1, 0, (b"f", b"")),
        (counter, 2, 0, (b"c", 1)),
        (counter, 3, 1, (b"c", 2)),
        (END, 4, 0, ()),
    ]
    files, _ = fitted(tmp_path / "data", trace_of(events))
    assert [record[:2] for record in records(files["7.dat"])] == [(1, 0), (4, 1)]
    assert records(files["70.dat"]) == [(4, 3, 0, 0, 1_000_000)]
    assert files["events.txt"] == b"EVENT: 1000000 traceconv:end\n"
    assert files["default.opts"] == b"--kernel-full --event-full\n"


# The projection


def test_complete_slices_and_tracks_become_functions_of_tasks(tmp_path):
    complete = EventClass(
        Kind.SLICE_COMPLETE,
        fields=(NAME, Field("d", IntegerClass(64, True), Role.DURATION), Field("x", U32)),
    )
    events = [(complete, 10, 0, (b"f", 90, 1)), (complete, 20, -1, (b"g", 5, 2), -1, 0)]
    trace = trace_of(events, tracks=[Track("line", TrackScope.PROCESS, 0)])
    files, losses = fitted(tmp_path / "data", trace)
    assert losses == [
        "slice-as-begin-and-end (2)",
        "track-as-thread event=slice begin (1)",
        "track-as-thread event=slice end (1)",
        "field-added event=slice begin (2)",
    ]
    assert len([name for name in files if name.endswith(".dat") and name[0].isdigit()]) == 2


def test_the_cpu_of_a_slice_is_an_argument_of_its_begin(tmp_path):
    events = [(BEGIN, 10, 0, (b"f", b""), 3, -1), (END, 20, 0, (), 3, -1)]
    files, losses = fitted(tmp_path / "data", trace_of(events))
    assert losses == [
        "cpu-dropped event=slice end (1)",
        "cpu-as-argument event=slice begin (1)",
    ]
    assert b"A: @arg1/i32" in files["app.dbg"]


def test_further_values_of_an_end_become_tracepoints(tmp_path):
    end = EventClass(Kind.SLICE_END, fields=(Field("a", U32), Field("b", U32)))
    _, losses = fitted(
        tmp_path / "data", trace_of([(BEGIN, 1, 0, (b"f", b"")), (end, 2, 0, (1, 2))])
    )
    assert "arguments-in-instants event=slice end limit=1 (1)" in losses
    trace = converter.read(tmp_path / "data")
    (typed,) = [one for one in trace.event_classes if one.kind is Kind.TYPED]
    assert [field.name for field in typed.fields[:2]] == ["name", "b"]


def test_an_end_with_a_name_alone_gets_a_category(tmp_path):
    end = EventClass(Kind.SLICE_END, fields=(NAME,))
    _, losses = fitted(
        tmp_path / "data", trace_of([(BEGIN, 1, 0, (b"f", b"")), (end, 2, 0, (b"f",))])
    )
    assert losses == ["field-added event=slice end (1)"]


def test_ticks_become_nanoseconds_and_the_date_is_shown(tmp_path):
    clock = ClockDomain("tsc", 2_000_000_000, epoch_ns=1_600_000_000 * 10**9)
    events = [(BEGIN, 2_000_000_000, 0, (b"f", b"")), (END, 4_000_000_000, 0, ())]
    files, _ = fitted(tmp_path / "data", trace_of(events, clock=clock))
    assert [record[0] for record in records(files["7.dat"])] == [10**9, 2 * 10**9]
    text = files["info"][HEADER_SIZE:]
    assert b"record_date:Sun Sep 13 12:26:41 2020\nelapsed_time:1.000000000 sec\n" in text
    assert text.endswith(b"utc_offset:1600000000\n")


# What no directory holds


@pytest.mark.parametrize(
    ("event_class", "values", "message"),
    [
        (
            EventClass(Kind.SLICE_END, fields=(Field("a", U32), Field("b", U32))),
            (1, 2),
            "a function returns one value at most",
        ),
        (
            EventClass(Kind.SLICE_BEGIN, fields=(NAME, CATEGORY, Field("a", ArrayClass(U32)))),
            (b"f", b"", [1]),
            "no record holds the field 'a'",
        ),
        (
            EventClass(Kind.SLICE_BEGIN, fields=(NAME, CATEGORY, Field("a", StringClass()))),
            (b"f", b"", b"x" * 65_536),
            "a text is longer than 65,535 bytes",
        ),
        (
            EventClass(Kind.NATIVE, fields=(Field("payload", BytesClass(), Role.PAYLOAD),)),
            (b"short",),
            "a value does not fit in its record",
        ),
        (
            EventClass(Kind.COUNTER, fields=(NAME, CATEGORY)),
            (b"a", b"b"),
            "no file holds events of this class",
        ),
        (
            EventClass(Kind.SLICE_BEGIN, fields=(NAME,)),
            (b"a",),
            "no file holds events of this class",
        ),
    ],
)
def test_what_was_not_projected_is_refused(tmp_path, event_class, values, message):
    with pytest.raises(UnsupportedError, match=message):
        written(tmp_path / "data", trace_of([(event_class, 1, 0, values)]))
    assert not (tmp_path / "data").exists()


def test_structures_of_a_function_have_one_size(tmp_path):
    begin = EventClass(Kind.SLICE_BEGIN, fields=(NAME, CATEGORY, Field("s", BytesClass())))
    trace = trace_of([(begin, 1, 0, (b"f", b"", b"1234")), (begin, 2, 0, (b"f", b"", b"12345"))])
    with pytest.raises(UnsupportedError, match="does not fit"):
        written(tmp_path / "data", trace)


# The kernel checks what it is given


def emitter():
    return Emitter(StringTable(), [0x401000], 16, b"mark", {})


@pytest.mark.parametrize(
    ("record", "named", "operations", "event"),
    [
        (9, False, [], 0),
        (ENTRY, False, [], 0),
        (LOST, False, [], 0),
        (LOST, False, [(VALUE, 4)], 0),
        (RAW, False, [(VALUE, 8)], 0),
        (EVENT, False, [(TEXT, 0)], 0),
        (EVENT, False, [], 1 << 48),
        (EXIT, False, [(VALUE, 3)], 0),
        (EXIT, False, [(BYTES, -1)], 0),
        (EXIT, False, [(7, 4)], 0),
        (EXIT, False, [(VALUE, 4)] * 300, 0),
    ],
)
def test_programs_that_no_record_can_have(record, named, operations, event):
    with pytest.raises(ValueError, match=r"record|operation|value|functions|count"):
        emitter().add_program(record, named, operations, event)


def test_columns_that_do_not_fit_a_program():
    made = emitter()
    number = made.add_program(EXIT, False, [(VALUE, 4), (TEXT, 0), (BYTES, 2)])
    numbers = np.zeros(2, np.int32)
    texts = (np.zeros(2, np.uint8), np.array([0, 1, 2]))
    good = [numbers, numbers, texts]
    made.bind(number, 2, good)
    for index, wrong in [
        (0, np.zeros(2, np.int64)),
        (0, np.zeros(3, np.int32)),
        (0, texts),
        (1, (np.zeros(3, np.uint8), np.array([0, 3, 2]))),
        (1, (np.zeros(2, np.uint8), np.array([0, 1, 3]))),
        (1, (np.zeros(2, np.uint8), np.array([-1, 1, 2]))),
        (1, (np.zeros(2, np.uint8), np.array([0, 1]))),
        (2, numbers),
    ]:
        columns = list(good)
        columns[index] = wrong
        with pytest.raises(ValueError, match=r"column|expected|list"):
            made.bind(number, 2, columns)
    with pytest.raises(ValueError, match="2 columns for 3 fields"):
        made.bind(number, 2, good[:2])
    with pytest.raises(ValueError, match="no program 7"):
        made.bind(7, 2, good)


def test_events_outside_their_columns_are_not_written():
    made = emitter()
    made.add_tasks(2)
    number = made.add_program(EXIT, False, [(TEXT, 0)])
    made.bind(number, 1, [np.array([77], np.int32)])
    ts = np.zeros(1, np.int64)

    def status(program, row, task):
        given = {"class_id": program, "row": row, "task": task}
        columns = {name: np.array([item], np.int32) for name, item in given.items()}
        return made.emit(EventArrays(ts=ts, **columns), 0)

    for program, row, task in [
        (number, 0, 0),
        (9, 0, 0),
        (-1, 0, 0),
        (number, 1, 0),
        (number, -1, 0),
        (number, 0, 2),
        (number, 0, -1),
    ]:
        result, done = status(program, row, task)
        assert result != 0
        assert done == 0
    assert made.symbols() == []
    with pytest.raises(ValueError, match="the column task is missing"):
        made.emit(EventArrays(ts=ts, class_id=np.zeros(1, np.int32), row=np.zeros(1, np.int32)), 0)
    for call in (made.take, made.last_time):
        with pytest.raises(ValueError, match="no task 2"):
            call(2)
    with pytest.raises(ValueError, match="no task -1"):
        made.put_event(-1, 0, 0)


def test_many_symbols_and_tasks_keep_apart(tmp_path):
    count = 3000
    threads = [Thread(i + 1, 0, "") for i in range(50)]
    events = [(BEGIN, i, i % 50, (b"f%d" % (i % 1500), b"c")) for i in range(count)]
    trace = trace_of(events, processes=[Process(1, "p")], threads=threads)
    files = written(tmp_path / "data", trace)
    assert files["app.sym"].count(b" T f") == 1500
    back = collect(converter.read(tmp_path / "data"))
    assert sum(len(batch) for batch in back.batches()) == count


@pytest.mark.parametrize(("count", "found"), [(-1, -1), (-2, -1), (7, 7), (1 << 60, (1 << 48) - 1)])
def test_the_number_of_lost_events_is_one_of_its_record(tmp_path, count, found):
    """The kernel does not always say how many; a record has "some" for that, and 48 bits."""
    lost = EventClass(Kind.DISCARDED, fields=(Field("n", IntegerClass(64, True), Role.COUNT),))
    batch = Batch(
        ts=np.array([5], np.int64),
        class_id=np.zeros(1, np.int32),
        row=np.zeros(1, np.int32),
        cpu=np.zeros(1, np.int32),
        tables={0: Table(1, [np.array([count], np.int64)])},
    )
    trace = with_batches(Trace("other", event_classes=[lost]), [batch])
    report = converter.write(trace, tmp_path / "out", "uftrace")
    losses = [
        line_of(loss) for loss in report if loss.code in ("gap-size-capped", "gap-size-negative")
    ]
    assert len(losses) == (count != found)
    again = converter.read(tmp_path / "out")
    (table,) = (
        table
        for batch in again.batches()
        for id, table in batch.tables.items()
        if again.event_classes[id].kind is Kind.DISCARDED
    )
    assert table.column(0).tolist() == [found]
