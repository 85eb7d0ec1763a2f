import bz2
import gzip
import io
import lzma
import os
import subprocess
import sys
import tempfile
import threading
import zlib

import numpy as np
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from converter.errors import OutputError, TraceError, TruncatedError
from converter.storage import packed
from converter.storage import source as source_module
from converter.storage.opening import open_source

DATA = bytes(range(256)) * 3 + b"the end"


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "trace"
    path.write_bytes(DATA)
    return path


def whole(source):
    return source.read(0, source.size)


def open_as(kind, data, tmp_path):
    """The same data as each kind of input that there is."""
    if kind == "bytes":
        return open_source(data)
    if kind == "memory stream":
        return open_source(io.BytesIO(data))
    path = tmp_path / "input"
    path.write_bytes(data)
    if kind == "file object":
        with open(path, "rb") as stream:
            return open_source(stream)
    if kind == "pipe":
        reading, writing = os.pipe()

        def feed():
            with open(writing, "wb") as stream:
                stream.write(data)

        thread = threading.Thread(target=feed)
        thread.start()
        with open(reading, "rb") as stream:
            source = open_source(stream)
        thread.join()
        return source
    return open_source(str(path) if kind == "path text" else path)


KINDS = ["bytes", "memory stream", "file object", "pipe", "path text", "path"]


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
            assert result.stdout.split() == [b"-", b"775"]


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


PLAIN = np.random.default_rng(7).bytes(64) * 8


def compress(compression, data):
    if compression == "gzip":
        return gzip.compress(data, mtime=0)
    if compression == "xz":
        return lzma.compress(data)
    if compression == "bzip2":
        return bz2.compress(data, 1)  # the smallest blocks
    if compression == "lz4":
        return pytest.importorskip("lz4.frame").compress(data, content_checksum=True)
    return zstandard.ZstdCompressor(write_checksum=True).compress(data)


@pytest.mark.parametrize("compression", ["gzip", "zstd", "xz", "bzip2", "lz4"])
class TestCompressed:
    @pytest.mark.parametrize("kind", KINDS)
    def test_is_unwrapped(self, compression, kind, tmp_path):
        with open_as(kind, compress(compression, PLAIN), tmp_path) as source:
            assert source.compression == compression
            assert source.size == len(PLAIN)
            assert whole(source) == PLAIN
            assert source.warnings == []

    def test_two_levels_are_unwrapped_and_no_more(self, compression):
        inner = gzip.compress(PLAIN)
        with open_source(compress(compression, inner)) as source:
            assert whole(source) == PLAIN
        with pytest.raises(TraceError, match="at most 2 wrappers"):
            open_source(compress(compression, gzip.compress(inner)))

    def test_members_are_joined(self, compression):
        data = b"".join(compress(compression, part) for part in (b"", b"one", PLAIN, b"", b"two"))
        with open_source(data) as source:
            assert whole(source) == b"one" + PLAIN + b"two"
            assert source.warnings == []

    def test_larger_than_any_buffer(self, compression):
        plain = np.random.default_rng(1).integers(0, 50, 1 << 20, np.uint8).tobytes()
        with open_source(compress(compression, plain) * 2) as source:
            assert source.size == 2 * len(plain)
            assert whole(source) == plain * 2

    def test_truncated_at_every_byte(self, compression):
        first, second = compress(compression, PLAIN), compress(compression, b"second" + PLAIN)
        data = first + second
        sizes = []
        for end in range(6, len(data)):
            with open_source(data[:end]) as source:
                found = whole(source)
                sizes.append(len(found))
                assert (PLAIN + b"second" + PLAIN).startswith(found)
                if end == len(first):
                    assert (found, source.warnings) == (PLAIN, [])
                    continue
                (warning,) = source.warnings
                assert warning.offset == end
                assert "ends early" in str(warning)
        assert sizes == sorted(sizes)
        assert sizes[-1] == 2 * len(PLAIN) + 6  # only the checksum is missing

    def test_damaged_at_every_byte(self, compression):
        """What is before the damage is delivered, and nothing is wrong without a warning (checksums)."""
        data = compress(compression, PLAIN) + compress(compression, b"second" + PLAIN)
        expected = PLAIN + b"second" + PLAIN
        first = len(compress(compression, PLAIN))
        for place in range(6, len(data)):
            damaged = bytearray(data)
            damaged[place] ^= 0xFF
            with open_source(bytes(damaged)) as source:
                found = whole(source)
                if place >= first:
                    assert found.startswith(PLAIN)
                if found != expected:
                    assert source.warnings

    def test_what_precedes_a_wrong_checksum_is_delivered(self, compression):
        data = bytearray(compress(compression, PLAIN))
        data[-1 if compression == "zstd" else -5] ^= 0xFF
        with open_source(bytes(data)) as source:
            assert "damaged" in str(source.warnings[0])
            assert whole(source) == PLAIN[: source.size]
            assert source.size == len(PLAIN)

    def test_damage_far_inside_keeps_what_precedes_it(self, compression):
        plain = np.random.default_rng(1).integers(0, 50, 1 << 20, np.uint8).tobytes()
        data = bytearray(compress(compression, plain))
        middle = len(data) // 2
        data[middle : middle + 1000] = bytes(1000)
        with open_source(bytes(data)) as source:
            assert source.warnings
            found = source.read(0, min(source.size, 1 << 18))
            assert found == plain[: 1 << 18]

    def test_garbage_after_the_end_is_ignored_with_a_warning(self, compression):
        data = compress(compression, PLAIN)
        with open_source(data + b"garbage") as source:
            assert whole(source) == PLAIN
            assert [(w.offset, w.message) for w in source.warnings] == [
                (len(data), f"ignored what follows the {compression} data")
            ]

    def test_highly_compressible_data(self, compression):
        with open_source(compress(compression, bytes(1 << 24))) as source:
            assert source.size == 1 << 24


def test_padding_after_gzip_is_ignored():
    data = gzip.compress(PLAIN)
    with open_source(data + bytes(100_000) + data + bytes(512)) as source:
        assert whole(source) == PLAIN * 2
        assert source.warnings == []


def test_skippable_frames_of_zstd_are_skipped():
    frame = compress("zstd", PLAIN)
    skippable = b"\x53\x2a\x4d\x18\x04\x00\x00\x00user"
    with open_source(frame + skippable + frame) as source:
        assert whole(source) == PLAIN * 2
        assert source.warnings == []


def test_a_window_that_zstd_refuses_is_damage():
    parameters = zstandard.ZstdCompressionParameters(window_log=28, write_content_size=False)
    compressor = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    with open_source(compressor.compress(PLAIN) + compressor.flush()) as source:
        assert source.size == 0
        assert "--limit zstd-window=256M" in str(source.warnings[0])


@pytest.mark.parametrize(
    "data",
    [b"\x1f", b"\x1f\x8b\x09..", b"\x28\xb5\x2f", zlib.compress(PLAIN), b"\x1f\x9d\x90"],
)
def test_what_only_resembles_a_wrapper_is_left_alone(data):
    with open_source(data) as source:
        assert whole(source) == data
        assert source.compression is None


@pytest.fixture
def directory(tmp_path):
    root = tmp_path / "root"
    (root / "sub" / "deep").mkdir(parents=True)
    (root / "metadata").write_bytes(b"meta")
    (root / "sub" / "stream").write_bytes(DATA)
    (root / "sub" / "deep" / "x.gz").write_bytes(gzip.compress(DATA))
    (tmp_path / "secret").write_bytes(b"secret")
    (tmp_path / "rootless").write_bytes(b"a sibling whose name starts with the directory's")
    (root / "link").symlink_to("sub/stream")
    (root / "sub" / "up").symlink_to("../metadata")
    (root / "out").symlink_to("../secret")
    (root / "sibling").symlink_to("../rootless")
    (root / "out_absolute").symlink_to(tmp_path / "secret")
    (root / "out_folder").symlink_to("..")
    (root / "loop").symlink_to("loop")
    os.mkfifo(root / "pipe")
    return root


class TestDirectory:
    def test_opens_what_is_inside(self, directory):
        with open_source(directory) as source:
            assert source.is_directory
            assert source.name == str(directory)
            names = ["metadata", "sub/stream", "sub/deep/x.gz", "link", "./metadata"]
            for name in names:
                with source.open(name) as inside:
                    assert inside.name == os.path.join(directory, name)
                    assert whole(inside) == (b"meta" if "metadata" in name else DATA)

    def test_folders_are_sources_with_the_same_boundary(self, directory):
        with open_source(directory) as source, source.open("sub") as folder:
            assert folder.is_directory
            assert folder.listdir() == ["deep", "stream", "up"]
            assert whole(folder.open("up")) == b"meta"
            with pytest.raises(TraceError):
                folder.open("../metadata")

    def test_lists_names_in_order(self, directory):
        with open_source(directory) as source:
            assert source.listdir() == sorted(os.listdir(directory))
            assert source.listdir("sub/deep") == ["x.gz"]
            files = list(source.walk())
            assert "sub/deep/x.gz" in files
            assert not any(name.startswith("out_folder/") for name in files)

    @pytest.mark.parametrize(
        "name",
        [
            "..",
            "../secret",
            "sub/../../secret",
            "sub/..",
            "/etc/passwd",
            "",
            ".",
            "./",
            "a\0b",
            "out",
            "out_absolute",
            "out_folder",
            "out_folder/secret",
            "out_folder/root/metadata/../../secret",
            "sibling",
        ],
    )
    def test_refuses_names_that_lead_outside(self, directory, name):
        with open_source(directory) as source:
            with pytest.raises(TraceError, match="expected a name inside the directory"):
                source.open(name)
            if name:
                with pytest.raises(TraceError, match="expected a name inside the directory"):
                    source.listdir(name)

    @pytest.mark.parametrize(
        ("name", "message"),
        [
            ("missing", "No such file"),
            ("metadata/x", "Not a directory"),
            ("pipe", "found a special file"),
            ("loop", "special file|symbolic links"),
        ],
    )
    def test_what_cannot_be_opened_is_an_error_with_its_name(self, directory, name, message):
        with open_source(directory) as source, pytest.raises(TraceError, match=message) as caught:
            source.open(name)
        assert caught.value.path == os.path.join(directory, name)

    def test_has_no_bytes(self, directory):
        with open_source(directory) as source:
            for request in [lambda: source.read(0, 1), lambda: source.read_into(0, bytearray(1))]:
                with pytest.raises(TraceError, match="is a directory"):
                    request()

    def test_can_itself_be_reached_through_a_link(self, directory, tmp_path):
        (tmp_path / "alias").symlink_to(directory)
        with open_source(tmp_path / "alias") as source:
            assert whole(source.open("metadata")) == b"meta"


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
