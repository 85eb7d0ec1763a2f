"""The decompression budget of an input: a few compressed bytes can fill any disk."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Iterator, Mapping
from typing import Any

from converter.errors import TraceError, TraceWarning, note
from converter.limits import allowed, limit


class Unpacked:
    """The decompressed bytes of an input, including everything nested in it; each part counts only once.

    Args:
        stored: the size of the input as it is.

    """

    def __init__(self, stored: int) -> None:
        self._most = max(limit("unpacked"), limit("unpacked-ratio") * stored)
        self._sizes: dict[Hashable, int] = {}
        self._total = 0
        self._lock = threading.Lock()

    def take(self, what: Hashable, size: int) -> bool:
        """Reserve space for a part of this total size; return False if that exceeds the budget."""
        return self.take_all({what: size})

    def take_all(self, sizes: Mapping[Any, int]) -> bool:
        """Reserve space for all parts with these total sizes; return False, and reserve none, if they exceed the
        budget.
        """
        with self._lock:
            known = self._sizes
            # What is decompressed again usually has the same size as before.
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
        """Yield chunks up to the limit of the budget; add a warning if they are cut."""
        size = 0
        for chunk in chunks:
            size += len(chunk)
            if not self.take(what, size):
                note(warnings, no_room(size - len(chunk)).within(path=name).to_warning())
                return
            yield chunk


def no_room(offset: int) -> TraceError:
    """Return the error that the decompressed data is not read from an offset on."""
    small, large = allowed("unpacked"), allowed("unpacked-ratio").removeprefix("at most ")
    return TraceError(
        "the input unpacks to too much", offset=offset, expected=f"{small} or {large}"
    )
