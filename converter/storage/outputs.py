"""Opens outputs: files and directories that appear complete or not at all, devices, pipes and standard output."""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Sequence
from functools import partial

from converter.errors import ExistingOutputError, OutputError, OutputNameError
from converter.storage.compression.wrapping import Wrapping, unwrapped_name
from converter.storage.descriptors import open_file
from converter.storage.locations import STANDARD_OUTPUT, is_remote, local
from converter.storage.sink import Sink
from converter.storage.writing.block_writes import (
    BlockWrites,
    Reopened,
    Stream,
    Target,
    descriptor_target,
)
from converter.storage.writing.file_sinks import (
    DirectorySink,
    FileSink,
    ReplacingSink,
    SpooledSink,
    unnamed,
)
from converter.storage.writing.placing import (
    already_exists,
    output_error,
    temporary_beside,
)

#: Paths under which systems offer open descriptors; process substitution in shells produces them.
_DESCRIPTOR = re.compile(r"/dev/(stdout|stderr)|(?:/dev|/proc/self)/fd/([0-9]+)")


def open_sink(
    path: str | os.PathLike[str],
    *,
    force: bool = False,
    directory: bool = False,
    avoid: str | os.PathLike[str] | Sequence[str] | None = None,
    seekable: bool = False,
) -> Sink:
    """Open an output: a file, a directory, the URL of one, or "-" for standard output.

    What exists is replaced only with `force`, and never if it is an input; `avoid` lists the paths of the inputs.
    Existing devices and pipes (/dev/null) are written to directly. With `seekable` such streams and standard output
    support `Sink.write_at` too: they receive everything at the end, from a temporary file (in TMPDIR). The suffix of a
    file's name selects compression and archiving (.gz, .tar.zst). Everything that is refused is an `OutputError`.
    """
    text = local(os.fspath(path))
    name, wrapping = unwrapped_name(text)
    if wrapping is not None:
        return _wrapped(text, name, wrapping, force, directory, avoid, seekable)
    return _open_plain(text, force, directory, avoid, seekable)


def _wrapped(
    path: str,
    name: str,
    wrapping: Wrapping,
    force: bool,
    directory: bool,
    avoid: str | os.PathLike[str] | Sequence[str] | None,
    seekable: bool,
) -> Sink:
    if directory != wrapping.archive:
        how = "this format is a directory, which is packed as .tar, .tar.gz or .tar.zst"
        one = "this format is one file, which needs no .tar: compress it as .gz or .zst"
        raise OutputNameError(how if directory else one, path=path)
    # Imported only when needed: most outputs are not compressed.
    from converter.storage.compression.sinks import ArchiveSink, compressed_sink

    base = _open_plain(path, force, False, avoid, False)
    if not directory:
        return compressed_sink(base, wrapping.compression, seekable=seekable)
    folder = os.path.basename(path.rstrip("/"))[: len(name)]
    if is_remote(path):
        import tempfile

        path = os.path.join(tempfile.gettempdir(), folder)
    return ArchiveSink(base, wrapping.compression, os.path.realpath(path), folder)


def _open_plain(
    text: str,
    force: bool,
    directory: bool,
    avoid: str | os.PathLike[str] | Sequence[str] | None,
    seekable: bool,
) -> Sink:
    if is_remote(text):
        # Imported only when needed: most outputs are local.
        from converter.storage.remote.sinks import open_remote_sink

        return open_remote_sink(text, force=force, directory=directory, avoid=avoid)
    if text == "-":
        if directory:
            raise OutputNameError(
                "a directory cannot be written to it: name one, or a file such as NAME.tar.gz",
                path=STANDARD_OUTPUT,
            )
        return _open_stream(STANDARD_OUTPUT, _stdout(), seekable)
    inherited = _inherited(text)
    if inherited is not None:
        if directory:
            raise OutputError("is not a directory", path=text)
        return _open_stream(text, inherited, seekable)
    try:
        # Links stay links: their targets are replaced.
        target = os.path.realpath(text)
        status = os.stat(target) if os.path.lexists(target) else None
        if status is not None:
            inputs = [avoid] if isinstance(avoid, str | os.PathLike) else avoid or ()
            _check_replaceable(text, status, force, directory, inputs)
            if not stat.S_ISREG(status.st_mode) and not stat.S_ISDIR(status.st_mode):
                descriptor = open_file(target, os.O_WRONLY)
                return _open_stream(text, descriptor_target(text, descriptor), seekable)
        temporary = temporary_beside(target)
        if directory:
            os.mkdir(temporary)
            return DirectorySink(text, temporary, target, force)
        descriptor = open_file(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL)
        opened = Reopened(text, descriptor, temporary)
        beside = partial(open_sink, force=force)
        return ReplacingSink(text, opened, temporary, target, force, beside)
    except (OSError, ValueError) as error:
        raise output_error(error, text) from error


def _open_stream(name: str, target: Target, seekable: bool) -> Sink:
    if not seekable:
        return FileSink(name, BlockWrites(), target, seekable=False)
    return SpooledSink(name, unnamed(name), target)


def _inherited(path: str) -> Target | None:
    """Return the open descriptor that a path like /dev/stdout or /dev/fd/63 refers to; it is written to as it is."""
    match = _DESCRIPTOR.fullmatch(path)
    if match is None:
        return None
    if match[1] == "stdout":
        return _stdout()
    try:
        number = 2 if match[1] == "stderr" else int(match[2])
        return descriptor_target(path, os.dup(number))
    except (OSError, OverflowError) as error:
        raise output_error(error, path) from error


def _stdout() -> Target:
    if sys.stdout is None:
        raise OutputError("is closed", path=STANDARD_OUTPUT)
    try:
        sys.stdout.flush()
        binary = sys.stdout.buffer
        try:
            return descriptor_target(STANDARD_OUTPUT, os.dup(binary.fileno()))
        except (OSError, ValueError):  # replaced by something without a descriptor
            return Stream(STANDARD_OUTPUT, binary)
    except (OSError, AttributeError) as error:
        raise output_error(error, STANDARD_OUTPUT) from error


def _check_replaceable(
    name: str,
    status: os.stat_result,
    force: bool,
    directory: bool,
    avoid: Sequence[str | os.PathLike[str]],
) -> None:
    is_directory = stat.S_ISDIR(status.st_mode)
    if not is_directory and not stat.S_ISREG(status.st_mode):
        if directory:
            raise OutputError("is not a directory", path=name)
        return
    for path in avoid:
        source = local(os.fspath(path))
        if source == "-" or not os.path.exists(source):
            continue
        real = os.path.realpath(source)
        if os.path.samestat(os.stat(source), status):
            raise OutputError("the output is the input: name another", path=name)
        if is_directory and _is_inside(real, status):
            raise OutputError("the input is in the output directory: name another", path=name)
    if is_directory != directory:
        kind = "is a directory" if is_directory else "is not a directory"
        raise OutputError(kind, path=name)
    if is_directory and _is_inside(os.path.realpath(os.curdir), status):
        raise OutputError("will not replace the current directory", path=name)
    if not force:
        raise ExistingOutputError(already_exists(), path=name)


def _is_inside(path: str, directory: os.stat_result) -> bool:
    """Return True if a directory is a path or contains it.

    Inodes are compared, since names that differ in case can be the same file.
    """
    while not os.path.samestat(os.stat(path), directory):
        parent = os.path.dirname(path)
        if parent == path:
            return False
        path = parent
    return True
