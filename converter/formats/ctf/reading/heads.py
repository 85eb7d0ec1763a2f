"""The headers and contexts of a file's packets, without their records: where packets are, and which are copies."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from converter.formats.ctf.layout import PACKET_MAGIC
from converter.formats.ctf.streams.files import no_columns
from converter.formats.ctf.streams.scan import PACKET, REGISTERS, Scanner
from converter.formats.ctf.streams.stream_files import StreamFile, counted

#: The most that is read of a packet's header and context.
_HEAD: Final = 1 << 12
#: The bytes that are compared at a time.
_COMPARED: Final = 1 << 20

_BEGIN: Final = REGISTERS["begin"]
_CONTENT: Final = REGISTERS["content"]
_LENGTH: Final = REGISTERS["length"]
_MAGIC: Final = REGISTERS["magic"]
_SEQUENCE: Final = REGISTERS["sequence"]


class Head(NamedTuple):
    """A packet's place in its file (bytes), and the registers with its fields; None where it has no such field."""

    offset: int
    end: int
    said: list[int | None]

    @property
    def begin(self) -> int | None:
        """The clock's value where the packet begins."""
        return self.said[_BEGIN]

    @property
    def sequence(self) -> int | None:
        """The packet's sequence number."""
        return self.said[_SEQUENCE]

    @property
    def content(self) -> int:
        """The number of bytes from its start that have content."""
        bits = self.said[_CONTENT]
        size = self.end - self.offset
        return size if bits is None else min(-(-bits // 8), size)


def heads(file: StreamFile, offset: int = 0) -> Iterator[Head]:
    """Yield the packets of a file, up to the first one that is damaged or does not say its size."""
    while offset < file.source.size:
        head = _head(file, offset)
        if head is None:
            return
        yield head
        offset = head.end


def _head(file: StreamFile, offset: int) -> Head | None:
    declared = file.type
    scanner = Scanner(
        declared.packet_program, declared.header_program, declared.common_program, 8, False
    )
    data = file.source.read(offset, _HEAD)
    if not data or scanner.scan(memoryview(data), 0, True, no_columns(), 0)[0] != PACKET:
        return None
    said = scanner.said()
    length = said[_LENGTH]
    if length is None or said[_MAGIC] not in (None, PACKET_MAGIC) or length % 8 or length < 8:
        return None
    end = offset + length // 8
    return Head(offset, end, said) if end <= file.source.size else None


def last_head(file: StreamFile) -> Head | None:
    """Return the last packet of a file, None if it cannot be found."""
    first = _head(file, 0)
    if first is None:
        return None
    # Most files have packets of one size: the last one is found without those before.
    count, rest = divmod(file.source.size, first.end)
    last = _head(file, (count - 1) * first.end) if not rest else None
    if last is None or first.sequence is None or last.sequence != first.sequence + count - 1:
        last = next(iter(deque(heads(file), maxlen=1)), None)
    return last if last is not None and last.end == file.source.size else None


def continued(files: Sequence[StreamFile]) -> Iterator[list[StreamFile]]:
    """Yield the files of each stream, given files in the order of their first packets that name the same one.

    A file continues a stream if it starts where that has ended, or with a packet that it has, too. Other files are of
    streams of their own: tracers number streams within a file, or not at all.
    """
    if len(files) == 1:
        yield list(files)
        return
    streams: list[list[StreamFile]] = []
    ends: list[Head | None] = []
    for file in files:
        first = next(heads(file), None)
        for number, stream in enumerate(streams):
            if _follows(file, first, ends[number], stream):
                stream.append(file)
                break
        else:
            streams.append([file])
            ends.append(None)
            number = len(streams) - 1
        ends[number] = _later(last_head(file), ends[number])
    yield from streams


def _follows(
    file: StreamFile, first: Head | None, last: Head | None, stream: Sequence[StreamFile]
) -> bool:
    """Return True if a file with this first packet continues a stream with this last packet."""
    if first is None or last is None:
        return True
    is_later = True
    if first.sequence is not None and last.sequence is not None:
        is_later = bool(counted(last.sequence, first.sequence, file.type.sequence_bits))
    if first.begin is not None and last.begin is not None and file.type.begin_bits == 64:
        is_later = is_later and first.begin >= last.begin
    return is_later or Copies(stream).has(file, first.offset)


def _later(head: Head | None, other: Head | None) -> Head | None:
    if head is None or other is None:
        return head or other
    return (
        head
        if (head.begin or 0, head.sequence or 0) >= (other.begin or 0, other.sequence or 0)
        else other
    )


class Copies:
    """Finds packets that other files of the stream have, too: snapshots of one session overlap."""

    def __init__(self, files: Sequence[StreamFile]) -> None:
        self._files = files
        self._known: dict[tuple[int | None, int | None], list[tuple[StreamFile, Head]]] | None = (
            None
        )

    def has(self, file: StreamFile, offset: int) -> bool:
        """Return True if one of the files has a packet with the same content as that of `file` at `offset`."""
        head = _head(file, offset)
        if head is None:
            return False
        if self._known is None:
            self._known = {}
            for other in self._files:
                for one in heads(other):
                    self._known.setdefault((one.sequence, one.begin), []).append((other, one))
        return any(
            _are_equal(file, head, other, one)
            for other, one in self._known.get((head.sequence, head.begin), ())
        )


def _are_equal(file: StreamFile, head: Head, other: StreamFile, same: Head) -> bool:
    """Return True if two packets have the same content."""
    if head.content != same.content:
        return False
    return all(
        file.source.read(head.offset + at, min(_COMPARED, head.content - at))
        == other.source.read(same.offset + at, min(_COMPARED, head.content - at))
        for at in range(0, head.content, _COMPARED)
    )
