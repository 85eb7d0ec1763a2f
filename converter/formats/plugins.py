"""Formats of other packages: entry points of the group `traceconv.formats`.

An entry point has the format's name and refers to the package with the descriptor, reader and writer
(docs/adding_a_format.md). A broken one causes a warning, and is ignored otherwise.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Container, Iterator
from contextlib import suppress
from dataclasses import replace
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING, Final

from converter.formats.descriptor import Format

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP: Final = "traceconv.formats"


class PluginWarning(UserWarning):
    """A format of another package is broken."""


def plugins(taken: Container[str]) -> dict[str, Format]:
    """Return the formats of other packages by name, except for names that are taken."""
    found: dict[str, Format] = {}
    if not _may_be():
        return found
    from importlib.metadata import entry_points

    for entry in sorted(entry_points(group=GROUP)):
        try:
            format = entry.load().FORMAT
        except Exception as error:  # noqa: BLE001 - another package's code can raise anything
            _warn(entry, f"{type(error).__name__}: {error}")
            continue
        if not isinstance(format, Format):
            _warn(entry, "its FORMAT is no converter.Format")
        elif format.name != entry.name:
            _warn(entry, f"its FORMAT is called {format.name!r}")
        elif entry.name in taken or entry.name in found:
            _warn(entry, "there is a format of this name")
        else:
            sniff = _guarded(entry, format.sniff)
            found[entry.name] = replace(format, package=entry.module, sniff=sniff)
    return found


def _may_be() -> bool:
    """Return True if an installed package may have a format.

    `importlib.metadata` would tell exactly, but takes 25 ms to import: more than reading a small trace.
    """
    for finder in sys.meta_path:
        # Packages that are not simply on the path.
        if finder is not PathFinder and hasattr(finder, "find_distributions"):
            return True
    for place in sys.path:
        if os.path.isfile(place):
            return True  # an archive of packages
        for file in _entry_point_files(place or "."):
            with suppress(OSError), open(file, "rb") as entries:
                if GROUP.encode() in entries.read():
                    return True
    return False


def _entry_point_files(place: str) -> Iterator[str]:
    """Yield the files in which the packages in a folder may declare entry points."""
    with suppress(OSError):
        for name in os.listdir(place):
            if name.lower().endswith((".dist-info", "egg-info")):
                yield os.path.join(place, name, "entry_points.txt")


def _guarded(entry: EntryPoint, sniff: Callable[[bytes], bool]) -> Callable[[bytes], bool]:
    """Wrap a plugin's `sniff`, so that its errors do not affect other input."""

    def guarded(head: bytes) -> bool:
        try:
            return bool(sniff(head))
        except Exception as error:  # noqa: BLE001 - another package's code can raise anything
            _warn(entry, f"recognising an input: {type(error).__name__}: {error}")
            return False

    return guarded


def _warn(entry: EntryPoint, problem: str) -> None:
    message = f"the format {entry.name!r} of {entry.value} is left out: {problem}"
    warnings.warn(message, PluginWarning, stacklevel=2)
