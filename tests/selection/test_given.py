"""What programs may give for the members of a selection, and how errors name them."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

import converter
from converter import Selection
from converter.errors import SelectionError

SMALL = Path(__file__).parents[2] / "roundtrip_fixtures/trace_cmd/small.dat"


@pytest.mark.parametrize(
    ("given", "member", "value"),
    [
        ({"events": "sched_switch"}, "events", ("sched_switch",)),
        ({"events": ["a", "b"]}, "events", ("a", "b")),
        ({"comms": "git"}, "comms", ("git",)),
        ({"where": "cpu == 0"}, "where", ("cpu == 0",)),
        ({"pids": 7}, "pids", ("7",)),
        ({"pids": [7, "8*"]}, "pids", ("7", "8*")),
        ({"tids": np.int64(7)}, "tids", ("7",)),
        ({"cpus": 0}, "cpus", frozenset({0})),
        ({"cpus": [0, 1]}, "cpus", frozenset({0, 1})),
        ({"since": 827.3}, "since", "827.3"),
        ({"since": 1e-7}, "since", "0.0000001"),
        ({"last": timedelta(milliseconds=5)}, "last", "0.005000000"),
        ({"since": datetime(2024, 5, 1, tzinfo=UTC)}, "since", "2024-05-01T00:00:00+00:00"),
    ],
)
def test_a_single_value_is_one(given, member, value):
    assert getattr(Selection(**given), member) == value


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"events": 5}, "events: expected a text"),
        ({"comms": [7]}, "comms: expected a text"),
        ({"cpus": "0-3"}, "cpus: expected a number"),
        ({"cpus": None}, "cpus: expected a number"),
        ({"since": [1]}, "since: expected a text"),
        ({"last": True}, "last: expected a text"),
    ],
)
def test_other_types_are_refused(given, words):
    with pytest.raises(TypeError, match=words):
        Selection(**given)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"since": "1", "last": "1ms"}, "^since and last both say where the part starts"),
        ({"since": "+5s", "until": "+1s"}, r"^since \(\+5s\) is after until \(\+1s\)$"),
        ({"pids": "abc"}, r"'abc' is not a process id \(comms selects by name\)"),
    ],
)
def test_errors_name_members(given, words):
    with pytest.raises(SelectionError, match=words):
        Selection(**given)


@pytest.mark.parametrize("until", ["+5s", "+5.0000000001s", None])
def test_times_that_are_not_reversed_are_taken(until):
    assert Selection(since="+5s", until=until)


def test_events_of_one_name():
    trace = converter.select(converter.read(SMALL), Selection(events="sched_switch"))
    assert sum(map(len, trace.batches())) == 182


def test_errors_of_the_library_name_its_arguments(tmp_path):
    path = tmp_path / "x.fxt"
    report = converter.convert(SMALL, path)
    with pytest.raises(converter.OutputError, match=r"exists already \(force=True replaces it\)"):
        converter.convert(SMALL, path)
    with pytest.raises(converter.StrictLossError, match="lossless=True keeps all") as caught:
        converter.convert(SMALL, path, force=True, strict=True)
    assert [str(one) for one in caught.value.report] == [str(one) for one in report]
    with pytest.raises(converter.UnknownNameError, match="the argument `format` names one"):
        converter.convert(SMALL, tmp_path / "x.foo")
    with pytest.raises(ValueError, match="there is no option 'foo'"):
        converter.read(SMALL, options={"foo": "bar"})


def test_a_missing_file_is_a_missing_file(tmp_path):
    path = str(tmp_path / "missing.dat")
    with pytest.raises(FileNotFoundError) as caught:
        converter.read(path)
    error = caught.value
    assert isinstance(error, converter.TraceError)
    assert isinstance(error, converter.MissingFileError)
    assert str(error) == f"{path}: No such file or directory"
    assert error.filename == path
    assert error.errno == 2


@pytest.mark.parametrize(
    ("value", "since"),
    [
        (np.int64(3), "3"),
        (np.float64(1.5), "1.5"),
        (np.timedelta64(1500, "ms"), "+1.500000000"),
        (timedelta(seconds=2, microseconds=3), "+2.000003000"),
        (np.datetime64("2024-05-01T12:00"), "2024-05-01T12:00:00.000000000"),
    ],
)
def test_times_of_numpy_and_durations(value, since):
    assert Selection(since=value).since == Selection(until=value).until == since


def test_a_duration_at_the_end_is_no_time():
    assert Selection(last=np.timedelta64(5, "ms")).last == "0.005000000"


@pytest.mark.parametrize("value", [np.datetime64("NaT"), np.timedelta64("NaT"), True, b"1", []])
def test_what_is_no_time(value):
    with pytest.raises(TypeError, match="since: expected a text"):
        Selection(since=value)


def test_times_of_pandas():
    pandas = pytest.importorskip("pandas")
    moment = pandas.Timestamp("2024-05-01 12:00:00.123456789")
    assert Selection(since=moment).since == "2024-05-01T12:00:00.123456789"
    assert Selection(since=pandas.Timedelta("1.000000001s")).since == "+1.000000001"
