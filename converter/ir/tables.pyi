from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from numpy import dtype, generic, integer
from numpy.typing import NDArray

from converter.ir.columns import Column

class Table:
    """The columns of one event class within a batch; each is decoded when first asked for, and kept."""

    def __init__(self, length: int, columns: Sequence[Column | Callable[[], Column]]) -> None: ...
    def __len__(self) -> int: ...
    @property
    def width(self) -> int:
        """The number of columns."""

    def column(self, index: int) -> Column:
        """Column `index`: the values of field `index` of the class, a value a row."""

    def columns(self) -> list[Column]:
        """All of them, decoded."""

    @property
    def is_undecoded(self) -> bool:
        """Return True if no column has been asked for, and none was there from the beginning."""

    def stored(self, index: int) -> Column | Callable[[], Column]:
        """Column `index` as it is held: as what makes it, while nobody has asked for it."""

    def lazy(self, index: int) -> Callable[[], Column]:
        """Column `index` when called: what a table derived from this one holds, so that laziness survives."""

    def lazy_columns(self) -> list[Column | Callable[[], Column]]:
        """All columns so."""

    def made(self, part: RecipePart, context: Any) -> Column | Callable[[], Column]:
        """The column that part of a recipe makes of this table's, still decoded on demand."""

    def settled(
        self, parts: Sequence[RecipePart | None], context: Any
    ) -> tuple[Column | None, ...]:
        """Return the results of `made` for each of these, computed at once, one after the other; None for None."""

    def derived(self, recipe: Sequence[RecipePart], context: Any) -> Table:
        """As many rows, with columns that a recipe makes of this table's; `context` goes to its computations."""

    def select(self, rows: NDArray[integer[Any]]) -> Table:
        """The given rows of every column, still decoded on demand."""

class LazyColumn:
    """A column of a table, when called."""

    table: Table
    index: int
    def __call__(self) -> Column: ...

class WholeColumn:
    """Column `index` of a table, when called with that."""

    def __init__(self, index: int) -> None: ...
    def __call__(self, table: Table) -> Column: ...

class ConvertedColumn:
    """The column that `getter` returns for a table: as `convert` makes it where it is no array of
    the type `dtype`.
    """

    def __init__(
        self,
        getter: Callable[[Table], Column],
        dtype: dtype[Any] | None,
        convert: Callable[[Column], Any],
    ) -> None: ...
    def __call__(self, table: Table) -> Any: ...

class ComputedColumn:
    """A column computed of others, when called: `function(context, *columns)`."""

    function: Callable[..., Column]
    columns: tuple[Column | Callable[[], Column], ...]
    context: Any
    def __init__(
        self,
        function: Callable[..., Column],
        columns: tuple[Column | Callable[[], Column], ...],
        context: Any,
    ) -> None: ...
    def __call__(self) -> Column: ...

class Together:
    """Columns of one table that are made at once, when the first of them is asked for."""

    def __init__(self, make: Callable[[], Sequence[Column]]) -> None: ...
    def column(self, number: int) -> Callable[[], Column]:
        """One of them, when called."""

    def columns(self, count: int) -> list[Callable[[], Column]]:
        """The first ones, each when called."""

class Computation:
    """A computed column of any table: `columns` are parts of a recipe."""

    function: Callable[..., Column]
    columns: tuple[RecipePart, ...]
    def __init__(
        self, function: Callable[..., Column], columns: tuple[RecipePart, ...]
    ) -> None: ...

class Constant:
    """A column of any table that has the same value in all rows."""

    value: generic
    def __init__(self, value: generic) -> None: ...
    def column(self, length: int) -> NDArray[Any]:
        """As often as that: a read-only array of stride 0."""

#: A column of the table by its index, a constant, or what is computed of such.
RecipePart: TypeAlias = int | Constant | Computation
