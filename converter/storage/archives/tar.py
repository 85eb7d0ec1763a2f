"""Tar archives as directories: traces of many files are mailed and stored as one.

A member is read in place, so nothing is unpacked; a compressed archive has been decompressed before.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator, Mapping
from functools import partial

from converter.errors import TraceError, TraceWarning, note
from converter.limits import allowed, limit
from converter.storage.archives.tar_headers import members as tar_members
from converter.storage.source import Source, View, check_relative

#: No system has longer names, and nested folders are looked at one by one.
_LONGEST_NAME = 1 << 14

#: Functions that open the contents, by name in the archive.
Members = Mapping[str, Callable[[], Source]]


def open_archive(source: Source, unwrap: Callable[[Source], Source]) -> Source:
    """Return the directory in a tar archive; if everything is in one folder, that folder.

    Links and other special members are left out with a warning. The result owns `source`.

    Args:
        source: the archive.
        unwrap: applied to each member that is opened (decompression).

    """
    warnings: list[TraceWarning] = []
    members = inner_names(_listed(source, warnings))
    result = ArchiveSource(source.name, source, members, unwrap)
    result.warnings = [*source.warnings, *warnings]
    result.compression = source.compression
    return result


def inner_names(members: Members) -> Members:
    """Return the members below the folder that contains all of them."""
    while len(tops := {name.partition("/")[0] for name in members}) == 1:
        (top,) = tops
        if top in members:  # a file, not a folder
            break
        members = {name[len(top) + 1 :]: opener for name, opener in members.items()}
    return members


def _listed(source: Source, warnings: list[TraceWarning]) -> Members:
    members: dict[str, Callable[[], Source]] = {}
    left_out = 0

    def warn(message: str, offset: int | None = None, *, is_damage: bool = True) -> None:
        warning = TraceWarning(
            message=message, format="tar", path=source.name, offset=offset, is_damage=is_damage
        )
        note(warnings, warning)

    try:
        for member in tar_members(source):
            name = os.path.normpath(member.name)
            if member.is_folder:
                continue
            if not member.is_file or len(member.name) > _LONGEST_NAME or not is_inside(name):
                left_out += 1
                continue
            if len(members) == limit("members"):
                warn(f"{allowed('members')} are read: the rest is left out")
                break
            available = max(source.size - member.offset, 0)
            if member.size > available:
                warn(f"the archive ends within {name!r}", member.offset)
            size = min(member.size, available)
            members[name] = partial(View, name, source, member.offset, size)
    except TraceError as error:
        if not members:
            raise
        warn(f"the archive is damaged: {error.detail}", error.offset)
    if left_out:
        what = "links, special files or names that lead out of it are left out"
        warn(f"{left_out:,} {what}", is_damage=False)
    return members


def is_inside(name: str) -> bool:
    """Return True if a member's name stays in the archive."""
    try:
        check_relative(name)
    except TraceError:
        return False
    return True


class ArchiveSource(Source):
    """The files of an archive below one of its folders."""

    is_directory = True

    def __init__(
        self, name: str, archive: Source, members: Members, unwrap: Callable[[Source], Source]
    ) -> None:
        super().__init__(name, 0)
        self.unpacked = archive.unpacked
        self._archive = archive
        self._members = members
        self._unwrap = unwrap

    def listdir(self, relative: str = "") -> list[str]:
        start = f"{os.path.normpath(relative)}/" if relative else ""
        found = {
            name[len(start) :].partition("/")[0] for name in self._members if name.startswith(start)
        }
        if not found and relative:
            raise TraceError("no such folder", path=os.path.join(self.name, relative))
        return sorted(found)

    def walk(self) -> Iterator[str]:
        # The files of a folder come before those of its subfolders, as in a directory.
        yield from sorted(self._members, key=os.path.split)

    def open(self, relative: str) -> Source:
        name = os.path.join(self.name, relative)
        try:
            check_relative(relative)
        except TraceError as error:
            raise error.within(path=self.name) from None
        inside = os.path.normpath(relative)
        if inside in self._members:
            member = self._members[inside]()
            member.name, member.warnings = name, []
            member.open_beside = lambda: self
            return self._unwrap(member)
        below = {
            member[len(inside) + 1 :]: opener
            for member, opener in self._members.items()
            if member.startswith(f"{inside}/")
        }
        if not below:
            raise TraceError("no such file", path=name)
        return ArchiveSource(name, self._archive, below, self._unwrap)

    def close(self) -> None:
        self._archive.close()

    def _fill(self, offset: int, view: memoryview) -> int:
        raise TraceError("is a directory", path=self.name)

    def _available(self, offset: int, size: int) -> int:
        raise TraceError("is a directory", path=self.name)


class SourceFile(io.RawIOBase):
    """A source as the file object that zipfile reads."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._offset = 0

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._offset

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._offset, io.SEEK_END: self._source.size}[whence]
        self._offset = base + offset
        return self._offset

    def read(self, size: int = -1) -> bytes:
        if not 0 <= self._offset <= self._source.size:
            return b""
        rest = self._source.size - self._offset
        data = self._source.read(self._offset, rest if size < 0 else min(size, rest))
        self._offset += len(data)
        return data
