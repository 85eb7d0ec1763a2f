"""Tar archives read as the directories that they hold."""

import gzip
import io
import tarfile
import tracemalloc

import pytest
import zstandard

from converter.errors import TraceError
from converter.limits import limit
from converter.storage.opening import open_source

FILES = {
    "top/info": b"first",
    "top/deep/er/metadata": b"second" * 1000,
    "top/empty": b"",
}


def archive(files, format=tarfile.PAX_FORMAT, more=()):
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=format) as tar:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
        for info in more:
            tar.addfile(info)
    return stream.getvalue()


def contents(source):
    result = {}
    for name in source.walk():
        with source.open(name) as file:
            result[name] = file.read(0, file.size)
    return result


@pytest.mark.parametrize("wrap", [bytes, gzip.compress, zstandard.compress])
@pytest.mark.parametrize("format", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT, tarfile.USTAR_FORMAT])
def test_an_archive_is_the_folder_that_it_holds(wrap, format):
    with open_source(wrap(archive(FILES, format))) as source:
        assert source.is_directory
        assert list(source.walk()) == ["empty", "info", "deep/er/metadata"]
        assert source.listdir() == ["deep", "empty", "info"]
        assert source.listdir("deep") == ["er"]
        assert contents(source) == {name[4:]: data for name, data in FILES.items()}
        assert source.open("deep").listdir() == ["er"]
        assert source.warnings == []


def test_files_at_the_top_stay_there():
    with open_source(archive({"a": b"1", "folder/b": b"2"})) as source:
        assert contents(source) == {"a": b"1", "folder/b": b"2"}
    with open_source(archive({"only": b"1"})) as source:
        assert contents(source) == {"only": b"1"}


def test_long_names_and_compressed_members_are_read():
    name = "d/" + "x" * 150 + "/" + "y" * 90
    with open_source(archive({name: gzip.compress(b"plain"), "d/z": b""})) as source:
        assert contents(source)["x" * 150 + "/" + "y" * 90] == b"plain"


def test_a_member_knows_its_neighbours():
    with open_source(archive(FILES)) as source:
        beside = source.open("info").beside()
        assert beside is not None
        assert beside.open("empty").size == 0


@pytest.mark.parametrize("name", ["../out", "/etc/passwd", "a/../../out"])
def test_names_that_lead_out_are_left_out(name):
    with open_source(archive({"in": b"1", name: b"2"})) as source:
        assert list(source.walk()) == ["in"]
        assert "left out" in str(source.warnings[0])


def test_links_are_left_out():
    link = tarfile.TarInfo("link")
    link.type = tarfile.SYMTYPE
    link.linkname = "/etc/passwd"
    with open_source(archive({"in": b"1"}, more=[link])) as source:
        assert list(source.walk()) == ["in"]
        assert "left out" in str(source.warnings[0])


@pytest.mark.parametrize("name", ["../info", "missing", "/info", "deep/missing"])
def test_what_is_not_there_is_an_error(name):
    with open_source(archive(FILES)) as source, pytest.raises(TraceError):
        source.open(name)


def test_a_directory_has_no_bytes():
    with open_source(archive(FILES)) as source, pytest.raises(TraceError, match="directory"):
        source.read(0, 1)


def test_any_cut_gives_the_good_part_or_an_error():
    data = archive(FILES)
    for size in range(300, len(data), 97):
        try:
            source = open_source(data[:size])
        except TraceError:
            continue
        with source:
            if not source.is_directory:
                continue
            for name, found in contents(source).items():
                whole = FILES.get(f"top/{name}", FILES.get(name))
                assert whole is not None
                assert whole.startswith(found)


def test_any_flipped_byte_of_a_header_gives_a_directory_or_an_error():
    data = archive({"top/a": b"1" * 700, "top/b": b"2"})
    for position in (*range(512), *range(1536, 2048)):
        changed = bytearray(data)
        changed[position] ^= 0x41
        try:
            with open_source(bytes(changed)) as source:
                if source.is_directory:
                    contents(source)
        except TraceError:
            pass


def extended(kind, size, data=b""):
    """A header of a type that says more of the next member, whose contents are `size` bytes as it says."""
    info = tarfile.TarInfo("././@LongLink")
    info.type, info.size = kind, size
    return info.tobuf(tarfile.GNU_FORMAT) + data + bytes(-len(data) % 512)


def test_names_and_sizes_of_every_kind_of_header():
    name = "/".join(["long"] * 60)
    for format in (tarfile.PAX_FORMAT, tarfile.GNU_FORMAT):
        with open_source(
            archive({f"{name}/a": b"1", f"{name}/b": b"22", "é" * 90: b"3"}, format)
        ) as source:
            assert contents(source) == {f"{name}/a": b"1", f"{name}/b": b"22", "é" * 90: b"3"}
    global_header = tarfile.TarInfo.create_pax_global_header(
        {"comment": "x" * 3000, "path": "of all"}
    )
    with open_source(global_header + archive({"a": b"1"})) as source:
        assert contents(source) == {"of all": b"1"}
    sized = tarfile.TarInfo("a").tobuf(tarfile.USTAR_FORMAT)
    with open_source(
        extended(tarfile.XHDTYPE, 10, b"10 size=2\n") + sized + b"22" + bytes(510)
    ) as source:
        assert contents(source) == {"a": b"22"}


@pytest.mark.parametrize(
    "kind", [tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK]
)
@pytest.mark.parametrize("count", [1, 2, 400, 3000])
def test_headers_may_follow_each_other(kind, count):
    data = b"17 comment=abcde\n" if kind == tarfile.XHDTYPE else b"named\0"
    with open_source(extended(kind, len(data), data) * count + archive({"in": b"1"})) as source:
        assert list(source.walk()) == ["named" if kind == tarfile.GNUTYPE_LONGNAME else "in"]


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME])
def test_a_header_of_any_size_takes_no_memory(kind):
    size = limit("tar.header")
    for more, refused in ((0, False), (1, True)):
        data = extended(kind, size + more, b"x" * (size + more)) + archive({"in": b"1"})
        tracemalloc.start()
        try:
            if refused:
                with pytest.raises(TraceError, match="limit"):
                    open_source(data)
            else:
                open_source(data).close()
            assert tracemalloc.get_traced_memory()[1] < 8 << 20
        finally:
            tracemalloc.stop()


@pytest.mark.parametrize(
    "records",
    [
        b"9" * 80000,
        b"1" * 80000 + b" size=1\n",
        b"hdrcharset=" * 8000,
        b"-1 a=b\n",
        b"0 a=b\n",
        b"99 a=b\n",
        b"6 a=\n6",
        b" \n",
    ],
)
def test_records_that_make_no_sense_are_ignored(records):
    with open_source(
        extended(tarfile.XHDTYPE, len(records), records) + archive({"in": b"1"})
    ) as source:
        assert list(source.walk()) == ["in"]


@pytest.mark.parametrize("size", ["-1", "x", "1" * 20])
def test_a_size_that_is_none_is_damage(size):
    record = f" size={size}\n".encode()
    record = str(len(record) + 2).encode() + record
    with pytest.raises(TraceError, match="size"):
        open_source(extended(tarfile.XHDTYPE, len(record), record) + archive({"in": b"1"}))
