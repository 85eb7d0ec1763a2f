"""The files of an input, from which an equal input can be built."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Final, NamedTuple

from converter.errors import TraceError
from converter.storage.source import Source, View, check_relative

#: The number of bytes of a file to read at a time.
PART_SIZE: Final = 1 << 20


class SourceFiles(NamedTuple):
    """The files that a reader has read or looked at.

    `opened` is the name of the file that was passed to the reader; it is empty if the directory was passed. `files` has
    the name, size and content of each, the content in parts.
    """

    opened: str
    files: Iterable[tuple[str, int, Iterable[bytes]]]


def single_file(source: Source) -> SourceFiles:
    """Return the files of an input that is a single file."""
    name = os.path.basename(source.name)
    return SourceFiles(name, [(name, source.size, parts_of(source))])


def parts_of(source: Source, end: int | None = None, *, start: int = 0) -> Iterator[bytes]:
    """Yield the content of a file in parts, from `start` to its end or to `end`.

    Raises:
        TraceError: it cannot be read, or has become shorter.

    """
    size = source.size if end is None else end
    for offset in range(start, size, PART_SIZE):
        yield source.read_exactly(offset, min(PART_SIZE, size - offset))


def source_of_files(
    name: str, opened: str, sizes: Sequence[tuple[str, int]], content: Source
) -> Source:
    """Return an input that consists of just these files.

    Args:
        name: of the input, for messages.
        opened: as in `SourceFiles`.
        sizes: the name and size of each file.
        content: of all files, concatenated; the result owns it.

    Raises:
        TraceError: one of the names leads out of a directory, or that of the input is not among them.

    """
    from converter.storage.archives.tar import ArchiveSource  # not needed where files are written

    members = {}
    offset = 0
    for relative, size in sizes:
        check_relative(relative)
        members[os.path.normpath(relative)] = partial(View, relative, content, offset, size)
        offset += size
    folder = name if not opened else os.path.dirname(name)
    directory = ArchiveSource(folder, content, members, lambda member: member)
    if not opened:
        return directory
    file = directory.open(opened)
    if file.is_directory:
        raise TraceError("no such file", path=name, field="opened", found=opened)
    return file
