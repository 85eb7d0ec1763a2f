"""Profiles that are written: valid by the profiler's types, with all that was written read back."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.profiles.gecko_profiles import FORMS
from support.profiles.gecko_validator import faults

import converter
from converter import convert, read
from converter.fixtures import synthetic_trace
from converter.formats.profiles import spool
from converter.ir.canonical import difference
from converter.ir.events import Batch, EventClass, Field, Table
from converter.ir.field_classes import IntegerClass, StringClass
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Process, Thread, Trace, Track, TrackScope
from converter.testing import FormatConformance, assert_what_fits_survives

ROOT = Path(__file__).parents[4]
FIXTURES = ROOT / "roundtrip_fixtures"
NAME = Field("name", StringClass(), Role.NAME)


def written(source: Path, target: Path) -> dict[str, Any]:
    convert(source, target)
    profile: dict[str, Any] = json.loads(target.read_bytes())
    assert list(faults(profile)) == []
    return profile


class TestGecko(FormatConformance):
    format = "gecko"


@pytest.mark.parametrize(
    "name",
    [
        "chrome/features.json",
        "perfetto/tables.pftrace",
        "perfetto/timeline.pftrace",
        "trace_cmd/small.dat",
        "fxt/every-record-little.fxt",
    ],
)
def test_what_is_written_is_valid_and_survives(name: str, tmp_path: Path) -> None:
    written(FIXTURES / name, tmp_path / "a.profile.json")
    with converter.open_trace(FIXTURES / name) as trace:
        assert_what_fits_survives(trace, tmp_path / "b.profile.json", "gecko")


@pytest.mark.parametrize("form", FORMS)
def test_profiles_are_written_as_they_were_read(form: str, tmp_path: Path) -> None:
    source, target = tmp_path / "a.json", tmp_path / "b.profile.json"
    source.write_text(json.dumps(FORMS[form]()))
    profile = written(source, target)
    assert difference(read(source), read(target)) is None
    (thread,) = profile["threads"]
    assert (thread["pid"], thread["tid"], thread["processName"]) == ("10", 11, "Web")
    assert thread["samples"]["time"] == [1.5, 2, 3.25]
    assert thread["samples"]["stack"][1] is None
    assert thread["markers"]["endTime"] == [None, 25, None, 35.0001]
    assert profile["meta"]["startTime"] == 1_700_000_000_000.5


def test_a_suffix_names_the_format_and_the_compression(tmp_path: Path) -> None:
    target = tmp_path / "a.profile.json.gz"
    convert(FIXTURES / "perfetto/tables.pftrace", target)
    profile = json.loads(gzip.decompress(target.read_bytes()))
    assert list(faults(profile)) == []
    assert sum(thread["samples"]["length"] for thread in profile["threads"]) > 0
    assert read(target).format == "gecko"


def trace_of(events: list[tuple[int, Any]], value: Field) -> Trace:
    """Instants on a thread, with one argument."""
    event_class = EventClass(Kind.INSTANT, fields=(NAME, value))
    trace = Trace("ir", processes=[Process(1, "p")], threads=[Thread(2, 0, "t")])
    trace.add_class(event_class)
    name = trace.strings.intern(b"n")
    count = len(events)

    def batches() -> Any:
        values = np.array([one for _, one in events], value.type.dtype)  # type: ignore[union-attr]
        yield Batch(
            ts=np.array([ts for ts, _ in events], np.int64),
            class_id=np.zeros(count, np.int32),
            row=np.arange(count, dtype=np.int32),
            tables={0: Table(count, [np.full(count, name, np.int32), values])},
            thread=np.zeros(count, np.int32),
        )

    trace.make_batches = batches
    return trace


@pytest.mark.parametrize("last", [(1 << 51) - 1, 1 << 51, (1 << 53) + 1, (1 << 62) - 1])
def test_times_have_all_their_digits(last: int, tmp_path: Path) -> None:
    trace = trace_of([(0, 0), (1, -1), (last, 1)], Field("v", IntegerClass(64, True)))
    assert_what_fits_survives(trace, tmp_path / "a.profile.json", "gecko")
    profile = json.loads((tmp_path / "a.profile.json").read_bytes())
    assert list(faults(profile)) == []
    assert ("exact" in profile["traceconv"]) == (last >= 1 << 51)


def test_arguments_that_the_profiler_treats_in_its_way_have_other_keys(tmp_path: Path) -> None:
    trace = trace_of([(5, 7)], Field("stack", IntegerClass(64, True)))
    assert_what_fits_survives(trace, tmp_path / "a.profile.json", "gecko")
    profile = json.loads((tmp_path / "a.profile.json").read_bytes())
    (data,) = profile["threads"][0]["markers"]["data"]
    assert data == {"type": "stack", "stack_": 7}


def test_a_track_of_no_thread_is_a_thread(tmp_path: Path) -> None:
    trace = trace_of([(5, 7)], Field("v", IntegerClass(64, True)))
    trace.tracks.append(Track("GPU", TrackScope.PROCESS, 0))
    make = trace.make_batches

    def batches() -> Any:
        for batch in make():
            batch.track = np.zeros(len(batch), np.int32)
            batch.thread = np.full(len(batch), -1, np.int32)
            yield batch

    trace.make_batches = batches
    assert_what_fits_survives(trace, tmp_path / "a.profile.json", "gecko")
    profile = json.loads((tmp_path / "a.profile.json").read_bytes())
    assert [(one["name"], one["pid"]) for one in profile["threads"]] == [("GPU", "1")]


def test_columns_may_be_larger_than_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool, "_MOST_IN_MEMORY", 100)
    monkeypatch.setattr(spool, "_BLOCK", 7)
    trace = synthetic_trace("all", 200)
    assert_what_fits_survives(trace, tmp_path / "a.profile.json", "gecko")
    assert list(faults(json.loads((tmp_path / "a.profile.json").read_bytes()))) == []
