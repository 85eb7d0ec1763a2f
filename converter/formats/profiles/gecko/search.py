"""Recognises profiles whose threads come late: pages of libraries or of categories are before them."""

from __future__ import annotations

import re
from typing import Final

from converter.storage.source import Source

_BLOCK: Final = 1 << 20
_SPACE: Final = b" \t\r\n"
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_BEGINNING: Final = re.compile(rb'\{[ \t\r\n]{0,256}"')
#: Tables that only profiles have.
_TABLES: Final = re.compile(rb'"(frameTable|stackTable)"[ \t\r\n]{0,256}:[ \t\r\n]{0,256}\{')
_EVENTS: Final = re.compile(rb'"traceEvents"[ \t\r\n]{0,256}:')
_LONGEST: Final = 1 << 10


def search(source: Source, head: bytes) -> bool:
    """Return True if a file is an object with tables of frames; it is read up to the first of them."""
    start = head.removeprefix(_BYTE_ORDER_MARK).lstrip(_SPACE)
    if source.is_directory or not _BEGINNING.match(start):
        return False
    source.expect_order()
    offset, rest = 0, b""
    while block := source.read(offset, _BLOCK):
        offset += len(block)
        text = rest + block
        if _EVENTS.search(text):
            return False
        if _TABLES.search(text):
            return True
        rest = text[-_LONGEST:]
    return False
