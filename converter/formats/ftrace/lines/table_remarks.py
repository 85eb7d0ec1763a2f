"""The side table of a text that this converter wrote: a remark after the events, and a last one that says where it is.

The last line has a fixed length: "# traceconv.end " and 16 digits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from converter.errors import TraceError
from converter.formats.ftrace.lines.text_mapping import END_REMARK, TABLES_REMARK
from converter.storage.source import Source

if TYPE_CHECKING:
    from converter.formats.side_table import SideTable

_DIGITS: Final = 16
_END: Final = len(END_REMARK) + _DIGITS + 1


def end_remark(offset: int) -> bytes:
    """Return the last line, for a table at `offset`."""
    return END_REMARK + b"%0*d\n" % (_DIGITS, offset)


def read_tables(source: Source) -> bytes | None:
    """Return the text of the table, None where there is none."""
    start = max(source.size - _END, 0)
    end = source.read(start, _END)
    digits = end[len(END_REMARK) : -1]
    if not end.startswith(END_REMARK) or not digits.isdigit():
        return None
    offset = int(digits)
    line = source.read(offset, max(start - offset, 0))
    if not line.startswith(TABLES_REMARK) or not line.endswith(b"\n"):
        return None
    return line[len(TABLES_REMARK) : -1]


def parsed(tables: bytes) -> SideTable:
    """Return the table; TraceError where it is damaged."""
    from converter.formats.side_table import parse_side_table

    try:
        return parse_side_table(tables, numbered=True)
    except TraceError as error:
        raise error.within(field="tables") from error
