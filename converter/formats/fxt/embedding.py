"""Embedded payloads in an FXT file: BLOB records with a name of our own at its end ("Blob record")."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal

from converter.errors import TraceError
from converter.formats.embedding import Embedding
from converter.formats.fxt.record_types import MAGIC, RecordType
from converter.storage.sink import Sink
from converter.storage.source import Source

_NAME: Final = b"traceconv residual"
_PADDED_NAME: Final = _NAME.ljust(24, b"\0")
#: The BLOB type for data, as opposed to a trace of the last branches.
_BLOB_TYPE: Final = 1
#: A string reference with this bit has the number of string bytes that follow inline.
_INLINE: Final = 0x8000
_WORD: Final = 8


class _Frames(Embedding):
    frame_size = 32_000

    def frame(self, sink: Sink, data: bytes, number: int) -> bytes:
        """Return a BLOB record."""
        padded = data.ljust(-(-len(data) // _WORD) * _WORD, b"\0")
        words = 1 + (len(_PADDED_NAME) + len(padded)) // _WORD
        header = (
            RecordType.BLOB
            | words << 4
            | (_INLINE | len(_NAME)) << 16
            | len(data) << 32
            | _BLOB_TYPE << 48
        )
        return header.to_bytes(_WORD, _order(sink.read_back(0, _WORD))) + _PADDED_NAME + padded

    def frames(self, source: Source, start: int) -> Iterator[bytes]:
        """Yield the payloads of the BLOB records from `start` on."""
        order = _order(source.read(0, _WORD))
        offset = start
        while offset < source.size:
            header = int.from_bytes(source.read_exactly(offset, _WORD), order)
            size = (header >> 4 & 0xFFF) * _WORD
            payload = header >> 32 & 0x7FFF
            if header & 15 != RecordType.BLOB or size < _WORD + len(_PADDED_NAME) + payload:
                raise TraceError(
                    format="fxt", offset=offset, expected="a BLOB record", found=header
                )
            yield source.read_exactly(offset + _WORD + len(_PADDED_NAME), payload)
            offset += size


EMBEDDING: Final = _Frames()


def _order(magic: bytes) -> Literal["little", "big"]:
    return "big" if magic == MAGIC[::-1] else "little"
