"""What has been executed that was not before: blocks of kernels, lines of Python (see edges.c)."""

from __future__ import annotations

import ctypes
from typing import Final

_PAIRS: Final = 4096


class Edges:
    """The counters, which only programs have that run by ``tests.instrumented``."""

    def __init__(self) -> None:
        # The functions want the GIL: one of them sets what Python calls for each line.
        self._library = ctypes.PyDLL(None)
        self.are_counted = hasattr(self._library, "edges_begin")
        if self.are_counted:
            pairs = self._library.edges_pairs
            pairs.restype = ctypes.POINTER(ctypes.c_uint64 * (2 * _PAIRS))
            self._pairs = pairs().contents

    def begin(self, *, compares: bool = False, lines: bool = True) -> None:
        """Count from here on, and keep what numbers are compared with."""
        if self.are_counted:
            self._library.edges_begin(int(compares), int(lines))

    def end(self) -> int:
        """How many places were met that were not before, or more often than before."""
        return int(self._library.edges_end()) if self.are_counted else 0

    @property
    def known(self) -> int:
        """How many places were met at all."""
        return int(self._library.edges_known()) if self.are_counted else 0

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Numbers and what they were compared with, since `begin`."""
        if not self.are_counted:
            return []
        flat = list(self._pairs)
        return [pair for pair in zip(flat[::2], flat[1::2], strict=True) if pair != (0, 0)]
