from collections.abc import Callable
from typing import Any

from numpy import dtype

from converter.ir.columns import Column
from converter.kernels.tables.strings import StringTable

class Widened:
    def __init__(
        self, own: dtype[Any], wide: dtype[Any], convert: Callable[[Any, Column], Column]
    ) -> None: ...
    def __call__(self, context: Any, column: Column) -> Column: ...

class TextsThatFit:
    def __init__(
        self,
        strings: StringTable,
        limit: int | None,
        utf8_only: bool,
        convert: Callable[[Any, Column], Column],
    ) -> None: ...
    def __call__(self, context: Any, column: Column) -> Column: ...
