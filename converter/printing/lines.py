"""Lines of text written in blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

#: Takes a block of text; what it is given is never changed afterwards.
Write = Callable[[bytes | memoryview], object]

#: Text that is not written yet; more than that is not kept.
_BLOCK: Final = 1 << 16


def write_lines(lines: Iterable[str], write: Write) -> None:
    """Write lines, which have their ends."""
    block: list[str] = []
    size = 0
    for line in lines:
        block.append(line)
        size += len(line)
        if size > _BLOCK:
            write("".join(block).encode("utf-8", "surrogateescape"))
            block.clear()
            size = 0
    write("".join(block).encode("utf-8", "surrogateescape"))
