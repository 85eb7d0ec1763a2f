"""Outputs under a temporary name, which are renamed when they are complete; no temporary files stay."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from converter.errors import OutputError
from converter.storage.writing.durability import sync_data, sync_name

#: Why an output is refused that exists already.
EXISTS = "exists already (--force replaces it)"
#: renameat2(2): both names continue to exist, each for the other's file.
_RENAME_EXCHANGE = 2
_AT_FDCWD = -100

#: The temporary files and folders of this process. A signal can arrive between making one and storing what removes it.
_temporary: set[str] = set()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_temporary.clear)  # the parent removes its own


def temporary_beside(target: str) -> str:
    """Return a hidden name on the same file system, short enough whatever the length of the target's.

    The file is removed by `remove`, or by `remove_temporary` when the process ends.
    """
    path = os.path.join(os.path.dirname(target), f".traceconv-{os.urandom(6).hex()}.tmp")
    _temporary.add(path)
    return path


def remove(path: str) -> None:
    """Remove a temporary file or directory as far as possible: this follows an error that matters more, or success."""
    if os.path.isdir(path):
        import shutil

        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            os.unlink(path)
    _temporary.discard(path)


def remove_temporary() -> None:
    """Remove all remaining temporary files, because the process ends."""
    for path in tuple(_temporary):
        remove(path)


def place_file(temporary: str, target: str, *, force: bool) -> None:
    """Rename a complete file, with `force` replacing an existing one; data and name are then on the disk."""
    sync_data(temporary)
    if force:
        os.replace(temporary, target)
    else:
        _link(temporary, target)
        remove(temporary)
    sync_name(target)
    remove(temporary)


@contextmanager
def placed(temporary: str, target: str, *, force: bool) -> Iterator[None]:
    """Rename a file as `place_file` does, undone if the block fails; until it ends, the temporary name stays in use.

    The block syncs the names of all files that it places together.
    """
    made = os.stat(temporary)
    sync_data(temporary)
    try:
        if force and os.path.lexists(target):
            _exchange(temporary, target)
        else:
            _link(temporary, target)
        yield
    except BaseException:
        _undo(temporary, target, made)
        raise


def place_folder(temporary: str, target: str, *, force: bool) -> None:
    """Rename a complete folder, with `force` replacing an existing one; data and name are then on the disk."""
    if not force and os.path.lexists(target):
        raise FileExistsError(0, EXISTS)
    sync_data(temporary)
    if not os.path.isdir(target):
        os.rename(temporary, target)
        sync_name(target)
        remove(temporary)
        return
    _exchange(temporary, target)
    # What it replaces is removed only when the new folder's name is on the disk, too.
    sync_name(target)
    remove(temporary)
    sync_name(target)


@contextmanager
def whole_folder(target: str, *, force: bool) -> Iterator[str]:
    """Make a folder for several outputs, under a temporary name until all of them are complete; yield its path."""
    temporary = temporary_beside(target)
    try:
        os.mkdir(temporary)
        yield temporary
        place_folder(temporary, target, force=force)
    except BaseException as error:
        remove(temporary)
        if isinstance(error, OSError):
            raise output_error(error, target) from error
        raise


def output_error(error: Exception, name: str) -> OutputError:
    """Return a system error as one that names the output."""
    message = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return OutputError(message, path=name)


def _link(temporary: str, target: str) -> None:
    """Give a file a name, without replacing what appeared in the meantime."""
    try:
        os.link(temporary, target, follow_symlinks=False)
    except FileExistsError:
        raise FileExistsError(0, EXISTS) from None
    except (OSError, NotImplementedError):  # a file system, or a system, without such hard links
        if os.path.lexists(target):
            raise FileExistsError(0, EXISTS) from None
        os.rename(temporary, target)


def _undo(temporary: str, target: str, made: os.stat_result) -> None:
    """Undo what `placed` may have done: a signal can arrive before or after it."""
    with suppress(OSError):
        if not os.path.samestat(os.stat(target), made):
            return
        if os.path.lexists(temporary) and not os.path.samestat(os.stat(temporary), made):
            os.replace(temporary, target)
        else:
            os.unlink(target)


def _exchange(one: str, other: str) -> None:
    """Exchange the names of two files or folders, atomically where the system supports it."""
    import ctypes  # imported only here, since a single call suffices for most replacements

    library = ctypes.CDLL(None, use_errno=True)
    names = os.fsencode(one), os.fsencode(other)
    if hasattr(library, "renameat2") and not library.renameat2(
        _AT_FDCWD, names[0], _AT_FDCWD, names[1], _RENAME_EXCHANGE
    ):
        return
    # Not supported by this system or file system. Any other error will also occur in the calls below.
    between = temporary_beside(other)
    os.rename(other, between)
    try:
        os.rename(one, other)
    except BaseException:
        os.rename(between, other)
        raise
    os.rename(between, one)
    remove(between)
