"""The embedded payload of a trace.dat file.

In version 7 it is in options in a last OPTIONS section, to which the previous one leads. They have the number of
PROCMAPS, whose data libtracecmd ignores if they do not end with a NUL: it warns about unknown numbers. Version 6 has
its options before the data and refers to data by offset, so that no reader looks at bytes after it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from converter.errors import TraceError
from converter.formats.embedding import Embedding
from converter.formats.ftrace.layout import SectionId, parse
from converter.formats.trace_cmd.layout import HEADER_START, OptionId, layouts
from converter.storage.sink import Sink
from converter.storage.source import Source, View

#: The number of an option, and its former number, whose data had no end marker.
OPTION: Final = OptionId.PROCMAPS
_FORMER_OPTION: Final = 0x7463
_END_MARK: Final = b"."
_NO_STRING: Final = 0xFFFFFFFF
_HEAD_SIZE: Final = 64
_PLACE_SIZE: Final = 8


class _Frames(Embedding):
    frame_size = 1 << 20

    def open_frames(self, sink: Sink) -> bytes:
        """Link the last options, which end the file, to those that follow; return the header of their section."""
        start = _start(sink.read_back(0, _HEAD_SIZE))
        if start.version == "6":
            return b""
        layout = layouts(start.big_endian == 1)
        size = sink.tell()
        sink.write_at(size - _PLACE_SIZE, layout.u64.build(size))
        return _section_header(start, 0)

    def frame(self, sink: Sink, data: bytes, number: int) -> bytes:
        """Return an option."""
        return _option(_start(sink.read_back(0, _HEAD_SIZE)), OPTION, data + _END_MARK)

    def close_frames(self, sink: Sink, start: int) -> bytes:
        """End the options, and set the size of their section."""
        head = _start(sink.read_back(0, _HEAD_SIZE))
        if head.version == "6":
            return b""
        done = _option(head, OptionId.DONE, bytes(_PLACE_SIZE))
        size = sink.tell() + len(done) - start - len(_section_header(head, 0))
        sink.write_at(start, _section_header(head, size))
        return done

    def frames(self, source: Source, start: int) -> Iterator[bytes]:
        """Yield the data of the options from `start` on."""
        head = _start(source.read(0, _HEAD_SIZE))
        header = layouts(head.big_endian == 1).option_header
        size = len(header.build({"id": 0, "size": 0}))
        offset = start + (0 if head.version == "6" else len(_section_header(head, 0)))
        while offset < source.size:
            option = parse(header, source.read_exactly(offset, size), offset, "option")
            if option.id == OptionId.DONE:
                return
            if option.id not in (OPTION, _FORMER_OPTION):
                raise TraceError(format="trace_cmd", offset=offset, expected=f"option {OPTION}")
            data = source.read_exactly(offset + size, option.size)
            yield data.removesuffix(_END_MARK) if option.id == OPTION else data
            offset += size + option.size

    def content(self, source: Source, start: int) -> Source:
        """Return the file without its last options, to which the previous ones no longer lead."""
        head = _start(source.read(0, _HEAD_SIZE))
        if head.version == "6" or start < _PLACE_SIZE:
            return View(source.name, source, 0, start)
        return View(source.name, source, 0, start - _PLACE_SIZE, bytes(_PLACE_SIZE))


EMBEDDING: Final = _Frames()


def _start(head: bytes) -> Any:
    return parse(HEADER_START, head, 0, "header")


def _section_header(start: Any, size: int) -> bytes:
    built: bytes = layouts(start.big_endian == 1).section_header.build(
        {"id": SectionId.OPTIONS, "flags": 0, "string_id": _NO_STRING, "size": size}
    )
    return built


def _option(start: Any, id: int, data: bytes) -> bytes:
    header: bytes = layouts(start.big_endian == 1).option_header.build(
        {"id": id, "size": len(data)}
    )
    return header + data
