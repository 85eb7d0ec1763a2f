"""Patterns of names: `*`, `?` and `[...]` match characters, as in a shell."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import translate
from functools import lru_cache
from typing import Final

from converter.errors import SelectionError
from converter.errors.advice import advice


@lru_cache(maxsize=256)
def pattern(text: str) -> re.Pattern[str]:
    """Return the regular expression of a pattern, for full matches."""
    return re.compile(translate(text), re.DOTALL)


def as_text(name: bytes) -> str:
    """Return a name as text to match against patterns."""
    return name.decode("utf-8", "surrogateescape")


#: The characters of patterns of ids; other characters match no id.
_ID: Final = re.compile(r"-?[0-9*?\[\]!^-]+")


def check_ids(what: str, texts: Iterable[str]) -> None:
    """Check patterns of ids.

    Raises:
        SelectionError: one is no number, and no pattern of numbers.
    """
    for text in texts:
        if not _ID.fullmatch(text):
            name = advice("comms", "--comm")
            raise SelectionError(f"{text!r} is not a {what} id ({name} selects by name)")


class NamePatterns:
    """Patterns of event names: those that are wanted and, with a leading ``!``, those that are not."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._wanted: list[re.Pattern[str]] = []
        self._unwanted: list[re.Pattern[str]] = []
        for text in texts:
            bare = text.removeprefix("!").strip()
            if not bare:
                raise SelectionError(f"{text!r} names no event: write NAME, SYSTEM:NAME or !NAME")
            (self._unwanted if text.startswith("!") else self._wanted).append(pattern(bare))

    def match(self, category: str, name: str, kind: str) -> bool:
        """Return True if an event with this name, or of this kind, is wanted."""
        spelled = (name, f"{category}:{name}", kind)
        if any(one.fullmatch(text) for one in self._unwanted for text in spelled):
            return False
        return not self._wanted or any(
            one.fullmatch(text) for one in self._wanted for text in spelled
        )
