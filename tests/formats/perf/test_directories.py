"""Directories of `perf record --threads`: a file with the header, and one with records for each thread of perf."""

import pytest
from support.profiles.perf_files import SAMPLE, USER, USUAL, Maker

import converter
from converter.errors import TraceError


@pytest.fixture
def folder(tmp_path):
    make = Maker()
    path = tmp_path / "perf.data"
    path.mkdir()
    header = make.file([(make.attribute(USUAL, flags=0), [1])], make.comm(7, 7, b"seven"))
    (path / "data").write_bytes(header)
    for name, times in (("data.0", (2, 5, 9)), ("data.1", (1, 3, 8)), ("data.10", (4,))):
        (path / name).write_bytes(b"".join(make.sample(ts, 7, 7) for ts in times))
    return path


def times_of(path):
    with converter.open_trace(path) as trace:
        ts = [int(ts) for batch in trace.batches() for ts in batch.ts]
        return ts, [str(one) for one in trace.warnings], trace.threads[0].name


def test_the_samples_of_all_threads_are_in_the_order_of_time(folder):
    assert times_of(folder) == ([0, 1, 2, 3, 4, 5, 8, 9], [], "seven")


def test_it_becomes_one_file(folder, tmp_path):
    target = tmp_path / "b.data"
    assert not list(converter.convert(folder, target))
    assert times_of(target) == times_of(folder)


def test_a_damaged_file_is_a_warning(folder):
    make = Maker()
    (folder / "data.1").write_bytes(make.record(SAMPLE, b"", USER)[:6])
    (folder / "data.10").unlink()
    times, warnings, _ = times_of(folder)
    assert times == [0, 2, 5, 9]
    assert len(warnings) == 1


def test_a_directory_needs_its_header(folder):
    (folder / "data").write_bytes(b"PERFILE2")
    with pytest.raises(TraceError):
        times_of(folder)
