"""The data of a page: a timeline as packed columns, and the arguments of its events, as far as the size limit
allows.
"""

from __future__ import annotations

import json
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.analysis.viewing.arrange import Run, arranged
from converter.analysis.viewing.decoded import Decoded
from converter.analysis.viewing.gather import (
    OPEN,
    Arguments,
    Gathered,
    is_text,
    texts,
    thread_location,
)
from converter.analysis.viewing.levels import coarsened, coarsened_states, unit_for
from converter.analysis.viewing.packing import Packer
from converter.analysis.viewing.states import states_of
from converter.ir.events import Field
from converter.ir.field_classes import BooleanClass, FloatClass, IntegerClass, Style
from converter.ir.trace import Trace

#: An item takes about half as many bytes of a page, with its arguments; but it also costs the browser time.
_ITEM_BYTES: Final = 12
#: A state of a thread takes a third of that.
_STATES_OF_AN_ITEM: Final = 3
#: A sample takes about as many bytes of a page, in base64.
_SAMPLE_BYTES: Final = 8
_HEXADECIMAL: Final = (Style.HEXADECIMAL, Style.POINTER, Style.OBJECT_ID, Style.SYMBOL)


class Contents:
    """The two blocks of data of a page, of about `limit` bytes. `notes` and `losses` list what the blocks lack."""

    def __init__(self, trace: Trace, title: str, limit: int) -> None:
        self.events = 0
        trace.watch(self._count)
        self._gathered = Gathered(trace)
        self.losses = self._gathered.losses
        self.notes: list[str] = []
        self._states = states_of(trace)
        self._decoded = Decoded(trace)
        self._timeline = arranged(self._gathered, self._states.tids.tolist())
        if self._timeline.not_shown:
            self.notes.append(
                f"{self._timeline.not_shown:,} slices are not shown: too many go on at a time"
            )
        if self._gathered.untimed:
            self.notes.append(f"{self._gathered.untimed:,} records without a time are not shown")
        self._limit_samples(limit // 2)
        self._coarsen(limit)
        timeline, arguments = Packer(), Packer()
        header = self._header(title, timeline)
        header["sources"] = self._sources(arguments, limit - timeline.size)
        header["notes"] = self.notes
        header_position = timeline.add_bytes(json.dumps(header, separators=(",", ":")).encode())
        #: Base64; the last bytes, which are not compressed, hold the position of the header.
        self.timeline = timeline.text(
            f"{header_position['at']:012x}{header_position['size']:012x}".encode()
        )
        self.arguments = arguments.text()

    def _count(self, events: int) -> None:
        # The batches may be read twice.
        self.events = max(self.events, events)

    def _limit_samples(self, limit: int) -> None:
        """Leave out the call stacks of samples that would take more bytes."""
        samples = self._gathered.samples
        kept = max(limit // _SAMPLE_BYTES, 0)
        if len(samples["ts"]) <= kept:
            return
        left_out = len(samples["ts"]) - kept
        for name, column in samples.items():
            samples[name] = column[:kept]
        self.notes.append(
            f"the call stacks of the last {left_out:,} samples are left out, to keep the page small"
        )

    def _coarsen(self, limit: int) -> None:
        timeline = self._timeline
        wanted = limit // _ITEM_BYTES
        states = len(self._states.ts) // _STATES_OF_AN_ITEM
        if len(timeline.items["ts"]) + len(timeline.counters["ts"]) + states <= wanted:
            return
        unit = unit_for(timeline, wanted)
        coarsened(timeline, unit)
        self._states = coarsened_states(self._states, timeline.start, unit)
        self.notes.append(
            f"what is shorter than {_length(unit)} is drawn together with what is beside it, to keep "
            "the page small; of a part of the trace everything is drawn"
        )

    def _header(self, title: str, packer: Packer) -> dict[str, Any]:
        timeline, trace = self._timeline, self._gathered.trace
        items, add = timeline.items, packer.add
        tracks = [track for group in timeline.groups for track in group.tracks]
        numbers = {id(track): number for number, track in enumerate(tracks)}
        is_counter = timeline.run_kind == Run.COUNTER
        has_length = np.repeat(
            timeline.run_kind[~is_counter] == Run.SLICES, timeline.run_count[~is_counter]
        )
        took = np.where(items["end"] == OPEN, -1, items["end"] - items["ts"])[has_length]
        names, name = np.unique(items["name"], return_inverse=True)
        functions, function = self._functions()
        columns = {
            **self._samples(packer, numbers, function),
            **self._thread_states(packer, numbers),
            "runKind": add(timeline.run_kind),
            "runCount": add(timeline.run_count),
            "ts": add(_steps(items["ts"], timeline.run_count[~is_counter], timeline.start)),
            "took": add(took + 1),
            "name": add(name),
            "source": add(items["source"] + 1),
            "last": add(items["last"] + 1),
            "who": add(self._track_numbers(items["who"], numbers)),
            "counterTs": add(
                _steps(timeline.counters["ts"], timeline.run_count[is_counter], timeline.start)
            ),
            "counterValue": add(timeline.counters["value"], 8),
            **self._flows(packer, numbers),
        }
        if "count" in items:
            columns["count"] = add(items["count"])
            columns["busy"] = add(items["busy"])
        return {
            "title": title,
            "format": f"{trace.format}+{trace.variant}" if trace.variant else trace.format,
            "start": str(timeline.start),
            "end": str(timeline.end),
            "epoch": None if trace.clock.epoch_ns is None else str(trace.clock.epoch_ns),
            "events": self.events,
            "names": list(texts(trace.strings, names)),
            "groups": [
                {
                    "name": group.name,
                    "lanes": [
                        {"name": track.name, "runs": track.runs}
                        | ({"apart": True} if track.is_apart else {})
                        for track in group.tracks
                    ],
                }
                | ({"process": True} if group.is_process else {})
                for group in timeline.groups
            ],
            "states": self._states.names,
            "sampled": [{"name": name, "unit": unit} for name, unit in self._gathered.sampled],
            "functions": functions,
            "columns": columns,
        }

    def _thread_states(self, packer: Packer, numbers: dict[int, int]) -> dict[str, Any]:
        """Pack the states of threads: the number of states of each track, and of each its time and its waker."""
        states, add = self._states, packer.add
        return {
            "stateLane": add(self._track_numbers(states.tids, numbers)),
            "stateCount": add(states.counts),
            "stateTs": add(_steps(states.ts, states.counts, self._timeline.start)),
            "state": add(states.state),
            "stateWaker": add(self._track_numbers(states.waker, numbers)),
        }

    def _samples(
        self, packer: Packer, numbers: dict[int, int], function: NDArray[np.int64]
    ) -> dict[str, Any]:
        """Pack samples in the order of time, and their stacks: by number the stack around, and the function."""
        samples, known = self._gathered.samples, self._timeline.track_by_location
        order = np.argsort(samples["ts"], kind="stable")
        locations, which = np.unique(samples["location"][order], return_inverse=True)
        # One more than the number of the track; 0 without one.
        tracks = [numbers[id(known[one])] + 1 if one in known else 0 for one in locations.tolist()]
        stacks = self._gathered.call_stacks.stacks
        return {
            "sampleTs": packer.add(np.diff(samples["ts"][order] - self._timeline.start, prepend=0)),
            "sampleLane": packer.add(np.array(tracks, np.int64)[which]),
            "sampleEvent": packer.add(samples["event"][order]),
            "sampleStack": packer.add(samples["stack"][order]),
            "sampleWeight": packer.add(samples["weight"][order]),
            "stackOuter": packer.add(stacks["outer"]),
            "stackFunction": packer.add(function[stacks["frame"]]),
        }

    def _functions(self) -> tuple[list[str], NDArray[np.int64]]:
        """Return the names of functions, and the number of each frame's: without a name its file and address."""
        strings, numbers = self._gathered.trace.strings, dict[str, int]()
        frames = self._gathered.call_stacks.frames
        result = np.zeros(len(frames), np.int64)
        for frame, (function, file, address, _, _) in enumerate(frames.tolist()):
            at, named = f"0x{address:x}", next(texts(strings, np.array([function or file])))
            name = named if function else f"{named.rpartition('/')[2]}+{at}" if file else at
            result[frame] = numbers.setdefault(name, len(numbers))
        return list(numbers), result

    def _track_numbers(self, tids: NDArray[np.int64], numbers: dict[int, int]) -> NDArray[np.int64]:
        """Return one more than the track number of each thread, 0 without a track, and one more than all for idle
        threads.
        """
        tracks = {0: len(numbers) + 1}
        for number, thread in enumerate(self._gathered.trace.threads):
            track = self._timeline.track_by_location.get(thread_location(number))
            if track is not None and thread.tid:
                tracks[thread.tid] = numbers[id(track)] + 1
        known, inverse = np.unique(tids, return_inverse=True)
        return np.array([tracks.get(tid, 0) for tid in known.tolist()], np.int64)[inverse]

    def _flows(self, packer: Packer, numbers: dict[int, int]) -> dict[str, Any]:
        """Pack the paths of flows: the points of each id, every one a time on a track and the index of the next."""
        flows = self._timeline.flows
        order = np.lexsort((flows["ts"], flows["id"]))
        ts = flows["ts"][order] - self._timeline.start
        locations, inverse = np.unique(flows["location"], return_inverse=True)
        known = self._timeline.track_by_location
        track = np.array(
            [numbers[id(known[location])] for location in locations.tolist()], np.int64
        )
        track = track[inverse][order]
        id_ = flows["id"][order]
        # A beginning starts another flow of the same id.
        goes_on = np.flatnonzero((id_[1:] == id_[:-1]) & ~flows["begins"][order][1:])
        return {
            "flowFrom": packer.add(track[goes_on]),
            "flowFromTs": packer.add(ts[goes_on]),
            "flowTo": packer.add(track[goes_on + 1]),
            "flowToTs": packer.add(ts[goes_on + 1]),
        }

    def _sources(self, packer: Packer, room: int) -> list[Any]:
        """Pack the fields of the classes of events, by number; values are in the order of the items of the class."""
        items = self._timeline.items
        argument_texts = _ArgumentTexts(self._gathered.trace)
        result: list[Any] = [None] * (max(self._gathered.arguments, default=-1) + 1)
        left_out = 0
        for source, row in (("source", "row"), ("last", "last_row")):
            order = np.argsort(items[source], kind="stable")
            numbers, first = np.unique(items[source][order], return_index=True)
            for number, which in zip(
                numbers.tolist(), np.split(order, first[1:]), strict=len(order) > 0
            ):
                if number < 0:
                    continue
                arguments = self._gathered.arguments[number]
                if packer.size + argument_texts.size > room:
                    left_out += len(which)
                    continue
                result[number] = fields = []
                for i, one in enumerate(arguments.fields):
                    values, width = _values(arguments, i, items[row][which], argument_texts)
                    description = _described(one) | self._decoded.labels(one, values)
                    fields.append(description | packer.add(values, width))
        if left_out:
            self.notes.append(
                f"the arguments of {left_out:,} events are left out, to keep the page small"
            )
        return [packer.add_bytes(json.dumps(argument_texts.texts).encode()), result]


class _ArgumentTexts:
    """The texts of arguments, each stored once."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._number = np.full(0, -1, np.int64)
        self.texts: list[str] = []
        self.size = 0

    def numbers_of(self, ids: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
        """Return the numbers of strings in `texts`."""
        if len(self._trace.strings) > len(self._number):
            more = len(self._trace.strings) - len(self._number)
            self._number = np.append(self._number, np.full(more, -1, np.int64))
        distinct = np.unique(ids)
        new = distinct[self._number[distinct] < 0]
        self._number[new] = len(self.texts) + np.arange(len(new))
        for text in texts(self._trace.strings, new):
            self.texts.append(text)
            # Compression halves them or better.
            self.size += len(text) // 2 + 1
        numbers: NDArray[np.int64] = self._number[ids]
        return numbers


def _values(
    arguments: Arguments, index: int, rows: NDArray[np.int64], argument_texts: _ArgumentTexts
) -> tuple[NDArray[Any], int | None]:
    """Return the values of a field in some rows, and their width in bytes (None: as many as they need)."""
    chunks = arguments.columns[index]
    column = np.concatenate(chunks)[rows] if chunks else np.zeros(0, np.int64)
    if is_text(arguments.fields[index]):
        return argument_texts.numbers_of(column), None
    if column.dtype.kind in "bu":
        return column, None
    return column, column.dtype.itemsize


def _described(one: Field) -> dict[str, Any]:
    description: dict[str, Any] = {"name": one.name, "type": "text"}
    match one.type:
        case IntegerClass(_, signed, style, labels, flags):
            description["type"] = "signed" if signed else "unsigned"
            if style in _HEXADECIMAL:
                description["hexadecimal"] = True
            if labels:
                description["labels"] = [
                    [str(each.low), str(each.high), each.text] for each in labels
                ]
                description["flags"] = flags
        case FloatClass():
            description["type"] = "float"
        case BooleanClass():
            description["type"] = "boolean"
    return description


def _steps(ts: NDArray[np.int64], counts: NDArray[np.int64], start: int) -> NDArray[np.uint64]:
    """Return the difference of each value to the previous one in its row; of the first, to the start."""
    later = ts - start
    steps = np.diff(later, prepend=0)
    first = (np.cumsum(counts) - counts)[counts > 0]
    steps[first] = later[first]
    return steps.astype(np.uint64)


def _length(nanoseconds: int) -> str:
    for size, unit in ((10**9, "s"), (10**6, "ms"), (10**3, "us")):
        if nanoseconds >= size:
            return f"{nanoseconds / size:.3g} {unit}"
    return f"{nanoseconds} ns"
