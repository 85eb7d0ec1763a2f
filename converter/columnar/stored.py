"""What a reader of such files is given of one: its columns, and the rows that are wanted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

import pyarrow as pa

#: Rows of a batch.
BATCH_ROWS = 1 << 16


class Group(NamedTuple):
    """Rows that can be skipped together, and the first and last time of them, where a column's statistics say."""

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
        """How many there are; None where that takes reading them."""

    def groups(self, time: str) -> list[Group]:
        """The groups of rows, with the times that are in a column; none where nothing can be skipped."""

    def batches(
        self, columns: Sequence[str], groups: Sequence[Group] | None
    ) -> Iterator[pa.RecordBatch]:
        """The rows of some groups, or all, with some columns."""

    def nulls(self, column: str) -> bool:
        """Whether there may be nulls in a column."""
