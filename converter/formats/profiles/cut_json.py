"""The good prefix of a JSON document that is cut off or damaged."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, Final

from converter.errors import TraceWarning

#: A string, a bracket, a comma, or the quote of a string that does not end.
_MARK: Final = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[][{},]|"', re.DOTALL)
_CLOSING: Final = {"{": "}", "[": "]"}


def closed(text: str, end: int) -> str:
    """Return all values of a document that are complete before `end`, with the brackets around them closed.

    An array in another is a row, which is left out if it is not complete.
    """
    closing: list[str] = []
    #: Where what is complete ends: here, and before each bracket that is open.
    complete = 0
    before: list[int] = []
    for match in _MARK.finditer(text, 0, end):
        mark = match[0]
        if mark == '"':
            break
        if mark == ",":
            complete = match.start()
        elif mark in _CLOSING:
            closing.append(_CLOSING[mark])
            before.append(complete)
            complete = match.end()
        elif mark in "]}":
            closing.pop()
            before.pop()
            complete = match.end()
            if not closing:
                break
    if closing[-2:] == ["]", "]"]:
        complete = before[-1]
        closing.pop()
    return text[:complete] + "".join(reversed(closing))


def parsed_prefix(
    text: str, load: Callable[[str], Any] = json.loads
) -> tuple[Any, str, json.JSONDecodeError | None]:
    """Parse a document, or what of it is before damage.

    Returns:
        its value, the text that has it, and the error about the damage, if there is any.

    Raises:
        ValueError: there is no JSON before the damage.

    """
    try:
        return load(text), text, None
    except json.JSONDecodeError as error:
        before = closed(text, error.pos)
        if not before:
            raise
        return load(before), before, error


def objects_in(text: bytes, start: int = 0, end: int | None = None) -> int:
    """Return the number of objects and lists of a document, which take much more memory than their text."""
    return text.count(b"{", start, end) + text.count(b"[", start, end)


def offset_of(error: json.JSONDecodeError) -> int:
    """Return the offset in bytes of what is wrong."""
    return len(error.doc[: error.pos].encode("utf-8", "replace"))


def cut_warning(format: str, path: str, offset: int) -> TraceWarning:
    """Return the warning about a document of which only what is before `offset` is read."""
    return TraceWarning(
        message="the JSON is cut off or damaged here: what is before is read",
        format=format,
        path=path,
        offset=offset,
        is_damage=True,
    )
