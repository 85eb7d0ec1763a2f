"""Lines of text written in blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

#: Accepts a block of text, which is never changed afterwards.
Write = Callable[[bytes | memoryview], object]

#: The size of text that is buffered.
BLOCK: Final = 1 << 16


def write_lines(lines: Iterable[str], write: Write) -> None:
    """Write lines, which include their line ends."""
    block: list[str] = []
    size = 0
    for line in lines:
        block.append(line)
        size += len(line)
        if size > BLOCK:
            write("".join(block).encode("utf-8", "surrogateescape"))
            block.clear()
            size = 0
    write("".join(block).encode("utf-8", "surrogateescape"))
