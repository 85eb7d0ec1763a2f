"""Looks for the schema of speedscope at the end of a JSON object."""

from __future__ import annotations

from typing import Final

from converter.formats.profiles.speedscope import sniff
from converter.storage.source import Source

_LOOKED_AT: Final = 1 << 12


def search(source: Source, head: bytes) -> bool:
    """Return True if an object names the schema near its end."""
    if source.is_directory or not head.lstrip().startswith(b"{"):
        return False
    return sniff(b"{" + source.read(max(source.size - _LOOKED_AT, 0), _LOOKED_AT))
