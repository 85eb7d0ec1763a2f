"""Tables of somebody else as traces: events of one class, with columns of any names."""

from __future__ import annotations

import pytest

import converter
from converter.errors import TraceError
from converter.ir.invariants import check

pa = pytest.importorskip("pyarrow", minversion="16.0")
pq = pytest.importorskip("pyarrow.parquet")


def foreign(folder, columns, name="table.parquet", **options):
    path = folder / name
    table = pa.table(columns)
    if name.endswith(".parquet"):
        pq.write_table(table, path)
    else:
        with pa.ipc.new_file(path, table.schema) as file:
            file.write_table(table)
    return converter.read(path, options=options)


@pytest.mark.parametrize("name", ["requests.parquet", "requests.arrow"])
def test_a_table_of_somebody_else_is_events_of_one_class(name, tmp_path):
    columns = {
        "when": pa.array([1_000_000, 2_000_000], pa.timestamp("us")),
        "cpu": pa.array([0, None], pa.int16()),
        "tid": [7, 8],
        "path": ["/a", None],
        "took": [0.5, 1.5],
        "tags": [["x", "y"], []],
    }
    trace = foreign(tmp_path, columns, name)
    check(trace)
    events = trace.events()
    assert [one.name for one in trace.event_classes] == ["requests"]
    assert events["ts"].tolist() == [10**9, 2 * 10**9]
    assert str(events["time"][0]) == "1970-01-01T00:00:01.000000000"
    assert events["path"].tolist() == ["/a", None]
    assert events["took"].tolist() == [0.5, 1.5]
    assert [list(one) for one in events["tags"]] == [["x", "y"], []]
    assert events["cpu"].tolist() == [0, None]
    assert events["tid"].tolist() == [7, 8]
    converter.write(trace, tmp_path / "out.pftrace")


@pytest.mark.parametrize(
    ("unit", "values", "expected"),
    [
        ("ms", [1, 2], [10**6, 2 * 10**6]),
        ("s", [0.25, 1e-9], [250_000_000, 1]),
        ("us", [0.5], [500]),
    ],
)
def test_times_that_are_bare_numbers_have_a_unit(unit, values, expected, tmp_path):
    trace = foreign(tmp_path, {"at": values}, time="at", unit=unit, event="tick")
    assert trace.event_classes[0].name == "tick"
    assert trace.events()["ts"].tolist() == expected


@pytest.mark.parametrize(
    ("columns", "options", "what"),
    [
        ({"x": [1.5], "y": ["a"]}, {}, "-O time=COLUMN: found columns x (double), y"),
        ({"x": [1.5]}, {"time": "z"}, "no column 'z' of times for time: found columns x (double)"),
        ({"ts": [1], "x": ["a"]}, {"cpu": "x"}, "no column 'x' of integers for cpu"),
        ({"ts": [1]}, {"unit": "min"}, "expected one of s, ms, us, ns, found min"),
        ({"ts": [1], "cpu": [1 << 40]}, {}, "no numbers of CPUs"),
        ({"ts": [1e300]}, {}, "64 bits of nanoseconds"),
    ],
)
def test_what_columns_there_are_is_said_where_one_is_missing(columns, options, what, tmp_path):
    with pytest.raises(TraceError) as caught:
        foreign(tmp_path, columns, **options)
    assert what in str(caught.value)


def test_rows_without_a_time_are_left_out_with_a_warning(tmp_path):
    trace = foreign(tmp_path, {"ts": pa.array([1, None, 3], pa.int64())})
    assert trace.events()["ts"].tolist() == [1, 3]
    assert [one.message for one in trace.warnings] == ["1 rows have no time and are left out"]
