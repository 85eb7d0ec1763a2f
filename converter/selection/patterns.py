"""Patterns of names: `*`, `?` and `[...]` stand for characters, as in a shell."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import translate
from functools import lru_cache

from converter.errors import SelectionError


@lru_cache(maxsize=256)
def pattern(text: str) -> re.Pattern[str]:
    """The regular expression of a pattern, to be matched in full."""
    return re.compile(translate(text), re.DOTALL)


def as_text(name: bytes) -> str:
    """A name to match against patterns."""
    return name.decode("utf-8", "surrogateescape")


class NamePatterns:
    """Patterns of names of events: which are wanted, and, behind ``!``, which are not."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._wanted: list[re.Pattern[str]] = []
        self._unwanted: list[re.Pattern[str]] = []
        for text in texts:
            bare = text.removeprefix("!").strip()
            if not bare:
                raise SelectionError(f"no pattern of names is {text!r}")
            (self._unwanted if text.startswith("!") else self._wanted).append(pattern(bare))

    def match(self, category: str, name: str, kind: str) -> bool:
        """Whether an event of this name, or of this kind, is wanted."""
        spelled = (name, f"{category}:{name}", kind)
        if any(one.fullmatch(text) for one in self._unwanted for text in spelled):
            return False
        return not self._wanted or any(
            one.fullmatch(text) for one in self._wanted for text in spelled
        )
