"""Slices, counters and samples as columns: a row a slice, a value, a sample."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.analysis.columns.resolved import objects, resolved, texts
from converter.analysis.scheduling.states import UNFINISHED
from converter.analysis.tables.locations import location_columns
from converter.analysis.viewing.gather import OPEN, Gathered, Item, track_groups
from converter.analysis.viewing.layout import rows_of
from converter.analysis.viewing.shown import COUNTERS, SLICES
from converter.ir.columns import ListColumn, StructColumn
from converter.ir.display.text import utf8_text
from converter.ir.distinct_values import distinct
from converter.ir.event_columns import EventColumns
from converter.ir.events import Batch
from converter.ir.field_classes import ArrayClass, IntegerClass, StringClass, StructureClass
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Trace
from converter.projection.passes.clock_rates import in_nanoseconds

#: Slices that are nested more deeply have no depth of their own.
_DEEPEST: Final = 1 << 16


def slices(trace: Trace) -> EventColumns:
    """Return all slices, ordered by their begin.

    Columns: ``ts`` and ``dur`` (int64, nanoseconds; -1: not ended), ``name``, ``category``, ``depth`` (int32, 0: in no
    other slice), ``cpu``, ``tid``, ``pid``, ``thread``, ``process``, ``track`` (the name of a track that is not a
    thread's). Names are those of Perfetto's table `slice`. Kernel events that viewers draw as slices (interrupts,
    system calls, functions) are among them; instants are not.

    Raises:
        TraceError: as `Trace.batches` does.
    """
    gathered = Gathered(trace, shown=SLICES)
    items, shown = gathered.items, gathered.trace
    category = np.zeros(len(items["ts"]), np.int32)
    for number, held in gathered.arguments.items():
        roles = [field.role for field in held.fields]
        if Role.CATEGORY in roles:
            here = items["source"] == number
            column = np.concatenate(
                [*held.columns[roles.index(Role.CATEGORY)], np.zeros(0, np.int32)]
            )
            category[here] = column[items["row"][here]]
    depth = _depths(items)
    order = np.lexsort((depth, items["ts"]))
    ts, end = items["ts"][order], items["end"][order]
    strings = shown.strings
    empty = strings.intern("")
    return EventColumns(
        len(order),
        {
            "ts": ts,
            "dur": np.where(end == OPEN, UNFINISHED, end - ts),
            "name": partial(texts, items["name"][order], strings),
            "category": partial(texts, np.where(category == empty, -1, category)[order], strings),
            "depth": depth[order],
            **location_columns(shown, items["location"][order]),
        },
    )


def _depths(items: dict[str, NDArray[Any]]) -> NDArray[np.int32]:
    """Return the depth of each slice: that of nested slices, or the row of asynchronous ones among those of their name
    that overlap.
    """
    first, group = track_groups(items)
    # The longest of those that begin at one time is around the others.
    order = np.lexsort((-items["end"], items["ts"], group))
    nests = items["kind"][first] == Item.SLICE
    rows = rows_of(
        group[order].astype(np.int32),
        items["ts"][order],
        items["end"][order],
        nests.astype(np.uint8),
        _DEEPEST,
    )
    depth = np.empty(len(order), np.int32)
    depth[order] = np.where(rows < 0, _DEEPEST, rows)
    return depth


def counters(trace: Trace) -> EventColumns:
    """Return all values of counters, in the order of the trace.

    Columns: ``ts`` (int64, nanoseconds), ``name``, ``value`` (float64), ``unit``, ``series`` (the argument's name,
    where a counter has several values at a time), ``cpu``, ``tid``, ``pid``, ``thread``, ``process``, ``track``.

    Raises:
        TraceError: as `Trace.batches` does.
    """
    gathered = Gathered(trace, shown=COUNTERS)
    values, shown = gathered.counters, gathered.trace
    location = np.array([one[0] for one in gathered.series], np.int64)
    names = np.array([one[1] for one in gathered.series], np.int32)
    series = objects((one[3] for one in gathered.series), len(gathered.series))
    order = np.argsort(values["ts"], kind="stable")
    at = values["series"][order]
    places = location_columns(shown, location[at])
    return EventColumns(
        len(order),
        {
            "ts": values["ts"][order],
            "name": partial(texts, names[at], shown.strings),
            "value": values["value"][order],
            "unit": partial(_units, shown, location[at]),
            "series": series[at],
            **places,
        },
    )


def _units(trace: Trace, location: NDArray[np.int64]) -> NDArray[Any]:
    units = objects((track.unit or None for track in trace.tracks), len(trace.tracks) + 1)
    is_track = (location >= 0) & (location < len(trace.tracks))
    return units[np.where(is_track, location, len(trace.tracks))]


def samples(trace: Trace) -> EventColumns:
    """Return all samples of call stacks, in the order of the trace.

    Columns: ``ts`` (int64, nanoseconds), ``event`` (the name of the event that was sampled, such as "cycles"),
    ``stack`` (lists of names of functions, the innermost first; a function without a name is its file and offset, or
    its address, as hexadecimal numbers), ``cpu``, ``tid``, ``pid``, ``thread``, ``process``, ``weight`` (how much of
    the event the sample is for, where the source knows it), and the other fields of the samples, as `Trace.events`
    has them.

    Raises:
        TraceError: as `Trace.batches` does.
    """
    from converter.analysis.columns.collecting import ColumnCollector
    from converter.analysis.columns.named import Fields
    from converter.projection.passes.sample_weights import with_weights

    trace = with_weights(in_nanoseconds(trace))
    collector = ColumnCollector(trace, Fields(trace, None))
    stacks: list[NDArray[Any]] = []
    for batch in trace.batches():
        sampled = _positions_of_samples(trace, batch)
        if len(sampled):
            part = batch.select(sampled)
            collector.add(part)
            stacks.append(_stacks_of(trace, part))
    columns = collector.columns()
    rest = {
        name: partial(columns.__getitem__, name)
        for name in columns
        if name not in ("ts", "system", "kind", "track", "frames")
    }
    stack = np.concatenate([np.zeros(0, object), *stacks])
    return EventColumns(len(columns), {"ts": columns["ts"], "stack": stack, **rest})


def _positions_of_samples(trace: Trace, batch: Batch) -> NDArray[np.int32]:
    found = [
        batch.positions(number)
        for number, table in batch.tables.items()
        if len(table) and trace.event_classes[number].kind is Kind.SAMPLE
    ]
    return np.sort(np.concatenate([np.zeros(0, np.int32), *found]))


def _stacks_of(trace: Trace, samples: Batch) -> NDArray[Any]:
    """Return the stack of each event of a batch that has nothing but samples."""
    stacks = np.empty(len(samples), object)
    for number, table in samples.tables.items():
        event_class = trace.event_classes[number]
        index = event_class.index_of(Role.FRAMES)
        if event_class.kind is not Kind.SAMPLE or index is None or not len(table):
            continue
        held, column = event_class.fields[index].type, table.column(index)
        if isinstance(held, ArrayClass) and isinstance(column, ListColumn):
            names = _frame_names(trace, held.element, column.values)
            bounds = column.offsets.tolist()
            for position, a, b in zip(
                samples.positions(number).tolist(), bounds[:-1], bounds[1:], strict=True
            ):
                stacks[position] = names[a:b]
    return stacks


def _frame_names(trace: Trace, element: Any, values: Any) -> list[str]:
    """Return the name of each frame."""
    match element, values:
        case StringClass(), _:
            return [str(text) for text in resolved(element, values, trace.strings)]
        case IntegerClass(), np.ndarray():
            addresses, inverse = distinct(values.astype(np.uint64))
            known: list[bytes | None] = [None] * len(addresses)
            if trace.symbols is not None:
                known = list(trace.symbols.names(addresses))
            texts = [
                f"{address:#x}" if name is None else utf8_text(name)
                for address, name in zip(addresses.tolist(), known, strict=True)
            ]
            return [texts[i] for i in inverse.tolist()]
        case StructureClass(members), StructColumn(length, columns):
            parts = {
                member.name: resolved(member.type, inner, trace.strings).tolist()
                for member, inner in zip(members, columns, strict=True)
            }
            functions = parts.get("function", [None] * length)
            mappings = parts.get("mapping", [None] * length)
            addresses = parts.get("rel_pc", [0] * length)
            return [
                str(function)
                if function
                else f"{mapping}+{address:#x}"
                if mapping
                else f"{address:#x}"
                for function, mapping, address in zip(functions, mappings, addresses, strict=True)
            ]
    return [str(one) for one in resolved(element, values, trace.strings)]
