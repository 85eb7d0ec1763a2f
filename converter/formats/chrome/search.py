"""Recognising files whose events come late: recorders put pages of metadata in front of them, or their arguments."""

from __future__ import annotations

import re
from typing import Final

from converter.storage.source import Source

_BLOCK: Final = 1 << 20
_SPACE: Final = b" \t\r\n"
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
#: How an object begins, and an array of objects; no more white space inside than anybody puts there.
_BEGINNINGS: Final = re.compile(rb'\{[ \t\r\n]{0,256}"|\[[ \t\r\n]{0,256}\{')
#: The member of an object with the events, and that of an event which says what it is.
_EVENTS: Final = re.compile(rb'"traceEvents"[ \t\r\n]{0,256}:[ \t\r\n]{0,256}\[')
_PHASE: Final = re.compile(rb'"ph"[ \t\r\n]{0,256}:[ \t\r\n]{0,256}"[A-Za-z()]"')
_LONGEST: Final = 1 << 10


def search(source: Source, head: bytes) -> bool:
    """Whether a file is an object with events somewhere, or an array of them; it is read to where one is."""
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
