"""The embeddable part of a legacy trace's sidecar, and its files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from converter.formats.lossless import travelling
from converter.formats.lttng_legacy.recording import Recording
from converter.ir.trace import Trace
from converter.storage.source_files import PART_SIZE, SourceFiles

#: Entries of the sidecar that are not embedded as they are.
_NOT_KEPT: Final = frozenset({"recording", "contents", "left_behind"})
_LEFT_BEHIND: Final = "the blocks of the files"


def portable(trace: Trace) -> dict[str, Any]:
    """Return the sidecar of a trace as JSON-like values and bytes, with the files that a kernel's tracer wrote.

    The files are left out if the trace's events were changed, or if they are too large. The writer then puts the events
    into blocks of its own.

    Raises:
        TraceError: a file cannot be read, or changes meanwhile.

    """
    sidecar = trace.sidecar["lttng_legacy"]
    recording = sidecar.get("recording")
    if recording is None and trace.is_as_read:
        return sidecar
    kept = {name: value for name, value in sidecar.items() if name not in _NOT_KEPT}
    if sidecar.get("own"):
        return kept
    contents = None
    if trace.is_as_read and isinstance(recording, Recording):
        contents = travelling.compressed(_files(recording))
    if contents is None:
        sidecar["left_behind"] = _LEFT_BEHIND
        return kept
    return {**kept, "contents": contents}


def source_files(trace: Trace) -> SourceFiles | None:
    """Return all files of the directory that a kernel's tracer has written."""
    sidecar = trace.sidecar["lttng_legacy"]
    return None if sidecar.get("own") else SourceFiles("", _files(sidecar["recording"]))


def _files(recording: Recording) -> Iterator[tuple[str, int, Iterator[bytes]]]:
    return ((path, recording.size(path), parts_of(recording, path)) for path in recording.paths)


def parts_of(recording: Recording, path: str) -> Iterator[bytes]:
    """Yield a file of a recording in parts."""
    size = recording.size(path)
    for offset in range(0, size, PART_SIZE):
        data = bytearray(min(PART_SIZE, size - offset))
        count = recording.read_into(path, offset, memoryview(data))
        yield bytes(memoryview(data)[:count])


def embedded_files(form: Mapping[str, Any]) -> dict[str, Iterator[bytes]] | None:
    """Return the files embedded in a sidecar, each in parts; None if there are none."""
    contents = form.get("contents")
    if not isinstance(contents, Mapping) or not all(
        isinstance(path, str) and isinstance(data, bytes) for path, data in contents.items()
    ):
        return None
    return {path: travelling.parts_of(path, data) for path, data in contents.items()}
