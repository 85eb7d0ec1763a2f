"""Parquet and Arrow IPC: every trace comes back, others' programs read what is in it, and a part reads only its own."""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from support.inputs.columnar_files import FILES, opened, written
from support.traces.small_traces import event_class, trace_of
from support.traces.strategies import traces

import converter
from converter.cli import main
from converter.errors import UnsupportedError
from converter.fixtures import synthetic_trace
from converter.ir.canonical import difference
from converter.ir.collect import collect, with_batches
from converter.ir.field_classes import ArrayClass, IntegerClass
from converter.ir.invariants import check
from converter.ir.kinds import Kind

pa = pytest.importorskip("pyarrow", minversion="16.0")
pq = pytest.importorskip("pyarrow.parquet")

ROOT = Path(__file__).parents[2]
U64 = IntegerClass(64)
SMALL = ROOT / "roundtrip_fixtures/trace_cmd/small.dat"


def assert_same(trace, again):
    assert difference(trace, again, sidecar=True) is None
    assert difference(trace, again, sidecar=True) is None, "a second pass"
    assert not set(again.warnings) - set(trace.warnings)
    assert again.format == trace.format
    check(again)


@pytest.mark.parametrize("name", FILES)
@given(trace=traces())
def test_every_trace_survives(name, trace):
    assert_same(trace, opened(written(trace, name), name))


@pytest.mark.parametrize("name", FILES)
@settings(max_examples=15)
@given(trace=traces())
def test_batches_that_are_more_than_a_group_survive_in_stretches(name, trace):
    from converter.formats.columnar.arrow import writing as arrow
    from converter.formats.columnar.parquet import writing as parquet

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parquet, "GROUP_ROWS", 3)
        patch.setattr(arrow, "BATCH_ROWS", 3)
        data = written(trace, name)
    if name == "parquet":
        metadata = pq.read_metadata(pa.BufferReader(data))
        assert all(metadata.row_group(i).num_rows <= 3 for i in range(metadata.num_row_groups))
    assert_same(trace, opened(data, name))


@settings(max_examples=15)
@given(trace=traces())
def test_every_trace_survives_in_a_directory(trace):
    with tempfile.TemporaryDirectory() as folder:
        converter.write(trace, f"{folder}/out", "parquet+dataset")
        with converter.open_trace(f"{folder}/out") as again:
            assert_same(trace, again)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A recording as a file and as a directory."""
    folder = tmp_path_factory.mktemp("small")
    converter.convert(SMALL, folder / "small.parquet")
    converter.convert(SMALL, folder / "small", target_format="parquet+dataset")
    return folder


def switches_of(path):
    with converter.open_trace(path) as trace:
        return trace.events("sched_switch")


def plain(column):
    is_time = pa.types.is_duration(column.type)
    return column.cast(pa.int64() if is_time else column.type).to_pylist()


def test_others_read_what_is_in_it(small):
    """The columns are those that `to_arrow` gives, and a folder of a class says which it is."""
    with converter.open_trace(SMALL) as trace:
        expected = trace.to_arrow("sched_switch")
    table = pq.read_table(small / "small.parquet", filters=[("event", "=", "sched_switch")])
    assert table.num_rows == expected.num_rows
    for name in ("ts", "tid", "thread", "prev_comm", "next_pid", "prev_state"):
        found = next(one for one in (name, f"sched_switch.{name}") if one in table.column_names)
        assert plain(table[found]) == plain(expected[name])
    part = pq.read_table(small / "small/event=sched_switch")
    assert part["prev_comm"].to_pylist() == expected["prev_comm"].to_pylist()
    assert part.schema.field("ts").type == pa.duration("ns")
    assert set(pq.read_table(small / "small").column("event").to_pylist()) >= {"sched_switch"}


@pytest.mark.parametrize("name", ["small.parquet", "small"])
def test_the_events_are_there_once(name, small):
    """And not in the file that they were read from, besides."""
    assert converter.read(small / name).sidecar["trace_cmd"].keys() == {"skeleton"}


@pytest.fixture
def read(monkeypatch):
    """How many bytes were read of each file."""
    from converter.storage.source import FileSource

    found = Counter()
    read, fill = FileSource.read, FileSource._fill

    def reading(self, offset, size):
        data = read(self, offset, size)
        found[self.name] += len(data)
        return data

    def filling(self, offset, view):
        count = fill(self, offset, view)
        found[self.name] += count
        return count

    monkeypatch.setattr(FileSource, "read", reading)
    monkeypatch.setattr(FileSource, "_fill", filling)
    return found


def test_one_class_reads_only_its_bytes(small, read):
    only = converter.Selection(events=("sched_switch",))
    with converter.open_trace(small / "small", selection=only) as trace:
        kept = sum(map(len, trace.batches()))
    assert kept == len(switches_of(SMALL)["ts"])
    data = [Path(name).parent.name for name in read if name.endswith(".parquet")]
    assert data == ["event=sched_switch"]
    part = sum(read[name] for name in read if name.endswith(".parquet"))
    read.clear()
    with converter.open_trace(small / "small") as trace:
        assert sum(map(len, trace.batches())) > kept
    assert part < sum(read[name] for name in read if name.endswith(".parquet")) / 5


@pytest.mark.parametrize("name", ["small.parquet", "small"])
def test_a_window_reads_only_groups_of_its_time(name, small, tmp_path, monkeypatch):
    from converter.formats.columnar.parquet import writing

    monkeypatch.setattr(writing, "GROUP_ROWS", 100)
    path = tmp_path / name
    converter.convert(SMALL, path, target_format="parquet" if "." in name else "parquet+dataset")
    with converter.open_trace(path) as trace:
        first, last = trace.seeking.first(), trace.seeking.last()
        every = sum(map(len, trace.batches()))
        times = [ts for batch in trace.batches() for ts in batch.ts.tolist()]
        assert (min(times), max(times)) == (first, last)
        begin, end = times[every // 3], times[every // 2]
        narrowed = trace.seeking.narrow(begin, end)
        assert narrowed.leaves_out
        assert narrowed.goes_on
        left = [ts for batch in trace.batches() for ts in batch.ts.tolist()]
    assert len(left) < every
    assert {ts for ts in times if begin <= ts <= end} <= set(left)


@pytest.mark.parametrize("target", ["parquet", "parquet+dataset", "arrow"])
def test_a_window_reads_a_few_hundredths_of_the_rows(target, tmp_path, monkeypatch, read):
    from converter.formats.columnar.arrow import writing as arrow
    from converter.formats.columnar.parquet import writing as parquet

    if target == "arrow" and not arrow.HAS_FOOTER:
        pytest.skip("this PyArrow writes no metadata into footers")
    for module, name in (
        (parquet, "GROUP_ROWS"),
        (parquet, "CLASS_GROUP_ROWS"),
        (arrow, "BATCH_ROWS"),
    ):
        monkeypatch.setattr(module, name, 500)
    builder = converter.TraceBuilder()
    numbers = np.arange(25_000)
    builder.counter("load", numbers * 1000, numbers * 7919 % 10_007)
    converter.write(builder.trace(), tmp_path / "out", target)
    read.clear()
    with converter.open_trace(tmp_path / "out") as trace:
        assert trace.seeking.last() == 1000 * numbers[-1]
        opened = sum(read.values())
        assert sum(map(len, trace.batches())) == len(numbers)
        every = sum(read.values()) - opened
    read.clear()
    only = converter.Selection(since="+10ms", until="+10.25ms")
    with converter.open_trace(tmp_path / "out", selection=only) as trace:
        ts = np.concatenate([batch.ts for batch in trace.batches()])
    assert set(range(10_000_000, 10_250_001, 1000)) <= set(ts.tolist())
    assert sum(read.values()) - opened < every / 15


@pytest.mark.parametrize("target", ["parquet", "parquet+dataset"])
def test_small_batches_are_one_group_whose_encoding_is_what_pays(target, tmp_path):
    """Dictionaries of what repeats, and statistics of all but texts, of which a group has nearly all."""
    numbers = np.arange(1000)
    builder = converter.TraceBuilder()
    fields = {"address": numbers * 0x9E3779B97F, "state": numbers % 3, "what": ["a", "b"] * 500}
    builder.event("tick", numbers * 1000, fields=fields)
    whole = collect(builder.trace())
    (events,) = whole.batches()
    parts = [events.select(slice(start, start + 100)) for start in range(0, 1000, 100)]
    converter.write(with_batches(whole, parts), tmp_path / "out", target)
    files = [tmp_path / "out", *tmp_path.glob("out/*/*.parquet")]
    (group,) = (pq.read_metadata(file).to_dict()["row_groups"] for file in files if file.is_file())
    assert [one["num_rows"] for one in group] == [1000]
    columns = {column["path_in_schema"]: column for column in group[0]["columns"]}
    assert columns["address"]["has_dictionary_page"] is False
    assert columns["state"]["has_dictionary_page"] and columns["what"]["has_dictionary_page"]
    assert columns["address"]["is_stats_set"] and columns["ts"]["is_stats_set"]
    assert not columns["what"]["is_stats_set"]
    assert {column["compression"] for column in columns.values()} == {"UNCOMPRESSED"}


def test_numbers_in_lists_have_dictionaries_if_they_repeat():
    lists = event_class(Kind.TYPED, "lists", same=ArrayClass(U64), other=ArrayClass(U64))
    rows = [(0, number, -1, 1, [[number % 2, 5], [number]]) for number in range(100)]
    data = written(trace_of([lists], rows), "parquet")
    (group,) = pq.read_metadata(pa.BufferReader(data)).to_dict()["row_groups"]
    columns = {column["path_in_schema"]: column for column in group["columns"]}
    assert columns["same.list.element"]["has_dictionary_page"]
    assert not columns["other.list.element"]["has_dictionary_page"]


def test_rows_that_wait_are_bounded_by_the_memory_that_they_take(tmp_path, monkeypatch):
    """However few they are: what has most of it is written first."""
    from converter.formats.columnar.parquet import writing

    monkeypatch.setattr(writing, "_WAITING_BYTES", 20_000)
    numbers = np.arange(1000)
    builder = converter.TraceBuilder()
    builder.event("large", numbers * 1000, fields={"data": [b"x" * 100] * 1000})
    builder.event("small", numbers * 1000 + 1, fields={"state": numbers % 3})
    whole = collect(builder.trace())
    parts = [b.select(slice(at, at + 200)) for b in whole.batches() for at in range(0, len(b), 200)]
    converter.write(with_batches(whole, parts), tmp_path / "out", "parquet+dataset")
    groups = {
        name: pq.read_metadata(next(tmp_path.glob(f"out/event={name}/*"))).num_row_groups
        for name in ("large", "small")
    }
    assert groups["large"] >= 5
    assert groups["small"] <= 3
    assert not difference(converter.read(tmp_path / "out"), whole)


@pytest.mark.parametrize("spans", [b"", b"{}", b"[[1, 2]]", b'[["1", 2, 3]]', b"[[1, 2, 3]] * 9"])
def test_spans_that_say_nothing_skip_nothing(tmp_path, spans):
    from converter.formats.columnar.arrow import writing
    from converter.formats.columnar.layout import SPANS

    if not writing.HAS_FOOTER:
        pytest.skip("this PyArrow writes no metadata into footers")
    converter.convert(SMALL, tmp_path / "one.arrow")
    with pa.ipc.open_file(tmp_path / "one.arrow") as file:
        assert SPANS in file.metadata
        batches = [file.get_batch(number) for number in range(file.num_record_batches)]
    metadata = {SPANS: spans}
    with pa.ipc.new_file(tmp_path / "two.arrow", file.schema, metadata=metadata) as again:
        for batch in batches:
            again.write_batch(batch)
    with converter.open_trace(tmp_path / "two.arrow") as trace:
        assert trace.seeking is None
        assert not difference(trace, converter.read(SMALL))


def test_a_file_that_is_missing_of_a_directory_is_a_warning(small, tmp_path):
    shutil.copytree(small / "small", tmp_path / "out")
    shutil.rmtree(tmp_path / "out/event=sched_switch")
    trace = converter.read(tmp_path / "out")
    assert "events" in trace.warnings[0].detail
    with pytest.warns(converter.errors.SelectionWarning, match="no event is called sched_switch"):
        assert not len(trace.events("sched_switch")["ts"])


def test_without_pyarrow_it_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for module in ("parquet.writing", "arrow.writing"):
        monkeypatch.delitem(sys.modules, f"converter.formats.columnar.{module}", raising=False)
    for name in ("parquet", "arrow"):
        with pytest.raises(UnsupportedError, match=r"pip install 'traceconv\[arrow\]'"):
            converter.convert(SMALL, tmp_path / "out", target_format=name)


def test_many_traces_are_one_table_for_who_queries_them(tmp_path, monkeypatch):
    """The example of docs/scale.md, with ten traces."""
    duckdb = pytest.importorskip("duckdb")
    (tmp_path / "runs").mkdir()
    for number in range(10):
        trace = synthetic_trace("sched", 60, seed=number)
        converter.write(trace, tmp_path / f"runs/run{number}.fxt")
    monkeypatch.chdir(tmp_path)
    assert main(["batch", "runs/*.fxt", "-o", "fleet", "-t", "parquet+dataset", "-q"]) == 0
    page = (ROOT / "docs/scale.md").read_text()
    query = re.search(r"```sql\n(.*?)```", page, re.DOTALL)
    assert query is not None
    found = duckdb.sql(query[1]).fetchall()
    assert {run for run, _, _ in found} == {f"run{number}.parquet" for number in range(10)}
    expected = 0
    for number in range(10):
        with converter.open_trace(f"fleet/run{number}.parquet") as trace:
            expected += trace.events("sched_switch").count
    assert sum(count for _, _, count in found) == expected
