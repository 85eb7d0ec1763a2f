"""Look-up of files and folders, by path or URL."""

from __future__ import annotations

import os

from converter.storage.locations import is_remote, local
from converter.storage.writing.durability import make_folders


def exists(location: str) -> bool:
    """Return True if there is a file or folder."""
    if not is_remote(location):
        return os.path.lexists(local(location))
    from converter.storage.remote.files import find

    return find(location) is not None


def is_folder(location: str) -> bool:
    """Return True if there is a folder."""
    if not is_remote(location):
        return os.path.isdir(local(location))
    from converter.storage.remote.files import find

    found = find(location)
    return found is not None and found.is_folder


def modified(location: str) -> int | None:
    """Return when it was last changed, in nanoseconds since 1970; None if it does not exist or has no time."""
    if is_remote(location):
        from converter.storage.remote.files import find

        found = find(location)
        return None if found is None else found.modified
    try:
        return os.stat(local(location)).st_mtime_ns
    except OSError:
        return None


def matches(pattern: str) -> list[str]:
    """Return the sorted locations that match a pattern like ``in/**/*.dat``, or whose name it is."""
    if is_remote(pattern):
        from converter.storage.remote.files import matching

        return matching(pattern)
    import glob

    path = local(pattern)
    return [path] if os.path.lexists(path) else sorted(glob.glob(path, recursive=True))


def make_folder(location: str) -> None:
    """Make a folder and its parents; remote outputs make their own."""
    if not is_remote(location):
        make_folders(local(location) or os.curdir)
