"""How much an input may become: what is compressed in a few bytes can fill any disk."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Iterator, Mapping
from typing import Any

from converter.errors import TraceError, TraceWarning, note
from converter.limits import allowed, limit


class Unpacked:
    """What has been unpacked of an input of a size: of all that is in it, however deep, and of each only once.

    Args:
        stored: the size of the input as it is.

    """

    def __init__(self, stored: int) -> None:
        self._most = max(limit("unpacked"), limit("unpacked-ratio") * stored)
        self._sizes: dict[Hashable, int] = {}
        self._total = 0
        self._lock = threading.Lock()

    def take(self, what: Hashable, size: int) -> bool:
        """Whether there is room for something to become so large in all."""
        return self.take_all({what: size})

    def take_all(self, sizes: Mapping[Any, int]) -> bool:
        """Whether there is room for all of them (by what they are) to become so large; otherwise none has it."""
        with self._lock:
            known = self._sizes
            # What is unpacked again mostly becomes what it was.
            if sizes.items() <= known.items():
                return True
            larger = {what: size for what, size in sizes.items() if size > known.get(what, 0)}
            total = self._total + sum(larger.values()) - sum(known.get(what, 0) for what in larger)
            if total > self._most:
                return False
            known.update(larger)
            self._total = total
            return True

    def cut(
        self, what: Hashable, chunks: Iterator[bytes], warnings: list[TraceWarning], name: str
    ) -> Iterator[bytes]:
        """The chunks of something, up to where there is no more room: a warning tells of that."""
        size = 0
        for chunk in chunks:
            size += len(chunk)
            if not self.take(what, size):
                note(warnings, no_room(size - len(chunk)).within(path=name).to_warning())
                return
            yield chunk


def no_room(offset: int) -> TraceError:
    """That what an input unpacks to is not read from an offset on."""
    small, large = allowed("unpacked"), allowed("unpacked-ratio").removeprefix("at most ")
    return TraceError(
        "the input unpacks to too much", offset=offset, expected=f"{small} or {large}"
    )
