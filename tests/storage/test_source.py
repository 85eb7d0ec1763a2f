"""Inputs that are files, streams or bytes: reading, and what cannot be opened."""

import gzip
import io
import os
import subprocess
import sys
import tempfile
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.inputs.kinds_of_input import DATA, KINDS, open_as, whole

from converter.errors import OutputError, TraceError, TruncatedError
from converter.storage import source as source_module
from converter.storage.compression import packed
from converter.storage.opening import open_source


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "trace"
    path.write_bytes(DATA)
    return path


@pytest.mark.parametrize("kind", KINDS)
class TestReading:
    def test_reads_by_offset(self, kind, tmp_path):
        with open_as(kind, DATA, tmp_path) as source:
            assert not source.is_directory
            assert source.size == len(DATA)
            assert source.compression is None
            assert source.read(0, 4) == DATA[:4]
            assert source.read(300, 100) == DATA[300:400]
            assert whole(source) == DATA

    def test_is_short_only_at_the_end(self, kind, tmp_path):
        with open_as(kind, DATA, tmp_path) as source:
            assert source.read(len(DATA) - 3, 10) == b"end"
            assert source.read(len(DATA), 10) == b""
            assert source.read(len(DATA) + 5, 10) == b""
            assert source.read(5, 0) == b""
            assert source.read(0, 2**63 - 1) == DATA
            assert source.read(2**63 - 1, 2**63 - 1) == b""

    def test_impossible_requests_are_errors(self, kind, tmp_path):
        with open_as(kind, DATA, tmp_path) as source:
            for offset, size in [(-1, 1), (0, -1), (2**63, 1), (0, 2**63), (10**30, 10**30)]:
                with pytest.raises(TraceError):
                    source.read(offset, size)
            with pytest.raises(TraceError):
                source.read_into(-1, bytearray(1))
            with pytest.raises(TraceError):
                source.read_into(2**63, bytearray())

    def test_exact_reads_name_what_is_missing(self, kind, tmp_path):
        with open_as(kind, DATA, tmp_path) as source:
            assert source.read_exactly(1, 5) == DATA[1:6]
            with pytest.raises(TruncatedError) as caught:
                source.read_exactly(len(DATA) - 1, 8, field="header.size")
            assert caught.value.offset == len(DATA) - 1
            assert caught.value.field == "header.size"
            assert "expected 8 bytes, found 1 before" in str(caught.value)

    def test_fills_buffers(self, kind, tmp_path):
        with open_as(kind, DATA, tmp_path) as source:
            buffer = bytearray(10)
            assert source.read_into(len(DATA) - 3, buffer) == 3
            assert buffer == b"end" + bytes(7)
            array = np.zeros((4, 2), np.uint64)
            assert source.read_into(0, array) == 64
            assert array.tobytes() == DATA[:64]
            assert source.read_into(0, bytearray()) == 0

    def test_an_empty_input_is_empty(self, kind, tmp_path):
        with open_as(kind, b"", tmp_path) as source:
            assert source.size == 0
            assert source.read(0, 4096) == b""

    def test_is_no_directory(self, kind, tmp_path):
        with open_as(kind, DATA, tmp_path) as source:
            for request in [source.listdir, lambda: source.open("x"), source.walk]:
                with pytest.raises(TraceError, match="not a directory"):
                    request()

    def test_closing_is_final_and_repeatable(self, kind, tmp_path):
        source = open_as(kind, DATA, tmp_path)
        source.close()
        source.close()
        with pytest.raises(ValueError, match="closed"):
            source.read(0, 1)


@given(
    st.binary(max_size=64),
    st.lists(st.tuples(st.integers(0, 80), st.integers(0, 80)), max_size=5),
)
def test_a_read_is_a_slice(data, requests):
    with open_source(io.BytesIO(b"x" + data)) as source:
        for offset, size in requests:
            assert source.read(offset, size) == (b"x" + data)[offset : offset + size]


def test_a_file_cut_while_open_reads_short(file):
    with open_source(file) as source:
        os.truncate(file, 10)
        assert whole(source) == DATA[:10]
        assert source.read(20, 5) == b""


@pytest.mark.parametrize("has_preadv", [True, False])
def test_systems_without_preadv_or_large_reads(file, monkeypatch, has_preadv):
    if not has_preadv:
        monkeypatch.delattr(os, "preadv")
    monkeypatch.setattr(source_module, "MOST_AT_ONCE", 100)
    with open_source(file) as source:
        assert whole(source) == DATA
        assert source.read(5, 120) == DATA[5:125]
        os.truncate(file, 10)
        assert whole(source) == DATA[:10]


def test_threads_can_share_a_source(tmp_path):
    path = tmp_path / "big"
    path.write_bytes(b"".join(bytes([i]) * 4096 for i in range(64)))
    wrong = []

    def check(source):
        pages = (source.read(i * 4096, 4096) for i in range(64))
        wrong.extend(i for i, page in enumerate(pages) if page != bytes([i]) * 4096)

    with open_source(path) as source:
        threads = [threading.Thread(target=check, args=(source,)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not wrong


def test_a_stream_is_read_from_where_it_is(file):
    with open(file, "rb") as stream:
        stream.seek(700)
        with open_source(stream) as source:
            assert whole(source) == DATA[700:]
        assert not stream.closed


def test_a_decompressing_stream_is_taken_for_what_it_yields(tmp_path):
    path = tmp_path / "x.gz"
    path.write_bytes(gzip.compress(b"\x1f\x8b\x07 not gzip"))
    with gzip.open(path) as stream, open_source(stream) as source:
        assert whole(source) == b"\x1f\x8b\x07 not gzip"


def test_a_text_stream_is_an_error():
    with pytest.raises(TraceError, match="expected a stream of bytes, found str"):
        open_source(io.StringIO("text"))


def test_standard_input(file):
    program = (
        "from converter.storage.opening import open_source as o; s = o('-'); print(s.name, s.size)"
    )
    with file.open("rb") as stream:
        for arguments in [{"stdin": stream}, {"input": DATA}]:
            result = subprocess.run(
                [sys.executable, "-c", program], capture_output=True, check=True, **arguments
            )
            assert result.stdout.split() == [b"standard", b"input", b"775"]


def test_a_named_pipe_is_read_to_its_end(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    thread = threading.Thread(target=path.write_bytes, args=(DATA,))
    thread.start()
    with open_source(path) as source:
        assert whole(source) == DATA
    thread.join()


@pytest.mark.parametrize(
    ("path", "message"),
    [("missing", "No such file"), ("", "No such file"), ("a\0b", "expected a path")],
)
def test_what_cannot_be_opened_is_an_error_with_its_path(path, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TraceError, match=message) as caught:
        open_source(path)
    assert caught.value.path == path


def test_a_loop_of_links_is_an_error(tmp_path):
    (tmp_path / "a").symlink_to("a")
    with pytest.raises(TraceError, match="symbolic links"):
        open_source(tmp_path / "a")


def test_a_full_disk_is_a_clear_error(monkeypatch, tmp_path):
    def full(**_):
        return open("/dev/full", "wb", buffering=0)

    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    monkeypatch.setattr(packed, "_MOST_IN_MEMORY", 10)
    with pytest.raises(OutputError, match=r"temporary file in .*: No space left"):
        assert open_source(gzip.compress(DATA)).size


def test_no_temporary_file_stays_behind(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with open_source(gzip.compress(DATA)) as source:
        assert os.listdir(tmp_path) == []
        assert whole(source) == DATA


def test_importing_loads_no_decompressor():
    program = (
        "import sys, converter.storage.opening, converter.storage.outputs;"
        "print(sorted({'zstandard', 'gzip', 'zlib', 'tempfile', 'numpy'} & set(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert result.stdout.strip() == b"[]"


def test_a_file_may_outlive_what_it_was_opened_by(file):
    # As at the end of an interpreter that takes its modules apart.
    program = f"""
from converter.storage import opening, source
held = opening.open_source({str(file)!r})
opening.os = source.os = None
del held
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert result.stderr == b""


def test_a_file_opened_by_path_knows_the_directory_beside_it(file):
    (file.parent / "companion").write_bytes(b"more")
    with open_source(file) as source:
        beside = source.beside()
        assert beside is not None
        with beside.open("companion") as companion:
            assert whole(companion) == b"more"


def test_what_was_not_opened_by_a_path_has_nothing_beside_it(file):
    with open_source(DATA) as source:
        assert source.beside() is None
    with open(file, "rb") as stream, open_source(stream) as source:
        assert source.beside() is None
