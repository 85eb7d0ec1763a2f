from typing import Any

from numpy import int32, int64, uint8, uint64
from numpy.typing import NDArray

class StringTable:
    """The interned strings of a trace. Safe to intern into from several threads."""

    def __init__(self) -> None: ...
    def __len__(self) -> int: ...
    def __getitem__(self, id: int) -> bytes:
        """The bytes of a string; IndexError when there is no such id."""
    def text(self, id: int) -> str:
        """The string as text, bytes that are not UTF-8 replaced: for messages, not for output."""
    def intern(self, text: str | bytes) -> int:
        """The id of a string, added when new. A str is encoded as UTF-8 with surrogateescape."""
    def intern_spans(
        self,
        data: memoryview | bytes | NDArray[uint8],
        starts: NDArray[int64],
        sizes: NDArray[int64],
        ids: NDArray[int32],
        *,
        until_nul: bool = False,
    ) -> None:
        """Intern ``data[starts[i]:starts[i] + sizes[i]]``, cut at the first NUL when `until_nul`, into ``ids[i]``.

        Raises ValueError when a span lies outside the data. Releases the GIL.
        """
    def unfit(self, ids: NDArray[int32], limit: int, utf8_only: bool) -> NDArray[int32]:
        """The distinct ids in `ids` of strings over `limit` bytes (-1: no limit) or, if `utf8_only`, not UTF-8.

        What was checked once is remembered, so the usual answer, none, costs nothing per row.
        """

def unfit_texts(
    values: NDArray[Any], offsets: NDArray[int64], limit: int, utf8_only: bool
) -> NDArray[int64]:
    """Rows of a text column (uint8 values) that are over `limit` bytes (-1: none is) or, if `utf8_only`, not UTF-8.

    Raises ValueError when a text lies outside the column. Releases the GIL.
    """

def taken_lists(
    values: NDArray[Any], offsets: NDArray[int64], rows: NDArray[int64]
) -> tuple[NDArray[int64], NDArray[Any]]:
    """The lists of these rows of a column of lists, in that order: their offsets, and their values, of any one size.

    Raises ValueError for a row that the column does not have, or whose list lies outside of it. Releases the GIL.
    """

def format_integers(
    offsets: NDArray[int64], values: NDArray[uint64], signed: bool
) -> tuple[NDArray[uint8], NDArray[int64]]:
    """Lists of integers as text, ``[1, 2, 3]``: the characters and their offsets.

    Values are int64 viewed as uint64 where `signed`. Raises ValueError when a list lies outside the values.
    """
