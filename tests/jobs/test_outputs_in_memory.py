"""Conversions into file objects, of several inputs, with progress."""

import io

import pytest

import converter
from converter.errors import StrictLossError, UnknownFormatError, UnsupportedError
from converter.storage.pool import workers

KERNEL = "roundtrip_fixtures/trace_cmd/small.dat"
TIMELINE = "roundtrip_fixtures/perfetto/timeline.pftrace"


@pytest.mark.parametrize("format", ["fxt", "perfetto", "chrome", "trace_cmd", "ir", "aix"])
def test_a_file_object_receives_what_a_file_would(format, tmp_path):
    memory, path = io.BytesIO(), tmp_path / "out"
    report = converter.convert(KERNEL, memory, target_format=format)
    assert report == converter.convert(KERNEL, path, target_format=format)
    assert memory.getvalue() == path.read_bytes()
    with open(tmp_path / "file", "wb") as file:
        file.write(b"before")
        converter.write(converter.read(KERNEL), file, format)
        assert not file.closed
    before, written = (tmp_path / "file").read_bytes().split(b"before", 1)
    assert before == b""
    assert not converter.diff(written, memory.getvalue())
    assert converter.detect(memory.getvalue()).name == format


def test_a_file_object_receives_nothing_if_something_is_wrong():
    memory = io.BytesIO()
    with pytest.raises(StrictLossError):
        converter.convert(KERNEL, memory, target_format="aix", strict="all")
    assert memory.getvalue() == b""


@pytest.mark.parametrize(
    ("file", "format", "error", "told"),
    [
        (io.BytesIO(), None, UnknownFormatError, "has no suffix: name the format"),
        (io.BytesIO(), "ctf", UnsupportedError, "this format is a directory"),
        (io.StringIO(), "fxt", TypeError, "open it in binary mode"),
        (7, "fxt", TypeError, "neither a path nor a file object: 7"),
    ],
)
def test_what_is_no_output(file, format, error, told):
    with pytest.raises(error, match=told):
        converter.convert(KERNEL, file, target_format=format)


def test_several_inputs_are_merged(tmp_path):
    out = tmp_path / "out.tcir"
    converter.convert([KERNEL, TIMELINE], out)
    with converter.open_merged([KERNEL, TIMELINE]) as merged:
        events = sum(len(batch) for batch in merged.batches())
    assert len(converter.read(out).events()) == events


def test_no_input_of_several_is_replaced(tmp_path):
    path = tmp_path / "one.fxt"
    converter.convert(KERNEL, path)
    before = path.read_bytes()
    with pytest.raises(converter.OutputError):
        converter.convert([TIMELINE, path], path, force=True)
    assert path.read_bytes() == before


def test_progress_is_told(tmp_path):
    told = []
    converter.convert(KERNEL, tmp_path / "out.fxt", progress=told.append)
    assert told[0] == 0
    assert told[-1] == len(converter.read(KERNEL).events())
    assert told == sorted(told)


def test_the_version_is_that_of_the_distribution():
    assert converter.__version__.count(".") == 2


def test_the_number_of_threads_is_that_of_the_call():
    memory, seen = io.BytesIO(), set()
    converter.convert(
        KERNEL,
        memory,
        target_format="fxt",
        jobs=10**12,
        progress=lambda _: seen.add(workers.workers()),
    )
    assert seen == {workers.most_workers()}
    assert workers.workers() == workers.processors()
    with pytest.raises(ValueError, match="a number of threads from 1, found 0"):
        converter.convert(KERNEL, memory, target_format="fxt", jobs=0)
