"""Columns by name, as NumPy arrays: the result of `Trace.events`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from numpy.typing import NDArray

#: The maximum number of columns in `repr`.
_NAMED: Final = 12


class EventColumns(Mapping[str, NDArray[Any]]):
    """Events as columns: NumPy arrays by name, with a value for each event, in the order of the trace.

    Texts, and all values that are not numbers, are objects (``str``, ``bytes``, lists, dicts; None: absent). Numbers
    are in an array of their type, a `numpy.ma.MaskedArray` if events without a value are among them.
    """

    def __init__(self, count: int, columns: Mapping[str, Callable[[], NDArray[Any]]]) -> None:
        #: The number of events.
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
        """Return one line; the file determines how many columns there are, so not all are listed."""
        shown = ", ".join(list(self._columns)[:_NAMED])
        more = f", and {len(self) - _NAMED} more" if len(self) > _NAMED else ""
        return f"<EventColumns of {self.count} events: {shown}{more}>"
