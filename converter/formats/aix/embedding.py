"""Embedded payloads in an AIX stream: entries of the metadata hook with a data word of their own, at its end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from converter.errors import TraceError
from converter.formats.aix.layout import MAGIC, METADATA_HOOK
from converter.formats.embedding import Embedding
from converter.storage.sink import Sink
from converter.storage.source import Source

#: The data word of the entries; those of declarations are smaller (`formats/aix/entries/scan.pyx`).
_DATA_WORD: Final = 16
#: Generic data with a timestamp, in a 64-bit hook word and in a 32-bit one.
_FLAGS_64: Final = 0xC000
_TYPE_32: Final = 8


class _Frames(Embedding):
    frame_size = 4000

    def frame(self, sink: Sink, data: bytes, number: int) -> bytes:
        """Return an entry of thread 0 at time 0."""
        word = _word_size(sink.read_back(0, len(MAGIC)))
        hook = _hook(word, len(data)).to_bytes(word, "big")
        padded = data.ljust(-(-len(data) // word) * word, b"\0")
        return hook + _DATA_WORD.to_bytes(word, "big") + padded + bytes(2 * word)

    def frames(self, source: Source, start: int) -> Iterator[bytes]:
        """Yield the data of the entries from `start` on."""
        word = _word_size(source.read(0, len(MAGIC)))
        offset = start
        while offset < source.size:
            head = source.read_exactly(offset, 2 * word)
            hook, data_word = int.from_bytes(head[:word], "big"), int.from_bytes(head[word:], "big")
            size = hook >> 32 & 0xFFFF if word == 8 else hook & 0xFFFF
            if hook != _hook(word, size) or data_word != _DATA_WORD:
                raise TraceError(
                    format="aix", offset=offset, expected="an entry of hook 010", found=head
                )
            yield source.read_exactly(offset + 2 * word, size)
            offset += 2 * word + -(-size // word) * word + 2 * word


EMBEDDING: Final = _Frames()


def _word_size(head: bytes) -> int:
    return 8 if head == MAGIC else 4


def _hook(word: int, size: int) -> int:
    if word == 8:
        return _FLAGS_64 << 48 | size << 32 | METADATA_HOOK << 16
    return METADATA_HOOK >> 4 << 20 | _TYPE_32 << 16 | size
