"""Look-up of files and folders, by path or URL."""

from __future__ import annotations

import os

from converter.storage.locations import is_remote, local
from converter.storage.writing.durability import make_folders


def exists(place: str) -> bool:
    """Return True if there is a file or folder."""
    if not is_remote(place):
        return os.path.lexists(local(place))
    from converter.storage.remote.files import find

    return find(place) is not None


def is_folder(place: str) -> bool:
    """Return True if there is a folder."""
    if not is_remote(place):
        return os.path.isdir(local(place))
    from converter.storage.remote.files import find

    found = find(place)
    return found is not None and found.is_folder


def modified(place: str) -> int | None:
    """Return when it was last changed, in nanoseconds since 1970; None if it does not exist or has no time."""
    if is_remote(place):
        from converter.storage.remote.files import find

        found = find(place)
        return None if found is None else found.modified
    try:
        return os.stat(local(place)).st_mtime_ns
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


def make_folder(place: str) -> None:
    """Make a folder and its parents; remote outputs make their own."""
    if not is_remote(place):
        make_folders(local(place) or os.curdir)
