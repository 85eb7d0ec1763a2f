"""A text in blocks of whole lines, whose memory is reused."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from converter.storage.source import Source
from converter.storage.window_memory import WindowMemory


def text_blocks(
    source: Source, window: int, whole: Callable[[memoryview], int], longest: int
) -> Iterator[tuple[int, memoryview]]:
    """Yield a text in blocks, with their offsets.

    Args:
        source: the text.
        window: the bytes that are read at a time.
        whole: returns where what is whole of a block ends; 0 if nothing is, so that more is read.
        longest: the bytes from which on a block is yielded even if nothing of it is whole.

    """
    offset = 0
    rest = b""
    memory = WindowMemory()
    while True:
        # What is left of the block before fits into the same memory, unless a line is longer.
        size = window if len(rest) < window // 2 else window + len(rest)
        buffer = memory.take(size).data
        buffer[: len(rest)] = rest
        count = source.read_into(offset + len(rest), buffer[len(rest) :])
        block = buffer[: len(rest) + count]
        if not count:
            if len(block):
                yield offset, block
            return
        end = whole(block)
        if end == 0 and len(block) < longest:
            rest = bytes(block)
            continue
        end = end or len(block)
        rest = bytes(block[end:])
        yield offset, block[:end]
        offset += end
