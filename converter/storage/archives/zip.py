"""Zip archives: of one file as that file, of several as a directory. A member is unpacked when it is opened."""

from __future__ import annotations

import os
import threading
import zipfile
import zlib
from collections.abc import Callable, Iterator
from functools import partial

from converter.errors import TraceError, TraceWarning, note
from converter.limits import allowed, limit
from converter.storage.archives.tar import (
    ArchiveSource,
    SourceFile,
    inner_names,
    is_inside,
)
from converter.storage.archives.zip_members import DamageError, contents
from converter.storage.compression.packed import PackedSource, Unpack
from converter.storage.source import GrowingSource, Source, View

#: The errors from reading the list of members if it is damaged or unusual.
_FAILURES = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    OSError,
    ValueError,
    ArithmeticError,
    RuntimeError,
    NotImplementedError,
)


def open_zip(source: Source, unwrap: Callable[[Source], Source]) -> Source:
    """Return the file or directory in a zip archive. The result owns `source`.

    Args:
        source: the archive.
        unwrap: applied to each member that is opened (decompression).

    """
    warnings = source.warnings
    try:
        archive = zipfile.ZipFile(SourceFile(source))
        infos = archive.infolist()
    except _FAILURES as error:
        raise TraceError(str(error), format="zip", path=source.name) from error
    members: dict[str, Unpack] = {}
    left_out = 0
    for info in infos:
        name = os.path.normpath(info.filename)
        # Some versions of `is_dir` fail for an empty name.
        if info.filename.endswith("/"):
            continue
        if not info.filename or not is_inside(name) or len(members) == limit("members"):
            left_out += 1
            continue
        members[name] = partial(_unpacked, source, info, os.path.join(source.name, info.filename))
    if left_out:
        message = (
            f"{left_out:,} names that lead out of it, or beyond {allowed('members')}, are left out"
        )
        left = TraceWarning(message=message, format="zip", path=source.name, is_damage=False)
        note(warnings, left)
    if len(members) == 1:
        ((name, unpack),) = members.items()
        return unwrap(PackedSource(os.path.join(source.name, name), source, unpack, "zip"))
    copies = _Copies(source)
    openers = {
        name: partial(copies.open, unpack, os.path.join(source.name, name))
        for name, unpack in members.items()
    }
    result = ArchiveSource(source.name, source, inner_names(openers), unwrap)
    result.warnings = warnings
    return result


def _unpacked(
    source: Source, info: zipfile.ZipInfo, name: str, warnings: list[TraceWarning]
) -> Iterator[bytes]:
    produced = 0
    try:
        for piece in contents(source, info):
            produced += len(piece)
            yield piece
    except DamageError as error:
        if not produced:
            raise TraceError(
                f"the zip data is damaged: {error}", format="zip", path=name
            ) from error
        message = f"the zip data is damaged: {error}"
        note(warnings, TraceWarning(message=message, path=name, offset=produced, is_damage=True))
    except TraceError as error:
        raise error.within(path=name) from None


class _Copies:
    """Members of an archive, unpacked into one temporary file, since directories are read in any order, and repeatedly.

    Args:
        archive: the archive of these members.

    """

    def __init__(self, archive: Source) -> None:
        self._archive = archive
        self._lock = threading.Lock()
        self._file: GrowingSource | None = None
        #: The offset of each in the file, and its size.
        self._locations: dict[str, tuple[int, int]] = {}

    def open(self, unpack: Unpack, name: str) -> Source:
        """Return a member, which is unpacked when it is first opened.

        Raises:
            TraceError: nothing of it can be unpacked.

        """
        warnings = self._archive.warnings
        with self._lock:
            if self._file is None:
                self._file = GrowingSource(self._archive.name)
            if name not in self._locations:
                contents = self._archive.unpacked.cut(
                    (name, "zip"), unpack(warnings), warnings, name
                )
                self._locations[name] = self._file.append(contents, name)
            source = View(name, self._file, *self._locations[name])
        source.warnings = warnings
        source.unpacked = self._archive.unpacked
        source.compression = "zip"
        return source
