"""The one place where exceptions that are no errors of this project become such, at the border of formats.

Readers, writers and the columns that they decode on demand raise a `TraceError` for whatever is wrong with an input.
Any other exception is memory that the system refuses, an error of the system, or a defect; a program that uses the
library catches `TraceError` in each case. KeyboardInterrupt, SystemExit and GeneratorExit pass through.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Iterator
from functools import wraps
from types import TracebackType
from typing import Any, Final, Generic, ParamSpec, TypeVar, cast

from converter.errors import (
    ClosedError,
    DefectError,
    MemoryLimitError,
    OpenFilesError,
    OutputError,
    TraceError,
)

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")
_Item = TypeVar("_Item")

#: Of this process, and of all processes.
_TOO_MANY_FILES: Final = frozenset({errno.EMFILE, errno.ENFILE})
_MAX_TEXT: Final = 200
#: What loaders say (glibc, musl, macOS) where a library does not fit into memory.
_UNMAPPED: Final = re.compile(r"failed to map|annot allocate memory|cannot map", re.IGNORECASE)


def as_trace_error(
    error: Exception, *, format: str | None = None, path: str | None = None, writes: bool = False
) -> TraceError:
    """Return any exception as an error of the project.

    Args:
        error: what was raised; a `TraceError` is returned as it is.
        format: the format whose reader or writer raised it.
        path: the file that it is about.
        writes: True if errors of the system are about an output.

    """
    if isinstance(error, TraceError):
        return error
    if isinstance(error, MemoryError) or _is_refused_memory(error):
        return MemoryLimitError(format=format, path=path)
    if isinstance(error, RecursionError):
        return DefectError("nested too deeply", format=format, path=path)
    if isinstance(error, OSError) and error.errno is not None:
        name = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else path
        if error.errno in _TOO_MANY_FILES:
            return OpenFilesError(path=name)
        kind = OutputError if writes else TraceError
        return kind(error.strerror or str(error), format=format, path=name)
    text = str(error)[:_MAX_TEXT]
    said = f"{type(error).__name__}: {text}" if text else type(error).__name__
    message = f"internal error: {said} (please report it; TRACECONV_TRACEBACK=1 shows where)"
    return DefectError(message, format=format, path=path)


def _is_refused_memory(error: Exception) -> bool:
    """Return True for an error of the system, or of its loader of libraries, that there is no memory."""
    if isinstance(error, ImportError):
        return _UNMAPPED.search(str(error)) is not None
    return isinstance(error, OSError) and error.errno == errno.ENOMEM


class guarded:  # noqa: N801 - used like a function
    """A context in which every exception becomes an error of the project (`as_trace_error`)."""

    __slots__ = ("_format", "_path", "_writes")

    def __init__(
        self, format: str | None = None, *, path: str | None = None, writes: bool = False
    ) -> None:
        self._format = format
        self._path = path
        self._writes = writes

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if isinstance(error, Exception) and not isinstance(error, TraceError | ClosedError):
            raise as_trace_error(
                error, format=self._format, path=self._path, writes=self._writes
            ) from error


def guarded_function(
    function: Callable[_Arguments, _Result], format: str, *, writes: bool = False
) -> Callable[_Arguments, _Result]:
    """Return a function whose exceptions are all errors of the project."""

    @wraps(function)
    def call(*arguments: _Arguments.args, **named: _Arguments.kwargs) -> _Result:
        try:
            return function(*arguments, **named)
        except (TraceError, ClosedError):
            raise
        except Exception as error:
            raise as_trace_error(error, format=format, writes=writes) from error

    return call


def guarded_items(make: Callable[[], Iterator[_Item]], format: str) -> Iterator[_Item]:
    """Return an iterator whose exceptions are all errors of the project, whichever item is requested."""
    with guarded(format):
        items = make()
    while True:
        with guarded(format):
            try:
                item = next(items)
            except StopIteration:
                return
        yield item
        del item


class GuardedMethods(Generic[_Item]):
    """An object whose methods raise no exceptions but errors of the project."""

    def __init__(self, target: _Item, format: str) -> None:
        self._target = target
        self._format = format

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._target, name)
        return guarded_function(cast("Callable[..., Any]", found), self._format)
