"""Columns by name, as NumPy arrays: what `Trace.events` gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from numpy.typing import NDArray

#: Columns that its line names.
_NAMED: Final = 12


class EventColumns(Mapping[str, NDArray[Any]]):
    """Events as columns: NumPy arrays by name, of as many values as there are events, in the order of the trace.

    Texts, and what is no number, are objects (``str``, ``bytes``, lists, dicts; None: there is none). Numbers are in an
    array of their type, a `numpy.ma.MaskedArray` where events without one are among them.
    """

    def __init__(self, count: int, columns: Mapping[str, Callable[[], NDArray[Any]]]) -> None:
        #: How many events there are.
        self.count = count
        self._columns = dict(columns)
        self._made: dict[str, NDArray[Any]] = {}

    def __getitem__(self, name: str) -> NDArray[Any]:
        if name not in self._made:
            if name not in self._columns:
                known = ", ".join(self._columns)
                raise KeyError(f"no column {name!r} of {self.count} events: there are {known}")
            self._made[name] = self._columns[name]()
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __repr__(self) -> str:
        """One line; how many columns there are is in the file's hands."""
        shown = ", ".join(list(self._columns)[:_NAMED])
        more = f", and {len(self) - _NAMED} more" if len(self) > _NAMED else ""
        return f"<EventColumns of {self.count} events: {shown}{more}>"
