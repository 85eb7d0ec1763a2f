from collections.abc import Sequence
from typing import Any

from converter.kernels.tables.strings import StringTable

class ProgramSet:
    """The programs of event classes, and the columns that they run over: what emitters are based on."""

    def __init__(self, strings: StringTable, *_: object, **__: object) -> None: ...
    def bind(self, number: int, rows: int, columns: Sequence[Any]) -> None:
        """Bind columns for the next events of a program, one for each operation: see `BoundColumns`.

        Raises ValueError for columns of another number, shape, width or length.
        """
    def release(self) -> None:
        """Let go of the columns that were bound."""
