"""Reading: a profile, which is parsed as a whole, to a trace whose columns are made batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.errors import TraceError, TraceWarning, note
from converter.formats.profiles.cut_json import cut_warning
from converter.formats.profiles.gecko.layout import (
    OWN,
    READ_MEMBERS,
    READ_OF_THREADS,
)
from converter.formats.profiles.gecko.mapping import SEMANTICS
from converter.formats.profiles.gecko.reading.counters import counters_of
from converter.formats.profiles.gecko.reading.document import Object, Own, parsed
from converter.formats.profiles.gecko.reading.frames import FrameReader, Stacks
from converter.formats.profiles.gecko.reading.identities import Identities
from converter.formats.profiles.gecko.reading.markers import (
    MarkerClasses,
    MarkerTracks,
    markers_of,
)
from converter.formats.profiles.gecko.reading.samples import SampleRules, samples_of
from converter.formats.profiles.gecko.reading.tables import (
    dictionary,
    listed,
    start_of,
    strings_of,
)
from converter.ir.events import Batch, EventClass
from converter.ir.trace import NANOSECONDS, Trace, Track, TrackScope, known_epoch
from converter.storage.source import Source

#: The depth of processes inside processes.
_MAX_NESTING: Final = 4
#: Tables of samples of a thread, with the name of what was sampled and the unit of weights, if the table has none.
_SAMPLE_TABLES: Final = (
    ("samples", "", None),
    ("jsAllocations", "jsAllocations", "bytes"),
    ("nativeAllocations", "nativeAllocations", "bytes"),
)
#: What of a thread has events.
_TABLES: Final = ("markers", *(name for name, _, _ in _SAMPLE_TABLES))
#: The functions of a marker's stack that are read.
_MOST_NAMED: Final = 256
_NO_CATEGORIES: Final = np.zeros(0, np.int32)

_Batches = Callable[[], Iterator[Batch]]


def read(source: Source) -> Trace:
    """Read a profile.

    Raises:
        TraceError: it is not a profile, is too large, or has tables of another form.

    """
    document, damage = parsed(source)
    try:
        trace = _Reader(source, document).trace
        if damage is not None:
            note(trace.warnings, cut_warning("gecko", source.name, damage))
        return trace
    except TraceError as error:
        raise error.within(format="gecko", path=source.name) from error
    except RecursionError:
        raise TraceError(
            format="gecko", path=source.name, expected="values that are less deep"
        ) from None


class _Reader:
    """The state of reading: what all threads share."""

    def __init__(self, source: Source, document: Object) -> None:
        self.trace = Trace(format="gecko", semantics=SEMANTICS, clock=NANOSECONDS)
        self._own = Own.of(document)
        self._frames = FrameReader(self.trace.strings)
        self._identities = Identities(self.trace)
        self._parts: list[_Batches] = []
        self._skipped = 0
        self._classes: dict[EventClass, int] = {}
        #: The stacks of tables that threads share, by these objects of the document.
        self._shared: dict[int, Stacks] = {}
        self._start = start_of(dictionary(document, "meta"))
        self._kept: list[Object] = []
        self._counters: list[Object] = []
        if self._own is not None:
            self._own.tables.add_tasks(self.trace)
            self._own.tables.add_clocks(self.trace)
            self.trace.tracks.extend(self._own.tracks)
        else:
            epoch = known_epoch(round(self._start * 1000) * 1000) if self._start else None
            self.trace.clock = replace(NANOSECONDS, epoch_ns=epoch)
        self._marker_classes = MarkerClasses(self.trace, self._own)
        self._marker_tracks = MarkerTracks(self.trace)
        self._add(document, 0)
        self._keep(document)
        if dictionary(document, "meta").get("startTime") and not self._start:
            self._warn(source.name, "meta.startTime", "the start is no time: left out")
        if self._skipped:
            message = f"{self._skipped:,} markers and samples are not in the form of their table"
            self._warn(source.name, "threads", f"{message}: left out")
        self.trace.make_batches = self._batches

    def _warn(self, path: str, field: str, message: str) -> None:
        warning = TraceWarning(
            format="gecko", path=path, field=field, message=message, is_damage=True
        )
        note(self.trace.warnings, warning)

    def _batches(self) -> Iterator[Batch]:
        offset = 0 if self._own is None else self._own.offset
        for part in self._parts:
            for batch in part():
                yield batch if not offset else batch.at_times(_moved(batch.ts, offset))

    def _keep(self, document: Object) -> None:
        """Keep what only profiles have, for the writer."""
        kept: dict[str, Any] = {}
        if document.get("meta") and self._own is None:
            kept["meta"] = dictionary(document, "meta")
        elif self._own is not None and isinstance(document[OWN].get("meta"), dict):
            kept["meta"] = document[OWN]["meta"]
        members = {name: one for name, one in document.items() if name not in READ_MEMBERS}
        if self._own is not None:
            own_members = document[OWN].get("members")
            known = own_members if isinstance(own_members, list) else []
            members = {name: one for name, one in members.items() if name in known}
            libs, count = members.get("libs"), document[OWN].get("libs")
            if isinstance(libs, list) and isinstance(count, int):
                members["libs"] = libs[: max(count, 0)]
        if members:
            kept["members"] = members
        if any(self._kept):
            kept["threads"] = self._kept
        if any(self._counters):
            kept["counters"] = self._counters
        if self._identities.texts:
            kept["text_ids"] = self._identities.texts
        elif self._own is not None and isinstance(document[OWN].get("text_ids"), dict):
            kept["text_ids"] = document[OWN]["text_ids"]
        if kept:
            self.trace.sidecar["gecko"] = _plain(kept)

    def _add(self, profile: Object, depth: int) -> None:
        """Add the threads of a process and, in raw profiles, those of nested processes."""
        meta, shared = dictionary(profile, "meta"), dictionary(profile, "shared")
        later = start_of(meta) - self._start if start_of(meta) and self._start else 0.0
        units = dictionary(meta, "sampleUnits")
        rules = SampleRules(later, self._categories(meta), str(units.get("threadCPUDelta")))
        libs = listed(profile, "libs")
        main = -1
        for thread in listed(profile, "threads"):
            if isinstance(thread, dict):
                index = self._add_thread(thread, shared, libs, rules)
                if main < 0 <= index:
                    main = self.trace.threads[index].process
        for counter in listed(profile, "counters"):
            if isinstance(counter, dict):
                self._add_counter(counter, later, main)
        for process in listed(profile, "processes"):
            if isinstance(process, dict) and depth < _MAX_NESTING:
                self._add(process, depth + 1)

    def _categories(self, meta: Object) -> NDArray[np.int32]:
        """Return the strings of the names of categories."""
        names = [
            one.get("name") if isinstance(one, dict) else "" for one in listed(meta, "categories")
        ]
        if self._own is not None and 0 <= self._own.uncategorized < len(names):
            names[self._own.uncategorized] = ""
        texts = [name if isinstance(name, str) else "" for name in names]
        strings = self.trace.strings
        return np.array(
            [strings.intern(text.encode("utf-8", "replace")) for text in texts], np.int32
        )

    def _thread(self, thread: Object) -> int:
        """Return the index of a thread in the trace; -1 for events of a file of this project that are on none."""
        if self._own is not None:
            index = dictionary(thread, OWN).get("thread")
            if type(index) is int and -1 <= index < len(self.trace.threads):
                return index
            raise TraceError(field=f"threads.{OWN}", expected="a thread of the trace")
        process_name, kind = _text(thread, "processName"), _text(thread, "processType")
        if not process_name and kind not in ("default", ""):
            process_name = kind
        process = self._identities.process(thread.get("pid", 0), process_name)
        return self._identities.thread(process, thread.get("tid", 0), _text(thread, "name"))

    def _add_thread(
        self, thread: Object, shared: Object, libs: list[Any], rules: SampleRules
    ) -> int:
        index = self._thread(thread)
        if self._own is None:
            kept = {name: one for name, one in thread.items() if name not in READ_OF_THREADS}
        else:
            said = dictionary(thread, OWN).get("kept")
            kept = said if isinstance(said, dict) else {}
        if index >= 0:
            while len(self._kept) <= index:
                self._kept.append({})
            self._kept[index] = self._kept[index] or kept
        if not any(thread.get(name) for name in _TABLES):
            return index
        strings = strings_of(thread) or strings_of(shared)
        stacks = self._stacks(thread, shared, libs, strings)
        self._add_markers(thread, strings, rules, stacks, index)
        said = {} if self._own is None else dictionary(thread, OWN)
        if self._own is not None:
            categories = rules.categories if said.get("categories") is True else _NO_CATEGORIES
            cpu_unit = "cycles" if said.get("cycles") is True else "ns"
            rules = replace(rules, cpu_unit=cpu_unit, categories=categories)
        for table_name, *usual in _SAMPLE_TABLES:
            table = dictionary(thread, table_name)
            if not table:
                continue
            name, unit = _sampled(said, *usual)
            samples, skipped = samples_of(table, stacks, rules, name=name, unit=unit)
            self._skipped += skipped
            if samples is not None:
                category = _text(said, "category")
                number = self._class(replace(samples.event_class, category=category))
                self._parts.append(_bound(samples.batches, number, index))
        return index

    def _stacks(
        self, thread: Object, shared: Object, libs: list[Any], strings: list[Any]
    ) -> Stacks:
        """Return the stacks of a thread, or those that all threads of a process share."""
        # Frames and stacks are in the same object as their names.
        is_shared = bool(dictionary(shared, "frameTable"))
        tables = shared if is_shared else thread
        names = strings_of(tables)
        if is_shared and names and id(shared) in self._shared:
            return self._shared[id(shared)]
        sources = dictionary(shared, "sources") or dictionary(thread, "sources")
        stacks = self._frames.stacks(tables, names or strings, libs, sources)
        if is_shared and names:
            self._shared[id(shared)] = stacks
        return stacks

    def _class(self, event_class: EventClass) -> int:
        number = self._classes.get(event_class)
        if number is None:
            number = self._classes[event_class] = self.trace.add_class(event_class)
        return number

    def _add_markers(
        self, thread: Object, strings: list[Any], rules: SampleRules, stacks: Stacks, index: int
    ) -> None:
        def named(number: int) -> list[str] | None:
            return self._functions(stacks, number)

        names = self._frames.texts(strings)
        table = dictionary(thread, "markers")
        markers, skipped = markers_of(table, names, rules.categories, rules.later, named)
        self._skipped += skipped
        if markers is not None:
            self._parts.append(
                _bound(markers.batches, self._marker_classes, self._marker_tracks, index)
            )

    def _functions(self, stacks: Stacks, number: int) -> list[str] | None:
        """Return the names of the functions of a stack, innermost first."""
        names: list[str] = []
        while 0 <= number < len(stacks) and len(names) < _MOST_NAMED:
            function = int(stacks.frames.function[stacks.frame[number]])
            names.append(self.trace.strings[function].decode("utf-8", "replace"))
            number = int(stacks.outer[number])
        return names

    def _add_counter(self, form: Object, later: float, main: int) -> None:
        counter, skipped = counters_of(form, later)
        self._skipped += skipped
        if counter is None:
            return
        if self._own is not None:
            said = dictionary(form, OWN)
            thread, track = said.get("thread"), said.get("track")
            if not (
                type(thread) is int
                and type(track) is int
                and -1 <= thread < len(self.trace.threads)
                and -1 <= track < len(self.trace.tracks)
            ):
                raise TraceError(field=f"counters.{OWN}", expected="a thread and a track")
            kept = said.get("kept")
            kept = kept if isinstance(kept, dict) else {}
        else:
            thread = -1
            process = main if form.get("pid") is None else self._identities.process(form["pid"])
            scope = TrackScope.PROCESS if process >= 0 else TrackScope.GLOBAL
            track = len(self.trace.tracks)
            self.trace.tracks.append(Track(counter.name, scope, process if process >= 0 else -1))
            kept = {
                name: one
                for name, one in form.items()
                if name
                not in ("samples", "sampleGroups", "sample_groups", "pid", "mainThreadIndex")
            }
        if kept:
            self._counters.append({**kept, "track": track})
        strings = self.trace.strings
        texts = [
            strings.intern(text.encode("utf-8", "replace"))
            for text in (counter.name, counter.category)
        ]
        number = self._class(counter.event_class)
        self._parts.append(_bound(counter.batches, number, (texts[0], texts[1]), thread, track))


def _bound(batches: Callable[..., Iterator[Batch]], *arguments: Any) -> _Batches:
    return lambda: batches(*arguments)


def _sampled(said: Object, name: str, unit: str | None) -> tuple[str, str | None]:
    """Return the name and the unit of the samples of a thread: as a file of this project says, or the usual ones."""
    event, own_unit = said.get("event"), said.get("unit")
    return (
        event if isinstance(event, str) else name,
        own_unit if isinstance(own_unit, str) else unit,
    )


def _text(thread: Object, name: str) -> str:
    value = thread.get(name)
    # A lone surrogate is not valid text.
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else ""


def _moved(ts: NDArray[np.int64], offset: int) -> NDArray[np.int64]:
    least, most = int(ts.min(initial=0)) + offset, int(ts.max(initial=0)) + offset
    if min(least, most) >= -(1 << 63) and max(least, most) < 1 << 63:
        return ts + offset
    raise TraceError(field=f"{OWN}.offset", expected="times of 64 bits")


def _plain(value: Any) -> Any:
    """Return values as JSON has them: numbers of a second parse are decimals."""
    from decimal import Decimal

    match value:
        case Decimal():
            return float(value)
        case dict():
            return {name: _plain(one) for name, one in value.items()}
        case list():
            return [_plain(one) for one in value]
    return value
