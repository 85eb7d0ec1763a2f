"""The document: written at the end, when all its tables are known; columns are copied from where they grew."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from converter.formats.profiles.gecko.layout import (
    OWN,
    OWN_TRACK,
    OWN_VERSION,
    WEIGHT_TYPES,
)
from converter.formats.profiles.gecko.mapping import CATEGORY, CPU_CYCLES
from converter.formats.profiles.gecko.side_table import track_form
from converter.formats.profiles.gecko.writing.columns import Columns
from converter.formats.profiles.gecko.writing.counters import CounterState, CounterWriter
from converter.formats.profiles.gecko.writing.markers import MarkerWriter
from converter.formats.profiles.gecko.writing.meta import lib_form, meta_form
from converter.formats.profiles.gecko.writing.samples import SampleWriter
from converter.formats.profiles.gecko.writing.texts import compact
from converter.formats.profiles.gecko.writing.threads import (
    MARKER_COLUMNS,
    SAMPLE_COLUMNS,
    FrameTables,
    ThreadTables,
)
from converter.formats.profiles.samples import unit_of
from converter.formats.side_table import side_table_form
from converter.ir.trace import TrackScope
from converter.storage.sink import Sink

_Key = Any


class Document:
    """Writes what has grown."""

    def __init__(
        self,
        columns: Columns,
        markers: MarkerWriter,
        samples: SampleWriter,
        counters: CounterWriter,
    ) -> None:
        self._columns = columns
        self._markers = markers
        self._counters = counters.counters
        self._trace = columns.trace
        self._kept = columns.kept
        self._frames = FrameTables(samples.stacks, columns.trace.strings)
        threads = [*columns.threads.items(), *samples.extra.values()]
        of_details = self._details()
        for index, details in enumerate(of_details):
            if details and 2 * index not in columns.threads:
                threads.append((2 * index, ThreadTables(index)))
        if not threads:
            threads.append((-1, ThreadTables()))
        #: Threads of the document with the key of their columns: those of the trace in order, then tracks.
        self._threads = sorted(threads, key=_rank)
        self._main = self._main_threads()

    def _details(self) -> list[dict[str, Any]]:
        """Return what the source's profile says of threads, by their numbers."""
        kept = self._kept.get("threads", [])
        return [one if isinstance(one, dict) else {} for one in kept][: len(self._trace.threads)]

    def _main_threads(self) -> dict[int, int]:
        """Return the thread of the document that is the main one of each process."""
        main: dict[int, int] = {}
        trace = self._trace
        for number, (_, tables) in enumerate(self._threads):
            process = self._process(tables)
            thread = trace.threads[tables.thread] if tables.thread >= 0 else None
            is_main = (
                thread is not None and process >= 0 and thread.tid == trace.processes[process].pid
            )
            if process not in main or (is_main and not tables.is_extra):
                before = main.get(process)
                known = before is not None and self._is_main_by_id(before, process)
                main[process] = before if known and before is not None else number
        return main

    def _is_main_by_id(self, number: int, process: int) -> bool:
        thread = self._threads[number][1].thread
        return (
            thread >= 0
            and process >= 0
            and (self._trace.threads[thread].tid == self._trace.processes[process].pid)
        )

    def _process(self, tables: ThreadTables) -> int:
        """Return the process of a thread of the document; -1 for none."""
        if tables.thread >= 0:
            return self._trace.threads[tables.thread].process
        if tables.track >= 0 and self._trace.tracks[tables.track].scope is TrackScope.PROCESS:
            return self._trace.tracks[tables.track].owner
        return -1

    def write(self, sink: Sink) -> None:
        """Write the document."""
        self._sink = sink
        self._put('{"meta":')
        columns, trace = self._columns, self._trace
        epoch = trace.clock.epoch_ns or 0
        kept_meta = self._kept.get("meta", {})
        schemas = [one.shown() for one in self._markers.schemas if one is not None and one.name]
        start = epoch + (columns.offset or 0)
        meta = meta_form(trace, kept_meta, columns.categories, schemas, start)
        if self._kept and "startTime" in kept_meta:
            meta["startTime"] = kept_meta["startTime"]
        self._put(compact(meta))
        self._put(',\n"threads":[')
        for number, (key, tables) in enumerate(self._threads):
            self._put(",\n" if number else "\n")
            self._thread(number, key, tables)
        self._put("\n]")
        self._put(',\n"counters":[')
        for number, (name, counter) in enumerate(self._counters.items()):
            self._put(",\n" if number else "\n")
            self._counter(name, counter)
        self._put("\n]")
        self._members()
        self._put("}\n")

    def _members(self) -> None:
        members: dict[str, Any] = dict(self._kept.get("members", {}))
        own_libs = members.get("libs")
        libs = list(own_libs) if isinstance(own_libs, list) else []
        kept_libs = len(libs)
        libs += self._new_libs
        names = list(members)
        members = {"pages": [], "profilerOverhead": []} | members | {"libs": libs}
        for name, value in members.items():
            self._put(f",\n{compact(name)}:{compact(value)}")
        columns, markers = self._columns, self._markers
        own = {
            "version": OWN_VERSION,
            "tables": side_table_form(self._trace),
            "tracks": [track_form(track) for track in self._trace.tracks],
            "classes": [None if schema is None else schema.form() for schema in markers.schemas],
            "offset": str(columns.offset or 0),
            "uncategorized": columns.categories.uncategorized,
            "members": names,
            "libs": kept_libs,
        }
        if "meta" in self._kept:
            own["meta"] = self._kept["meta"]
        if "text_ids" in self._kept:
            own["text_ids"] = self._kept["text_ids"]
        if not columns.is_exact:
            own["exact"] = True
        if markers.repeats:
            own["repeats"] = True
        # In ASCII: names that are not UTF-8 are lone surrogates, which no text has.
        self._put(f',\n"{OWN}":{json.dumps(own, separators=(",", ":"))}')

    @property
    def _new_libs(self) -> list[dict[str, Any]]:
        strings = self._trace.strings
        return [lib_form(strings[one].decode("utf-8", "replace")) for one in self._frames.libs]

    def _thread(self, number: int, key: int, tables: ThreadTables) -> None:
        trace = self._trace
        frames = self._frames.of(tables)
        offset = len(self._kept.get("members", {}).get("libs") or [])
        frames["resourceTable"]["lib"] = [one + offset for one in frames["resourceTable"]["lib"]]
        self._put("{" + compact(self._facts(number, tables))[1:-1])
        for name, table in frames.items():
            self._put(f',"{name}":{compact(table)}')
        strings = sorted(tables.strings, key=tables.strings.__getitem__)
        texts = [trace.strings[one].decode("utf-8", "replace") for one in strings]
        self._put(f',"stringArray":{compact(texts)}')
        own = (OWN, OWN_TRACK) if tables.has_tracks else (OWN,)
        self._table("markers", key, tables.markers, (*MARKER_COLUMNS, *own))
        self._samples(key, tables)
        self._put("}")

    def _samples(self, key: int, tables: ThreadTables) -> None:
        spool = self._columns.spool
        columns = [
            name
            for name in SAMPLE_COLUMNS
            if name in ("stack", "time")
            or (spool.has((key, name)) and (name != "weight" or tables.has_weights))
        ]
        unit = "count"
        if tables.sampled is not None:
            unit = unit_of(self._trace.event_classes[tables.sampled])
        more = {"weightType": WEIGHT_TYPES.get(unit, "samples")}
        if not tables.has_weights:
            more["weight"] = None  # type: ignore[assignment]
        if tables.is_sorted:
            self._table("samples", key, tables.samples, tuple(columns), more)
            return
        parsed = {name: json.loads(b"[" + spool.text((key, name)) + b"]") for name in columns}
        order = np.argsort(np.array(parsed["time"], np.float64), kind="stable").tolist()
        sorted_columns = {name: [one[row] for row in order] for name, one in parsed.items()}
        self._put(f',"samples":{compact({"length": tables.samples, **sorted_columns, **more})}')

    def _table(
        self,
        name: str,
        key: _Key,
        length: int,
        columns: tuple[str, ...],
        more: dict[str, Any] | None = None,
    ) -> None:
        self._put(f',"{name}":{{"length":{length}')
        for column in columns:
            self._put(f',"{column}":[')
            for block in self._columns.spool.blocks((key, column)):
                self._sink.write(block)
            self._put("]")
        for member, value in (more or {}).items():
            self._put(f',"{member}":{compact(value)}')
        self._put("}")

    def _facts(self, number: int, tables: ThreadTables) -> dict[str, Any]:
        """Return what a thread is besides its tables."""
        trace = self._trace
        process = self._process(tables)
        details = self._details()
        kept = details[tables.thread] if 0 <= tables.thread < len(details) else {}
        own: dict[str, Any] = {"thread": tables.thread}
        facts: dict[str, Any] = {
            "name": self._name(tables),
            "isMainThread": self._main.get(process) == number,
            "processType": "default",
            "processName": trace.processes[process].name if process >= 0 else "",
            "processStartupTime": 0,
            "processShutdownTime": None,
            "registerTime": 0,
            "unregisterTime": None,
            "pausedRanges": [],
            "showMarkersInTimeline": not tables.samples,
            "pid": self._pid(process),
            "tid": self._tid(tables),
        }
        if kept and not tables.is_extra:
            facts |= {name: one for name, one in kept.items() if name != OWN}
            own["kept"] = kept
        if tables.sampled is not None:
            event_class = trace.event_classes[tables.sampled]
            own |= {"event": event_class.name, "category": event_class.category}
            own["unit"] = unit_of(event_class)
            if CATEGORY in event_class.fields:
                own["categories"] = True
            if CPU_CYCLES in event_class.fields:
                own["cycles"] = True
        return {**facts, OWN: own}

    def _name(self, tables: ThreadTables) -> str:
        trace = self._trace
        if tables.thread >= 0:
            name = trace.threads[tables.thread].name
            if tables.is_extra and tables.sampled is not None:
                event = trace.event_classes[tables.sampled].name
                name = f"{name} ({event})" if event else name
            return _text(name)
        if tables.track >= 0:
            track = trace.tracks[tables.track]
            return _text(
                f"{track.name} {track.owner}" if track.scope is TrackScope.CPU else track.name
            )
        return ""

    def _pid(self, process: int) -> str:
        if process < 0:
            return "0"
        pid = str(self._trace.processes[process].pid)
        return str(self._kept.get("text_ids", {}).get(pid, pid))

    def _tid(self, tables: ThreadTables) -> int | str:
        if tables.thread < 0:
            return f"track {tables.track}" if tables.track >= 0 else 0
        tid = self._trace.threads[tables.thread].tid
        text = self._kept.get("text_ids", {}).get(str(tid))
        # Profilers have numbers of 53 bits.
        return str(text) if text is not None else tid if tid < 1 << 53 else str(tid)

    def _counter(self, key: _Key, counter: CounterState) -> None:
        trace = self._trace
        track = trace.tracks[counter.track] if counter.track >= 0 else None
        process = -1
        if track is not None and track.scope is TrackScope.PROCESS:
            process = track.owner
        elif track is not None and track.scope is TrackScope.THREAD:
            process = trace.threads[track.owner].process
        kept = next(
            (
                one
                for one in self._kept.get("counters", [])
                if isinstance(one, dict) and one.get("track") == counter.track
            ),
            {},
        )
        own: dict[str, Any] = {"thread": -1, "track": counter.track, "category": counter.category}
        own["name"] = counter.name
        if counter.is_real:
            own["real"] = True
        if kept:
            own["kept"] = {name: one for name, one in kept.items() if name != "track"}
        facts = {
            "name": track.name if track is not None and track.name else counter.name,
            "category": counter.shown_category,
            "description": counter.name,
            **{name: one for name, one in kept.items() if name != "track"},
            "pid": self._pid(process),
            "mainThreadIndex": self._main.get(process, 0),
            OWN: own,
        }
        self._put("{" + compact(facts)[1:-1])
        self._table("samples", key, counter.count, ("time", "count", OWN))
        self._put("}")

    def _put(self, text: str) -> None:
        # A lone surrogate is not valid text.
        self._sink.write(text.encode("utf-8", "replace"))


def _rank(item: tuple[int, ThreadTables]) -> tuple[int, int, bool, int]:
    """Return the key by which threads are in order: threads of the trace, then tracks, then what is on none."""
    key, tables = item
    if tables.thread >= 0:
        return 0, tables.thread, tables.is_extra, -key
    return (1, tables.track, False, 0) if tables.track >= 0 else (2, 0, False, 0)


def _text(name: str) -> str:
    return name.encode("utf-8", "replace").decode()
