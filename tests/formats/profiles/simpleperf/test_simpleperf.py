"""Samples of simpleperf: read from files that the `protobuf` package wrote, and written so that it reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.inputs.protobuf_fields import numeric, sized
from support.profiles.simpleperf_messages import file_of, record, records_of, small
from support.profiles.simpleperf_messages import sized as with_size
from support.traces.small_traces import trace_of

import converter
from converter.errors import NothingLeftError, TraceError
from converter.fixtures import synthetic_trace
from converter.formats.profiles.simpleperf.scan import scan_records, with_sizes
from converter.ir.events import EventClass, Field
from converter.ir.field_classes import IntegerClass
from converter.ir.kinds import Kind
from converter.ir.trace import Process, Thread
from converter.projection.timeline_fields import FRAMES, FUNCTIONS, weight
from converter.testing import assert_what_fits_survives


def opened(*records: bytes) -> Any:
    return converter.open_trace(file_of(*records), "simpleperf")


def events(trace: Any) -> list[tuple[int, str, dict[str, Any]]]:
    return [(one.ts, one.name, dict(one.fields)) for one in trace.iter_events()]


def warned(data: bytes) -> list[str]:
    with converter.open_trace(data, "simpleperf") as trace:
        list(trace.iter_events())
        return [one.message or "" for one in trace.warnings]


def names(stack: list[dict[str, Any]]) -> list[tuple[str, str, int]]:
    return [(one["function"], one["mapping"], one["rel_pc"]) for one in stack]


def written(trace: Any, path: Path, **options: Any) -> list[Any]:
    converter.write(trace, path, "simpleperf", **options)
    return records_of(path.read_bytes())


def of(records: list[Any], kind: str) -> list[Any]:
    return [getattr(one, kind) for one in records if one.HasField(kind)]


def part(trace: Any) -> Any:
    """All events, without the records that they were read from."""
    return converter.select(trace, converter.Selection(where="weight >= 0 || switch_on >= 0"))


def test_samples_have_stacks_events_and_threads() -> None:
    with opened(*small()) as trace:
        found = events(trace)
        places = [
            trace.threads[number].name for batch in trace.batches() for number in batch.thread
        ]
        units = {
            one.name: one.fields[1].unit
            for one in trace.event_classes
            if one.name != "context_switch"
        }
    assert [one[:2] for one in found] == [
        (1000, "context_switch"),
        (1100, "cpu-clock:u"),
        (1200, "instructions"),
        (1300, "context_switch"),
        (1400, "instructions"),
    ]
    assert places == ["main", "main", "worker", "main", "worker"]
    assert units == {"cpu-clock:u": "ns", "instructions": ""}
    assert names(found[1][2]["frames"]) == [
        ("operator new(int)", "/system/lib64/libc.so", 0x1234),
        ("com.example.App.run", "/apex/app.odex", 0x40),
    ]
    assert found[1][2].keys() == {"frames", "weight"}
    assert (found[0][2], found[3][2]) == ({"switch_on": True}, {"switch_on": False})
    assert found[4][2] == {"frames": [], "weight": 5}


def test_how_frames_ran_and_were_unwound_is_kept() -> None:
    with opened(*small()) as trace:
        fields = events(trace)[2][2]
    assert fields["weight"] == 77
    assert fields["execution_types"] == [2, 0, 1]
    assert fields["unwinding_result"] == numeric(1, 4) + numeric(2, 0x55)


def test_missing_files_and_symbols_are_unknown() -> None:
    with opened(*small()) as trace:
        frames = events(trace)[2][2]["frames"]
        assert "frames whose file or symbol is missing: 1" in [
            one.message for one in trace.warnings
        ]
    assert names(frames)[1:] == [("", "/system/lib64/libc.so", 0x99), ("", "", 2**63)]


def test_the_recording_is_described() -> None:
    with opened(*small()) as trace:
        assert trace.environment == {
            "app_package_name": "com.example.app",
            "app_type": "debuggable",
            "android_sdk_version": "34",
            "android_build_type": "userdebug",
            "trace_offcpu": 1,
            "lost_samples": 9,
        }
        assert [(one.message, one.is_damage) for one in trace.warnings] == [
            ("the recorder lost 9 samples", False)
        ]
        assert [(one.pid, one.name) for one in trace.processes] == [(31, "main")]


def test_no_lost_samples_are_no_warning() -> None:
    assert warned(file_of(record(lost={"sample_count": 3, "lost_count": 0}))) == []


def test_threads_without_a_record_are_their_own_process() -> None:
    with opened(record(sample={"time": 1, "thread_id": 5})) as trace:
        events(trace)
        assert [(one.tid, trace.processes[one.process].pid) for one in trace.threads] == [(5, 5)]


def test_records_may_come_in_any_order() -> None:
    first, second = small(), small()
    with opened(*first) as one, opened(*second[6:], *second[:6]) as other:
        assert events(one) == events(other)


def test_records_of_other_kinds_are_kept(tmp_path: Path) -> None:
    other = with_size(sized(9, b"new"))
    data = file_of(record(sample={"time": 7}), other, *small())
    with converter.open_trace(data) as trace:
        assert events(trace)[1] == (7, "record", {"record": sized(9, b"new")})
        converter.write(trace, tmp_path / "copy.simpleperf")
    assert (tmp_path / "copy.simpleperf").read_bytes() == data


@pytest.mark.parametrize("end", [bytes(4), bytes(4) + b"what follows is not read", b""])
def test_a_file_is_copied(tmp_path: Path, end: bytes) -> None:
    data = file_of(*small(), end=end)
    with converter.open_trace(data) as trace:
        assert not converter.write(trace, tmp_path / "copy.simpleperf")
    assert (tmp_path / "copy.simpleperf").read_bytes() == data


def test_a_part_keeps_all_that_its_events_say(tmp_path: Path) -> None:
    with opened(*small()) as trace:
        before = events(trace)
        assert not converter.write(part(trace), tmp_path / "part.simpleperf")
    found = records_of((tmp_path / "part.simpleperf").read_bytes())
    (meta,) = of(found, "meta_info")
    assert meta == of(records_of(file_of(*small())), "meta_info")[0]
    samples = of(found, "sample")
    assert [(one.time, one.thread_id, one.event_count) for one in samples] == [
        (1100, 31, 250_000),
        (1200, 32, 77),
        (1400, 32, 5),
    ]
    assert [one.symbol_id for one in samples[1].callchain] == [0, -1, -1]
    assert samples[1].unwinding_result.error_addr == 0x55
    assert [(one.switch_on, one.time, one.thread_id) for one in of(found, "context_switch")] == [
        (True, 1000, 31),
        (False, 1300, 31),
    ]
    files = of(found, "file")
    assert (list(files[0].symbol), list(files[0].mangled_symbol)) == (
        ["operator new(int)"],
        ["_Znwi"],
    )
    assert not files[1].mangled_symbol
    assert [(one.sample_count, one.lost_count) for one in of(found, "lost")] == [(3, 9)]
    threads = of(found, "thread")
    assert [(one.thread_id, one.process_id, one.thread_name) for one in threads] == [
        (31, 31, "main"),
        (32, 31, "worker"),
    ]
    with converter.open_trace(tmp_path / "part.simpleperf") as trace:
        assert events(trace) == before


@pytest.mark.parametrize("kinds", ["all", "timeline", "calls", "sched"])
def test_any_trace_becomes_a_file(tmp_path: Path, kinds: str) -> None:
    trace = synthetic_trace(kinds, 200)
    found = written(trace, tmp_path / "any.simpleperf")
    files = {one.id: one for one in of(found, "file")}
    for sample in of(found, "sample"):
        for entry in sample.callchain:
            assert -1 <= entry.symbol_id < len(files[entry.file_id].symbol)
    times = [one.time for one in of(found, "sample")]
    assert times == sorted(times)
    assert_what_fits_survives(trace, tmp_path / "again.simpleperf", "simpleperf")


def test_everything_else_is_a_loss(tmp_path: Path) -> None:
    page = EventClass(Kind.SAMPLE, "e", fields=(FUNCTIONS, Field("page", IntegerClass(64))))
    report = converter.write(
        trace_of([page, EventClass(Kind.INSTANT)], [(0, 1, 0, 0, [[b"f"], 5]), (1, 2, 0, 0, [])]),
        tmp_path / "p.simpleperf",
    )
    codes = {one.code for one in report}
    assert {"field-dropped", "event-dropped", "sample-weight-added"} <= codes


def test_lines_and_negative_weights_are_losses(tmp_path: Path) -> None:
    one = EventClass(Kind.SAMPLE, "e", fields=(FRAMES, weight("bytes")))
    frame = [("function", b"f"), ("mapping", b""), ("rel_pc", 0), ("source", b"a.c"), ("line", 7)]
    trace = trace_of([one], [(0, 1, 0, 0, [[frame], -5])])
    report = converter.write(trace, tmp_path / "p.simpleperf")
    codes = {one.code for one in report}
    assert {"frame-source-dropped", "sample-weight-limited"} <= codes
    (sample,) = of(records_of((tmp_path / "p.simpleperf").read_bytes()), "sample")
    assert sample.event_count == 0


def test_threads_with_one_id_have_numbers_of_their_own(tmp_path: Path) -> None:
    one = EventClass(Kind.SAMPLE, "e", fields=(FUNCTIONS, weight("")))
    trace = trace_of(
        [one],
        [(0, 1, 0, 0, [[], 1]), (0, 2, 0, 1, [[], 1]), (0, 3, 0, -1, [[], 1])],
        processes=[Process(1, "a"), Process(2, "b")],
        threads=[Thread(7, 0, "x"), Thread(7, 1, "y")],
    )
    found = written(trace, tmp_path / "p.simpleperf")
    ids = [one.thread_id for one in of(found, "sample")]
    assert len(set(ids)) == 3
    assert ids[0] == 7
    with converter.open_trace(tmp_path / "p.simpleperf") as again:
        (batch,) = again.batches()
        assert batch.thread.tolist() == [0, 1, -1]
        assert [(one.tid, one.name) for one in again.threads] == [(7, "x"), (7, "y")]
        assert [one.name for one in again.processes] == ["a", "b"]


def test_lossless_files_end_for_others_where_they_did(tmp_path: Path) -> None:
    trace = synthetic_trace("all", 50)
    found = written(trace, tmp_path / "p.simpleperf", lossless=True)
    plain = written(trace, tmp_path / "q.simpleperf")
    assert found == plain
    assert (tmp_path / "p.simpleperf").stat().st_size > (tmp_path / "q.simpleperf").stat().st_size


def test_an_empty_trace_is_a_file(tmp_path: Path) -> None:
    found = written(trace_of([]), tmp_path / "empty.simpleperf")
    assert not of(found, "sample")
    with converter.open_trace(tmp_path / "empty.simpleperf") as trace:
        assert events(trace) == []


def test_batches_end_where_records_do() -> None:
    sample = record(sample={"time": 5, "thread_id": 1, "callchain": [{"file_id": 0}] * 3})
    data = file_of(*[sample] * 20_000, *small())
    with converter.open_trace(data) as trace:
        batches = list(trace.batches())
        assert [len(one) for one in batches] == [1 << 14, 20_005 - (1 << 14)]
        natives = [one.native for one in batches]
    assert b"".join(bytes(one.data) for one in natives if one is not None) == data
    (last,) = natives[1:]
    assert last is not None
    at = int(last.starts[-1])
    assert bytes(last.data[at : at + int(last.sizes[-1])]) == small()[5]


@pytest.mark.parametrize(
    ("data", "field"),
    [
        (b"SIMPLEPERF\2\0" + bytes(4), "version"),
        (b"SIMPLEPERF", "magic"),
        (b"", "magic"),
        (b"simpleperf\1\0" + bytes(4), "magic"),
    ],
)
def test_other_files_are_refused(data: bytes, field: str) -> None:
    with pytest.raises(TraceError) as refused, converter.open_trace(data, "simpleperf"):
        pass
    assert refused.value.field == field or not data


@pytest.mark.parametrize("cut", [1, 3, 4, 5, 30])
def test_what_is_before_a_cut_is_read(cut: int) -> None:
    data = file_of(*small()[:6])
    assert any("cut off" in one for one in warned(data[:-cut]))
    assert not any("cut off" in one for one in warned(data))
    with converter.open_trace(data[:-cut], "simpleperf") as trace:
        assert len(events(trace)) == (5 if cut < 5 else 3 if cut == 30 else 4)


def test_damaged_messages_are_counted() -> None:
    bad = with_size(sized(1, numeric(1, 5) + b"\xff"))
    none = with_size(b"\xff\xff")
    data = file_of(bad, none, *small())
    assert "messages with damage: 2" in warned(data)
    with converter.open_trace(data) as trace:
        assert len(events(trace)) == 6
    with pytest.raises(NothingLeftError), converter.open_trace(file_of(none)) as trace:
        events(trace)


def test_numbers_beyond_63_bits_are_limited() -> None:
    with opened(record(sample={"time": 2**64 - 1, "event_count": 2**63})) as trace:
        ((ts, _, fields),) = events(trace)
        assert (ts, fields["weight"]) == (2**63 - 1, 2**63 - 1)
        assert [one.field for one in trace.warnings] == ["time", "event_count"]


def test_the_side_table_may_be_damaged() -> None:
    table = with_size(sized(2001, b'{"processes": 5}'))
    assert any("tables" in one for one in warned(file_of(*small(), table)))


def test_records_are_found() -> None:
    data = np.frombuffer(file_of(with_size(b""), *small()), np.uint8)
    rows, end, is_ended = scan_records(data, 12, 99)
    assert (len(rows), end, is_ended) == (0, 12, True)
    assert len(scan_records(data, 16, 10)[0]) == 10
    rows, end, is_ended = scan_records(data, 16, 11)
    assert (len(rows), end, is_ended) == (11, len(data) - 4, False)
    rows, end, is_ended = scan_records(data, 16, 12)
    assert (len(rows), end, is_ended) == (11, len(data) - 4, True)
    assert rows[:, 2].tolist() == [5, 6, 1, 1, 6, 1, 2, 3, 3, 4, 4]
    with pytest.raises(ValueError, match="outside"):
        scan_records(data, len(data) + 1, 1)
    starts, sizes = np.array([3, 0], np.int64), np.array([1, 2], np.int64)
    assert with_sizes(data, starts, sizes).tobytes() == b"\1\0\0\0P\2\0\0\0SI"
    with pytest.raises(ValueError, match="outside"):
        with_sizes(data, starts + len(data), sizes)
