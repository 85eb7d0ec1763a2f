"""How two traces differ, and what of that a comparison may leave out."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum, unique


@unique
class Aspect(StrEnum):
    """What a comparison may leave out."""

    #: Where the clock's zero is, and what its rate and name are: times count from the first event.
    CLOCK_OFFSET = "clock-offset"
    #: The sidecars.
    NATIVE = "native"
    #: Names of processes and threads, and who has no events.
    NAMES = "names"
    #: What the environment says.
    ENVIRONMENT = "environment"
    #: How classes declare their fields: types, units, roles.
    TYPES = "types"
    #: On which CPU, thread and track events are.
    PLACES = "places"


@dataclass(slots=True)
class ClassDifference:
    """The events of one class: how many only one side has, how many differ, and in which fields."""

    only_first: int = 0
    only_second: int = 0
    changed: int = 0
    fields: Counter[str] = field(default_factory=Counter)


@dataclass(slots=True)
class TraceDifference:
    """How two traces differ; false where they do not.

    `tables` has a line for each difference outside the events, `classes` is by label, `first` has a description of
    each of the first differences.
    """

    events: tuple[int, int] = (0, 0)
    tables: list[str] = field(default_factory=list)
    classes: dict[str, ClassDifference] = field(default_factory=dict)
    first: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.tables or self.classes)

    def __repr__(self) -> str:
        """One line: how much differs."""
        if not self:
            return f"<TraceDifference: none, of {self.events[0]:,} events>"
        first, second = self.events
        return (
            f"<TraceDifference of {first:,} and {second:,} events: "
            f"{len(self.classes)} classes, {len(self.tables)} lines of tables>"
        )

    def of_class(self, label: str) -> ClassDifference:
        """The entry of a class, made when it is not there."""
        return self.classes.setdefault(label, ClassDifference())
