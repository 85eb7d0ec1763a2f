"""The embedded payload of a file: records after its end, where readers stop, of a kind that they do not know."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from converter.errors import TraceError
from converter.formats.embedding import Embedding
from converter.formats.profiles.simpleperf.layout import RecordField
from converter.formats.profiles.simpleperf.scan import CONTENT, CONTENT_SIZE, KIND, scan_records
from converter.kernels.protobuf.encode import varint
from converter.storage.sink import Sink
from converter.storage.source import Source

_SIZE_BYTES: Final = 4


class _Frames(Embedding):
    frame_size = 1 << 20

    def frame(self, sink: Sink, data: bytes, number: int) -> bytes:
        """Return a record."""
        return record(RecordField.EMBEDDED, data)

    def frames(self, source: Source, start: int) -> Iterator[bytes]:
        """Yield the contents of the records from `start` on."""
        offset = start
        while offset < source.size:
            size = int.from_bytes(source.read_exactly(offset, _SIZE_BYTES), "little")
            size += _SIZE_BYTES
            if size > source.size - offset:
                expected = f"a record of {size} bytes"
                raise TraceError(format="simpleperf", offset=offset, expected=expected)
            data = source.read_exactly(offset, size)
            rows = scan_records(data, 0, len(data))[0].tolist()
            if [row[KIND] for row in rows] != [RecordField.EMBEDDED]:
                expected = f"a record of kind {RecordField.EMBEDDED.value}"
                raise TraceError(format="simpleperf", offset=offset, expected=expected)
            (row,) = rows
            yield data[row[CONTENT] : row[CONTENT] + row[CONTENT_SIZE]]
            offset += size


def record(kind: RecordField, content: bytes) -> bytes:
    """Return a record with its size."""
    message = varint(kind << 3 | 2) + varint(len(content)) + content
    return len(message).to_bytes(_SIZE_BYTES, "little") + message


EMBEDDING: Final = _Frames()
