"""Columns of bytes that grow together, and are written one after the other: in memory, then in a temporary file."""

from __future__ import annotations

import io
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from typing import IO, Final

from converter.errors import OutputError

#: Bytes of text that are kept in memory, and the size of the blocks that are moved at a time.
_MOST_IN_MEMORY: Final = 32 << 20
_BLOCK: Final = 1 << 18


class Spool:
    """Parts of columns in the order in which they come, each part with a comma before it."""

    def __init__(self) -> None:
        self._held: IO[bytes] = io.BytesIO()
        self._size = 0
        self._in_file = False
        self._parts: dict[Hashable, list[tuple[int, int]]] = {}

    def add(self, column: Hashable, *texts: bytes | memoryview) -> None:
        """Append values of a column: JSON, each with a comma before it."""
        start = self._size
        with _temporary_errors():
            for text in texts:
                self._size += self._held.write(text)
            if not self._in_file and self._size > _MOST_IN_MEMORY:
                self._move()
        parts = self._parts.setdefault(column, [])
        if parts and sum(parts[-1]) == start:
            start = parts.pop()[0]
        parts.append((start, self._size - start))

    def has(self, column: Hashable) -> bool:
        """Return True if a column has values."""
        return column in self._parts

    def blocks(self, column: Hashable, skipped: int = 1) -> Iterator[bytes]:
        """Yield the text of a column in blocks, without its first comma, or its first `skipped` bytes."""
        for start, size in self._parts.get(column, ()):
            at, end = start + skipped, start + size
            skipped = 0
            while at < end:
                with _temporary_errors():
                    self._held.seek(at)
                    block = self._held.read(min(end - at, _BLOCK))
                if not block:
                    raise OutputError("a temporary file became shorter")
                at += len(block)
                yield block
        with _temporary_errors():
            self._held.seek(self._size)

    def text(self, column: Hashable) -> bytes:
        """Return the text of a column."""
        return b"".join(self.blocks(column))

    def _move(self) -> None:
        """Move what is in memory to a temporary file."""
        # Imported here because few traces need it.
        from tempfile import TemporaryFile

        file = TemporaryFile()  # noqa: SIM115 - `close` does
        assert isinstance(self._held, io.BytesIO)
        file.write(self._held.getbuffer())
        self._held, self._in_file = file, True

    def close(self) -> None:
        """Release the temporary file."""
        self._held.close()


@contextmanager
def _temporary_errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        from tempfile import gettempdir

        raise OutputError(error.strerror or str(error), path=gettempdir()) from error
