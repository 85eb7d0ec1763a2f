"""Recognises files whose events come late: recorders put pages of metadata, or arguments, before them."""

from __future__ import annotations

import re
from typing import Final

from converter.storage.source import Source

_BLOCK: Final = 1 << 20
_SPACE: Final = b" \t\r\n"
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
#: The start of an object or of an array of objects, with no more white space than recorders write.
_BEGINNINGS: Final = re.compile(rb'\{[ \t\r\n]{0,256}"|\[[ \t\r\n]{0,256}\{')
#: The member of the object with the events, and the phase of an event.
_EVENTS: Final = re.compile(rb'"traceEvents"[ \t\r\n]{0,256}:[ \t\r\n]{0,256}\[')
_PHASE: Final = re.compile(rb'"ph"[ \t\r\n]{0,256}:[ \t\r\n]{0,256}"[A-Za-z()]"')
_LONGEST: Final = 1 << 10


def search(source: Source, head: bytes) -> bool:
    """Return True if a file is an object with events, or an array of them; it is read up to the first event."""
    if source.is_directory or head.removeprefix(_BYTE_ORDER_MARK).strip(_SPACE)[:1] not in b"{[":
        return False
    source.expect_order()
    wanted: re.Pattern[bytes] | None = None
    offset = 0
    rest = b""
    while block := source.read(offset, _BLOCK):
        offset += len(block)
        text = rest + block
        if wanted is None:
            text = text.removeprefix(_BYTE_ORDER_MARK).lstrip(_SPACE)
            if not text:
                continue
            if not _BEGINNINGS.match(text):
                return False
            wanted = _EVENTS if text.startswith(b"{") else _PHASE
        if wanted.search(text):
            return True
        rest = text[-_LONGEST:]
    return False
