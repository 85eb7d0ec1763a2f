"""A stream that is read while it is being written: a kernel's trace_pipe, say. An interrupt ends it."""

from __future__ import annotations

import os
import select
import threading
from typing import Final

from converter.storage import interrupts
from converter.storage.source import GrowingSource, os_error

#: Bytes that are read at a time, and milliseconds after which a wait looks for an interrupt.
_MOST: Final = 1 << 18
_PATIENCE: Final = 100


class LiveSource(GrowingSource):
    """A stream, copied to a file as far as it was read.

    A read returns what is there, at least one byte unless the stream has ended; `size` grows.

    Args:
        name: the path for messages.
        stream: the descriptor of the stream, which it owns.
        head: what was read of it before.

    """

    is_live = True

    def __init__(self, name: str, stream: int, head: bytes) -> None:
        super().__init__(name)
        self._stream: int | None = stream
        self._is_ended = False
        self._reading = threading.Lock()
        self.append(iter([head]), name)
        interrupts.ends_with_stream(self._end)

    def close(self) -> None:
        super().close()
        self._is_ended = True
        with self._reading:
            if self._stream is not None:
                os.close(self._stream)
                self._stream = None

    def _end(self) -> bool:
        """End the stream where it is; return False if it had ended."""
        before, self._is_ended = self._is_ended, True
        return not before

    def _available(self, offset: int, size: int) -> int:
        while size and offset >= self.size and not self._is_ended:
            with self._reading:
                if offset >= self.size:
                    self._read_more()
        return super()._available(offset, size)

    def _read_more(self) -> None:
        if self._stream is None:
            return
        waiting = select.poll()
        waiting.register(self._stream, select.POLLIN)
        try:
            if not waiting.poll(_PATIENCE):
                return
            chunk = os.read(self._stream, _MOST)
        except OSError as error:
            raise os_error(error, self.name) from error
        if chunk:
            self.append(iter([chunk]), self.name)
        else:
            self._is_ended = True
