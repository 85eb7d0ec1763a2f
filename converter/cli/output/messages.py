"""Lines on standard error; in colour on a terminal, unless NO_COLOR is set."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from typing import Final

from converter.errors.terminal import printable

_RED: Final = "31"
_YELLOW: Final = "33"


def error(line: str, *, name: str = "traceconv") -> None:
    """Print why there is no result."""
    _print(name, line, _RED)


def warning(line: str) -> None:
    """Print that something is damaged or missing."""
    _print("traceconv", line, _YELLOW)


def note(line: str) -> None:
    """Print a message."""
    _print("traceconv", line, "")


def lines(more: Iterable[str]) -> None:
    """Print what belongs to the message before."""
    for line in more:
        _write(printable(line))


def _print(name: str, line: str, colour: str) -> None:
    if colour and _is_coloured():
        name = f"\x1b[{colour}m{name}:\x1b[0m"
    else:
        name = f"{name}:"
    _write(f"{name} {printable(line)}")


def _write(line: str) -> None:
    # A standard error that is full or closed does not change the result of the conversion. Without one, `print` would
    # write to standard output.
    if sys.stderr is None:
        return
    with suppress(OSError, ValueError):
        print(line, file=sys.stderr)


def _is_coloured() -> bool:
    """Return True if the terminal is to be coloured, by the rules of https://no-color.org; dumb terminals are not."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return sys.stderr is not None and sys.stderr.isatty()
