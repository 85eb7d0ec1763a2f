"""The damage of a trace: where, after which time, and how much can be read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from converter.cli.output.first_events import seconds
from converter.cli.output.tables import table
from converter.errors import TraceWarning
from converter.errors.terminal import printable
from converter.ir.events import Batch
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Trace

#: The most gaps that are listed for people to read.
_LISTED = 20


@dataclass(frozen=True, slots=True)
class Gap:
    """Missing data: after which time, where, and what."""

    ts: int | None
    location: str
    message: str


@dataclass(slots=True)
class Diagnosis:
    """The health of a trace, determined while it is read."""

    trace: Trace
    source: str
    events: int = 0
    first_ts: int | None = None
    last_ts: int | None = None
    damage: list[Gap] = field(default_factory=list)
    #: What the reader says of a sound input.
    remarks: list[Gap] = field(default_factory=list)
    discarded: list[Gap] = field(default_factory=list)
    #: The number of the reader's warnings recorded, and their texts.
    warnings: int = 0
    reported: set[tuple[str, str]] = field(default_factory=set)
    #: True if the trace is damaged, and no event of it can be read.
    is_lost: bool = False

    def watch(self) -> None:
        """Watch the batches of the trace from now on."""
        trace = self.trace
        make_batches, is_as_read = trace.make_batches, trace.is_as_read

        def watched() -> Iterator[Batch]:
            for batch in make_batches():
                self._see(batch)
                yield batch
                # A reader warns of damage that it finds after this batch.
                self.note_warnings()
            self.note_warnings()

        # In place, since a reader may change its trace while it reads.
        trace.make_batches = watched
        if is_as_read:
            trace.source_batches = watched

    def _see(self, batch: Batch) -> None:
        self.events += len(batch)
        classes = self.trace.event_classes
        for number, table_of in batch.tables.items():
            if not len(table_of):
                continue
            if classes[number].timed:
                times = batch.ts[batch.positions(number)]
                low, high = int(times.min()), int(times.max())
                self.first_ts = low if self.first_ts is None else min(self.first_ts, low)
                self.last_ts = high if self.last_ts is None else max(self.last_ts, high)
            if classes[number].kind is Kind.DISCARDED:
                self._note_discarded(batch, number)

    def _note_discarded(self, batch: Batch, number: int) -> None:
        event_class = self.trace.event_classes[number]
        index = event_class.index_of(Role.COUNT)
        column: Any = None if index is None else batch.tables[number].column(index)
        for position in batch.positions(number).tolist():
            count = -1 if column is None else int(column[int(batch.row[position])])
            cpu = int(batch.cpu[position])
            many = "events" if count < 0 else f"{count:,} events"
            self.discarded.append(
                Gap(
                    int(batch.ts[position]) if event_class.timed else None,
                    f"CPU {cpu}" if cpu >= 0 else "-",
                    f"{many} that the recorder lost",
                )
            )

    def note_warnings(self) -> None:
        """Record the damage that the reader has found since the last time, and its remarks."""
        for warning in self.trace.warnings[self.warnings :]:
            reported = (_location(warning, self.source), _message(warning))
            # A reader may reach an offset more than once.
            if reported not in self.reported:
                self.reported.add(reported)
                found = self.damage if warning.is_damage else self.remarks
                found.append(Gap(self.last_ts, *reported))
        self.warnings = len(self.trace.warnings)

    def lines(self) -> list[str]:
        """Return a table of what is missing, and the remarks."""
        gaps = [*self.damage, *self.discarded]
        rows = [("AFTER", "WHERE", "WHAT IS MISSING")]
        rows += [
            (self._time(gap.ts), printable(gap.location), printable(gap.message))
            for gap in gaps[:_LISTED]
        ]
        lines = table(rows) if gaps else []
        if len(gaps) > _LISTED:
            lines.append(f"and {len(gaps) - _LISTED:,} more (check --json lists them)")
        lines += [
            printable(f"remark: {gap.location}: {gap.message}") for gap in self.remarks[:_LISTED]
        ]
        return lines

    def kept(self) -> str:
        """Return how much can be read, as text."""
        if self.first_ts is None:
            return f"{self.events:,} events"
        return f"{self.events:,} events, from {self._time(self.first_ts)} to {self._time(self.last_ts)} s"

    def as_json(self) -> dict[str, Any]:
        """Return everything as JSON."""
        return {
            "format": self.trace.format,
            "sound": not self.damage,
            "events": self.events,
            "first_ts": self.first_ts,
            "last_ts": self.last_ts,
            **{
                name: [{"behind_ts": g.ts, "where": g.location, "what": g.message} for g in gaps]
                for name, gaps in (
                    ("damage", self.damage),
                    ("discarded", self.discarded),
                    ("remarks", self.remarks),
                )
            },
        }

    def _time(self, ts: int | None) -> str:
        return "-" if ts is None else seconds(ts, self.trace.clock)


def _location(warning: TraceWarning, source: str) -> str:
    path = warning.path if warning.path is not None else source
    return path if warning.offset is None else f"{path}, byte {warning.offset:,}"


def _message(warning: TraceWarning) -> str:
    """Return the warning without its offset, which has a column of its own."""
    return TraceWarning(
        message=warning.message,
        field=warning.field,
        expected=warning.expected,
        found=warning.found,
        is_damage=warning.is_damage,
    ).detail
