"""Copies a directory that has not changed since it was read, byte for byte."""

from __future__ import annotations

from converter.formats.uftrace.directory import DataDirectory
from converter.formats.uftrace.portable import EmbeddedFiles, travelled_files
from converter.ir.trace import Trace
from converter.storage.sink import Sink


def unchanged_directory(trace: Trace) -> DataDirectory | EmbeddedFiles | None:
    """Return the files of the directory that a trace was read from, if the trace has all its events unchanged."""
    if not trace.is_as_read:
        return None
    directory = trace.sidecar.get("uftrace", {}).get("directory")
    return directory if isinstance(directory, DataDirectory) else travelled_files(trace)


def replay(directory: DataDirectory | EmbeddedFiles, sink: Sink) -> None:
    """Copy all files.

    Raises:
        TraceError: one of them cannot be read.
        OutputError: the sink cannot be written to.

    """
    names = directory.names if isinstance(directory, EmbeddedFiles) else directory.readable_names()
    for name in names:
        copy_file(directory, name, sink)


def copy_file(directory: DataDirectory | EmbeddedFiles, name: str, sink: Sink) -> None:
    """Copy a file."""
    with sink.create(name) as output:
        for part in directory.parts(name):
            output.write(part)
