"""Zip archives: of one file as that file, of several as a directory. A member is unpacked when it is opened."""

from __future__ import annotations

import os
import zipfile
import zlib
from collections.abc import Callable, Iterator
from functools import partial

from converter.errors import TraceError, TraceWarning, note
from converter.limits import allowed, limit
from converter.storage.archives import (
    ArchiveSource,
    SourceFile,
    inner_names,
    is_inside,
)
from converter.storage.packed import PackedSource, Unpack
from converter.storage.source import Source, spooled

_CHUNK = 1 << 18
#: What reading a damaged, encrypted or unusual archive raises.
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
    """The file or directory that a zip archive holds. The result owns `source`.

    Args:
        source: the archive.
        unwrap: what is done with a member that is opened (decompression).

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
        # Some Pythons' `is_dir` cannot be asked about an empty name.
        if info.filename.endswith("/"):
            continue
        if not info.filename or not is_inside(name) or len(members) == limit("members"):
            left_out += 1
            continue
        members[name] = partial(_unpacked, archive, info, os.path.join(source.name, info.filename))
    if left_out:
        message = (
            f"{left_out:,} names that lead out of it, or beyond {allowed('members')}, are left out"
        )
        note(warnings, TraceWarning(message=message, format="zip", path=source.name))
    if len(members) == 1:
        ((name, unpack),) = members.items()
        return unwrap(PackedSource(os.path.join(source.name, name), source, unpack, "zip"))
    openers = {
        name: partial(_copied, source, unpack, os.path.join(source.name, name))
        for name, unpack in members.items()
    }
    result = ArchiveSource(source.name, source, inner_names(openers), unwrap)
    result.warnings = warnings
    return result


def _unpacked(
    archive: zipfile.ZipFile, info: zipfile.ZipInfo, name: str, warnings: list[TraceWarning]
) -> Iterator[bytes]:
    produced = 0
    try:
        with archive.open(info) as file:
            while chunk := file.read(_CHUNK):
                produced += len(chunk)
                yield chunk
    except _FAILURES as error:
        if not produced:
            raise TraceError(str(error), format="zip", path=name) from error
        message = f"the zip data is damaged: {error}"
        note(warnings, TraceWarning(message=message, path=name, offset=produced))


def _copied(archive: Source, unpack: Unpack, name: str) -> Source:
    """A member of several, with offsets: what is in a directory is read in any order."""
    warnings = archive.warnings
    chunks = archive.unpacked.cut((name, "zip"), unpack(warnings), warnings, name)
    source = spooled(chunks, name)
    source.warnings = warnings
    source.unpacked = archive.unpacked
    source.compression = "zip"
    return source
