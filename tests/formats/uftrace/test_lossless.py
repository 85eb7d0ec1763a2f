"""Data directories that are copied, and those that travel in other formats: their files come back byte for byte."""

from __future__ import annotations

import dataclasses
import os

import pytest
from support.uftrace.files import RICH, TID, Directory, calls
from support.uftrace.oracle import needs_uftrace, run

import converter
from converter.cli import main
from converter.errors import TraceError
from converter.formats.lossless import travelling
from converter.ir.canonical import difference


def files_of(path):
    return {str(file.relative_to(path)): file.read_bytes() for file in sorted(path.rglob("*"))}


def travelled(source, tmp_path, name="through.tcir"):
    converter.convert(source, tmp_path / name, lossless=not name.endswith(".tcir"))
    return tmp_path / name


def test_the_command_copies_a_directory(tmp_path):
    assert main([str(RICH), "-o", str(tmp_path / "copy"), "-t", "uftrace"]) == 0
    assert files_of(tmp_path / "copy") == files_of(RICH)


@pytest.mark.parametrize(
    "name", ["through.fxt", "through.json", "through.pftrace", "through.dat", "through.tcir"]
)
def test_a_directory_comes_back_whole_through_another_format(name, tmp_path):
    converter.convert(travelled(RICH, tmp_path, name), tmp_path / "back", target_format="uftrace")
    assert files_of(tmp_path / "back") == files_of(RICH)


@needs_uftrace
def test_uftrace_prints_the_same_after_a_detour(tmp_path):
    through = travelled(RICH, tmp_path, "through.fxt")
    converter.convert(through, tmp_path / "back", target_format="uftrace")
    command = "uftrace", "dump", "--no-pager", "-d"
    assert run(*command, str(tmp_path / "back")) == run(*command, str(RICH))


def test_what_has_travelled_twice_comes_back(tmp_path):
    first = travelled(RICH, tmp_path, "first.fxt")
    converter.convert(travelled(first, tmp_path), tmp_path / "back", target_format="uftrace")
    assert files_of(tmp_path / "back") == files_of(RICH)


def test_a_trace_that_was_changed_is_encoded_anew(tmp_path):
    with converter.open_trace(travelled(RICH, tmp_path)) as trace:
        half = list(trace.batches())[:1]
        changed = dataclasses.replace(trace, make_batches=lambda: iter(half))
        converter.write(changed, tmp_path / "back", "uftrace")
    assert "traceconv.json" in files_of(tmp_path / "back")
    assert difference(converter.read(RICH), converter.read(tmp_path / "back")) is None


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[: len(data) // 2],
        lambda data: data[:30] + b"x" + data[31:],
        lambda data: b"",
    ],
    ids=["cut off", "changed", "empty"],
)
def test_travelled_files_that_are_damaged(damage, tmp_path):
    with converter.open_trace(travelled(RICH, tmp_path)) as trace:
        files = trace.sidecar["uftrace"]["files"]
        trace.sidecar["uftrace"] = {"files": files | {"718.dat": damage(files["718.dat"])}}
        with pytest.raises(TraceError, match=r"718\.dat"):
            converter.write(trace, tmp_path / "back", "uftrace")
    assert not (tmp_path / "back").exists()


def test_a_travelled_file_cannot_lead_out_of_the_directory(tmp_path):
    with converter.open_trace(travelled(RICH, tmp_path)) as trace:
        files = trace.sidecar["uftrace"]["files"]
        trace.sidecar["uftrace"] = {"files": files | {"../outside": files["info"]}}
        with pytest.raises(TraceError):
            converter.write(trace, tmp_path / "back", "uftrace")
    assert not (tmp_path / "outside").exists()


@pytest.mark.parametrize("files", [{}, "text", {"info": "text"}])
def test_a_sidecar_that_makes_no_sense_is_not_replayed(files, tmp_path):
    with converter.open_trace(travelled(RICH, tmp_path)) as trace:
        trace.sidecar["uftrace"] = {"files": files}
        converter.write(trace, tmp_path / "back", "uftrace")
    assert difference(converter.read(RICH), converter.read(tmp_path / "back")) is None


def test_a_recording_that_is_too_large_travels_as_events(tmp_path, monkeypatch):
    monkeypatch.setattr(travelling, "MOST", 1000)
    with converter.open_trace(travelled(RICH, tmp_path)) as trace:
        assert trace.sidecar["uftrace"] == {}
        assert ["too large to travel" in str(warning) for warning in trace.warnings] == [True]
        converter.write(trace, tmp_path / "back", "uftrace")
    again = converter.read(tmp_path / "back")
    assert difference(converter.read(RICH), again) is None


def test_a_file_that_cannot_be_opened_is_not_copied(tmp_path):
    directory = Directory()
    directory.tasks[TID] = calls(directory)
    path = directory.write(tmp_path / "data")
    (tmp_path / "secret").write_bytes(b"secret")
    os.symlink(tmp_path / "secret", path / "linked")
    with converter.open_trace(path) as trace:
        converter.write(trace, tmp_path / "copy", "uftrace")
        assert ["inside the directory" in str(warning) for warning in trace.warnings] == [True]
    kept = files_of(path)
    del kept["linked"]
    assert files_of(tmp_path / "copy") == kept
