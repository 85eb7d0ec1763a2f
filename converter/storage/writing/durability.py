"""Outputs that survive a power failure: their data are on the disk before their name, and their name before success.

Systems write to the disk when they like, in any order: without this a file that was reported complete can be empty
after a crash, and the file that it replaced is gone (fsync(2), rename(2)).
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from converter.storage.descriptors import open_file

#: The environment variable that switches it off, in this process and its children.
SWITCH = "TRACECONV_NO_SYNC"
#: Fewer files than this are synced one after the other, more of them this many at a time.
_FEW = 4
_AT_A_TIME = 16
#: The errors of file systems that cannot sync a folder.
_CANNOT = frozenset(
    {errno.EINVAL, errno.ENOTSUP, errno.EACCES, errno.EPERM, errno.EROFS, errno.EBADF}
)


@contextmanager
def left_to_the_system() -> Iterator[None]:
    """Sync nothing in this context, in this process and in those that it starts."""
    before = os.environ.get(SWITCH)
    os.environ[SWITCH] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[SWITCH]
        else:
            os.environ[SWITCH] = before


def is_left_to_the_system() -> bool:
    """Return True if nothing is synced."""
    return bool(os.environ.get(SWITCH))


def sync_data(path: str) -> None:
    """Write the data of a file, or of all files in a folder, to the disk, with their names below that folder.

    Raises:
        OSError: the disk is full or fails.

    """
    if is_left_to_the_system():
        return
    if not stat.S_ISDIR(os.lstat(path).st_mode):
        _sync(path)
        return
    folders = [(folder, files) for folder, _, files in os.walk(path, topdown=False)]
    _sync_all([os.path.join(folder, name) for folder, files in folders for name in files])
    for folder, _ in folders:
        _sync_folder(folder)


def sync_name(path: str) -> None:
    """Write the name of a file or folder to the disk: the folder that it is in.

    Raises:
        OSError: the disk is full or fails.

    """
    if not is_left_to_the_system():
        _sync_folder(os.path.dirname(path) or os.curdir)


def make_folders(path: str) -> None:
    """Make a folder and its parents, and write the names of all new ones to the disk.

    Raises:
        OSError: one cannot be made, or is no folder.

    """
    new = []
    at = os.path.abspath(path)
    while not os.path.isdir(at):
        new.append(at)
        at = os.path.dirname(at)
    os.makedirs(path, exist_ok=True)
    for made in reversed(new):
        sync_name(made)


def _sync_all(paths: list[str]) -> None:
    if len(paths) < _FEW:
        for path in paths:
            _sync(path)
        return
    # The disk writes many at a time: 3,000 files take 0.4 s instead of 10 s.
    from concurrent.futures import ThreadPoolExecutor  # most outputs are one file

    with ThreadPoolExecutor(_AT_A_TIME) as pool:
        list(pool.map(_sync, paths))


def _sync(path: str) -> None:
    descriptor = open_file(path)
    try:
        if sys.platform == "darwin":
            # fsync(2) of macOS leaves the data in the drive's cache.
            import fcntl

            fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
        else:
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sync_folder(path: str) -> None:
    try:
        _sync(path)
    except OSError as error:
        if error.errno not in _CANNOT:
            raise
