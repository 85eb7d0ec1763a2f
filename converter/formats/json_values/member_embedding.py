"""Embedded payloads in JSON documents: a member of the outer object, an array of base64 strings."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterator
from typing import Final

from converter.errors import TraceError
from converter.formats.embedding import Embedding
from converter.storage.sink import Sink
from converter.storage.source import Source, View

MEMBER: Final = "traceconvResidual"
_HEAD: Final = f',\n"{MEMBER}":['.encode()
_TAIL: Final = b"\n]}\n"
_LINE: Final = b'"\n'


class MemberEmbedding(Embedding):
    """Payloads in the last member of an object."""

    #: A multiple of 3, so that each text but the last is without padding.
    frame_size = 3 << 18

    def __init__(self, format: str) -> None:
        self._format = format

    def open_frames(self, sink: Sink) -> bytes:
        """Open the array where the object closed: remove its brace, the last byte that is not white space."""
        size = sink.tell()
        end = sink.read_back(max(size - 16, 0), 16)
        closed = len(end.rstrip())
        assert end[closed - 1 : closed] == b"}", "the writer makes an object"
        # A sink that cannot be shortened gets spaces instead.
        sink.write_at(size - len(end) + closed - 1, b" " * (len(end) - closed + 1))
        return _HEAD

    def frame(self, sink: Sink, data: bytes, number: int) -> bytes:
        """Return an element of the array. The footer stays readable, so that it is found."""
        text = data if data.startswith(b"traceconv residual ") else b64encode(data)
        return (b",\n" if number else b"\n") + b'"' + text + b'"'

    def close_frames(self, sink: Sink, start: int) -> bytes:
        """Close the array and the object."""
        return _TAIL

    def frames(self, source: Source, start: int) -> Iterator[bytes]:
        """Yield the elements of the array."""
        if source.read(start, len(_HEAD)) != _HEAD:
            raise TraceError(format=self._format, offset=start, expected=f"the member {MEMBER!r}")
        offset = start + len(_HEAD)
        rest = b""
        while offset < source.size:
            block = rest + source.read(offset, 1 << 20)
            offset += len(block) - len(rest)
            *texts, rest = block.split(b'"')
            # Split at quotes, the strings are the items at odd indexes.
            if len(texts) % 2:
                rest = texts.pop() + b'"' + rest
            for text in texts[1::2]:
                yield text if text.startswith(b"traceconv residual ") else _decoded(text)

    def content(self, source: Source, start: int) -> Source:
        """Return the object without the member."""
        return View(source.name, source, 0, start, b"}\n")


def _decoded(text: bytes) -> bytes:
    try:
        return b64decode(text, validate=True)
    except ValueError:
        # Unchanged: the checksum of the records shows that it is not one of them.
        return text
