"""Locations of inputs and outputs as text: paths of this machine, and URLs."""

from __future__ import annotations

import os
import re
from typing import Final

from converter.errors.terminal import without_secrets

#: The names of the streams that "-" means.
STANDARD_INPUT: Final = "standard input"
STANDARD_OUTPUT: Final = "standard output"

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")


def protocol(location: str) -> str | None:
    """Return the scheme of a URL in lower case, or None for a path."""
    match = _URL.match(location)
    return None if match is None else match[1].lower()


def is_remote(location: str) -> bool:
    """Return True if it is a URL, other than of a file of this machine."""
    return protocol(location) not in (None, "file")


def local(location: str) -> str:
    """Return the path of a local file, which may be given as ``file://``."""
    if protocol(location) != "file":
        return location
    from urllib.parse import unquote, urlsplit  # rarely needed

    parts = urlsplit(location)
    return unquote(parts.path) if parts.netloc in ("", "localhost") else location


def without_query(location: str) -> str:
    """Return a location without its query, which often contains a signature."""
    if protocol(location) not in ("http", "https"):
        return location
    return location.partition("?")[0].partition("#")[0]


def shown(location: str) -> str:
    """Return a location as messages may show it: a URL without passwords and signatures."""
    return without_secrets(location)


def shown_input(location: str) -> str:
    """Return the name of an input for people."""
    return STANDARD_INPUT if location == "-" else shown(location)


def shown_output(location: str) -> str:
    """Return the name of an output for people."""
    return STANDARD_OUTPUT if location == "-" else shown(location)


def absolute(location: str) -> str:
    """Return a location that does not depend on the current directory."""
    return location.rstrip("/") if is_remote(location) else os.path.abspath(local(location))


def name_of(location: str) -> str:
    """Return the last component of its name."""
    return os.path.basename(absolute(without_query(location)))


def join(folder: str, *names: str) -> str:
    """Return a location in a folder, without detours through others."""
    scheme, rest = _split(folder)
    joined = os.path.normpath(os.path.join(rest, *names))
    return f"{scheme}{joined}"


def folders_below(locations: list[str]) -> list[str]:
    """Return the folder of each location, relative to their common parent folder.

    It is "." for a file in that folder, and if they have no common parent.
    """
    split = [_split(absolute(location)) for location in locations]
    folders = [os.path.dirname(path) for _, path in split]
    if len({scheme for scheme, _ in split}) > 1 or (split[0][0] and not all(folders)):
        return [os.curdir] * len(locations)
    home = os.path.commonpath(folders)
    return [os.path.relpath(folder, home or os.curdir) for folder in folders]


def _split(location: str) -> tuple[str, str]:
    """Split a URL into the part before its path (empty for a path) and the rest."""
    if not is_remote(location):
        return "", local(location)
    scheme, separator, rest = location.partition("://")
    return f"{scheme}{separator}", rest
