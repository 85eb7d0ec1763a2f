"""Embedded payloads in collapsed stacks: comments at the end, in base64, which flamegraph.pl ignores with a warning."""

from __future__ import annotations

from base64 import b64decode, b64encode
from binascii import Error
from collections.abc import Iterator
from typing import Final

from converter.errors import TraceError
from converter.formats.embedding import Embedding
from converter.formats.profiles.folded import COMMENT
from converter.storage.sink import Sink
from converter.storage.source import Source

_PLAIN: Final = b"traceconv residual "
#: Without it, the digits at the end of a line could be a count.
_END: Final = b" #"
_LONGEST: Final = 1 << 18


class _Frames(Embedding):
    frame_size = 3 << 14

    def frame(self, sink: Sink, data: bytes, number: int) -> bytes:
        """Return a comment. The footer stays readable, so that it is found."""
        text = data if data.startswith(_PLAIN) else b64encode(data)
        return COMMENT + text + _END + b"\n"

    def frames(self, source: Source, start: int) -> Iterator[bytes]:
        """Yield the payloads of the comments from `start` on. Of a damaged one, they are what is there."""
        at = start
        while at < source.size:
            line, newline, _ = source.read(at, _LONGEST).partition(b"\n")
            if not line.startswith(b"#"):
                raise TraceError(
                    format="folded",
                    offset=at,
                    expected="a comment with a payload",
                    found=line[:40],
                )
            text = line.removeprefix(COMMENT).removesuffix(_END)
            yield text if text.startswith(_PLAIN) else _decoded(text)
            at += len(line) + len(newline)


def _decoded(text: bytes) -> bytes:
    try:
        return b64decode(text, validate=True)
    except Error:
        # Unchanged: the checksum of the records shows that it is not one of them.
        return text


EMBEDDING: Final = _Frames()
