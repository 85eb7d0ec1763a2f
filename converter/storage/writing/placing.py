"""Outputs under a temporary name, which are renamed when they are complete; no temporary files stay."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress

from converter.errors import ExistingOutputError, OutputError
from converter.errors.advice import advice
from converter.storage import interrupts
from converter.storage.interrupts import uninterrupted
from converter.storage.writing.durability import sync_data, sync_name

#: renameat2(2): both names continue to exist, each for the other's file.
_RENAME_EXCHANGE = 2
_AT_FDCWD = -100
#: How often another process may make or remove a file that is being replaced.
_TRIES = 16

#: The temporary files and folders of this process. A signal can arrive between making one and storing what removes it.
_temporary: set[str] = set()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_temporary.clear)  # the parent removes its own


def already_exists() -> str:
    """Return why an output is refused that exists already."""
    return f"exists already ({advice('force=True', '--force')} replaces it)"


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


def place_files(files: Sequence[tuple[str, str]], *, force: bool) -> None:
    """Give complete files their names, with `force` replacing existing ones; data and names are then on the disk.

    All of them have their names, or none has: this is the commit point of outputs, and nothing that can still fail
    comes after it.

    Args:
        files: the temporary and the final path of each; all are in one folder.
        force: replace what exists.

    Raises:
        OSError: nothing has changed.

    """
    for temporary, _ in files:
        sync_data(temporary)
    with uninterrupted():
        with ExitStack() as together:
            for temporary, target in files:
                together.enter_context(_placed(temporary, target, force=force))
            sync_name(files[0][1])
        interrupts.placed()
        for temporary, _ in files:
            remove(temporary)
        _sync_removal(files[0][1])


@contextmanager
def _placed(temporary: str, target: str, *, force: bool) -> Iterator[None]:
    """Give a file its name, undone if the block fails; until it ends, the temporary name stays in use."""
    made = os.stat(temporary)
    try:
        _take_name(temporary, target, force=force)
        yield
    except BaseException:
        _undo(temporary, target, made)
        raise


def place_folder(temporary: str, target: str, *, force: bool) -> None:
    """Give a complete folder its name as `place_files` does for files."""
    if not force and os.path.lexists(target):
        raise FileExistsError(0, already_exists())
    sync_data(temporary)
    with uninterrupted():
        replaces = os.path.isdir(target)
        if replaces:
            _exchange(temporary, target)
        else:
            os.rename(temporary, target)
        try:
            sync_name(target)
        except OSError:
            with suppress(OSError):
                if replaces:
                    _exchange(temporary, target)
                else:
                    os.rename(target, temporary)
            raise
        interrupts.placed()
        # What it replaces is removed only when the new folder's name is on the disk, too.
        remove(temporary)
        if replaces:
            _sync_removal(target)


def _sync_removal(target: str) -> None:
    """Write to the disk that what was beside an output is gone. The output is there, whatever happens."""
    with suppress(OSError):
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
    folder = os.path.dirname(name.rstrip("/"))
    if isinstance(error, FileNotFoundError) and folder and not os.path.isdir(folder):
        message = f"there is no folder {folder}"
    kind = ExistingOutputError if isinstance(error, FileExistsError) else OutputError
    return kind(message, path=name)


def _take_name(temporary: str, target: str, *, force: bool) -> None:
    """Give a file its name; what has it already gets the temporary one, if it may be replaced."""
    for _ in range(_TRIES if force else 0):
        try:
            if os.path.lexists(target):
                _exchange(temporary, target)
            else:
                _link(temporary, target)
        except (FileExistsError, FileNotFoundError):
            continue  # another process made or removed it meanwhile
        return
    _link(temporary, target)


def _link(temporary: str, target: str) -> None:
    """Give a file a name, without replacing what appeared in the meantime."""
    try:
        os.link(temporary, target, follow_symlinks=False)
    except FileExistsError:
        raise FileExistsError(0, already_exists()) from None
    except (OSError, NotImplementedError):  # a file system, or a system, without such hard links
        if os.path.lexists(target):
            raise FileExistsError(0, already_exists()) from None
        os.rename(temporary, target)


def _undo(temporary: str, target: str, made: os.stat_result) -> None:
    """Undo what `_placed` may have done: a signal can arrive before or after it."""
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
