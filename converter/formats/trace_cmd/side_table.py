"""The side table of a trace.dat file (`converter.formats.side_table`), in an option of this converter's own.

A record identifies a task only by a number of 31 bits, and the file has no map from tasks to processes. libtracecmd
warns about each unknown option, so this one has the number of PROCMAPS, whose data it ignores if they do not end with a
NUL (lib/trace-cmd/trace-input.c, handle_options).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from converter.errors import TraceError
from converter.formats.trace_cmd.layout import OptionId

if TYPE_CHECKING:
    from converter.formats.side_table import SideTable

#: The option's id, and its former id, far above those that trace-cmd assigns consecutively.
TABLES_OPTION: Final = OptionId.PROCMAPS
_FORMER_OPTION: Final = 0x5443


def is_side_table(id: int, data: bytes) -> bool:
    """Return True if an option has the table: the maps of a process begin with its number, and end with a NUL."""
    return id == _FORMER_OPTION or (id == TABLES_OPTION and data[:1] == b"{" and data[-1:] == b"}")


def read_side_table(options: list[tuple[int, bytes]]) -> SideTable | None:
    """Return the table of a file with these options, None if it has none; TraceError if it is damaged."""
    data = next((data for id, data in options if is_side_table(id, data)), None)
    if data is None:
        return None
    # Imported only now: recordings of the kernel's own tools have no such option.
    from converter.formats.side_table import parse_side_table

    try:
        return parse_side_table(data, numbered=True)
    except TraceError as error:
        raise error.within(field="options.TABLES") from error
