"""The marker of an embedded payload (see `residual`): every input is searched for it, so this module
imports nothing.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from converter.storage.source import Source

#: The file in a directory: hidden, because other readers of such directories open every visible file.
HIDDEN_FILE = ".traceconv"

_FOOTER = re.compile(rb"traceconv residual ([0-9a-f]{16}) ([0-9a-f]{8}) ([0-9a-f]{8})\.")
#: The maximum distance of the footer from the end of the file: only the end of its frame follows it.
_DISTANCE = 256


class Footer(NamedTuple):
    """The offset of the frames, and the checksums (CRC-32) of what precedes them and of the records in them."""

    start: int
    checksum: int
    records: int

    def __bytes__(self) -> bytes:
        sums = f"{self.checksum:08x} {self.records:08x}"
        return f"traceconv residual {self.start:016x} {sums}.".encode()


#: The size of its text.
FOOTER_SIZE = len(bytes(Footer(0, 0, 0)))


def footer_of(source: Source) -> Footer | None:
    """Return the footer of a file, or None if there is none."""
    tail = source.read(max(source.size - _DISTANCE, 0), _DISTANCE)
    matches = list(_FOOTER.finditer(tail))
    if not matches:
        return None
    found = matches[-1]
    footer = Footer(*(int(number, 16) for number in found.groups()))
    return footer if footer.start <= source.size else None


def has_residual(source: Source) -> bool:
    """Return True if an input has an embedded payload, or a damaged one."""
    if source.is_directory:
        return HIDDEN_FILE in source.listdir()
    return footer_of(source) is not None
