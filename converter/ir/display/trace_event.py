"""One event of a trace with its names, for scripts: what `Trace.iter_events` yields."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

from converter.ir.display.text import column_name, unique_names, utf8_text
from converter.ir.events import EventClass
from converter.ir.kinds import Role

#: Numbers and names of a thread and of its process: tid, pid, thread, process.
Place = tuple["int | None", "int | None", "str | None", "str | None"]


class TraceEvent:
    """One event: its name, time, place and fields. ``event["prev_comm"]`` is the value of the field of that name.

    Values of fields are ``int``, ``float``, ``bool``, ``str``, ``bytes``, lists and dicts, and None where there is
    none.
    """

    __slots__ = ("_class", "_place", "_values", "cpu", "track", "ts")

    def __init__(
        self,
        values: tuple[Any, ...],
        ts: int,
        cpu: int | None,
        track: str | None,
        place: Place,
        made: ClassNames,
    ) -> None:
        #: Nanoseconds since the clock of the trace was zero; ticks where nobody knows how long one is.
        self.ts = ts
        #: None for an event that is on no CPU.
        self.cpu = cpu
        #: The name of its track, None for an event on a thread's own.
        self.track = track
        self._place = place
        self._class = made
        self._values = values

    @property
    def name(self) -> str:
        """The name of the event class; of slices, counters and their like, whose events have names, that name."""
        name: str = self._values[-1]
        return name

    @property
    def tid(self) -> int | None:
        """The number of its thread; None for an event without a thread."""
        return self._place[0]

    @property
    def pid(self) -> int | None:
        """The number of its thread's process; None for an event without a thread."""
        return self._place[1]

    @property
    def thread(self) -> str | None:
        """The name of its thread."""
        return self._place[2]

    @property
    def process(self) -> str | None:
        """The name of its thread's process."""
        return self._place[3]

    @property
    def system(self) -> str | None:
        """The category of its event class."""
        return self._class.system

    @property
    def kind(self) -> str:
        """Its meaning: the name of its `Kind`, in lower case."""
        return self._class.kind

    @property
    def fields(self) -> dict[str, Any]:
        """The values of its fields by name."""
        return dict(zip(self._class.fields, self._values, strict=False))

    def __getitem__(self, name: str) -> Any:
        """Return the value of a field; KeyError if the event has none of that name."""
        index = self._class.index.get(name)
        if index is None:
            known = ", ".join(self._class.fields) or "none"
            raise KeyError(f"{self.name} has no field {name!r}: there are {known}")
        return self._values[index]

    def get(self, name: str, default: Any = None) -> Any:
        """Return the value of a field, or `default` if the event has none of that name."""
        index = self._class.index.get(name)
        return default if index is None else self._values[index]

    def __contains__(self, name: object) -> bool:
        """Return True if the event has a field of that name."""
        return name in self._class.index

    def __repr__(self) -> str:
        """Return one line: time, CPU, thread, name and fields."""
        cpu = "" if self.cpu is None else f" cpu {self.cpu}"
        thread = "" if self.tid is None else f" {self.thread or 'thread'}-{self.tid}"
        fields = "".join(f" {name}={value!r}" for name, value in self.fields.items())
        return f"<TraceEvent {self.ts:,}{cpu}{thread} {self.name}:{fields}>"


class ClassNames:
    """The names of a class and of its fields, as far as they are wanted."""

    def __init__(self, event_class: EventClass, wanted: Container[str]) -> None:
        names = unique_names([column_name(field.name) or "field" for field in event_class.fields])
        #: The numbers of the fields that are wanted, and their names.
        self.numbers = [i for i, name in enumerate(names) if name in wanted]
        self.fields = [names[i] for i in self.numbers]
        self.index = {name: i for i, name in enumerate(self.fields)}
        self.kind = event_class.kind.name.lower()
        self.system = utf8_text(event_class.category) or None
        self.name = utf8_text(event_class.name) or self.kind
        #: The field with the names of the events, if the class has none.
        self.named_by = None if event_class.name else event_class.index_of(Role.NAME)
