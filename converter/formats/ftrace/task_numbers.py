"""The 31-bit numbers by which records name tasks, whereas a trace's threads may have any tid."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from converter.ir.trace import Trace

#: Task numbers are signed 32-bit numbers; those that are not a tid start here, above any pid of Linux.
_FIRST_NUMBER: Final = 1 << 30
LAST_NUMBER: Final = (1 << 31) - 1


class TaskNumbers:
    """The number by which records name each thread: its tid where that fits and no other thread has it."""

    #: The largest tid, and the first number that is not a tid.
    largest = LAST_NUMBER
    first_free = _FIRST_NUMBER

    def __init__(self, trace: Trace, numbers: list[int] | None = None) -> None:
        self._threads = trace.threads
        self._numbers = list(numbers or ())
        self._taken = set(self._numbers)
        self._next = self.first_free
        self._column: NDArray[np.int32] = np.full(1, -1, np.int32)

    def all(self) -> list[int]:
        """Return the numbers of all threads so far."""
        for thread in self._threads[len(self._numbers) :]:
            number = thread.tid
            if number > self.largest or number in self._taken:
                while self._next in self._taken:
                    self._next += 1
                number = self._next
            self._taken.add(number)
            self._numbers.append(number)
        return self._numbers

    def numbers_of(self, thread: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the number of each event's thread, -1 where there is none."""
        if len(self._column) <= len(self._threads):
            # The last entry is for events without a thread.
            self._column = np.array([*self.all(), -1], np.int32)
        return self._column[thread]
