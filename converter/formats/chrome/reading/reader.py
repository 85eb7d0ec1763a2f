"""Reading: text to a trace, a window of text and a batch of events at a time."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from converter.errors import TraceError, TraceWarning, note
from converter.errors.advice import advice
from converter.formats.chrome.json.scan import EventScanner
from converter.formats.chrome.layout import (
    BIND_POINT,
    DERIVED_TEXT,
    DISPLAY_TIME_UNIT,
    ENVIRONMENT,
    HEADER,
    SYSTEM_TRACE_EVENTS,
    ClassKey,
)
from converter.formats.chrome.mapping import PHASE_TABLE, SEMANTICS
from converter.formats.chrome.metadata import Tables
from converter.formats.chrome.native import unwrapped
from converter.formats.chrome.reading.classes import Plan, Rows, plan_of
from converter.formats.chrome.reading.columns import Scanned
from converter.formats.chrome.reading.contradictions import checked, is_checked
from converter.formats.chrome.reading.document import WINDOW, Document, Step
from converter.formats.chrome.reading.kernel_text import head_of_text, with_kernel_text
from converter.formats.chrome.times import (
    MAX_DECIMALS,
    MAX_GUESSED_DECIMALS,
    USUAL_DECIMALS,
    Scale,
)
from converter.ir.columns import Column
from converter.ir.display.text import is_text
from converter.ir.events import Batch, EventClass, Table
from converter.ir.kinds import Kind
from converter.ir.semantics import FlowBinding
from converter.ir.trace import ClockDomain, Trace, parse_epoch, parse_rate
from converter.kernels.batches.order import group_by_class
from converter.kernels.batches.union import looked_up, number_rows
from converter.kernels.tables.strings import StringTable
from converter.projection.metadata import JSON_METADATA
from converter.storage.source import Source

#: Events in a batch.
BATCH_SIZE = 1 << 16
#: Bytes of text that are enough to tell a profile from events, and wide text.
_HEAD_SIZE = 1 << 12
#: Bytes of text that are scanned to find the unit of the clock.
SAMPLE_SIZE = 1 << 18
_NANOSECOND_RATE = Fraction(10**9)
_MAX_TICKS = (1 << 63) - 1

#: The start of text in UTF-16 or UTF-32: a byte order mark, or a bracket of several bytes.
_WIDE_TEXT = re.compile(rb"\xff\xfe|\xfe\xff|\0\0\xfe\xff|\0{0,3}[\[{]\0{1,3}[^\0]")

#: The start of profiles of Firefox, which begin with how they were recorded, as few traces of events do.
_PROFILE = re.compile(
    rb'(\xef\xbb\xbf)?\s*\{\s*"meta"\s*:\s*\{[\s\S]*"(preprocessedProfileVersion|threads|stackwalk)"'
)
_EVENTS = re.compile(rb'"traceEvents"')

T = TypeVar("T")


def read(source: Source) -> Trace:
    """Read a Chrome JSON file.

    Raises:
        TraceError: the file is not JSON, or has no events where a trace has them.

    """
    head = source.read(0, _HEAD_SIZE)
    if _WIDE_TEXT.match(head):
        raise TraceError(
            format="chrome",
            path=source.name,
            offset=0,
            expected="text in UTF-8",
            found="text in UTF-16 or UTF-32 (`iconv -f UTF-16 -t UTF-8` makes it UTF-8)",
        )
    if _PROFILE.match(head) and not _EVENTS.search(head):
        raise TraceError(
            format="chrome",
            path=source.name,
            offset=0,
            expected="events",
            found="a profile of Firefox, which is the format gecko",
        )
    reader = _Reader(source)
    return with_kernel_text(reader.trace, source, reader.kernel_text)


class _Reader:
    """The state shared by all passes over the batches: tables, classes, and the numbers of both."""

    def __init__(self, source: Source) -> None:
        self._source = source
        #: The start of the text of the kernel's tracer.
        self.kernel_text = head_of_text(source)
        self._names = StringTable()
        self._shapes = StringTable()
        # The shape without arguments, which must be known even when the table of shapes is full.
        self._shapes.intern(b"{}")
        self._keys = StringTable()
        self._thread_keys = StringTable()
        self._header: dict[str, Any] = {}
        self._position = 0
        # The sidecar is filled while batches are read; filters that copy it copy this dictionary.
        self.trace = Trace(format="chrome", semantics=SEMANTICS, sidecar={"chrome": {}})
        self._tables = Tables(self.trace)
        self._scale = self._prescan()
        self.trace.clock = ClockDomain(
            "ns", self._scale.rate, _parsed(parse_epoch, self._header_clock().get("epoch_ns"))
        )
        environment = self._header.get(ENVIRONMENT)
        if environment is not None and _is_environment(environment):
            self.trace.environment = environment
        self.trace.make_batches = self._batches
        self.trace.progress = lambda: (self._position, source.size)
        self._plans: list[Plan] = []
        self._class_of_key = np.zeros(0, np.int32)
        self._plan_number = np.zeros(0, np.int64)
        self._cpu_slot = np.zeros(0, np.int64)
        self._declares = np.zeros(0, np.bool_)
        #: The number of events of the pass that contradict their declaration.
        self._contradicting = 0
        self._keys_of_class: list[list[int]] = []
        self._class_ids: dict[EventClass, int] = {}

    # The clock

    def _prescan(self) -> Scale:
        """Read the header and some events to learn the unit of the times."""
        document = Document(self._source, SAMPLE_SIZE, sample=True)
        scanner = EventScanner(
            StringTable(),
            StringTable(),
            _with_empty(),
            StringTable(),
            StringTable(),
            PHASE_TABLE,
            0,
        )
        try:
            # The scanner keeps all events, so the batch must hold them; an event has more than one byte.
            for step in document.steps(scanner, SAMPLE_SIZE):
                if step is Step.MEMBER and document.member[0] == HEADER:
                    value = document.member[1]
                    if isinstance(value, dict):
                        self._header = value
                        if BIND_POINT in self._added():
                            # Without the bind points that say so.
                            self.trace.semantics = replace(SEMANTICS, flows=FlowBinding.ENCLOSING)
                        return self._header_scale()
        except TraceError:
            # Reading the batches meets the same error, and then knows what precedes it.
            if not document.position:
                raise
        if scanner.places <= USUAL_DECIMALS:
            return Scale(_NANOSECOND_RATE, USUAL_DECIMALS)
        decimals = min(scanner.places, MAX_GUESSED_DECIMALS)
        # Later times may be greater than those seen, so times seen may use a quarter of the range.
        while decimals > USUAL_DECIMALS and scanner.largest * 10**decimals > _MAX_TICKS // 4:
            decimals -= 1
        return Scale(Fraction(10 ** (6 + decimals)), decimals)

    def _header_clock(self) -> dict[str, Any]:
        clock = self._header.get("clock")
        return clock if isinstance(clock, dict) else {}

    def _header_scale(self) -> Scale:
        rate = _parsed(parse_rate, self._header_clock().get("ticks_per_second"))
        decimals = self._header_clock().get("decimals", USUAL_DECIMALS)
        if rate is None or not isinstance(decimals, int):
            return Scale(_NANOSECOND_RATE, USUAL_DECIMALS)
        offset = _parsed(_parse_offset, self._header.get("offset")) or 0
        return Scale(rate, min(max(decimals, 0), MAX_DECIMALS), offset)

    # Batches

    def _batches(self) -> Iterator[Batch]:
        scanner = EventScanner(
            self.trace.strings,
            self._names,
            self._shapes,
            self._keys,
            self._thread_keys,
            PHASE_TABLE,
            self._scale.decimals,
            records=bool(self._header),
        )
        document = Document(
            self._source,
            self.trace.bytes_of_a_window(WINDOW),
            derived=(SYSTEM_TRACE_EVENTS, DERIVED_TEXT) if self._header else None,
        )
        size = self.trace.events_of_a_batch(BATCH_SIZE)
        delivered = False
        self._contradicting = 0
        try:
            for step in document.steps(scanner, size):
                self._position = document.position
                self._warn_of(document)
                if step is Step.EVENTS:
                    self._tables.add_metadata(scanner.take_metadata())
                    if len(scanner):
                        yield self._batch(scanner)
                        delivered = True
                else:
                    self._add_member(*document.member)
                    delivered = True
        except TraceError as error:
            error.within(format="chrome", path=self._source.name)
            if not delivered and not self._tables.known:
                raise
            self._warn(error.to_warning())
        self._warn_of(document)
        for count, field, what in (
            (
                self._contradicting,
                "arg_types",
                "events have other arguments than they declare: read as they are",
            ),
            (scanner.rounded, "ts", "times have more decimals than the clock: rounded"),
            (scanner.beyond, "ts", "times beyond 63 bits: their events are kept as they are"),
        ):
            if count:
                self._warn(
                    TraceWarning(
                        format="chrome",
                        path=self._source.name,
                        field=field,
                        message=f"{count:,} {what}",
                        is_damage=False,
                    )
                )
        self._position = self._source.size

    def _warn(self, warning: TraceWarning) -> None:
        note(self.trace.warnings, warning)

    def _warn_of(self, document: Document) -> None:
        for damage in document.damage:
            self._warn(damage.within(format="chrome", path=self._source.name).to_warning())
        document.damage.clear()

    def _add_member(self, name: str, value: Any) -> None:
        if name == HEADER and isinstance(value, dict):
            return
        if name == ENVIRONMENT and _is_environment(value):
            self.trace.environment = value
            return
        if name == DISPLAY_TIME_UNIT and name in self._added():
            return
        if name == SYSTEM_TRACE_EVENTS and value and not self.kernel_text and not self._header:
            alone = advice('source_format="ftrace_text"', "-f ftrace_text")
            self._warn(
                TraceWarning(
                    format="chrome",
                    path=self._source.name,
                    field=name,
                    message="this text of ftrace is far from the start and the end of the document: not read "
                    f"({alone} reads it alone)",
                    is_damage=False,
                )
            )
        if name == JSON_METADATA and isinstance(value, dict) and value:
            # Importers list it, since a version after 52.
            shown = self.trace.sidecar_shown.setdefault("chrome", Counter())
            shown[JSON_METADATA] = len(value)
        self.trace.sidecar["chrome"].setdefault("members", {})[name] = value

    def _added(self) -> frozenset[str]:
        """Return the members that the writer added to the file and that were not in the trace."""
        added = self._header.get("added")
        return frozenset(map(str, added)) if isinstance(added, list) else frozenset()

    def _batch(self, scanner: EventScanner) -> Batch:
        ts, key, thread, cpu, start, slots, text = scanner.take()
        self._add_plans()
        scanned = Scanned(slots, text)
        key, known = self._without_contradictions(scanned, key, start)
        class_id = looked_up(self._class_of_key, key)
        row = np.zeros(len(ts), np.int32)
        counts = np.zeros(len(self.trace.event_classes), np.int32)
        number_rows(class_id, row, counts)
        batch = Batch(
            ts=self._times(ts, offset=True),
            class_id=class_id,
            row=row,
            tables={},
            thread=self._tables.threads(self._thread_keys, thread),
            cpu=self._cpus(key, cpu, start, slots),
        )
        bases = np.zeros(len(counts) + 1, np.int64)
        np.cumsum(counts, out=bases[1:])
        starts, keys = np.empty_like(start), np.empty_like(key)
        group_by_class(
            class_id, row, bases[:-1], start, key.view(np.uint32), starts, keys.view(np.uint32)
        )
        for id in np.flatnonzero(counts).tolist():
            here = slice(int(bases[id]), int(bases[id + 1]))
            batch.tables[id] = self._table(id, scanned, starts[here], keys[here], known)
        return batch

    def _without_contradictions(
        self, scanned: Scanned, key: NDArray[np.int32], start: NDArray[np.int64]
    ) -> tuple[NDArray[np.int32], dict[int, dict[int, Column]]]:
        """Return the keys of events; those that contradict their declaration get the key without declarations.

        The class of an event depends on it, so declared arguments are decoded here; they are returned by key and field.
        """
        known: dict[int, dict[int, Column]] = {}
        positions = np.flatnonzero(self._declares[key])
        if not len(positions):
            return key, known
        positions = positions[np.argsort(key[positions], kind="stable")]
        ids, first = np.unique(key[positions], return_index=True)
        key = key.copy()
        for id, rows in zip(ids.tolist(), np.split(positions, first[1:]), strict=True):
            wrong, columns = checked(self._plans[id], scanned, start[rows], self.trace.strings)
            if wrong is None:
                known[id] = columns
                continue
            key[rows[wrong]] = self._keys.intern(ClassKey.undeclared(self._keys[id]))
            self._contradicting += int(wrong.sum())
        self._add_plans()
        return key, known

    def _table(
        self,
        id: int,
        scanned: Scanned,
        starts: NDArray[np.int64],
        keys: NDArray[np.int32],
        known: dict[int, dict[int, Column]],
    ) -> Table:
        exact = self._scale.factor == 1
        times = None if exact else lambda column: self._times(column, offset=False)
        plans = [self._plans[key] for key in self._keys_of_class[id]]
        numbers = self._plan_number[keys] if len(plans) > 1 else None
        columns = [known.get(key, {}) for key in self._keys_of_class[id]]
        rows = Rows(scanned, starts, plans, columns, numbers, self.trace.strings, times)
        if self.trace.event_classes[id].kind is Kind.NATIVE:
            return unwrapped(rows.table())
        return rows.table()

    def _times(self, units: NDArray[np.int64], *, offset: bool) -> NDArray[np.int64]:
        if offset and self._scale.offset:
            moved = units.astype(object) + self._scale.offset
            if len(moved) and max(abs(int(moved.min())), abs(int(moved.max()))) > _MAX_TICKS:
                raise TraceError(field=f"{HEADER}.offset", expected="times of 64 bits")
            units = moved.astype(np.int64)
        return self._scale.from_file(units)

    def _cpus(
        self,
        key: NDArray[np.int32],
        cpu: NDArray[np.int32],
        start: NDArray[np.int64],
        slots: NDArray[np.int64],
    ) -> NDArray[np.int32]:
        """Return the CPU of each event; that of a switch is among its arguments."""
        if not (self._cpu_slot >= 0).any():
            return cpu
        switches = np.flatnonzero(self._cpu_slot[key] >= 0)
        found = slots[start[switches] + self._cpu_slot[key[switches]]]
        result = cpu.copy()
        result[switches] = np.where((found >= 0) & (found <= 0x7FFF_FFFF), found, -1)
        return result

    def _add_plans(self) -> None:
        """Decode the class keys that are new."""
        first = len(self._plans)
        if first == 0:
            # Key 0 is the empty text of every string table.
            self._plans.append(Plan(EventClass(Kind.NATIVE), ()))
            self._class_of_key = np.full(1, -1, np.int32)
            self._plan_number = np.zeros(1, np.int64)
            self._cpu_slot = np.full(1, -1, np.int64)
            self._declares = np.zeros(1, np.bool_)
            first = 1
        classes, numbers, slots, declaring = [], [], [], []
        for id in range(first, len(self._keys)):
            key = ClassKey.parse(self._keys[id])
            plan = plan_of(
                key,
                self._names.__getitem__,
                self._shapes.__getitem__,
                own=bool(self._header),
                added=self._added(),
            )
            self._plans.append(plan)
            class_id = self._class_ids.get(plan.event_class)
            if class_id is None:
                class_id = self._class_ids[plan.event_class] = self.trace.add_class(
                    plan.event_class
                )
                self._keys_of_class.append([])
            classes.append(class_id)
            numbers.append(len(self._keys_of_class[class_id]))
            self._keys_of_class[class_id].append(id)
            slots.append(-1 if plan.cpu is None else plan.cpu)
            declaring.append(any(map(is_checked, plan.parts)))
        self._class_of_key = np.concatenate([self._class_of_key, np.array(classes, np.int32)])
        self._plan_number = np.concatenate([self._plan_number, np.array(numbers, np.int64)])
        self._cpu_slot = np.concatenate([self._cpu_slot, np.array(slots, np.int64)])
        self._declares = np.concatenate([self._declares, np.array(declaring, np.bool_)])


def _parsed(parse: Callable[[object], T], value: object) -> T | None:
    """Parse a value of the header; None where it is missing or invalid."""
    try:
        return parse(value)
    except ValueError:
        return None


def _parse_offset(value: object) -> int:
    offset = int(value) if isinstance(value, str) else 0
    if abs(offset) > _MAX_TICKS:
        raise ValueError("the offset has more than 64 bits")
    return offset


def _with_empty() -> StringTable:
    table = StringTable()
    table.intern(b"{}")
    return table


def _is_environment(value: Any) -> bool:
    return isinstance(value, dict) and all(
        (is_text(item) or type(item) is int) and is_text(name) for name, item in value.items()
    )
