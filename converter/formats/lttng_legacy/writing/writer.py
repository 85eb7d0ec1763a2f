"""Writes a legacy LTTng trace: the files that an unchanged one was read from, or its events as blocks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from converter.errors import TraceError, UnsupportedError
from converter.formats.lttng_legacy.layout import Version
from converter.formats.lttng_legacy.portable import embedded_files, parts_of
from converter.formats.lttng_legacy.recording import Recording
from converter.formats.lttng_legacy.sidecar import parse_sidecar
from converter.formats.lttng_legacy.writing.native_recording import is_native, write_native
from converter.formats.lttng_legacy.writing.new_recording import write_new
from converter.ir.trace import Trace
from converter.storage.sink import Sink


def write(trace: Trace, sink: Sink, variant: str) -> None:
    """Write the directory of a trace.

    A trace that was read from such a directory, and not changed since, is copied file by file. Another one with the
    classes of a kernel's trace is encoded with its own markers, and all others with markers made from their classes.

    Args:
        trace: as projected to the format, or as its reader returns it.
        sink: a directory.
        variant: the version, "1.0" or "2.6"; empty for that of the source, 2.6 for traces of other formats.

    Raises:
        UnsupportedError: the format cannot represent an event, or a kernel's trace has another version.
        OutputError: the sink cannot be written to.
        TraceError: as `Trace.batches` does.

    """
    try:
        _write(trace, sink, variant)
    except TraceError as error:
        raise error.within(format="lttng_legacy") from error


def _write(trace: Trace, sink: Sink, variant: str) -> None:
    form = trace.sidecar.get("lttng_legacy")
    held = None if form is None else parse_sidecar(form)
    own_version = "" if held is None else held.version.name
    same = variant in ("", own_version)
    recording = None if form is None else form.get("recording")
    as_read = trace.is_as_read and same
    embedded = embedded_files(form) if form is not None and as_read else None
    if isinstance(recording, Recording) and as_read:
        # Reading finds the damage.
        for _ in trace.batches():
            pass
        _write_files({path: parts_of(recording, path) for path in recording.paths}, sink)
    elif embedded is not None and trace.format == "lttng_legacy":
        _write_files(embedded, sink)
    elif held is not None and is_native(trace, held):
        if not same:
            raise UnsupportedError(
                f"a trace of version {own_version} is written as version {variant} only when projected"
            )
        write_native(trace, held, sink)
    else:
        name = variant or (own_version if held is not None and held.own else "") or "2.6"
        major, minor = name.split(".")
        write_new(trace, sink, Version(int(major), int(minor)))


def _write_files(files: Mapping[str, Iterable[bytes]], sink: Sink) -> None:
    """Write all files of a directory, including those that are not of channels."""
    for path, parts in files.items():
        output = sink.create(path)
        for part in parts:
            output.write(part)
