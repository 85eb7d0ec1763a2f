"""Locations of inputs and outputs as text: paths of this machine, and URLs."""

from __future__ import annotations

import os
import re

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")


def protocol(place: str) -> str | None:
    """Return the scheme of a URL in lower case, or None for a path."""
    match = _URL.match(place)
    return None if match is None else match[1].lower()


def is_remote(place: str) -> bool:
    """Return True if it is a URL, other than of a file of this machine."""
    return protocol(place) not in (None, "file")


def local(place: str) -> str:
    """Return the path of a local file, which may be given as ``file://``."""
    if protocol(place) != "file":
        return place
    from urllib.parse import unquote, urlsplit  # rarely needed

    parts = urlsplit(place)
    return unquote(parts.path) if parts.netloc in ("", "localhost") else place


def without_query(place: str) -> str:
    """Return a location without its query, which often contains a signature."""
    return place.partition("?")[0] if protocol(place) in ("http", "https") else place


def shown(place: str) -> str:
    """Return a URL as messages may show it: without passwords and signatures."""
    if not is_remote(place):
        return place
    scheme, separator, rest = without_query(place).partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}{separator}{host.rpartition('@')[2]}{slash}{path}"


def absolute(place: str) -> str:
    """Return a location that does not depend on the current directory."""
    return place.rstrip("/") if is_remote(place) else os.path.abspath(local(place))


def name_of(place: str) -> str:
    """Return the last component of its name."""
    return os.path.basename(absolute(without_query(place)))


def join(folder: str, *names: str) -> str:
    """Return a location in a folder, without detours through others."""
    scheme, rest = _apart(folder)
    joined = os.path.normpath(os.path.join(rest, *names))
    return f"{scheme}{joined}"


def folders_below(places: list[str]) -> list[str]:
    """Return the folder of each location, relative to their common parent folder.

    It is "." for a file in that folder, and if they have no common parent.
    """
    apart = [_apart(absolute(place)) for place in places]
    folders = [os.path.dirname(path) for _, path in apart]
    if len({scheme for scheme, _ in apart}) > 1 or (apart[0][0] and not all(folders)):
        return [os.curdir] * len(places)
    home = os.path.commonpath(folders)
    return [os.path.relpath(folder, home or os.curdir) for folder in folders]


def _apart(place: str) -> tuple[str, str]:
    """Split a URL into the part before its path (empty for a path) and the rest."""
    if not is_remote(place):
        return "", local(place)
    scheme, separator, rest = place.partition("://")
    return f"{scheme}{separator}", rest
