"""Opens a trace.dat file of either version, without its events."""

from __future__ import annotations

from converter.errors import TraceError
from converter.formats.ftrace.layout import parse
from converter.formats.trace_cmd.container.trace_file import TraceFile
from converter.formats.trace_cmd.layout import HEADER_START
from converter.storage.source import Source


def open_file(source: Source) -> TraceFile:
    """Open the file in a source.

    Raises:
        TraceError: the source is not a trace.dat file, or nothing of it is usable.
        UnsupportedError: it is compressed in an unknown way, or of another version.

    """
    head = source.read(0, 64)
    start = parse(HEADER_START, head, 0, "header")
    size = len(HEADER_START.build(start))
    if start.big_endian > 1 or start.long_size not in (4, 8):
        raise TraceError(offset=size - 2, field="header", expected="endian 0 or 1, long 4 or 8")
    if start.version == "6":
        from converter.formats.trace_cmd.container.version6 import open_version_6

        return open_version_6(
            source, size, big_endian=start.big_endian == 1, long_size=start.long_size
        )
    if start.version == "7":
        from converter.formats.trace_cmd.container.version7 import open_version_7

        return open_version_7(
            source, size, big_endian=start.big_endian == 1, long_size=start.long_size
        )
    raise TraceError(offset=10, field="header.version", expected="6 or 7", found=start.version)
