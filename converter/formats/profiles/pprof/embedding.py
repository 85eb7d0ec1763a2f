"""The embedded payload of a profile: fields at its end with a number that no one else uses, which readers skip."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from converter.errors import TraceError
from converter.formats.embedding import Embedding
from converter.formats.profiles.pprof.layout import ProfileField
from converter.formats.profiles.pprof.recognition import read_varint
from converter.kernels.protobuf.encode import varint
from converter.storage.sink import Sink
from converter.storage.source import Source

_KEY: Final = varint(ProfileField.EMBEDDED << 3 | 2)
#: The maximum size of the key and the size of a field.
_MOST_BEFORE: Final = len(_KEY) + 10


class _Frames(Embedding):
    frame_size = 1 << 20

    def frame(self, sink: Sink, data: bytes, number: int) -> bytes:
        """Return a field."""
        return _KEY + varint(len(data)) + data

    def frames(self, source: Source, start: int) -> Iterator[bytes]:
        """Yield the contents of the fields from `start` on."""
        offset = start
        while offset < source.size:
            head = source.read(offset, _MOST_BEFORE)
            size, at = read_varint(head, len(_KEY)) if head.startswith(_KEY) else (0, -1)
            if at < 0:
                expected = f"a field {ProfileField.EMBEDDED.value}"
                raise TraceError(format="pprof", offset=offset, expected=expected)
            yield source.read_exactly(offset + at, size)
            offset += at + size


EMBEDDING: Final = _Frames()
