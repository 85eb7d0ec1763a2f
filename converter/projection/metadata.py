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
from converter.projection.losses import Aspect, LossClass, LossKind, LossReport

#: The parts of the sidecar of a JSON document.
_JSON_DOCUMENT: Final = frozenset({"members", "metadata", "text_ids"})
_SECOND: Final = 1_000_000_000
_LATEST_EPOCH: Final = 1 << 62
_LAST_TICK: Final = (1 << 63) - 1


def held_clock(clock: ClockDomain, kept: Capabilities, report: LossReport) -> ClockDomain:
    """Return the clock of a trace as a format of these capabilities declares it."""
    if clock.ticks_per_second is None:
        report.add(LossKind.CHANGED, f"clock {clock.name!r} of unknown rate as nanoseconds")
        clock = replace(clock, ticks_per_second=Fraction(1_000_000_000))
    if clock.epoch_ns is not None and not kept.epoch:
        report.add(LossKind.DROPPED, "wall-clock time of the trace")
        clock = replace(clock, epoch_ns=None)
    if kept.latest_ns is not None and (clock.epoch_ns or 0) > _LATEST_EPOCH:
        # Adding such an epoch, times would not fit.
        report.add(LossKind.DROPPED, "wall-clock time after the year 2116")
        clock = replace(clock, epoch_ns=None)
    unit = kept.shown_epoch_unit
    if clock.epoch_ns is not None and unit is not None:
        if clock.epoch_ns < 0:
            report.add(LossKind.CHANGED, "wall-clock time before 1970, to viewers")
        elif clock.epoch_ns % unit:
            report.add(LossKind.CHANGED, f"wall-clock time in units of {unit:,} ns, to viewers")
    if not kept.clock_names:
        if clock.name != "ns" or clock.description:
            what = f"name of the clock {clock.name!r}"
            report.add(LossKind.DROPPED, what, loss_class=LossClass.DETAIL)
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
        report.add(LossKind.DROPPED, f"{part} of records of {source.format}", times)


class LeftBehind:
    """Counts the parts of a source's sidecars and records that a target cannot hold.

    Readers may add to these between and after events; what has been counted stays counted.

    Args:
        source: the trace.
        formats: whose sidecars are dropped.
        report: receives the losses.
        where: text after the name of each sidecar.
    """

    def __init__(
        self, source: Trace, formats: Iterable[str], report: LossReport, where: str = ""
    ) -> None:
        self._source = source
        self._report = report
        self._where = where
        #: By sidecar: the parts that have been counted, and of those that tools show, how much.
        self._counted: dict[str, set[str]] = {name: set() for name in formats}
        self._parts: defaultdict[tuple[str, LossClass], Counter[str]] = defaultdict(Counter)
        self._of_records: Counter[str] = Counter()

    def follow(self) -> None:
        """Count what is new in the source."""
        of_records = Counter(self._source.records_shown)
        lose_of_records(self._source, of_records - self._of_records, self._report)
        self._of_records = of_records
        for name, counted in self._counted.items():
            new = self._source.sidecar[name].keys() - counted
            what = f"native data of {name}{self._where} ({', '.join(sorted(new))})"
            self._report.add(
                LossKind.DROPPED,
                what,
                len(new),
                loss_class=LossClass.DETAIL,
                aspect=Aspect.NATIVE,
            )
            counted.update(new)
            for loss_class, parts in (
                (LossClass.SHOWN, self._source.sidecar_shown),
                (LossClass.DETAIL, self._source.sidecar_details),
            ):
                now = Counter(parts.get(name, ()))
                for part, times in (now - self._parts[name, loss_class]).items():
                    what = f"{part} of {name}{self._where}"
                    self._report.add(LossKind.DROPPED, what, times, loss_class=loss_class)
                self._parts[name, loss_class] = now


#: Of JSON: scheduling and kernel events as text, which viewers show of the JSON alone.
FTRACE_TEXT: Final = (
    "lines of systemTraceEvents (text of ftrace, which viewers show if the JSON itself is opened)"
)


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
        #: The lines of ftrace's text that have been reported.
        self._texts = 0
        #: Names of JSON documents, whose ids follow those of the tables.
        self._documents: list[str] = []
        #: Names of native records that only describe how the recorder worked.
        self.bookkeeping = source.bookkeeping if source.format != format_name else frozenset[str]()
        if kept.environment:
            target.environment = dict(source.environment)
        else:
            report.add(
                LossKind.DROPPED,
                "facts about the machine and the recorder (host, kernel, tool)",
                len(source.environment),
                loss_class=LossClass.KEPT,
            )
        if kept.other_clocks:
            target.clock_domains = list(source.clock_domains)
        else:
            report.add(
                LossKind.DROPPED,
                "clocks that the source relates to its own",
                len(source.clock_domains),
                loss_class=LossClass.DETAIL,
            )
        for name, content in source.sidecar.items():
            is_document = kept.json_documents and is_json_document(content)
            # That of a JSON trace fills while events are read.
            is_document &= bool(content or source.semantics.json_arguments)
            if name == format_name or is_document:
                target.sidecar[name] = content
                if name != format_name:
                    self._documents.append(name)
        others = source.sidecar.keys() - target.sidecar.keys()
        self._left_behind = LeftBehind(source, sorted(others), report)

    def follow(self) -> None:
        """Count what is dropped."""
        self.follow_documents()
        for name in self._documents:
            count = self._source.sidecar_shown.get(name, Counter())[FTRACE_TEXT]
            self._report.add(LossKind.UNSHOWN, FTRACE_TEXT, count - self._texts)
            self._texts = count
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
