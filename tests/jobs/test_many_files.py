"""Traces of more files than a process may have open, or than are looked at first, are read and written like others."""

import os
import resource
import subprocess
import tarfile
import zipfile
from collections import Counter

import pytest

import converter
from converter.analysis.building.builder import TraceBuilder
from converter.cli import _failed_by_system
from converter.errors import OpenFilesError, TraceError
from converter.storage import descriptors
from converter.storage.opening import open_source
from converter.storage.outputs import open_sink

#: Files of a trace, and descriptors that there are for them.
FILES, DESCRIPTORS = 90, 64


def allowing(free):
    """The limit with which so many descriptors are free, whatever tests before have left open in this process."""
    taken = {int(name) for name in os.listdir("/proc/self/fd")}
    number = 0
    while free:
        free -= number not in taken
        number += 1
    return number


@pytest.fixture
def few_descriptors():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # An interpreter has some open itself; the pool counts on no more than half.
    own = 16
    resource.setrlimit(resource.RLIMIT_NOFILE, (allowing(DESCRIPTORS - own), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def of_threads():
    """A trace whose threads each have a slice: uftrace has a file for each."""
    builder = TraceBuilder()
    builder.process(7, "program")
    for number in range(FILES):
        thread = builder.thread(100 + number, f"thread {number}", pid=7)
        builder.slice("work", 1000 * (number + 1), 500, thread)
    return builder.trace()


def of_cpus():
    """A trace whose CPUs each have an event: CTF and LTTng have a file for each, as have tables of classes."""
    builder = TraceBuilder()
    thread = builder.thread(7, "thread", pid=7)
    for number in range(FILES):
        at = 1000 * (number + 1)
        builder.event(f"event{number}", at, thread, cpu=number, system="own", fields={"v": number})
    return builder.trace()


def counted(path):
    """The events of each CPU and thread of an undamaged trace."""
    with converter.open_trace(path) as trace:
        found = Counter()
        for batch in trace.batches():
            threads = [trace.threads[one].tid if one >= 0 else None for one in batch.thread]
            found.update(zip(batch.cpu.tolist(), threads, strict=True))
        assert trace.warnings == []
        return found


TARGETS = {
    "uftrace": (of_threads, "out.uftrace", None),
    "ctf": (of_cpus, "out", "ctf"),
    "ctf2": (of_cpus, "out", "ctf+2"),
    "lttng": (of_cpus, "out.lttng", None),
    "parquet": (of_cpus, "out", "parquet+dataset"),
    "trace.dat": (of_cpus, "out.dat", None),
}


@pytest.mark.parametrize("target", TARGETS)
def test_a_trace_has_more_files_than_descriptors(target, tmp_path, few_descriptors):
    make, name, format = TARGETS[target]
    path = tmp_path / name
    converter.write(make(), path, format=format)
    if path.is_dir():
        assert sum(len(files) for _, _, files in os.walk(path)) >= FILES
    assert counted(path).total() == (2 * FILES if target == "uftrace" else FILES)
    again = tmp_path / "again.tcir"
    converter.convert(path, again)
    assert counted(again) == counted(path)
    # Read and written at once.
    converter.convert(again, path, target_format=format, force=True)
    copy = tmp_path / f"copy.{name.rpartition('.')[2]}"
    converter.convert(path, copy, target_format=format)
    assert counted(copy) == counted(path)


@pytest.mark.parametrize("target", ["uftrace", "ctf"])
@pytest.mark.parametrize("archive", ["zip", "tar", "tar.gz"])
def test_an_archive_has_more_files_than_descriptors(target, archive, tmp_path, few_descriptors):
    make, name, format = TARGETS[target]
    path, packed = tmp_path / name, tmp_path / f"packed.{archive}"
    converter.write(make(), path, format=format)
    if archive == "zip":
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
            for inner in path.rglob("*"):
                file.write(inner, inner.relative_to(path))
    else:
        with tarfile.open(packed, "w:gz" if archive == "tar.gz" else "w") as file:
            file.add(path, "trace")
    assert counted(packed) == counted(path)


def test_more_traces_than_descriptors_are_joined_and_split(tmp_path, few_descriptors):
    parts = converter.split(of_whole(tmp_path), tmp_path / "part.tcir", "cpu")
    assert len(parts) == FILES
    paths = [part.path for part in parts]
    assert [counted(path).total() for path in paths] == [1] * FILES
    with converter.open_merged(paths) as merged:
        assert sum(len(batch) for batch in merged.batches()) == FILES
        assert merged.warnings == []


def of_whole(tmp_path):
    path = tmp_path / "whole.tcir"
    converter.write(of_cpus(), path)
    return path


@pytest.fixture
def more_files(tmp_path, few_descriptors):
    for number in range(FILES):
        (tmp_path / f"{number}").write_bytes(b"%d" % number)
    with open_source(tmp_path) as folder:
        yield tmp_path, [folder.open(f"{number}") for number in range(FILES)]


def test_a_file_is_opened_again_when_it_is_read(more_files):
    _, files = more_files
    for _ in range(2):
        assert [int(file.read(0, 9)) for file in files] == list(range(FILES))
    files[0].close()
    with pytest.raises(ValueError, match="closed"):
        files[0].read(0, 9)
    for file in files:
        file.close()


def test_a_file_that_was_replaced_is_not_read_on(more_files):
    folder, files = more_files
    (folder / "new").write_bytes(b"another")
    (folder / "new").replace(folder / "0")
    with pytest.raises(TraceError, match=r"0: .*replaced"):
        files[0].read(0, 9)
    (folder / "1").unlink()
    with pytest.raises(TraceError, match=r"1: .*No such file"):
        files[1].read(0, 9)


def test_an_output_is_opened_again_when_it_is_written(tmp_path, few_descriptors):
    sinks = [open_sink(tmp_path / f"{number}", seekable=True) for number in range(FILES)]
    for part in (b"one", b"two"):
        for sink in sinks:
            sink.write(part * 30_000)
    for sink in sinks:
        sink.write_at(0, b"ONE")
        assert sink.read_back(0, 4) == b"ONEo"
    for sink in sinks:
        sink.close()
    contents = b"ONE" + b"one" * 29_999 + b"two" * 30_000
    assert {(tmp_path / f"{number}").read_bytes() for number in range(FILES)} == {contents}


def test_too_many_open_files_are_no_damage_of_one(tmp_path, monkeypatch, capsys):
    path = tmp_path / "out.uftrace"
    converter.write(of_threads(), path)
    descriptors.with_room(lambda: None)
    opened = descriptors.os.open

    def refused(name, *arguments, **others):
        if os.fspath(name).endswith("120.dat"):
            raise OSError(24, "Too many open files", name)
        return opened(name, *arguments, **others)

    monkeypatch.setattr(descriptors.os, "open", refused)
    with pytest.raises(OpenFilesError, match=r"120.dat: .*too many open files \(`ulimit -n`"):
        counted(path)
    # Of files that are opened elsewhere, the command names them, and not its output.
    assert _failed_by_system(OSError(24, "Too many open files", "here")) == 1
    assert _failed_by_system(OSError(13, "Permission denied", "there")) == 1
    said = capsys.readouterr().err
    assert "here: too many open files" in said
    assert "there: Permission denied" in said
    assert "output" not in said


def test_the_command_is_allowed_more_files():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS, hard))
        descriptors.allow_more()
        allowed = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = 1 << 16 if hard == resource.RLIM_INFINITY else min(hard, 1 << 16)
        assert allowed == (wanted, hard)
        descriptors.allow_more()
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == allowed
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize("packed", [False, True])
def test_ten_thousand_files_are_read(tmp_path, packed):
    """As directories of uftrace with as many tasks are."""
    path = tmp_path / "out.uftrace"
    converter.write(of_threads(), path)
    for number in range(11_000):
        (path / f"extra{number:05}.map").write_bytes(b"")
    data = path
    if packed:
        data = tmp_path / "packed.tar"
        # By the program: its module takes a quarter of a second a thousand files.
        subprocess.run(["tar", "-c", "-f", data, "-C", tmp_path, path.name], check=True)
    assert counted(data).total() == 2 * FILES
