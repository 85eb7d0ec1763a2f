"""Embedded payloads in texts: remarks at the end, in base64."""

from __future__ import annotations

from base64 import b64decode, b64encode
from binascii import Error
from collections.abc import Iterator
from typing import Final

from converter.errors import TraceError
from converter.formats.embedding import Embedding
from converter.storage.sink import Sink
from converter.storage.source import Source

_REMARK: Final = b"# traceconv.residual "
_PLAIN: Final = b"traceconv residual "
_LONGEST: Final = 1 << 18


class PayloadRemarks(Embedding):
    """Stores frames in remarks.

    Args:
        format: the format's name.
        line_end: what ends a remark.

    """

    frame_size = 3 << 14

    def __init__(self, format: str, line_end: bytes = b"\n") -> None:
        self._format = format
        self._line_end = line_end

    def frame(self, sink: Sink, data: bytes, number: int) -> bytes:
        """Return a remark. The footer stays readable, so that it is found."""
        return _REMARK + (data if data.startswith(_PLAIN) else b64encode(data)) + self._line_end

    def frames(self, source: Source, start: int) -> Iterator[bytes]:
        """Yield the payloads of the remarks from `start` on. Of a damaged remark, they are what is there."""
        at = start
        while at < source.size:
            line, newline, _ = source.read(at, _LONGEST).partition(self._line_end)
            # A line that is no remark was added: an event, perhaps.
            if not line[1:].startswith(_REMARK[1:]) and not line.startswith(b"#"):
                found = line[:40]
                raise TraceError(
                    format=self._format, offset=at, expected="a remark with a payload", found=found
                )
            text = line[len(_REMARK) :]
            yield text if text.startswith(_PLAIN) else _decoded(text)
            at += len(line) + len(newline)


def _decoded(text: bytes) -> bytes:
    try:
        return b64decode(text, validate=True)
    except Error:
        # Unchanged: the checksum of the records shows that it is not one of them.
        return text
