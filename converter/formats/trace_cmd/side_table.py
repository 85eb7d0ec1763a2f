"""The side table of a trace.dat file (`converter.formats.side_table`), in an option of this converter's own.

A record names a task by a number of 31 bits and nothing more, and the file has no map from tasks to processes.
libtracecmd complains of each option that it does not know, so that this one has the number of PROCMAPS, whose data it
leaves aside if they do not end with a NUL (lib/trace-cmd/trace-input.c, handle_options).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from converter.errors import TraceError
from converter.formats.trace_cmd.layout import OptionId

if TYPE_CHECKING:
    from converter.formats.side_table import SideTable

#: The option's id, and the one that it had before, far from those that trace-cmd gives one after the other.
TABLES_OPTION: Final = OptionId.PROCMAPS
_FORMER_OPTION: Final = 0x5443


def is_side_table(id: int, data: bytes) -> bool:
    """Return whether an option has the table: the maps of a process begin with its number, and end with a NUL."""
    return id == _FORMER_OPTION or (id == TABLES_OPTION and data[:1] == b"{" and data[-1:] == b"}")


def read_side_table(options: list[tuple[int, bytes]]) -> SideTable | None:
    """Return the table of a file with these options, None if it has none; TraceError when it is damaged."""
    data = next((data for id, data in options if is_side_table(id, data)), None)
    if data is None:
        return None
    # Imported only now: recordings of the kernel's own tools have no such option.
    from converter.formats.side_table import parse_side_table

    try:
        return parse_side_table(data, numbered=True)
    except TraceError as error:
        raise error.within(field="options.TABLES") from error
