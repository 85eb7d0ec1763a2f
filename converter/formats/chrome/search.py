"""Recognising files whose events come late: recorders put pages of metadata in front of them."""

from __future__ import annotations

import re
from typing import Final

from converter.storage.source import Source

_BLOCK: Final = 1 << 20
#: The member with the events, and as much white space as anybody puts around its colon.
_EVENTS: Final = re.compile(rb'"traceEvents"[ \t\r\n]{0,256}:[ \t\r\n]{0,256}\[')
_LONGEST: Final = 1 << 10
_OBJECT: Final = re.compile(rb'(\xef\xbb\xbf)?[ \t\r\n]*\{[ \t\r\n]*"')


def search(source: Source, head: bytes) -> bool:
    """Whether a file is an object with events somewhere; it is read to where they begin, or to its end."""
    if source.is_directory or not _OBJECT.match(head):
        return False
    source.expect_order()
    offset = 0
    rest = b""
    while block := source.read(offset, _BLOCK):
        text = rest + block
        if _EVENTS.search(text):
            return True
        rest = text[-_LONGEST:]
        offset += len(block)
    return False
