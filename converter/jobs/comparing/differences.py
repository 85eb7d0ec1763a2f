"""The differences of two traces, and the aspects that a comparison may ignore."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum, unique


@unique
class Aspect(StrEnum):
    """An aspect that a comparison may ignore."""

    #: The clock's zero, rate and name: times count from the first event.
    CLOCK_OFFSET = "clock-offset"
    #: The sidecars.
    NATIVE = "native"
    #: Names of processes and threads, and those without events.
    NAMES = "names"
    #: The contents of the environment.
    ENVIRONMENT = "environment"
    #: The declarations of fields by classes: types, units, roles.
    TYPES = "types"
    #: The CPUs, threads and tracks of events.
    PLACES = "places"


@dataclass(slots=True)
class ClassDifference:
    """The differences of one class: numbers of events that only one side has, number of changed ones, and
    their fields.
    """

    only_first: int = 0
    only_second: int = 0
    changed: int = 0
    fields: Counter[str] = field(default_factory=Counter)


@dataclass(slots=True)
class TraceDifference:
    """The differences of two traces; false if there are none.

    `tables` has a line for each difference outside the events, `classes` is by label, `first` has a description of each
    of the first differences.
    """

    events: tuple[int, int] = (0, 0)
    tables: list[str] = field(default_factory=list)
    classes: dict[str, ClassDifference] = field(default_factory=dict)
    first: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.tables or self.classes)

    def __repr__(self) -> str:
        """Return one line with the number of differences."""
        if not self:
            return f"<TraceDifference: none, of {self.events[0]:,} events>"
        first, second = self.events
        return (
            f"<TraceDifference of {first:,} and {second:,} events: "
            f"{len(self.classes)} classes, {len(self.tables)} lines of tables>"
        )

    def of_class(self, label: str) -> ClassDifference:
        """Return the entry of a class, adding it if needed."""
        return self.classes.setdefault(label, ClassDifference())
