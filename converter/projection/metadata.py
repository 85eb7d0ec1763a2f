"""The parts of a trace besides events and tables that a target keeps: its clock, its environment, and native data."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any, Final

from converter.ir.trace import ClockDomain, Trace
from converter.projection.capabilities import Capabilities
from converter.projection.engine.ids import ShownIds
from converter.projection.losses import LossReport

#: The parts of the sidecar of a JSON document.
_JSON_DOCUMENT: Final = frozenset({"members", "metadata", "text_ids"})
_SECOND: Final = 1_000_000_000
#: The names of units of nanoseconds.
_UNITS: Final = {1_000: "microseconds", 1_000_000: "milliseconds", _SECOND: "seconds"}
_LATEST_EPOCH: Final = 1 << 62
_LAST_TICK: Final = (1 << 63) - 1


def held_clock(
    clock: ClockDomain, kept: Capabilities, report: LossReport, *, is_date_seen: bool = False
) -> ClockDomain:
    """Return the clock of a trace as a format of these capabilities declares it.

    Args:
        clock: of the source.
        kept: the capabilities.
        report: receives the losses.
        is_date_seen: viewers of the source show the date of the recording.
    """
    if kept.only_clock is not None:
        return replace(kept.only_clock, epoch_ns=clock.epoch_ns if kept.epoch else None)
    if clock.ticks_per_second is None:
        report.add("clock-rate-unknown", clock=clock.name)
        clock = replace(clock, ticks_per_second=Fraction(1_000_000_000))
    if clock.epoch_ns is not None and not kept.epoch:
        report.add("wall-clock-dropped")
        clock = replace(clock, epoch_ns=None)
    if kept.latest_ns is not None and (clock.epoch_ns or 0) > _LATEST_EPOCH:
        # Adding such an epoch, times would not fit.
        report.add("wall-clock-too-late")
        clock = replace(clock, epoch_ns=None)
    if clock.epoch_ns is not None and is_date_seen and not kept.shows_epoch:
        report.add("wall-clock-unshown")
    unit = kept.shown_epoch_unit
    if clock.epoch_ns is not None and unit is not None:
        if clock.epoch_ns < 0:
            report.add("wall-clock-before-1970")
        elif clock.epoch_ns % unit:
            report.add("wall-clock-rounded", unit=_UNITS.get(unit, f"{unit:,} nanoseconds"))
    if not kept.clock_names:
        if clock.name != "ns" or clock.description:
            report.add("clock-name", clock=clock.name)
        clock = replace(clock, name="ns", description="")
    return clock


def latest_tick(clock: ClockDomain, kept: Capabilities) -> int | None:
    """Return the last tick of a clock that viewers of a format accept; None if it does not fit 64 bits."""
    if kept.latest_ns is None:
        return None
    rate = clock.ticks_per_second or Fraction(_SECOND)
    # If the epoch is before 1970, the ticks themselves must fit.
    since = max(clock.epoch_ns or 0, 0)
    latest = math.floor((kept.latest_ns - since) * rate / _SECOND)
    return latest if latest < _LAST_TICK else None


def is_json_document(sidecar: Mapping[str, Any]) -> bool:
    """Return True if a format's native data are parts of a JSON document: members, metadata events, texts by id."""
    return sidecar.keys() <= _JSON_DOCUMENT


def lose_of_records(source: Trace, parts: Counter[str], report: LossReport) -> None:
    """Count information that only the records contained that events were read from."""
    for part, times in parts.items():
        report.add("record-field", times, name=part, format=source.format)


class LeftBehind:
    """Counts the parts of a source's sidecars and records that a target cannot hold.

    Readers may add to these between and after events; what has been counted stays counted.

    Args:
        source: the trace.
        formats: whose sidecars are dropped.
        report: receives the losses.
        where: text after the name of each sidecar.
        has_facts: viewers of the target list the environment.
    """

    def __init__(
        self,
        source: Trace,
        formats: Iterable[str],
        report: LossReport,
        where: str = "",
        *,
        has_facts: bool = True,
    ) -> None:
        self._has_facts = has_facts
        self._source = source
        self._report = report
        self._where = where
        #: By sidecar: the parts that have been counted, and of those that tools show, how much.
        self._counted: dict[str, set[str]] = {name: set() for name in formats}
        self._parts: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        self._of_records: Counter[str] = Counter()

    def follow(self) -> None:
        """Count what is new in the source."""
        of_records = Counter(self._source.records_shown)
        lose_of_records(self._source, of_records - self._of_records, self._report)
        self._of_records = of_records
        for name, counted in self._counted.items():
            new = self._source.sidecar[name].keys() - counted
            for part in new:
                self._report.add("native-data", name=part, format=f"{name}{self._where}")
            counted.update(new)
            for code, parts in (
                ("native-data-shown", self._source.sidecar_shown),
                ("native-data-detail", self._source.sidecar_details),
            ):
                now = Counter(parts.get(name, ()))
                for part, times in (now - self._parts[name, code]).items():
                    self._lose_part(code, part, times, f"{name}{self._where}")
                self._parts[name, code] = now

    def _lose_part(self, code: str, part: str, times: int, where: str) -> None:
        if self._has_facts and part.startswith(_FACTS):
            return
        if part in HIDDEN_EVENTS:
            self._report.add("hidden-event-unhidden", times, name=HIDDEN_EVENTS[part])
        else:
            self._report.add(code, times, name=part, format=where)


#: The start of the names of parts that are in the environment as well.
_FACTS: Final = "system_info."
#: Of JSON: facts about the recording, which viewers list for the JSON alone.
JSON_METADATA: Final = "metadata"
#: Events of Perfetto traces that its viewers hide, by the entry of the sidecar that says so.
EARLY_EVENTS: Final = "events before the start of ftrace"
COMPACT_SWITCHES: Final = "compact switches"
HIDDEN_EVENTS: Final = {
    EARLY_EVENTS: "ftrace events before the tracing of all CPUs starts",
    COMPACT_SWITCHES: "compact switches from unknown tasks",
}


class TargetMetadata:
    """The environment and the sidecars of a target, and the losses of those that it cannot hold."""

    def __init__(
        self,
        source: Trace,
        target: Trace,
        kept: Capabilities,
        format_name: str,
        report: LossReport,
        ids: ShownIds,
    ) -> None:
        self._source = source
        self._target = target
        self._ids = ids
        self._report = report
        #: How many members of JSON metadata have been reported.
        self._unshown = 0
        #: Names of JSON documents, whose ids follow those of the tables.
        self._documents: list[str] = []
        #: Names of native records that only describe how the recorder worked.
        self.bookkeeping = source.bookkeeping if source.format != format_name else frozenset[str]()
        if kept.environment:
            target.environment = dict(source.environment)
        else:
            report.add("environment", len(source.environment))
        if kept.other_clocks:
            target.clock_domains = list(source.clock_domains)
        else:
            report.add("other-clocks", len(source.clock_domains))
        for name, content in source.sidecar.items():
            is_document = kept.json_documents and is_json_document(content)
            # That of a JSON trace fills while events are read.
            is_document &= bool(content or source.semantics.json_arguments)
            if name == format_name or is_document:
                target.sidecar[name] = content
                if name != format_name:
                    self._documents.append(name)
        others = source.sidecar.keys() - target.sidecar.keys()
        has_facts = kept.environment and kept.shows_environment
        self._left_behind = LeftBehind(source, sorted(others), report, has_facts=has_facts)

    def follow(self) -> None:
        """Count what is dropped."""
        self.follow_documents()
        for name in self._documents:
            shown = self._source.sidecar_shown.get(name, Counter())
            self._report.add("json-metadata-unshown", shown[JSON_METADATA] - self._unshown)
            self._unshown = shown[JSON_METADATA]
        self._left_behind.follow()

    def follow_documents(self) -> None:
        """Give ids that are text in JSON the numbers that the target's tables have for them."""
        for name in self._documents:
            content = self._source.sidecar[name]
            if not content.get("text_ids"):
                continue
            # Of metadata events as many as have their ids: a reader may be adding more.
            held = {key: list(one) if key == "metadata" else one for key, one in content.items()}
            held["text_ids"] = {
                str(self._ids.known(int(number))): text
                for number, text in list(content["text_ids"].items())
            }
            self._target.sidecar[name] = held
