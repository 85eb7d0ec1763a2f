"""merge(): combines several traces into one trace that streams as they do."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from converter.errors import ArgumentError, TraceError, UnsupportedError, note
from converter.errors.advice import advice
from converter.ir.events import Batch
from converter.ir.semantics import common_semantics
from converter.ir.symbols import SymbolTable
from converter.ir.trace import ClockDomain, Trace
from converter.merging.batches import BatchMerge
from converter.merging.clocks import Clocked, Placement, reference_of, relate
from converter.merging.machines import host_recordings, ids_of, machine_names, machines
from converter.merging.merged_trace import MERGED, MergedInput, MergedTrace
from converter.merging.survey import survey
from converter.merging.tables import MergedTables, Source
from converter.projection.losses import LossReport
from converter.projection.metadata import LeftBehind
from converter.projection.passes.clock_rates import at_rate, rate_text

_SECOND: Final = 1_000_000_000
#: Times have 64 bits.
_LIMIT: Final = 1 << 63
_OFFSET: Final = re.compile(r"([+-]?\d{1,18}(?:\.\d{1,18})?)(ns|us|ms|s|)", re.ASCII)
_UNITS: Final = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": _SECOND, "": _SECOND}
#: More inputs would keep too many batches in memory.
MOST_INPUTS: Final = 1 << 14


def merge(
    traces: Iterable[Trace],
    *,
    names: Sequence[str] | None = None,
    offsets: Mapping[str, str | Fraction] | None = None,
    align: str | None = None,
    machines: Mapping[str, Sequence[str]] | None = None,
) -> MergedTrace:
    """Merge several traces into one trace, on one clock.

    Each input is read once in advance, to learn its time range and its tasks. The result streams as the inputs do,
    and memory is bounded by a batch of each; they must stay open as long as it is read.

    Args:
        traces: at least one, of any formats.
        names: the names of the inputs in messages; by default their numbers from 1.
        offsets: by name or number, how much later events are than the input's clock says: seconds, or text such as
            "+1.5s" (ns, us, ms, s).
        align: an event that several inputs have, and whose first occurrences are at the same time: its name,
            "system:name", or the text of a marker.
        machines: by the name of a machine, its inputs (names or numbers). The others belong to the machine that their
            environment names.

    Raises:
        ArgumentError: a name is not that of an input, an offset is not a time, or fewer than two inputs have the event.
        UnsupportedError: there are too many inputs, or their times do not fit 64 bits together.
        TraceError: as `Trace.batches` does.
    """
    inputs = list(traces)
    if not inputs or len(inputs) > MOST_INPUTS:
        raise UnsupportedError(f"{len(inputs)} inputs: from 1 to {MOST_INPUTS} can be merged")
    if len(set(map(id, inputs))) < len(inputs):
        # A reader has only one position in its file.
        raise UnsupportedError("an input that is there twice has to be opened twice")
    called = _Names(names if names is not None else [str(i + 1) for i in range(len(inputs))])
    shifts = {called.number(key): parse_offset(value) for key, value in (offsets or {}).items()}
    given_names = {
        called.number(key): machine for machine, keys in (machines or {}).items() for key in keys
    }
    return _Merging(inputs, called.names, shifts, align, given_names).trace


def parse_offset(value: str | Fraction) -> Fraction:
    """Return the nanoseconds of an offset: of "+1.5s" or "-20ms", or of a number of seconds.

    Raises:
        ArgumentError: it is not an offset.
    """
    if not isinstance(value, str):
        return Fraction(value) * _SECOND
    found = _OFFSET.fullmatch(value.strip())
    if found is None:
        raise ArgumentError(f"{value!r} is no offset: write +1.5s, -20ms, 300us or 7ns")
    return Fraction(found[1]) * _UNITS[found[2]]


class _Names:
    """The names of the inputs. The last part of an input's path is also a name if no other input shares it."""

    def __init__(self, paths: Sequence[str]) -> None:
        short = [os.path.basename(path.rstrip("/")) or path for path in paths]
        self.names = [
            name if short.count(name) == 1 else path
            for name, path in zip(short, paths, strict=True)
        ]
        self._numbers: dict[str, int] = {}
        for spelling in (self.names, short, paths):
            for number, name in enumerate(spelling):
                self._numbers.setdefault(name, number)
        for number in range(len(paths)):
            self._numbers.setdefault(str(number + 1), number)

    def number(self, key: str) -> int:
        """Return the number of the input with this name, path or number."""
        if key not in self._numbers:
            known = ", ".join(self.names)
            option = advice("offsets and machines", "--offset and --machine")
            raise ArgumentError(
                f"there is no input {key!r}: {option} name inputs, here {known} (or 1, 2, ...)"
            )
        return self._numbers[key]


class _Merging:
    """One merge; all decisions are made before the first batch."""

    def __init__(
        self,
        inputs: Sequence[Trace],
        names: Sequence[str],
        offsets: Mapping[int, Fraction],
        align: str | None,
        given_names: Mapping[int, str],
    ) -> None:
        self._inputs = inputs
        self._names = names
        surveys = []
        # Batches of the inputs are alive together with the ones that are built from them.
        self._readers = 2 if len(inputs) > 1 else 1
        for trace in inputs:
            trace.readers = self._readers * len(inputs)
        for trace, name in zip(inputs, names, strict=True):
            try:
                surveys.append(survey(trace, align))
            except TraceError as error:
                raise error.within(path=name)  # noqa: B904 - it is the same error
        if align is not None:
            self._check_alignment(align, [found.aligned for found in surveys])
        hosts = machine_names(inputs, given_names)
        ids = [ids_of(trace) if len(set(hosts)) > 1 else frozenset() for trace in inputs]
        self._machines = machines(hosts, [found.highest_cpu for found in surveys], ids)
        recordings = host_recordings(inputs)
        self._clocked = [
            Clocked(
                name,
                trace.clock,
                trace.clock_domains,
                surveys[number],
                hosts[number],
                recordings[number],
                offsets.get(number),
            )
            for number, (name, trace) in enumerate(zip(names, inputs, strict=True))
        ]
        self._placements = relate(self._clocked, align)
        self._reference = reference_of(self._clocked)
        self._losses = LossReport()
        self._rate = self._settled_rate()
        self._shifts = [self._ticks(placement) for placement in self._placements]
        self._sources = [
            Source(name, self._converted(number), machine)
            for number, (name, machine) in enumerate(zip(names, self._machines, strict=True))
        ]
        self.trace = self._merged_trace()
        self._tables = MergedTables(self.trace, self._sources, self._losses)
        self._left_behind = [
            LeftBehind(trace, trace.sidecar, self._losses, f" in {name}")
            for name, trace in zip(self._names, self._inputs, strict=True)
        ]
        self._lose_native()
        self._lose_numbers()

    def _check_alignment(self, align: str, times: Sequence[int | None]) -> None:
        missing = [name for name, at in zip(self._names, times, strict=True) if at is None]
        if len(missing) > len(times) - 2:
            where = ", ".join(missing)
            raise ArgumentError(
                f"no event {align!r} to align by in {where}: two inputs need one of that name, "
                "system:name or text ('traceconv info IN --events 20' shows some)"
            )

    # The clock

    def _settled_rate(self) -> Fraction | None:
        """Return the finest of the inputs' clock rates at which all of their times fit."""
        reference = self._clocked[self._reference]
        counted = [one for one in self._clocked if one.survey.events] or [reference]
        rates = {one.clock.ticks_per_second for one in counted}
        if rates == {None}:
            return None
        finest = max(rate or Fraction(_SECOND) for rate in rates)
        far: list[int] = []
        for rate in (finest, min(finest, Fraction(_SECOND))):
            far = [one for one in range(len(self._clocked)) if not self._fits(one, rate)]
            if not far:
                if rate != finest:
                    self._losses.add("times-rounded", rate=rate_text(finest))
                return rate
        raise UnsupportedError(
            f"the times of {self._names[far[0]]} are too far from the others' for 64 bits; "
            f"{advice('offsets=', '--offset')} moves it, {advice('align=', '--align')} puts an event of it "
            "where another has it"
        )

    def _fits(self, number: int, rate: Fraction) -> bool:
        """Return True if the shifted times of an input fit 64 bits at this rate."""
        one, moved = self._clocked[number], self._placements[number].shift * rate / _SECOND
        factor = rate / (one.clock.ticks_per_second or _SECOND)
        ends = () if one.survey.first is None else (one.survey.first, one.survey.last)
        return all(
            -_LIMIT <= ticks < _LIMIT for ticks in (moved, *(end * factor + moved for end in ends))
        )

    def _ticks(self, placement: Placement) -> int:
        rate = Fraction(_SECOND) if self._rate is None else self._rate
        return int(placement.shift * rate // _SECOND)

    def _converted(self, number: int) -> Trace:
        """Return an input without what only its own format's writer can use, at the rate of the merged trace."""
        trace, name = self._inputs[number], self._names[number]
        own, format_name = trace.clock.ticks_per_second, trace.format
        if trace.explain is not None:
            trace = trace.explain(
                trace,
                lambda field, count, first: self._losses.add(
                    "record-field", count, first, name=field, format=format_name
                ),
            )
        if self._rate is None or own == self._rate or not self._clocked[number].survey.events:
            return trace
        if own is None:
            self._losses.add("merge-clock-unknown", input=name)
            own = Fraction(_SECOND)
        elif (self._rate / own).denominator != 1:
            was, shown = rate_text(own), rate_text(self._rate)
            self._losses.add("merge-times-rounded", input=name, was=was, shown=shown)
        return at_rate(trace, self._rate, own)

    # The tables

    def _merged_trace(self) -> MergedTrace:
        reference = self._inputs[self._reference]
        trace = MergedTrace(
            format=MERGED,
            semantics=common_semantics(one.semantics for one in self._inputs),
            clock=replace(reference.clock, ticks_per_second=self._rate),
            clock_domains=self._clock_domains(),
            strings=self._inputs[0].strings,
            environment=self._environment(),
            symbols=_symbols([one.symbols for one in self._inputs]),
            inputs=tuple(
                MergedInput(
                    name,
                    placement.words,
                    placement.shift / _SECOND,
                    machine.name,
                    placement.doubt,
                )
                for name, placement, machine in zip(
                    self._names, self._placements, self._machines, strict=True
                )
            ),
            losses=self._losses,
            # Bookkeeping that these viewers hide is only what all inputs hide: a format's viewers know no other
            # format's records.
            bookkeeping=frozenset.intersection(*(one.bookkeeping for one in self._inputs)),
            readers=self._readers,
            make_batches=self._batches,
            progress=self._progress,
        )
        self._note_warnings(trace)
        return trace

    def _clock_domains(self) -> list[ClockDomain]:
        """Return the clock domains of all inputs, in an order that does not depend on that of the inputs."""
        own = self._inputs[self._reference].clock_domains
        found: Counter[ClockDomain] = Counter()
        for trace in self._inputs:
            # Keep the highest number of occurrences in any one trace.
            found |= Counter(trace.clock_domains)
        return own + sorted(
            (found - Counter(own)).elements(),
            key=lambda one: (
                one.name,
                one.description,
                one.epoch_ns or 0,
                one.ticks_per_second or 0,
            ),
        )

    def _environment(self) -> dict[str, str | int]:
        """Return the inputs' facts about the system. Where they differ, the input with the clock wins, and the facts
        of the others get their input's name as a prefix.
        """
        order = [self._reference, *(sorted(range(len(self._inputs)), key=self._names.__getitem__))]
        merged: dict[str, str | int] = {}
        for number in order:
            for key, value in self._inputs[number].environment.items():
                if merged.setdefault(key, value) != value:
                    merged[f"{self._names[number]}.{key}"] = value
        return merged

    # Not kept in a merged trace

    def _lose_numbers(self) -> None:
        for machine in dict.fromkeys(self._machines):
            of = machine.name or "inputs without a host name"
            if machine.ids:
                self._losses.add("merge-ids-moved", machine=of, by=machine.ids)
            if machine.cpus:
                self._losses.add("merge-cpus-moved", machine=of, first=machine.cpus)

    # Reading

    def _batches(self) -> Iterator[Batch]:
        merging = BatchMerge(self.trace, self._tables, self._sources, self._shifts)
        try:
            for batch in merging.batches():
                yield batch
                del batch
        finally:
            self._lose_native()
            self._note_warnings(self.trace)

    def _lose_native(self) -> None:
        for one in self._left_behind:
            one.follow()

    def _note_warnings(self, trace: Trace) -> None:
        """Add the warnings of the inputs, each once: the inputs have been read twice."""
        for name, one in zip(self._names, self._inputs, strict=True):
            for warning in one.warnings:
                named = warning if warning.path is not None else replace(warning, path=name)
                note(trace.warnings, named)

    def _progress(self) -> tuple[int, int]:
        parts = [one.progress() if one.progress is not None else (0, 0) for one in self._inputs]
        total = sum(total for _, total in parts)
        return sum(done for done, _ in parts), total if all(end for _, end in parts) else 0


def _symbols(tables: Sequence[SymbolTable | None]) -> SymbolTable | None:
    """Return the symbols of all tables; for an address in several, the first table wins."""
    known = [table for table in tables if table is not None]
    if len(known) < 2:
        return known[0] if known else None
    # Numbers and addresses do not share a table.
    alike = [table for table in known if table.exact == known[0].exact]

    def load() -> tuple[NDArray[np.uint64], Sequence[bytes]]:
        addresses, names = alike[0].entries()
        for table in alike[1:]:
            # Recordings of one machine mostly have the same symbols: skip names that are there already.
            more, others = table.entries()
            new = np.flatnonzero(~np.isin(more, addresses))
            if len(new):
                addresses = np.concatenate([addresses, more[new]])
                names = [*names, *(others[index] for index in new.tolist())]
        order = np.argsort(addresses, kind="stable")
        if not np.array_equal(order, np.arange(len(order))):
            addresses, names = addresses[order], [names[index] for index in order.tolist()]
        return addresses, names

    return SymbolTable(load, exact=known[0].exact)
