"""The side table of a text that this converter wrote: its last line, which is a remark, and has no end.

Viewers read whole lines, so they do not see it; some refuse remarks. It has JSON, and after it where it starts:
"# traceconv.end " and 16 digits. Its members are those of other side tables, and "events": by the name that their lines
have, the formats of events; and "tasks": for each thread the name, process and number by which lines name it.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from converter.errors import TraceError
from converter.storage.source import Source

_REMARK: Final = b"# traceconv.tables "
_END: Final = b"# traceconv.end "
_DIGITS: Final = 16
_SIZE: Final = len(_END) + _DIGITS
#: The task of events that have none.
NO_TASK: Final = "<none>"


class Tables(NamedTuple):
    """The text of a table, and its position in the file."""

    offset: int
    text: bytes


def last_line(tables: bytes, offset: int) -> bytes:
    """Return the last line of a file, which starts at `offset`."""
    return _REMARK + tables + _END + b"%0*d" % (_DIGITS, offset)


def read_tables(source: Source) -> Tables | None:
    """Return the table at the end of a file, None where there is none."""
    window = source.read(max(source.size - _SIZE - 2, 0), _SIZE + 2)
    # A text may have been given a last line end.
    end = window.rstrip(b"\r\n")
    digits = end[-_DIGITS:]
    if end[-_SIZE:-_DIGITS] != _END or not digits.isdigit():
        return None
    offset, stop = int(digits), source.size - (len(window) - len(end)) - _SIZE
    line = source.read(offset, max(stop - offset, 0))
    if not line.startswith(_REMARK):
        return None
    return Tables(offset, line[len(_REMARK) :])


def parse_tables(text: bytes) -> dict[str, Any]:
    """Return the members of a table; TraceError where it is damaged."""
    import json

    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise TraceError(f"not the tables of a trace: {error}", field="tables") from error
    if not isinstance(content, dict) or not isinstance(content.get("events"), dict):
        raise TraceError(
            field="tables", expected="an object with events", found=type(content).__name__
        )
    return content
