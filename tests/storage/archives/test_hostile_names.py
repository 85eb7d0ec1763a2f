"""Names that somebody else made: none of an archive or a trace leads out of where it is read or written."""

import io
import json
import os
import subprocess
import sys
import tarfile
import zipfile

import pytest

from converter.errors import OutputError
from converter.jobs.conversion import convert
from converter.storage.archives.tar import is_inside
from converter.storage.opening import open_source

NAMES = [
    "../out",
    "../../../../tmp/out",
    "a/../../out",
    "/etc/out",
    "//out",
    ".",
    "..",
    "",
    "a/./b",
    "a//b",
    "a\0b",
    "a\nb",
    "a\x1b[2Jb",
    "a" * 300,
    "/".join(["a"] * 300),
    "C:\\out",
    "..\\out",
    "\\\\host\\share\\out",
    "CON",
    "a:b",
    "-rf",
    "\N{RIGHT-TO-LEFT OVERRIDE}txt",
]


def tar(name):
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for one in ("in", name):
            info = tarfile.TarInfo(one)
            info.size = 1
            archive.addfile(info, io.BytesIO(b"1"))
    return stream.getvalue()


def zipped(name):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for one in ("in", "also", name):
            archive.writestr(zipfile.ZipInfo(one), b"1")
    return stream.getvalue()


@pytest.mark.parametrize("made", [tar, zipped])
@pytest.mark.parametrize("name", NAMES)
def test_members_of_archives_stay_inside(made, name):
    with open_source(made(name)) as source:
        found = list(source.walk())
        assert "in" in found
        for one in found:
            assert is_inside(one)
            with source.open(one) as member:
                assert member.size <= 1


def trace_of(names):
    """A trace that says the names wherever it can."""
    events = []
    for number, name in enumerate(names):
        place = {"pid": number + 1, "tid": number + 1}
        events += [
            {"ph": "M", "name": what, "args": {"name": name}, **place}
            for what in ("process_name", "thread_name")
        ]
        for phase in "BEIC":
            args = {name: 1} if phase == "I" else {}
            event = {"ph": phase, "ts": number, "name": name, "cat": name, "args": args, **place}
            events.append(event)
    return json.dumps({"traceEvents": events, "otherData": {name: name for name in names}})


@pytest.mark.parametrize("format", ["ctf", "lttng_legacy", "uftrace"])
def test_names_in_a_trace_lead_nowhere(format, tmp_path):
    source = tmp_path / "in.json"
    source.write_text(trace_of(NAMES))
    target = tmp_path / "deep" / "er" / "out"
    target.parent.mkdir(parents=True)
    convert(source, target, target_format=format)
    outside = [path for path in tmp_path.rglob("*") if target not in (path, *path.parents)]
    assert {*outside} == {source, target.parent, target.parent.parent}
    for path in target.rglob("*"):
        assert path.name.isprintable() and len(os.fsencode(path.name)) < 256
        assert not path.is_symlink()


@pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0, reason="mounting a file system needs root"
)
@pytest.mark.parametrize("format", ["fxt", "ctf", "lttng_legacy"])
def test_a_full_file_system_has_no_half_output(format, tmp_path):
    source = tmp_path / "in.json"
    source.write_text(trace_of([f"{number}" * 400 for number in range(10, 90)]))
    full = tmp_path / "full"
    full.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(full)], check=False
    )
    if mounted.returncode:
        pytest.skip("nothing may be mounted here")
    try:
        (full / "out").write_bytes(b"what was there")
        with pytest.raises(OutputError):
            convert(source, full / "out", target_format=format, force=True)
        assert [path.name for path in full.iterdir()] == ["out"]
        assert (full / "out").read_bytes() == b"what was there"
    finally:
        subprocess.run(["umount", str(full)], check=True)
