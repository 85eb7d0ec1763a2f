"""Damaged files of Arrow's formats: every one ends in a sound trace or an error."""

from __future__ import annotations

from contextlib import suppress
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.inputs.columnar_files import FILES, opened, written

import converter
from converter.errors import TraceError
from converter.fixtures import synthetic_trace
from converter.ir.collect import collect, with_batches
from converter.ir.invariants import check

pa = pytest.importorskip("pyarrow", minversion="16.0")
pq = pytest.importorskip("pyarrow.parquet")


@pytest.mark.parametrize("name", FILES)
@given(data=st.data())
def test_damage_ends_in_a_sound_trace_or_an_error_of_it(name, data):
    whole = bytearray(synthetic(name))
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] ^= data.draw(st.integers(1, 255))
    cut = data.draw(st.integers(0, 2)) == 0
    damaged = bytes(whole[: data.draw(st.integers(8, len(whole)))] if cut else whole)
    with suppress(TraceError):
        check(collect(opened(damaged, name)))


@cache
def synthetic(name):
    return written(synthetic_trace("sched,timeline,typed", 60), name)


def test_a_stream_that_ends_early_is_what_came_with_a_warning():
    trace = collect(synthetic_trace("sched", 60))
    whole = written(with_batches(trace, list(trace.batches()) * 3), "arrow+stream")
    again = collect(opened(whole[:-9], "arrow"))
    assert again.warnings
    assert sum(map(len, again.batches()))


@pytest.mark.parametrize(
    "change",
    [
        # The type of the texts' column, behind which stands how they are encoded.
        (b"\x15\x0c\x19", b"\x15\x04\x19"),
        # That of the times' column: bounds of 64 bits are too long for it.
        (b"\x15\x04\x19", b"\x15\x02\x19"),
        # A bound that ends the footer.
        (b"\x18\x08" + bytes([3, *bytes(7)]), b"\x18\x7f" + bytes([3, *bytes(7)])),
    ],
)
def test_a_footer_that_contradicts_itself_ends_nothing(tmp_path, change):
    # PyArrow ends the process when it is asked for the statistics of such a column.
    path = tmp_path / "foreign.parquet"
    pq.write_table(pa.table({"ts": [1, 2, 3], "name": ["a", "b", "c"]}), path)
    data = path.read_bytes()
    start = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    footer = data[start:].replace(*change)
    assert footer != data[start:]
    path.write_bytes(data[:start] + footer)
    only = converter.Selection(since="0s")
    with (
        suppress(TraceError),
        converter.open_trace(path, options={"time": "ts"}, selection=only) as trace,
    ):
        assert sum(map(len, trace.batches())) == 3


def as_other(count):
    """Columns of other types than any of ours has."""
    yield pa.array([b"\xff", b"a"] * count, pa.binary())[:count].dictionary_encode()
    yield pa.array(["a"] * count)
    yield pa.array([1.5] * count)
    yield pa.array([-1] * count, pa.int64())
    yield pa.array([[1]] * count, pa.list_(pa.int8()))
    yield pa.array([{"a": None}] * count)
    yield pa.nulls(count)


@pytest.mark.parametrize("number", range(7))
def test_a_column_of_another_type_is_damage(number):
    ipc = pytest.importorskip("pyarrow.ipc")
    table = ipc.open_file(written(synthetic_trace("typed", 24), "arrow")).read_all()
    refused = 0
    for place, name in enumerate(table.column_names):
        other = [*as_other(table.num_rows)][number]
        changed = table.set_column(place, name, other).replace_schema_metadata(
            table.schema.metadata
        )
        sink = pa.BufferOutputStream()
        with ipc.new_file(sink, changed.schema) as file:
            file.write_table(changed)
        try:
            check(collect(opened(sink.getvalue().to_pybytes(), "arrow")))
        except TraceError:
            refused += 1
    assert refused


@pytest.mark.parametrize("at", [1, 9, 60, 110])
def test_a_footer_that_is_cut_is_damage(at, tmp_path):
    from converter.formats.columnar.parquet.footer import row_groups

    pq.write_table(pa.table({"ts": [1, 2, 3]}), tmp_path / "a.parquet", row_group_size=2)
    data = (tmp_path / "a.parquet").read_bytes()
    footer = data[len(data) - 8 - int.from_bytes(data[-8:-4], "little") : -8]
    whole = row_groups(footer)
    assert [group.rows for group in whole] == [2, 1]
    assert [group.columns[0].bounds for group in whole] == [(1, 2), (3, 3)]
    assert [group.columns[0].nulls for group in whole] == [0, 0]
    with pytest.raises(TraceError, match="footer"):
        row_groups(footer[:at])
