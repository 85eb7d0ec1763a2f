"""Writes trace.dat."""

from __future__ import annotations

from collections.abc import Iterator

from converter.errors import TraceError
from converter.formats.ftrace.ring_buffer.page_writer import SpoolMaker
from converter.formats.lossless import travelling
from converter.formats.trace_cmd.container.trace_file import TraceFile
from converter.formats.trace_cmd.writing.native_contents import WHOLE, native_contents, source_file
from converter.formats.trace_cmd.writing.new_contents import new_contents
from converter.formats.trace_cmd.writing.version6 import write_version_6
from converter.formats.trace_cmd.writing.version7 import write_version_7
from converter.ir.trace import Trace
from converter.storage.sink import Sink
from converter.storage.source_files import parts_of

#: Version and compression by variant; the empty variant keeps those of the source.
_VARIANTS = {
    "v7": (7, b"zstd"),
    "v7_zlib": (7, b"zlib"),
    "v7_none": (7, b"none"),
    "v6": (6, b"none"),
}


def write(trace: Trace, sink: Sink, variant: str) -> None:
    """Write a trace.dat file from a trace that was projected to the format, or that was read from it.

    Raises:
        UnsupportedError: an event is larger than any page, or of a class that the format cannot have.
        OutputError: the sink cannot be written to.
        TraceError: as `Trace.batches` does.

    """
    file = source_file(trace) if trace.format == "trace_cmd" else None
    version, compression = _VARIANTS.get(variant, (7, b"zstd"))
    if file is not None and not variant:
        version, compression = file.version, file.compression
    if file is not None and (version, compression) == (file.version, file.compression):
        embedded = _embedded_parts(trace, file)
        if embedded is not None and trace.is_as_read:
            # The same bytes, whichever program wrote them.
            for part in embedded:
                sink.write(part)
            return
    big_endian = file is not None and file.big_endian
    spools = SpoolMaker(compression, big_endian=big_endian)
    try:
        if file is None:
            contents = new_contents(trace, compression, spools)
        else:
            copy = _is_unchanged(trace)
            contents = native_contents(trace, file, version, compression, spools, copy=copy)
        output = write_version_6 if version == 6 else write_version_7
        output(contents, sink)
    except TraceError as error:
        raise error.within(format="trace_cmd") from error
    finally:
        spools.close()


def _embedded_parts(trace: Trace, file: TraceFile) -> Iterator[bytes] | None:
    """Return the parts of the complete file that is embedded in a trace or replaces it; None without one."""
    kept = trace.sidecar["trace_cmd"].get(WHOLE)
    if kept is not None:
        return travelling.parts_of(WHOLE, kept)
    is_embedded = trace.origin is not None and trace.origin.travelled
    return parts_of(file.source) if is_embedded else None


def _is_unchanged(trace: Trace) -> bool:
    """Return True if a trace has all events of its undamaged source unchanged, so that the pages can be copied."""
    # A file that was embedded without its pages has none.
    if not trace.is_as_read or "skeleton" in trace.sidecar["trace_cmd"]:
        return False
    assert trace.check is not None, "its reader looks for damage"
    trace.check(True)
    return not trace.warnings
