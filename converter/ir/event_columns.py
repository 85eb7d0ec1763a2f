"""Rows of a trace as columns: NumPy arrays by name, the result of `Trace.events` and its like."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Self, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from converter.ir.hooks import HOOKS

if TYPE_CHECKING:
    from collections.abc import Sequence

#: The maximum number of columns in `repr`, and of rows in a notebook.
_NAMED: Final = 12
_SHOWN: Final = 20

#: What selects rows: a slice, a mask of truth values, or positions.
Rows: TypeAlias = "slice | NDArray[np.bool_] | NDArray[np.integer[Any]] | Sequence[int]"
#: An array, or the function that makes it when it is needed first.
_Lazy: TypeAlias = "NDArray[Any] | Callable[[], NDArray[Any]]"


class EventColumns(dict[str, NDArray[Any]]):
    """Rows as columns: NumPy arrays by name, with a value for each row, in the order of the trace.

    A row is an event (`Trace.events`), or a slice, a value of a counter and so on (`Trace.slices`, `Trace.counters`).
    Texts, and all values that are not numbers, are objects (``str``, ``bytes``, lists, dicts; None: absent). Numbers
    are in an array of their type, a `numpy.ma.MaskedArray` if rows without a value are among them.

    It is a dict, as data frames take one: ``pandas.DataFrame(columns)`` has the same columns. As in a data frame,
    `len` is the number of rows, ``columns["name"]`` is a column, ``columns[["ts", "name"]]`` has some of the columns,
    ``columns[10:20]`` and ``columns[mask]`` have some of the rows, and ``columns[3]`` is one row as a dict. Columns are
    made when they are first used; the number of columns is ``len(columns.keys())``.
    """

    def __init__(self, count: int, columns: Mapping[str, _Lazy]) -> None:
        # The keys, in order. Their values are in `_made`, once they are made: nobody sees these.
        super().__init__(dict.fromkeys(columns, _NOT_MADE))
        #: The number of rows.
        self.count = count
        self._columns = dict(columns)
        self._made: dict[str, NDArray[Any]] = {}

    # Columns

    @overload
    def __getitem__(self, key: str) -> NDArray[Any]: ...
    @overload
    def __getitem__(self, key: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, key: list[str] | Rows) -> EventColumns: ...
    def __getitem__(self, key: Any) -> Any:
        """Return a column, a row, or some of the columns or rows; KeyError or IndexError if there is no such."""
        match key:
            case str():
                return self._column(self._known(key))
            case int() | np.integer():
                return self._row(int(key))
            case list() if key and all(isinstance(name, str) for name in key):
                return self._with(
                    {name: partial(self._column, name) for name in map(self._known, key)}
                )
            case slice():
                count = len(range(*key.indices(self.count)))
                return self._rows(key, count)
        rows = np.asarray(key)
        if rows.dtype == np.bool_ and rows.shape != (self.count,):
            found = f"of shape {rows.shape}" if rows.ndim != 1 else f"of {len(rows):,} values"
            raise IndexError(f"a mask {found} for {self.count:,} rows")
        if rows.ndim != 1 or (rows.dtype.kind not in "iub" and len(rows)):
            raise TypeError(
                f"{key!r} is neither the name of a column, nor a list of names, a row's number, a slice, "
                "a mask of truth values or a list of rows"
            )
        if isinstance(key, np.ma.MaskedArray):
            # What has no value matches nothing.
            rows = np.ma.filled(key, False)
        rows = np.flatnonzero(rows) if rows.dtype == np.bool_ else rows.astype(np.int64)
        return self._rows(rows, len(rows))

    def _known(self, name: str) -> str:
        if name not in self._columns:
            known = ", ".join(self._columns) or "none"
            raise KeyError(f"no column {name!r} of {self.count:,} rows: there are {known}")
        return name

    def _column(self, name: str) -> NDArray[Any]:
        made = self._made.get(name)
        if made is None:
            column = self._columns[name]
            made = self._made[name] = column() if callable(column) else column
        return made

    def _row(self, number: int) -> dict[str, Any]:
        if not -self.count <= number < self.count:
            raise IndexError(f"no row {number:,} of {self.count:,}")
        return {name: _scalar(self._column(name)[number]) for name in self}

    def _rows(self, rows: slice | NDArray[np.int64], count: int) -> EventColumns:
        return EventColumns(count, {name: partial(self._taken, name, rows) for name in self})

    def _taken(self, name: str, rows: slice | NDArray[np.int64]) -> NDArray[Any]:
        return self._column(name)[rows]

    def _with(self, columns: Mapping[str, _Lazy]) -> EventColumns:
        return EventColumns(self.count, columns)

    def __setitem__(self, name: str, column: object) -> None:
        """Add a column, or replace one: a value for each row, or one for all; ValueError for another number."""
        values = (
            np.ma.asanyarray(column)
            if isinstance(column, np.ma.MaskedArray)
            else np.asarray(column)
        )
        if values.dtype.kind in "US":
            values = values.astype(object)
        if values.ndim == 0:
            values = np.full(self.count, values[()])
        if values.shape != (self.count,):
            raise ValueError(f"{len(values):,} values for {self.count:,} rows")
        super().__setitem__(name, _NOT_MADE)
        self._columns[name] = self._made[name] = values

    def __delitem__(self, name: str) -> None:
        """Remove a column; KeyError if there is none."""
        super().__delitem__(self._known(name))
        del self._columns[name]
        self._made.pop(name, None)

    def __iter__(self) -> Iterator[str]:
        # Not the base class's, whose copies would have its values.
        return iter(self._columns)

    def get(self, name: str, default: Any = None) -> Any:
        """Return a column, or `default` if there is none of that name."""
        return self._column(name) if name in self._columns else default

    def items(self) -> Any:
        """Return the names and arrays of all columns."""
        return [(name, self._column(name)) for name in self]

    def values(self) -> Any:
        """Return the arrays of all columns."""
        return [self._column(name) for name in self]

    def copy(self) -> EventColumns:
        """Return the same columns, to which others may be added."""
        return self._with(
            {name: self._made.get(name, column) for name, column in self._columns.items()}
        )

    def pop(self, name: str, *default: Any) -> Any:
        """Remove a column and return it; without one `default`, or KeyError if that is not given."""
        if name not in self._columns and default:
            return default[0]
        column = self._column(self._known(name))
        del self[name]
        return column

    def update(self, *others: Any, **columns: Any) -> None:
        """Add the columns of others; ValueError for a column that has not a value for each row."""
        for name, column in dict(*others, **columns).items():
            self[name] = column

    def clear(self) -> None:
        """Remove all columns; the number of rows stays."""
        for name in list(self):
            del self[name]

    def setdefault(self, name: str, default: Any = None) -> Any:
        """Return a column, after adding `default` as one if there is none of that name; ValueError if that has not a
        value for each row.
        """
        if name not in self._columns:
            self[name] = default
        return self._column(name)

    def popitem(self) -> tuple[str, NDArray[Any]]:
        """Remove the last column, and return its name and array; KeyError if there is none."""
        if not self._columns:
            raise KeyError("no columns")
        name = next(reversed(self))
        return name, self.pop(name)

    def __or__(self, other: Any) -> Any:
        """Return these columns and those of another mapping, which replace those of the same names."""
        if not isinstance(other, Mapping):
            return NotImplemented
        result = self.copy()
        result.update(other)
        return result

    def __ror__(self, other: Any) -> Any:
        return dict(other) | dict(self) if isinstance(other, Mapping) else NotImplemented

    def __ior__(self, other: Any) -> Self:  # type: ignore[override]
        self.update(other)
        return self

    def __eq__(self, other: object) -> bool:
        """Return True if another has the same columns with the same values, in any order."""
        if not isinstance(other, Mapping) or self.keys() != other.keys():
            return False
        return all(_are_equal(self._column(name), other[name]) for name in self)

    def __ne__(self, other: object) -> bool:
        return not self == other

    # It is mutable.
    __hash__ = None

    def __reduce__(self) -> Any:
        """Return what makes the same of it in another process: all columns are made."""
        return EventColumns, (self.count, dict(self.items()))

    # Rows

    def __len__(self) -> int:
        """Return the number of rows."""
        return self.count

    def __bool__(self) -> bool:
        """Return True if there are rows."""
        return self.count > 0

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and of columns."""
        return self.count, len(self._columns)

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self._columns)

    @property
    def dtypes(self) -> dict[str, np.dtype[Any]]:
        """The NumPy type of each column."""
        return {name: self._column(name).dtype for name in self}

    def head(self, count: int = 5) -> EventColumns:
        """Return the first rows, `count` of them if there are as many."""
        return self[:count]

    def tail(self, count: int = 5) -> EventColumns:
        """Return the last rows, `count` of them if there are as many."""
        return self[max(self.count - count, 0) :]

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield each row as a dict of Python's own values: numbers, texts, lists; None where there is none."""
        names = list(self)
        for values in zip(*(_plain(self._column(name)) for name in names), strict=True):
            yield dict(zip(names, values, strict=True))

    # Other libraries

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return the rows as a stream of Arrow's (PyCapsule interface), for all that read one: Polars, DuckDB, PyArrow.

        ModuleNotFoundError if PyArrow is not installed.
        """
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def to_arrow(self) -> Any:
        """Return the rows as a `pyarrow.Table`; ModuleNotFoundError if PyArrow is not installed.

        Values of one column that have no common type in Arrow become text.
        """
        return HOOKS["column_table"]()(self)

    def to_pandas(self) -> Any:
        """Return the rows as a `pandas.DataFrame`; ModuleNotFoundError if pandas is not installed.

        Integers that some rows lack have a type of pandas with missing values (``Int64``): none becomes a float.
        """
        return HOOKS["data_frame"]()(self)

    def to_polars(self) -> Any:
        """Return the rows as a `polars.DataFrame`; ModuleNotFoundError if Polars or PyArrow is not installed."""
        return HOOKS["polars_frame"]()(self)

    def __repr__(self) -> str:
        """Return one line; the file determines how many columns there are, so not all are listed."""
        shown = ", ".join(list(self)[:_NAMED])
        more = f", and {len(self._columns) - _NAMED} more" if len(self._columns) > _NAMED else ""
        return f"<EventColumns of {self.count:,} rows: {shown}{more}>"

    def _repr_html_(self) -> str:
        """Return HTML for notebooks: the first rows."""
        from converter.ir.display.html import html_table

        rows = [tuple(row.values()) for row in self.head(_SHOWN).rows()]
        title = f"{self.count:,} rows, {len(self._columns)} columns"
        return html_table(title, tuple(self), rows, self.count - len(rows))


#: The value of the base class, which nobody sees.
_NOT_MADE: Final[Any] = None


def _scalar(value: Any) -> Any:
    """Return a value of a column as Python's own; None where it is masked."""
    if value is np.ma.masked:
        return None
    if isinstance(value, np.datetime64 | np.timedelta64):
        return None if np.isnat(value) else value
    return value.item() if isinstance(value, np.generic) else value


def _plain(column: NDArray[Any]) -> Iterable[Any]:
    """Return the values of a column as Python's own."""
    if column.dtype.kind in "Mm":
        return map(_scalar, column)
    values: list[Any] = column.tolist()
    if column.dtype != object:
        return values
    return ([*_plain(one)] if isinstance(one, np.ndarray) else one for one in values)


def _are_equal(mine: NDArray[Any], theirs: Any) -> bool:
    theirs = np.asanyarray(theirs)
    if mine.shape != theirs.shape:
        return False
    absent, absent_there = np.ma.getmaskarray(mine), np.ma.getmaskarray(theirs)
    if (absent != absent_there).any():
        return False
    here, there = np.ma.getdata(mine)[~absent], np.ma.getdata(theirs)[~absent]
    return all(map(_is_equal, here.tolist(), there.tolist()))


def _is_equal(mine: Any, theirs: Any) -> bool:
    if isinstance(mine, np.ndarray) or isinstance(theirs, np.ndarray):
        return _are_equal(np.asanyarray(mine), theirs)
    return bool(mine == theirs or (mine != mine and theirs != theirs))  # noqa: PLR0124 - no number
