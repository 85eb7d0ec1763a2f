"""The state that grows while batches pass: threads of the document, the text of their columns, categories."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from converter.formats.profiles.gecko.writing.meta import Categories
from converter.formats.profiles.gecko.writing.texts import are_exact
from converter.formats.profiles.gecko.writing.threads import ThreadTables
from converter.formats.profiles.spool import Spool
from converter.ir.distinct_values import map_distinct
from converter.ir.events import Batch
from converter.ir.trace import Trace


class Columns:
    """The state that markers, samples and counters share."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        kept = trace.sidecar.get("gecko", {})
        #: What only profiles have, of a trace that was read from one.
        self.kept: dict[str, Any] = kept if trace.format == "gecko" else {}
        self.spool = Spool()
        # In the source's profile they stay as they are.
        self.categories = Categories(json.loads(json.dumps(self.kept.get("meta", {}))))
        #: By home, which is twice the number of a thread, twice that of a track and one more, or -1.
        self.threads: dict[int, ThreadTables] = {}
        #: What is subtracted from all times; None before the first.
        self.offset: int | None = None
        #: Doubles of milliseconds have all digits of times.
        self.is_exact = True
        self._category_numbers: dict[int, int] = {}

    def begin(self, batch: Batch) -> None:
        """Set the offset before the first events."""
        if self.offset is None:
            # The times of threads in a profile that is kept are as they were.
            is_own = self.trace.format == "gecko"
            self.offset = 0 if is_own else max(int(batch.ts.min()), 0) // 1_000_000 * 1_000_000

    def relative(self, ts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return times of the profile, and note whether doubles hold them."""
        times = ts - np.int64(self.offset or 0)
        self.is_exact = self.is_exact and are_exact(times)
        return times

    def thread(self, home: int) -> ThreadTables:
        """Return the thread of the document for a home."""
        found = self.threads.get(home)
        if found is None:
            number, is_track = (-1, False) if home < 0 else (home >> 1, bool(home & 1))
            found = self.threads[home] = ThreadTables(
                -1 if is_track else number, number if is_track else -1
            )
        return found

    def category_numbers(self, ids: NDArray[np.int32]) -> NDArray[np.int64]:
        """Return the categories of strings of the trace."""
        return map_distinct(ids, self._category).astype(np.int64)

    def _category(self, id: int) -> int:
        number = self._category_numbers.get(id)
        if number is None:
            name = self.trace.strings[id].decode("utf-8", "replace")
            number = self._category_numbers[id] = self.categories.number(name)
        return number
