"""What is there: of paths of this machine, and of URLs."""

from __future__ import annotations

import os

from converter.storage.locations import is_remote, local
from converter.storage.writing.durability import make_folders


def exists(place: str) -> bool:
    """Whether there is something."""
    if not is_remote(place):
        return os.path.lexists(local(place))
    from converter.storage.remote.files import find

    return find(place) is not None


def is_folder(place: str) -> bool:
    """Whether there is a folder."""
    if not is_remote(place):
        return os.path.isdir(local(place))
    from converter.storage.remote.files import find

    found = find(place)
    return found is not None and found.is_folder


def modified(place: str) -> int | None:
    """When it was made or changed last, in nanoseconds since 1970; None where there is none, or nobody says."""
    if is_remote(place):
        from converter.storage.remote.files import find

        found = find(place)
        return None if found is None else found.modified
    try:
        return os.stat(local(place)).st_mtime_ns
    except OSError:
        return None


def matches(pattern: str) -> list[str]:
    """The sorted places of a pattern like ``in/**/*.dat``; the place itself that is called so."""
    if is_remote(pattern):
        from converter.storage.remote.files import matching

        return matching(pattern)
    import glob

    path = local(pattern)
    return [path] if os.path.lexists(path) else sorted(glob.glob(path, recursive=True))


def make_folder(place: str) -> None:
    """Make a folder, and those that it is in; elsewhere outputs make their own."""
    if not is_remote(place):
        make_folders(local(place) or os.curdir)
