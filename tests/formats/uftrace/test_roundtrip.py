"""uftrace's laws: what is written reads back as it was, and a directory survives its own round trip."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections import Counter
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.trace_cmd.files import Kernel
from support.traces.losses import line_of
from support.traces.strategies import batch_of, fitted_traces, texts, traces, with_batches
from support.uftrace.files import (
    BAR,
    BASE,
    ENTRY,
    EXIT,
    FOO,
    LOST,
    MAIN,
    TID,
    Directory,
    kernel_header,
)

import converter
from converter.errors import TraceError
from converter.formats.uftrace.capabilities import capabilities
from converter.formats.uftrace.layout import EventId
from converter.formats.uftrace.reading.reader import read
from converter.formats.uftrace.side_table import Symbol, Tables, build_tables, read_tables
from converter.formats.uftrace.writing.tasks import Tasks
from converter.formats.uftrace.writing.writer import write
from converter.ir.canonical import difference
from converter.ir.collect import collect
from converter.ir.events import EventClass, Field
from converter.ir.field_classes import IntegerClass, StringClass
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Process, Thread, Trace
from converter.projection.project import project
from converter.selection.select import selected
from converter.selection.selection import Selection
from converter.storage.opening import open_source
from converter.storage.outputs import open_sink

CAPABILITIES = capabilities("")
IDENTIFIERS = st.from_regex(r"\A[a-z][a-z0-9_]{0,7}\Z")
SHORT_TEXTS = (
    texts(utf8_only=False, max_bytes=15)
    .map(lambda text: text.replace(b"\0", b"z"))
    .filter(lambda text: len(text) < 16)
)
#: Of lost events: -1 where nobody knows how many, or a number of 48 bits that is not 0.
COUNTS = st.one_of(st.just(-1), st.integers(1, (1 << 48) - 1))
FITTED = fitted_traces(
    CAPABILITIES, names_of_fields=IDENTIFIERS, strings=SHORT_TEXTS, of_role={Role.COUNT: COUNTS}
)
FIXTURES = Path(__file__).parents[3] / "roundtrip_fixtures" / "uftrace"


@contextmanager
def temporary():
    path = tempfile.mkdtemp()
    try:
        yield Path(path) / "data"
    finally:
        shutil.rmtree(path)


def read_back(path):
    with open_source(path) as source:
        return collect(read(source))


def written_and_read(trace):
    with temporary() as path:
        with open_sink(path, directory=True) as sink:
            write(trace, sink, "")
        return read_back(path)


def files_of(path):
    return {str(file.relative_to(path)): file.read_bytes() for file in sorted(path.rglob("*"))}


# The law


@given(traces())
def test_reading_what_was_written_gives_the_projection(trace):
    fitted = collect(project(trace, CAPABILITIES, "uftrace")[0])
    back = written_and_read(fitted)
    assert difference(fitted, back) is None
    assert back.warnings == []


@given(FITTED)
def test_what_fits_survives_and_loses_nothing(trace):
    assert difference(trace, written_and_read(trace)) is None
    fitted, losses = project(trace, CAPABILITIES, "uftrace")
    collect(fitted)
    # Numbers that take too long to print are texts.
    assert [loss for loss in losses if loss.code != "field-as-text"] == []


@settings(max_examples=15)
@given(FITTED)
def test_a_directory_survives_encoding_anew(trace):
    assert difference(trace, written_and_read(written_and_read(trace))) is None


def test_formats_of_one_name_survive_encoding_anew():
    """uftrace tells kernel events apart by name: in the files all but the first have another one."""
    trace = Trace("none", processes=[Process(1, "p")], threads=[Thread(2, 0, "t")])
    rows = []
    for number, type_ in enumerate((IntegerClass(32), StringClass(), IntegerClass(64))):
        trace.event_classes.append(EventClass(Kind.TYPED, "same", "app", (Field("x", type_),)))
        value = b"text" if isinstance(type_, StringClass) else 5
        rows.append((number, 10 + number, -1, 0, 0, (value,)))
    trace = with_batches(trace, [batch_of(trace, rows)])
    first = written_and_read(project(trace, CAPABILITIES, "uftrace")[0])
    assert [one.name for one in first.event_classes if one.kind is Kind.TYPED] == ["same"] * 3
    second = written_and_read(first)
    assert difference(first, second) is None
    assert difference(first, written_and_read(second)) is None


# Recordings

RICH = FIXTURES / "rich"


def test_an_unchanged_directory_is_copied(tmp_path):
    with open_source(str(RICH)) as source, open_sink(tmp_path / "copy", directory=True) as sink:
        write(read(source), sink, "")
    assert files_of(tmp_path / "copy") == files_of(RICH)


@pytest.mark.parametrize("srcline", ["", "yes"])
def test_a_recording_survives_encoding_anew(srcline):
    with open_source(str(RICH)) as source:
        trace = collect(read(source, srcline))
    named = [field.name for one in trace.event_classes for field in one.fields]
    assert ("srcline" in named) == bool(srcline)
    back = written_and_read(trace)
    assert back.warnings == []
    assert difference(trace, back) is None
    assert difference(trace, written_and_read(back)) is None


def recording():
    """A recording with a record of every kind that the reader knows."""
    directory = Directory(argspec="foo@arg1/i32,arg2/s,arg3/t8:Point", retspec="foo@retval/x")
    directory.files["events.txt"] = b"EVENT: 1000000 prov:one\n"
    values = directory.pack("i", -5) + directory.text(b"text") + b"12345678"
    directory.tasks[TID] = b"".join(
        [
            directory.record(9, EXIT, 3, BAR),
            directory.record(10, ENTRY, 0, MAIN + 4),
            directory.record(11, ENTRY, 1, FOO, values),
            directory.record(12, EXIT, 1, FOO, directory.pack("Q", 1 << 63)),
            directory.record(13, LOST, 0, 7),
            directory.event(14, EventId.READ_PROC_STATM, directory.pack("QQQ", 1, 2, 3)),
            directory.event(15, EventId.DIFF_PAGE_FAULT, directory.pack("qq", -1, 2)),
            directory.event(16, EventId.WATCH_CPU, directory.pack("i", 5)),
            directory.event(17, EventId.WATCH_VAR, directory.pack("QI", BASE + FOO, 77)),
            directory.event(18, 1_000_000),
            directory.event(19, 777, b"abc"),
            directory.record(20, EXIT, 0, MAIN + 4),
            directory.record(21, EXIT, 0, BAR),
        ]
    )
    life = directory.pack("iiii", TID, TID, 101, TID)
    directory.files["perf-cpu3.dat"] = (
        directory.perf(14, 0, directory.pack("iiQ", TID, TID, 11))
        + directory.perf(14, 0x2000, directory.pack("iiQ", TID, TID, 12))
        + directory.perf(14, 0x6000, directory.pack("iiQ", TID, TID, 13))
        + directory.perf(7, 0, life + directory.pack("Q", 14) + bytes(16))
        + directory.perf(3, 0, directory.pack("ii8siiQ", TID, 101, b"worker", TID, 101, 15))
        + directory.perf(4, 0, life + directory.pack("Q", 16) + bytes(16))
    )
    directory.files["extern.dat"] = b"# comment\n0.000000011 first message\n2.5 second\n"
    return directory


def test_every_kind_of_record_survives_encoding_anew(tmp_path):
    trace = read_back(recording().write(tmp_path / "data"))
    kinds = {one.kind for one in trace.event_classes}
    assert {Kind.DISCARDED, Kind.COUNTER, Kind.NATIVE, Kind.LOG, Kind.TASK_NEW} <= kinds
    back = written_and_read(trace)
    assert back.warnings == []
    assert difference(trace, back) is None


def test_kernel_records_survive_encoding_anew(tmp_path):
    kernel = Kernel()
    directory = recording()
    directory.files["kernel_header"] = kernel_header(kernel)
    directory.files["kernel-cpu1.dat"] = kernel.page(
        11,
        kernel.record(0, kernel.slice(TID, 5)),
        kernel.record(2, kernel.switch(TID, b"app", 300, b"other")),
    ) + kernel.page(20, kernel.record(1, kernel.marker(TID, b"hello")), missed=4)
    trace = read_back(directory.write(tmp_path / "data"))
    back = written_and_read(trace)
    assert back.warnings == []
    assert difference(trace, back) is None


def with_undescribed(kernel, *tids):
    """A recording with a record of each of these tasks whose type no format describes."""
    directory = recording()
    directory.files["kernel_header"] = kernel_header(kernel)
    records = [kernel.record(1, kernel.pack("HBBi", 9999, 0, 0, tid) + b"payload!") for tid in tids]
    described = kernel.record(0, kernel.slice(TID, 5))
    directory.files["kernel-cpu1.dat"] = kernel.page(11, described, *records)
    return directory


def part_of(directory, tmp_path):
    """All of a recording as a part of it, which is encoded anew; that, what was read back of it, and the losses."""
    with converter.open_trace(directory.write(tmp_path / "data")) as trace:
        part = collect(selected(trace, Selection(since="+0us")).trace)
        losses = converter.write(part, tmp_path / "part", "uftrace")
        return part, converter.read(tmp_path / "part"), [line_of(loss) for loss in losses]


def test_kernel_records_that_no_format_describes_stay_as_they_are(tmp_path):
    part, back, losses = part_of(with_undescribed(Kernel(), TID, TID), tmp_path)
    assert kinds_of(part)[Kind.NATIVE] == 3
    assert (back.warnings, losses) == ([], [])
    assert difference(part, back) is None


def test_such_records_name_the_task_that_they_named(tmp_path):
    """Here it has another number: no version takes a task 0."""
    part, back, losses = part_of(with_undescribed(Kernel(), TID, 0), tmp_path)
    assert losses == ["native-thread name=unknown:9999 (1)"]
    assert kinds_of(back) == kinds_of(part)


def test_such_records_are_lost_where_their_bytes_are_in_another_order(tmp_path):
    part, back, losses = part_of(with_undescribed(Kernel(big_endian=True), TID, TID), tmp_path)
    assert losses == ["native-big-endian name=unknown:9999 (2)"]
    assert kinds_of(part) - kinds_of(back) == {Kind.NATIVE: 2}


def kinds_of(trace):
    return Counter(
        trace.event_classes[id].kind for batch in trace.batches() for id in batch.class_id.tolist()
    )


# The file of tables


@given(st.data())
def test_damaged_tables_are_an_error(data):
    tables = Tables(
        symbols=[Symbol("f", "c", 0, 0, "a.c:1")], signatures=[()], events={1_000_000: ("a", "b")}
    )
    trace = Trace("none", processes=[Process(1, "p")], threads=[Thread(2, 0, "t")])
    held = bytearray(build_tables(trace, Tasks(trace), tables))
    assert read_tables(bytes(held)).symbols == tables.symbols
    for _ in range(data.draw(st.integers(1, 3))):
        held[data.draw(st.integers(0, len(held) - 1))] = data.draw(st.integers(0, 255))
    with suppress(TraceError):
        read_tables(bytes(held))


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("symbols", [["f", "", 0, 9]]),
        ("symbols", [["f", "", 0]]),
        ("symbols", [["\ud800", "", 0, 0]]),
        ("signatures", [[{"name": "a", "type": "u99"}]]),
        ("signatures", [[["name", "a"]]]),
        ("events", [[5, "a", "b"]]),
        ("no_thread", 1 << 31),
        ("end_event", "x"),
        ("mark_symbol", -1),
        ("trace", {}),
    ],
)
def test_tables_that_make_no_sense_are_an_error(part, value):
    trace = Trace("none")
    held = json.loads(build_tables(trace, Tasks(trace), Tables(signatures=[()])))
    held[part] = value
    with pytest.raises(TraceError, match=r"traceconv\.json"):
        read_tables(json.dumps(held).encode())
