"""The mark of a residual (see `residual`): what is looked for in every input, so it imports nothing."""

from __future__ import annotations

import re
from typing import NamedTuple

from converter.storage.source import Source

#: The file in a directory: hidden, because other readers of such directories open every file that they see.
HIDDEN_FILE = ".traceconv"

_FOOTER = re.compile(rb"traceconv residual ([0-9a-f]{16}) ([0-9a-f]{8}) ([0-9a-f]{8})\.")
#: The footer is the last thing in the file but for what closes its frame.
_DISTANCE = 256


class Footer(NamedTuple):
    """Where the frames start, and the checksums (CRC-32) of what precedes them and of the records that they hold."""

    start: int
    checksum: int
    records: int

    def __bytes__(self) -> bytes:
        sums = f"{self.checksum:08x} {self.records:08x}"
        return f"traceconv residual {self.start:016x} {sums}.".encode()


#: Of its text.
FOOTER_SIZE = len(bytes(Footer(0, 0, 0)))


def footer_of(source: Source) -> Footer | None:
    """The footer of a file; None where there is none."""
    tail = source.read(max(source.size - _DISTANCE, 0), _DISTANCE)
    matches = list(_FOOTER.finditer(tail))
    if not matches:
        return None
    found = matches[-1]
    footer = Footer(*(int(number, 16) for number in found.groups()))
    return footer if footer.start <= source.size else None


def has_residual(source: Source) -> bool:
    """Whether something travels in an input, or has."""
    if source.is_directory:
        return HIDDEN_FILE in source.listdir()
    return footer_of(source) is not None
