"""Outputs that are compressed because their names say so, and zip archives as inputs."""

import bz2
import gzip
import io
import lzma
import os
import struct
import sys
import tarfile
import tracemalloc
import zipfile
import zlib
from functools import partial

import pytest
import zstandard
from support.system.sink_checks import BIG, BrokenError

from converter.errors import OutputError, TraceError, UnsupportedError
from converter.limits import limited
from converter.storage.opening import open_source
from converter.storage.outputs import open_sink
from converter.storage.pool.workers import use_workers
from tests.support.system.pool import own_pool

# Whatever a test does to a sink, no temporary file stays behind.
pytestmark = pytest.mark.usefixtures("no_temporary_files")


def unzstd(data):
    return zstandard.ZstdDecompressor().decompressobj().decompress(data)


def unlz4(data):
    return pytest.importorskip("lz4.frame").decompress(data)


DECOMPRESSORS = {
    ".gz": gzip.decompress,
    ".zst": unzstd,
    ".xz": lzma.decompress,
    ".bz2": bz2.decompress,
    ".lz4": unlz4,
}


@pytest.fixture(params=DECOMPRESSORS)
def suffix(request):
    if request.param == ".lz4":
        pytest.importorskip("lz4.frame")
    return request.param


@pytest.fixture
def threads():
    with own_pool():
        yield use_workers


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_it_is_the_same_however_many_threads_compress_it_and_in_whatever_pieces(
    tmp_path, suffix, threads
):
    # Blocks begin with what ended the one before.
    text = b"".join(b"event %d of a trace\n" % (number % 5_000) for number in range(200_000))
    outputs = []
    for count, size in ((1, 1 << 20), (3, 100_000)):
        threads(count)
        path = tmp_path / f"{count}.json{suffix}"
        with open_sink(path) as sink:
            for start in range(0, len(text), size):
                sink.write(text[start : start + size])
        outputs.append(path.read_bytes())
    assert outputs[0] == outputs[1]
    assert DECOMPRESSORS[suffix](outputs[0]) == text
    assert len(outputs[0]) < len(text) // 4


@pytest.mark.parametrize("seekable", [False, True])
def test_a_file_is_compressed_as_its_suffix_says(tmp_path, suffix, seekable):
    path = tmp_path / f"out.json{suffix}"
    with open_sink(path, seekable=seekable) as sink:
        sink.write(b"head")
        for _ in range(3):
            sink.write(BIG)
        if seekable:
            sink.write_at(0, b"HEAD")
        assert sink.tell() == 4 + 3 * len(BIG)
        assert not path.exists(), "it appears when it is whole"
    expected = (b"HEAD" if seekable else b"head") + 3 * BIG
    assert DECOMPRESSORS[suffix](path.read_bytes()) == expected
    with open_source(path) as source:
        assert source.read(0, source.size) == expected


def test_an_empty_one_is_valid(tmp_path, suffix):
    path = tmp_path / f"out{suffix}"
    open_sink(path).close()
    assert DECOMPRESSORS[suffix](path.read_bytes()) == b""


def test_nothing_stays_of_one_that_fails(tmp_path, suffix):
    for seekable in (False, True):
        with pytest.raises(BrokenError), open_sink(tmp_path / f"o{suffix}", seekable=seekable) as s:
            s.write(BIG)
            raise BrokenError
    assert os.listdir(tmp_path) == []


def test_it_replaces_only_with_force(tmp_path):
    path = tmp_path / "out.gz"
    path.write_bytes(b"mine")
    with pytest.raises(FileExistsError, match="exists already"):
        open_sink(path)
    assert path.read_bytes() == b"mine"
    with open_sink(path, force=True) as sink:
        sink.write(b"x")
    assert gzip.decompress(path.read_bytes()) == b"x"


@pytest.mark.parametrize("suffix", ["", ".gz", ".zst", ".xz", ".bz2"])
def test_a_directory_is_an_archive(tmp_path, suffix):
    path = tmp_path / f"Out.ctf.tar{suffix}"
    with open_sink(path, directory=True) as sink:
        sink.create("deep/b").write(BIG)
        file = sink.create("a")
        file.write(b"12345")
        file.write_at(0, b"9")
        assert sink.tell() == len(BIG) + 5
    with open_source(path) as source:
        assert source.is_directory
        assert list(source.walk()) == ["a", "deep/b"]
        assert source.open("a").read(0, 9) == b"92345"
        assert source.open("deep/b").read(0, len(BIG)) == BIG
    data = path.read_bytes()
    plain = DECOMPRESSORS[suffix](data) if suffix else data
    with tarfile.open(fileobj=io.BytesIO(plain)) as archive:
        assert archive.getnames() == ["Out.ctf/a", "Out.ctf/deep/b"]


def test_nothing_stays_of_an_archive_that_fails(tmp_path):
    with pytest.raises(BrokenError), open_sink(tmp_path / "o.tgz", directory=True) as sink:
        sink.create("a").write(b"x")
        raise BrokenError
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("name", "directory", "said"),
    [("a.ctf.gz", True, "as .tar, .tar.gz"), ("a.json.tgz", False, "needs no .tar")],
)
def test_what_cannot_be_wrapped_so(tmp_path, name, directory, said):
    with pytest.raises(OutputError, match=said):
        open_sink(tmp_path / name, directory=directory)
    assert os.listdir(tmp_path) == []


def test_without_the_library_for_lz4(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "lz4.frame", None)
    with pytest.raises(UnsupportedError, match=r"pip install 'traceconv\[lz4\]'"):
        open_sink(tmp_path / "a.lz4")
    assert os.listdir(tmp_path) == []
    with pytest.raises(UnsupportedError, match=r"pip install 'traceconv\[lz4\]'"):
        open_source(b"\x04\x22\x4d\x18" + bytes(20))


def zipped(files, compression=zipfile.ZIP_DEFLATED):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return stream.getvalue()


@pytest.mark.parametrize(
    "compression",
    [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA],
)
def test_a_zip_archive_of_one_file_is_that_file(compression):
    with open_source(zipped({"in/trace.json": BIG}, compression)) as source:
        assert not source.is_directory
        assert source.read(0, source.size) == BIG
        assert source.compression == "zip"
        assert source.warnings == []


def test_a_zip_archive_of_several_files_is_a_directory():
    files = {"top/a": b"1", "top/deep/b": BIG, "../c": b"3"}
    with open_source(zipped(files)) as source:
        assert source.is_directory
        assert list(source.walk()) == ["a", "deep/b"]
        assert source.open("deep/b").read(0, len(BIG)) == BIG
        (warning,) = source.warnings
        assert "1 names that lead out of it" in str(warning)


ZIP_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)


def readdressed(data, method, packed, size, checksum):
    """An archive of one stored member whose data are packed by a method that Python's module does not write."""
    name = b"a"
    fields = struct.pack(
        "<HHHHHIIIHH", 63, 0, method, 0, 33, checksum, len(packed), size, len(name), 0
    )
    local = b"PK\x03\x04" + fields + name + packed
    central = b"PK\x01\x02\x3f\x00" + fields + bytes(14) + name
    end = b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, 1, 1, len(central), len(local), 0)
    return local + central + end


@pytest.mark.parametrize(
    ("method", "pack"), [(93, zstandard.compress), (95, lzma.compress)], ids=["zstd", "xz"]
)
def test_methods_of_newer_zip_archives(method, pack):
    data = readdressed(BIG, method, pack(BIG), len(BIG), zlib.crc32(BIG))
    with open_source(data) as source:
        assert source.read(0, source.size) == BIG
        assert source.warnings == []


def test_what_cannot_be_unpacked_says_why():
    for method, why in ((1, "compression method"), (99, "compression method")):
        with pytest.raises(TraceError, match=why):
            open_source(readdressed(b"", method, b"abc", 3, 0))
    data = bytearray(zipped({"a": BIG}))
    data[6] |= 1
    data[data.rindex(b"PK\x01\x02") + 8] |= 1
    with pytest.raises(TraceError, match="encrypted"):
        open_source(bytes(data))


@pytest.mark.parametrize("method", ZIP_METHODS)
@pytest.mark.parametrize("size", [0, 1, (1 << 18) - 1, 1 << 18, (1 << 18) + 1])
def test_members_of_any_size_are_whole(method, size):
    plain = (b"0123456789abcdef" * (size // 16 + 1))[:size]
    with open_source(zipped({"a": plain, "b": b"1"}, method)) as source:
        assert source.open("a").read(0, size + 1) == plain
        assert source.warnings == []


@pytest.mark.parametrize("method", ZIP_METHODS)
def test_a_damaged_zip_archive_is_an_error_or_a_warning(method):
    data = zipped({"a": b"x" * 5000 + BIG[:30_000], "b": b"2"}, method)
    for place in (*range(80), *range(80, len(data), 997), *range(len(data) - 150, len(data))):
        for damaged in (
            data[:place],
            data[:place] + bytes([data[place] ^ 0x55]) + data[place + 1 :],
        ):
            if not damaged.startswith(b"PK\x03\x04"):
                continue
            try:
                with open_source(damaged) as source:
                    for name in source.walk():
                        source.open(name).close()
            except TraceError:
                pass


@pytest.mark.parametrize("method", ZIP_METHODS)
def test_a_changed_byte_of_a_member_is_told(method):
    data = bytearray(zipped({"a": BIG}, method))
    data[200] ^= 0x55
    said = []
    try:
        with open_source(bytes(data)) as source:
            said += source.warnings
    except TraceError as error:
        said.append(error)
    assert "damaged" in str(said[0])


def test_a_dictionary_that_takes_too_much_memory_is_refused():
    with limited({"xz-memory": "64K"}), pytest.raises(TraceError, match="too much memory"):
        open_source(zipped({"a": bytes(1 << 20)}, zipfile.ZIP_LZMA))


@pytest.mark.parametrize(
    "compress",
    [
        lzma.compress,
        bz2.compress,
        *(partial(lambda d, m: zipped({"a": d}, m), m=m) for m in ZIP_METHODS[1:]),
    ],
)
def test_a_bomb_takes_no_memory(compress):
    data = compress(bytes(1 << 26))
    assert len(data) < 1 << 18
    tracemalloc.start()
    try:
        with open_source(data) as source:
            assert source.size == 1 << 26
        assert tracemalloc.get_traced_memory()[1] < 40 << 20
    finally:
        tracemalloc.stop()


def test_an_xz_file_that_asks_for_too_much_memory_is_damage():
    data = lzma.compress(
        b"x" * 100, filters=[{"id": lzma.FILTER_LZMA2, "preset": 1, "dict_size": 1 << 30}]
    )
    with open_source(data) as source:
        assert source.size == 0
        assert "limit" in str(source.warnings[0])
