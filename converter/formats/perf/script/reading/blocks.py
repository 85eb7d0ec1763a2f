"""The text in blocks of whole samples."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from converter.formats.ftrace.lines.text_blocks import text_blocks
from converter.storage.source import Source

#: A sample that is longer is cut.
_LONGEST: Final = 64 << 20
#: Lines that belong to the sample before: frames, and places in source files.
_FURTHER: Final = re.compile(rb"\t|[ ]{2,}[^\n]{0,4096}:[0-9]{1,9}(?: \([^\n]{0,99}\))?\r?(?:\n|$)")


def blocks(source: Source, window: int) -> Iterator[tuple[int, memoryview]]:
    """Yield the text in blocks of whole samples, with their offsets."""
    yield from text_blocks(source, window, _whole, _LONGEST)


def _whole(block: memoryview) -> int:
    """Return where the last sample starts that may go on after the block, 0 if that is the only one."""
    tail = 1 << 16
    while True:
        text = bytes(block[-tail:])
        base = len(block) - len(text)
        empty = max(text.rfind(b"\n\n"), text.rfind(b"\n\r\n"))
        if empty >= 0:
            return base + text.index(b"\n", empty + 1) + 1
        # The last line may be cut, and the one before may have further ones.
        at = text.rfind(b"\n")
        while (before := text.rfind(b"\n", 0, max(at, 0))) >= 0:
            if not _FURTHER.match(text, before + 1):
                return base + before + 1
            at = before
        if base == 0:
            return 0
        tail *= 16
