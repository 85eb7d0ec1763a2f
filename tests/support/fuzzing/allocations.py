"""Memory that runs out: one of the requests of kernels for memory is refused (see allocations.h)."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager

from converter.errors import MemoryLimitError


class Allocations:
    """The counter of requests, which only programs have that run by ``tests.instrumented``."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(None)
        self.are_counted = hasattr(self._library, "allocations_begin")
        if self.are_counted:
            self._library.allocations_begin.argtypes = [ctypes.c_int64]
            self._library.allocations_end.restype = ctypes.c_int64
        #: How many there were when they were last counted.
        self.count = 0

    @contextmanager
    def refusing(self, which: int) -> Iterator[None]:
        """Refuse one, counted from 0 (none if negative): a MemoryError ends what is done here."""
        self._library.allocations_begin(which)
        try:
            yield
        except (MemoryError, MemoryLimitError):
            if which < 0:
                raise
        finally:
            self.count = int(self._library.allocations_end())
