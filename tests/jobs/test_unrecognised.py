"""Inputs are recognised by what is in them, wherever it is; those that are not are told what they may be."""

import gzip
import io
import json
import lzma
import tarfile
import zipfile
from pathlib import Path

import pytest

import converter
from converter.errors import UnknownFormatError
from converter.limits import limited

FIXTURES = Path(__file__).parents[2] / "roundtrip_fixtures"

EVENT = {"ph": "i", "ts": 5, "pid": 1, "tid": 1, "name": "here"}
#: More than what is looked at of a file's beginning.
PAGES = {"deviceProperties": [{"name": "x" * 70} for _ in range(100)]}


@pytest.mark.parametrize(
    "data",
    [
        json.dumps({"schemaVersion": 1, **PAGES, "traceEvents": [EVENT]}).encode(),
        b"\xef\xbb\xbf" + json.dumps({**PAGES, "traceEvents": [EVENT]}).encode(),
        b"\xef\xbb\xbf \r\n[" + json.dumps(EVENT).encode() + b"]",
        # Beyond the first block, and across the end of one.
        b'{"a": "'
        + b"y" * ((1 << 20) - 20)
        + b'", "traceEvents" :\n ['
        + json.dumps(EVENT).encode()
        + b"]}",
        b'{"traceEvents": [' + json.dumps(EVENT).encode() + b"]}",
    ],
)
def test_chrome_is_recognised_wherever_its_events_are(data):
    assert converter.detect(data).name == "chrome"
    (batch,) = [batch for batch in converter.read(data).batches() if len(batch)]
    assert batch.ts.tolist() == [5000]


TEXT = json.dumps(EVENT).encode()
LATE = json.dumps({"args": {"x": "y" * 5000}, **EVENT}).encode()

#: Events, however they are wrapped and whatever stands in front of them.
PREFIXED = {
    "white space": b" \r\n" * 3000 + b"[" + TEXT + b"]",
    "white space and an object": b"\n" * 5000 + b'{"traceEvents": [' + TEXT + b"]}",
    "an unknown member": b'[{"custom": 1, ' + TEXT[1:] + b"]",
    "long arguments": b"[" + LATE + b"]",
    "no end": b"[" + TEXT,
    "a comma": b"[" + TEXT + b",",
    "a comma and the end": b"[" + TEXT + b",]",
    "compressed twice": gzip.compress(gzip.compress(b"[" + TEXT + b"]")),
    "compressed in two ways": gzip.compress(lzma.compress(b"[" + TEXT + b"]")),
}


@pytest.mark.parametrize("data", PREFIXED.values(), ids=PREFIXED)
def test_events_are_found_behind_anything(data):
    assert converter.detect(data).name == "chrome"
    (batch,) = [batch for batch in converter.read(data).batches() if len(batch)]
    assert batch.ts.tolist() == [5000]


@pytest.mark.parametrize(
    "name", ["perfetto/timeline.pftrace", "chrome/features.json", "generated/fxt.fxt"]
)
@pytest.mark.parametrize("suffix", [".dat", ".json", ".fxt", ".pftrace", ".gz", ""])
def test_names_do_not_tell_what_is_in_a_file(name, suffix, tmp_path):
    path = tmp_path / f"trace{suffix}"
    path.write_bytes((FIXTURES / name).read_bytes())
    assert converter.detect(path).name in name


@pytest.mark.parametrize("empty", [1, 3, 2000])
def test_perfetto_is_recognised_behind_packets_of_nothing(empty, tmp_path):
    data = b"\n\0" * empty + (FIXTURES / "perfetto/timeline.pftrace").read_bytes()
    assert converter.detect(data).name == "perfetto"
    (tmp_path / "in.pftrace").write_bytes(data)
    converter.convert(tmp_path / "in.pftrace", tmp_path / "out.pftrace")
    assert (tmp_path / "out.pftrace").read_bytes() == data


def zipped(name, data):
    """An archive of one file."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr(name, data)
    return archive.getvalue()


HINTS = {
    b"\xc1\x1f\xfc\xc1" + bytes(40): "name the directory",
    b"\x1e{" + b'"type": "preamble"}': "name the directory",
    b"7z\xbc\xaf\x27\x1c" + bytes(40): "unpack it",
    b"\x7fELF" + bytes(40): "ELF",
    b'{"answer": 42}': '"traceEvents"',
    b'[{"name2": 1, "trace": "x.pftrace", "query": "select 1 from slice where name = 2;"}]': "elements",
    b"<!DOCTYPE html>\n<html>": "web page",
    b"packet { timestamp: 5 }\n": "protoc",
    b"name: sched_waking\nID: 5\nformat:\n": "format file",
    b'101 1.0 L=SVC "svc" $SVC $PRI\n': "trcfmt",
    bytes(100): "zeros",
    b"neither fish nor fowl": "it begins with 'neither fish nor'; the argument `format` names the format",
    ("[" + json.dumps(EVENT) + "]").encode("utf-16"): "UTF-16",
    ("[" + json.dumps(EVENT) + "]").encode("utf-16-be"): "UTF-16",
    b"\xfe\xff" + json.dumps({"traceEvents": [EVENT]}).encode("utf-16-be"): "UTF-16",
    ("[" + json.dumps(EVENT) + "]").encode("utf-32"): "UTF-32",
    zipped("inner.zip", zipped("a.json", b"[]")): "an archive in another",
    json.dumps(EVENT).encode() + b"\n" + json.dumps(EVENT).encode(): "jq -s",
    b" \r\n": "white space",
    b"\xef\xbb\xbf": "white space",
    b"\n\0\n\0": "empty packets",
}


@pytest.mark.parametrize("data", HINTS, ids=range(len(HINTS)))
def test_what_is_not_recognised_has_a_hint(data):
    with pytest.raises(UnknownFormatError, match="not recognised") as caught:
        converter.detect(data)
    assert HINTS[data] in str(caught.value)


def test_directories_say_what_is_in_them(tmp_path):
    with pytest.raises(UnknownFormatError, match="is empty"):
        converter.detect(tmp_path)
    (tmp_path / "notes.txt").write_text("nothing here")
    with pytest.raises(UnknownFormatError, match=r"`info` \(uftrace\)"):
        converter.detect(tmp_path)
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "info").write_bytes(b"Ftrace!")
    with pytest.raises(UnknownFormatError, match=r"there are traces in it.*one, two"):
        converter.detect(tmp_path)


@pytest.mark.parametrize("data", [b"\xfd7zXZ\0" + bytes(40), b"\x28\xb5\x2f\xfd" + bytes(40)])
def test_a_wrapper_that_holds_nothing_readable_says_so(data):
    with pytest.raises(converter.TraceError, match=r"the (xz|zstd) data (is damaged|ends early)"):
        converter.detect(data)


def archived(names):
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as file:
        for name in names:
            file.addfile(tarfile.TarInfo(name))
    return stream.getvalue()


MANY = [f"{number:05}.x" for number in range(10_001)]


@pytest.mark.parametrize(
    ("last", "format"),
    [
        (["info", "task.txt"], "uftrace"),
        (["metadata"], "ctf"),
        (["zzz/metadata"], None),
    ],
)
def test_what_a_directory_is_known_by_may_be_its_last_name(last, format):
    data = archived([*MANY, *last])
    if format is not None:
        assert converter.detect(data).name == format
        return
    with pytest.raises(UnknownFormatError):
        converter.detect(data)


def test_the_first_folder_is_looked_through():
    assert converter.detect(
        archived([*(f"kernel/{name}" for name in MANY), "kernel/metadata", "a/x"])
    )


def test_a_directory_has_as_many_files_as_the_limit():
    data = archived(["a.x", "b.x", "metadata"])
    with limited({"listed-files": 3}):
        assert converter.detect(data).name == "ctf"
    with limited({"listed-files": 2}), pytest.raises(UnknownFormatError, match="'listed-files': 4"):
        converter.detect(data)
