from collections.abc import Callable
from typing import Any

from numpy import dtype

from converter.ir.columns import Column
from converter.kernels.tables.strings import StringTable

class Widened:
    """A computation that makes integers of the type `wide` of those of the type `own`, and of any other column what
    `convert` makes of it.
    """

    def __init__(
        self, own: dtype[Any], wide: dtype[Any], convert: Callable[[Any, Column], Column]
    ) -> None: ...
    def __call__(self, context: Any, column: Column) -> Column: ...

class TextsThatFit:
    """A computation that leaves ids of texts as they are where all are UTF-8, if asked, and no longer than `limit`
    bytes; of any other column it makes what `convert` makes of it.
    """

    def __init__(
        self,
        strings: StringTable,
        limit: int | None,
        utf8_only: bool,
        convert: Callable[[Any, Column], Column],
    ) -> None: ...
    def __call__(self, context: Any, column: Column) -> Column: ...
