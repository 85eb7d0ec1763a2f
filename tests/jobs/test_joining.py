"""One output of several workers is that of one process; `python -m tests.joined` compares all recordings."""

from dataclasses import replace

import joined
import pytest

import converter
from converter.errors import StrictLossError, TraceError, UnsupportedError
from converter.jobs import joining_by_workers as joining
from converter.storage.outputs import open_sink
from converter.storage.sink import BufferSink
from converter.storage.writing.shared_sink import SharedSink, Turns, join_files

RECORDING = joined.RECORDINGS / "trace_cmd" / "markers.dat"


@pytest.mark.parametrize(
    ("source", "target", "result"),
    [
        ("synthetic/timeline", "perfetto", "equal"),
        ("uftrace/rich", "fxt", "equal"),
        ("trace_cmd/small.dat", "chrome", "same"),
        ("uftrace/rich", "parquet+dataset", "equal"),
    ],
)
def test_what_workers_write_together(tmp_path, source, target, result):
    if target.startswith("parquet"):
        pytest.importorskip("pyarrow", reason="PyArrow is not installed")
    assert joined.compared(source, target, tmp_path) == result


def runs(tmp_path, **more):
    tmp_path.joinpath("parts").mkdir(exist_ok=True)
    whole = joining.Runs(
        source=str(RECORDING), path=str(tmp_path / "out"), target_format="fxt", run_events=1
    )
    return joining.shares_of(replace(whole, **more), 2, str(tmp_path / "parts"))


def test_a_worker_can_begin_again(tmp_path):
    shares = runs(tmp_path)
    first = [joining.written(share) for share in shares]
    again = [joining.written(share) for share in shares]
    assert [part.stretches for part in first] == [part.stretches for part in again]
    with open_sink(tmp_path / "out") as sink:
        made = joining.joined(again, sink)
    with converter.open_trace(RECORDING) as trace:
        assert made.events == sum(len(batch) for batch in trace.batches())
    assert made.report == converter.convert(RECORDING, tmp_path / "one", target_format="fxt")


def test_another_trace_meanwhile(tmp_path):
    first, second = map(joining.written, runs(tmp_path))
    second.events += 1
    with pytest.raises(TraceError, match="was not the same"), open_sink(tmp_path / "out") as sink:
        joining.joined([first, second], sink)
    assert not (tmp_path / "out").exists()


def test_what_a_worker_lost_is_cut_off(tmp_path):
    parts = [joining.written(share) for share in runs(tmp_path)]
    with open(parts[0].path, "r+b") as file:
        file.truncate(100)
    with pytest.raises(TraceError, match="cut off"), open_sink(tmp_path / "out") as sink:
        joining.joined(parts, sink)
    assert not (tmp_path / "out").exists()


def test_strictness_is_about_the_whole(tmp_path):
    parts = [joining.written(share) for share in runs(tmp_path, strict="all")]
    with pytest.raises(StrictLossError), open_sink(tmp_path / "out") as sink:
        joining.joined(parts, sink, "all")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("target", "says"),
    [
        ({"target_format": "ctf"}, "--split LENGTH"),
        ({"target_format": "parquet"}, "-t parquet\\+dataset or --split LENGTH"),
        ({"path": "-"}, "file systems that they share"),
        ({"path": "memory://out.fxt"}, "file systems that they share"),
    ],
)
def test_what_cannot_be_joined_is_refused(target, says):
    whole = joining.Runs(**{"source": "in.dat", "path": "out", "target_format": "fxt", **target})
    with pytest.raises(UnsupportedError, match=says):
        joining.shared_format(whole)


def test_records_that_are_copied_are_not_shared(tmp_path):
    source = str(joined.RECORDINGS / "fxt" / "magic-trace.fxt")
    with pytest.raises(UnsupportedError, match="leave out --scheduler"):
        joining.written(runs(tmp_path, source=source)[0])


def test_runs_are_written_in_turn(tmp_path):
    parts = []
    for writer in range(3):
        buffer = BufferSink()
        sink = SharedSink(buffer, Turns(writer, 3, run_events=4))
        sink.write(b"head ")
        for number in range(7):
            own = sink.begin_batch(2)
            assert own == (number // 2 % 3 == writer)
            sink.write(b"%d " % number)
        sink.begin_batch(None)
        sink.write(b"tail")
        sink.close()
        path = tmp_path / str(writer)
        path.write_bytes(buffer.getvalue())
        parts.append((str(path), sink.stretches))
    whole = BufferSink()
    join_files(parts, whole)
    assert whole.getvalue() == b"head 0 1 2 3 4 5 6 tail"
