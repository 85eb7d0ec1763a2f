"""Arrow IPC: the events of a trace as a table that other programs map into memory, or read from a pipe."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

from converter.formats.descriptor import Format

if TYPE_CHECKING:
    from converter.projection.capabilities import Capabilities

MAGIC: Final = b"ARROW1\0\0"
#: The start of a stream's message, and its size.
_CONTINUES: Final = struct.Struct("<II")
_LONGEST_SCHEMA: Final = 1 << 30


def capabilities(variant: str) -> Capabilities:
    """Never called: what is not a column is embedded in the metadata."""
    raise NotImplementedError(variant)


def sniff(head: bytes) -> bool:
    """Return True if a file or stream starts as one of Arrow's."""
    if head.startswith(MAGIC):
        return True
    if len(head) < _CONTINUES.size:
        return False
    mark, size = _CONTINUES.unpack_from(head)
    return bool(mark == 0xFFFFFFFF and 0 < size < _LONGEST_SCHEMA and size % 8 == 0)


FORMAT = Format(
    name="arrow",
    title="Apache Arrow IPC",
    suffixes=(".arrow", ".feather"),
    spec="https://arrow.apache.org/docs/format/Columnar.html",
    variants=("", "stream"),
    capabilities=capabilities,
    sniff=sniff,
    holds_all=True,
    files_when_lossless=True,
    reads_twice=True,
    options=("time", "unit", "event", "cpu", "tid", "pid"),
    needs=("pyarrow", "arrow"),
    package="converter.formats.columnar.arrow",
)
