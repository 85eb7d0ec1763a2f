"""Archiving and compression of files, by the suffixes of their names."""

from __future__ import annotations

import os
from typing import Final, NamedTuple


class Wrapping(NamedTuple):
    """The wrapping of an output: whether it is a tar archive, and its compression ("" for none)."""

    archive: bool
    compression: str


#: By suffix.
_COMPRESSIONS: Final = {
    ".gz": "gzip",
    ".zst": "zstd",
    ".zstd": "zstd",
    ".xz": "xz",
    ".bz2": "bzip2",
    ".lz4": "lz4",
}
_ARCHIVES: Final = {".tgz": "gzip", ".tzst": "zstd", ".txz": "xz", ".tbz2": "bzip2"}


def unwrapped_name(path: str | os.PathLike[str]) -> tuple[str, Wrapping | None]:
    """Return a file's name in lower case without the suffixes of its wrapping, and the wrapping."""
    # A directory may be written with a slash at its end.
    name = os.path.basename(os.fspath(path).rstrip("/")).lower()
    stem, suffix = os.path.splitext(name)
    if suffix in _ARCHIVES:
        return stem, Wrapping(True, _ARCHIVES[suffix])
    if suffix == ".tar":
        return stem, Wrapping(True, "")
    if suffix not in _COMPRESSIONS:
        return name, None
    inner, second = os.path.splitext(stem)
    if second == ".tar":
        return inner, Wrapping(True, _COMPRESSIONS[suffix])
    return stem, Wrapping(False, _COMPRESSIONS[suffix])
