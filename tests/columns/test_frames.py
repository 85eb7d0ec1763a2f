"""Columns behave as the data frames that people know, and become those of pandas, Polars and Arrow."""

import pickle

import numpy as np
import pytest

import converter
from converter.ir.event_columns import EventColumns

RECORDING = "roundtrip_fixtures/trace_cmd/small.dat"


@pytest.fixture(scope="module")
def switches():
    return converter.read(RECORDING).events("sched_switch")


@pytest.fixture
def columns():
    return EventColumns(
        4,
        {
            "ts": np.array([10, 20, 30, 1 << 62]),
            "name": np.array(["a", None, "c", "d"], object),
            "pid": np.ma.MaskedArray(
                np.array([1, 2, 3, (1 << 62) + 1]), [False, True, False, False]
            ),
            "x": lambda: np.array([0.5, 1.5, 2.5, 3.5]),
        },
    )


def test_length_is_that_of_rows(columns, switches):
    assert len(columns) == 4
    assert columns.shape == (4, 4)
    assert columns.columns == [*columns.keys()] == ["ts", "name", "pid", "x"]
    assert len(switches) == switches.count == len(switches["ts"]) > 100
    assert not columns[:0]
    assert columns


def test_rows_and_columns_are_selected(columns):
    assert columns[1:3]["ts"].tolist() == [20, 30]
    assert columns[-1]["name"] == "d"
    assert columns[1] == {"ts": 20, "name": None, "pid": None, "x": 1.5}
    assert columns[columns["x"] > 1]["name"].tolist() == [None, "c", "d"]
    # Where there is no number nothing is compared, and nothing matches.
    assert columns[columns["pid"] >= 1]["ts"].tolist() == [10, 30, 1 << 62]
    assert columns[[3, 0]]["ts"].tolist() == [1 << 62, 10]
    assert columns[np.array([], np.int64)].shape == (0, 4)
    assert columns[[]].shape == (0, 4)
    assert [*columns[["x", "ts"]]] == ["x", "ts"]
    assert columns[["x", "ts"]][::2]["x"].tolist() == [0.5, 2.5]
    assert columns.head(2)["ts"].tolist() == [10, 20]
    assert columns.tail(1)["ts"].tolist() == [1 << 62]
    assert len(columns.head(9)) == len(columns.tail(9)) == 4


@pytest.mark.parametrize(
    ("key", "error", "told"),
    [
        ("nmae", KeyError, "no column 'nmae' of 4 rows: there are ts, name, pid, x"),
        (["ts", "nmae"], KeyError, "no column 'nmae'"),
        (4, IndexError, "no row 4 of 4"),
        (-5, IndexError, "no row -5 of 4"),
        ([True, False, True], IndexError, "a mask of 3 values for 4 rows"),
        (np.ones((2, 2), bool), IndexError, r"a mask of shape \(2, 2\) for 4 rows"),
        (1.5, TypeError, "1.5 is neither the name of a column"),
        ([1.5], TypeError, "neither the name"),
    ],
)
def test_what_there_is_not(columns, key, error, told):
    with pytest.raises(error, match=told):
        columns[key]


def test_columns_are_added_and_removed(columns):
    columns["wait"] = columns["ts"] - 10
    columns["host"] = "server"
    assert columns[1:2]["wait"].tolist() == [10]
    assert columns["host"].tolist() == ["server"] * 4
    assert columns.pop("wait").tolist()[1] == 10
    assert columns.pop("wait", None) is None
    assert "wait" not in columns
    assert columns.get("wait") is None
    del columns["host"]
    assert [*(columns | {"y": [1, 2, 3, 4]})] == ["ts", "name", "pid", "x", "y"]
    assert columns.columns == ["ts", "name", "pid", "x"]
    with pytest.raises(ValueError, match="3 values for 4 rows"):
        columns["y"] = [1, 2, 3]
    with pytest.raises(KeyError):
        del columns["y"]
    assert columns.popitem()[0] == "x"
    assert columns.setdefault("x", 0).tolist() == [0] * 4
    columns.clear()
    assert columns.shape == (4, 0)


def test_rows_are_values_of_python(columns):
    rows = [*columns.rows()]
    assert rows[1] == {"ts": 20, "name": None, "pid": None, "x": 1.5}
    assert rows[3]["pid"] == (1 << 62) + 1
    assert type(rows[0]["ts"]) is int


def test_lists_of_lists_are_values_of_python_too():
    stack = np.empty(2, object)
    stack[:] = [np.array([1, 2], np.uint8), np.array([], np.uint8)]
    nested = np.empty(1, object)
    nested[0] = stack
    columns = EventColumns(1, {"stack": lambda: nested})
    assert [*columns.rows()] == [{"stack": [[1, 2], []]}]


def test_copies_are_equal(columns):
    again = pickle.loads(pickle.dumps(columns))
    assert again == columns == columns.copy()
    other = columns.copy()
    other["x"] = 1.5
    assert other != columns
    assert columns != {"ts": columns["ts"]}
    assert {**columns}.keys() == dict(columns).keys() == columns.keys()
    assert dict(columns)["x"].tolist() == [0.5, 1.5, 2.5, 3.5]


def test_what_a_notebook_shows(columns):
    html = columns._repr_html_()
    assert "4 rows, 4 columns" in html
    assert repr(columns) == "<EventColumns of 4 rows: ts, name, pid, x>"


def test_arrow(columns, switches):
    pytest.importorskip("pyarrow")
    table = columns.to_arrow()
    assert table.column("pid").to_pylist() == [1, None, 3, (1 << 62) + 1]
    assert table.column("name").to_pylist() == ["a", None, "c", "d"]
    columns["mixed"] = np.array([1, "two", b"three", {"four": np.array([4])}], object)
    assert columns.to_arrow()["mixed"].to_pylist() == ["1", "two", "three", '{"four": [4]}']
    columns["lists"] = np.array([None, np.array([1, 2]), [3], []], object)
    assert columns.to_arrow()["lists"].to_pylist() == [None, [1, 2], [3], []]
    again = switches.to_arrow()
    assert again.num_rows == len(switches)
    assert again["next_comm"].to_pylist() == switches["next_comm"].tolist()


def test_pandas(columns, switches):
    pandas = pytest.importorskip("pandas")
    for frame in (pandas.DataFrame(columns), columns.to_pandas()):
        assert frame.shape == (4, 4)
        assert frame["ts"].tolist() == columns["ts"].tolist()
    frame = columns.to_pandas()
    assert frame["pid"].dtype == "Int64"
    assert frame["pid"].tolist()[::3] == [1, (1 << 62) + 1]
    assert frame["pid"].isna().tolist() == [False, True, False, False]
    frame = pandas.DataFrame(switches)
    assert frame.shape == switches.shape
    assert frame.groupby("next_comm").size().sum() == len(switches)
    assert frame["time"].dtype.kind == "M"


def test_polars(columns, switches):
    polars = pytest.importorskip("polars")
    for frame in (polars.DataFrame(columns), columns.to_polars()):
        assert frame.shape == (4, 4)
        assert frame["pid"].to_list() == [1, None, 3, (1 << 62) + 1]
    assert switches.to_polars().shape == switches.shape


@pytest.mark.parametrize("name", ["to_pandas", "to_polars"])
def test_without_the_library(columns, name, monkeypatch):
    library = name.removeprefix("to_")
    monkeypatch.setitem(__import__("sys").modules, library, None)
    with pytest.raises(ModuleNotFoundError, match=f"this needs {library}: pip install {library}"):
        getattr(columns, name)()
