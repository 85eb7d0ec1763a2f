"""The interface of such a file for readers: its columns, and the rows that are wanted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

import pyarrow as pa

#: The number of rows of a batch.
BATCH_ROWS = 1 << 16


class Group(NamedTuple):
    """Rows that can be skipped together, and their first and last time, if a column's statistics have them."""

    number: int
    rows: int
    first: int | None
    last: int | None


class Stored(Protocol):
    """A file of rows."""

    schema: pa.Schema
    metadata: dict[bytes, bytes]

    @property
    def rows(self) -> int | None:
        """The number of rows; None if that requires reading them."""

    def groups(self, time: str) -> list[Group]:
        """Return the groups of rows, with their times by a column; empty if nothing can be skipped."""

    def batches(
        self, columns: Sequence[str], groups: Sequence[Group] | None
    ) -> Iterator[pa.RecordBatch]:
        """Return the rows of some groups, or all, with some columns."""

    def nulls(self, column: str) -> bool:
        """Return True if there may be nulls in a column."""
