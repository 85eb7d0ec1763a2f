"""The streams of a trace: one file, or one file for each CPU in the same folder; windows of them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from converter.errors import TraceError, note, too_many_holes
from converter.formats.aix.entries.scan import BAD, DONE, FULL, INCOMPLETE, find_entry, presented
from converter.formats.aix.layout import MAGIC
from converter.ir.trace import Trace
from converter.limits import limit
from converter.storage.source import Source

#: Bytes of a stream that are decoded at a time.
WINDOW: Final = 4 << 20
#: The largest entry of a 32-bit stream: hook word, data word, 65,535 bytes, padding, thread ID and timestamp.
_MAX_ENTRY_32: Final = 16 + (1 << 16)
#: How many bytes are searched at first for the entry at which reading continues after damage.
_SEARCHED: Final = 1 << 18
#: The suffix that is appended to the trace's name for its template file.
TEMPLATES_SUFFIX: Final = ".trcfmt"


@dataclass(frozen=True, slots=True)
class Stream:
    """A raw stream. `cpu` is the number in its file's name, -1 for the only file."""

    source: Source
    bits: int
    cpu: int = -1

    @property
    def start(self) -> int:
        """The offset of its first entry."""
        return len(MAGIC) if self.bits == 64 else 0

    def windows(
        self,
        scan: Callable[[memoryview, int], tuple[int, int, int]],
        damage: Callable[[TraceError], None],
        *,
        own: bool,
        capacity: int = WINDOW,
    ) -> Iterator[tuple[memoryview, int]]:
        """Yield windows of the stream with their offsets, from its first entry to its last complete one.

        `scan` scans a window at an offset. It returns a status, the number of bytes that are finished, and the number
        of bytes that it needs from there on. A window is yielded after its scan, as far as it is finished. Invalid and
        incomplete entries are reported to `damage`; reading continues where entries follow each other again.

        Raises:
            TraceError: the file has become shorter, or has more damage than the limit allows.

        """
        source = self.source
        offset, wanted = self.start, capacity
        gaps = 0
        while offset < source.size:
            # np.empty() does not clear it first, as bytearray() does.
            buffer = np.empty(min(wanted, source.size - offset), np.uint8).data
            window = buffer[: source.read_into(offset, buffer)]
            status, consumed, needed = scan(window, offset)
            yield window[:consumed], offset
            offset += consumed
            wanted = capacity
            if status == INCOMPLETE and len(window) == len(buffer):
                if offset + needed <= source.size:
                    wanted = max(capacity, needed)
                    continue
                error = TraceError(
                    path=source.name,
                    offset=offset,
                    field="entry",
                    expected=f"at least {needed:,} bytes",
                    found=f"{source.size - offset:,} before the end of the file",
                )
            elif status == BAD:
                error = TraceError(
                    path=source.name,
                    offset=offset,
                    field="hook word",
                    expected="an entry of one of the documented types",
                    found=source.read(offset, 8),
                )
            else:
                assert status in (DONE, FULL, INCOMPLETE)
                if len(window) < len(buffer) and status != FULL:
                    raise TraceError(
                        "the file has become shorter while it was read",
                        path=source.name,
                        offset=offset,
                    )
                continue
            found = self._next_entry(offset + 4, own=own)
            if found is None:
                raise error
            gaps += 1
            if gaps > limit("holes"):
                damage(error)
                raise too_many_holes(offset).within(path=source.name)
            error.message = f"entries go on at {found:#x}"
            damage(error)
            offset = found

    def _next_entry(self, offset: int, *, own: bool) -> int | None:
        """Return the first offset from here on at which entries follow each other, None if there is none."""
        size = _SEARCHED
        while offset < self.source.size:
            data = self.source.read(offset, size)
            found = find_entry(self.bits, own, data, 0)
            if found >= 0:
                return offset + found
            # An entry that starts near the end may extend beyond it.
            offset += max(len(data) - _MAX_ENTRY_32, 4) if len(data) == size else len(data)
            size = min(4 * size, WINDOW)
        return None


def warn_of(trace: Trace, name: str, damage: TraceError) -> None:
    """Keep damage as a warning, once: each pass finds the same."""
    warning = damage.within(format="aix", path=name).to_warning()
    note(trace.warnings, warning)


def companions(source: Source, bits: int) -> list[Stream]:
    """Return the stream of a file and those of the CPUs, in files named after it with a hyphen and a number."""
    first = Stream(source, bits)
    folder = source.beside()
    if folder is None:
        return [first]
    try:
        names = folder.listdir()
    except TraceError:  # a folder that can be searched but not listed
        return [first]
    pattern = re.compile(re.escape(os.path.basename(source.name)) + r"-(\d{1,5})")
    found = []
    for name in names:
        match = pattern.fullmatch(name)
        if match is not None:
            file = folder.open(name)
            if not file.is_directory and _is_stream(file, bits):
                found.append(Stream(file, bits, int(match[1])))
    return [first, *sorted(found, key=lambda stream: stream.cpu)]


def _is_stream(file: Source, bits: int) -> bool:
    if bits == 64:
        return file.read(0, len(MAGIC)) == MAGIC
    try:
        presented(bits, file.read(0, _MAX_ENTRY_32))
    except ValueError:
        return False
    return True


def read_companion(source: Source, name: str) -> bytes | None:
    """Return the contents of a small file in the same folder, None if there is none."""
    folder = source.beside()
    try:
        if folder is None or name not in folder.listdir():
            return None
    except TraceError:
        return None
    with folder.open(name) as file:
        return None if file.is_directory else file.read(0, limit("aix.template-file") + 1)


def names_of(streams: list[Stream]) -> list[Any]:
    """Return the names of the files, without folders."""
    return [os.path.basename(stream.source.name) for stream in streams]
