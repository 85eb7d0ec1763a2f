r"""Recognises pages of systrace, and finds the text in them. Nothing of a page is run.

Newer pages have the text in an element, ``<script class="trace-data" type="application/text">``; older ones as a string
of JavaScript, ``var linuxPerfData = "\`` with a line's end and a backslash after each line. Much code may precede it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from json import JSONDecoder
from typing import Final

from converter.errors import TraceError
from converter.formats.ftrace_text.recognition import EVENT_LINE, HEADER_LINE
from converter.limits import allowed, limit
from converter.storage.source import MemorySource, Source, View

_PAGE: Final = re.compile(rb"(?:\xef\xbb\xbf)?\s*<(?:!doctype html|html)\b", re.IGNORECASE)
_START: Final = re.compile(
    rb"""<script[^<>]{0,200}\bclass=["']?trace-data["']?[^<>]{0,200}>[ \t]*\r?\n?"""
    rb"""|\blinuxPerfData\s{0,9}=\s{0,9}["'](?:\\\r?\n)?"""
)
_END: Final = re.compile(rb"""</script|\n["'];?\s""", re.IGNORECASE)
_NAME: Final = "systemTraceEvents"
_MEMBER: Final = re.compile(rb'"systemTraceEvents"\s{0,99}:\s{0,99}"')
_SECTION: Final = "trace_cmd.section"
_WINDOW: Final = 1 << 20
#: What a match may be cut by at the end of a window.
_OVERLAP: Final = 1 << 10
_HEAD: Final = 1 << 12


def search(source: Source, head: bytes) -> bool:
    """Return True if a file is a page with text of ftrace."""
    return text_of_page(source, head) is not None


def text_of_page(source: Source, head: bytes) -> Source | None:
    """Return the first text of ftrace in a page, None for a file that has none."""
    if not _PAGE.match(head):
        return None
    for _, start in _found(source, _START, 0):
        end = next((at for at, _ in _found(source, _END, start)), source.size)
        text = source.read(start, min(_HEAD, end - start))
        if HEADER_LINE.match(text) or EVENT_LINE.search(text):
            return View(source.name, source, start, end - start)
    return None


def text_of_json(source: Source, head: bytes) -> Source | None:
    """Return the text in a JSON trace (``"systemTraceEvents":"..."``), None for a file that has none."""
    if not head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
        return None
    for _, start in _found(source, _MEMBER, 0):
        # A text of JSON cannot be larger in memory than what is left of the file.
        rest = source.read(start - 1, limit(_SECTION)).decode("utf-8", "surrogateescape")
        try:
            text, _ = JSONDecoder(strict=False).raw_decode(rest)
        except ValueError as error:
            expected = allowed(_SECTION)
            raise TraceError(
                offset=start, field=_NAME, expected=expected, found=str(error)
            ) from None
        return MemorySource(source.name, text.encode("utf-8", "surrogatepass"))
    return None


def _found(source: Source, pattern: re.Pattern[bytes], offset: int) -> Iterator[tuple[int, int]]:
    """Yield start and end of what matches a pattern from an offset on."""
    last = offset
    while offset < source.size:
        window = source.read(offset, _WINDOW + _OVERLAP)
        for match in pattern.finditer(window):
            if offset + match.start() >= last and match.start() < _WINDOW:
                last = offset + match.end()
                yield offset + match.start(), last
        offset += _WINDOW
