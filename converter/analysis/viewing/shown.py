"""The capabilities of a page: the timeline, as for any format that has nothing else, and context switches."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from converter.ir.events import EventClass, Field
from converter.ir.field_classes import ArrayClass, IntegerClass, StringClass, Style
from converter.ir.kinds import Kind, Role
from converter.projection.capabilities import Capabilities, KindSupport, Projection
from converter.projection.domain.call_stacks import frames_of
from converter.projection.engine.partitions import Partition
from converter.projection.instants import CATEGORY, NAME
from converter.projection.timeline_fields import FRAME, FRAMES, number_id, weight

_TID: Final = IntegerClass(64, signed=True)
_ID: Final = number_id("id")

_SLICES: Final = KindSupport((NAME,), (CATEGORY,), cpu=True, track=True)
_BY_ID: Final = KindSupport((NAME, _ID), (CATEGORY,), frozenset({Role.ID}), cpu=True, track=True)
_FLOWS: Final = KindSupport((NAME, _ID), (), frozenset({Role.ID}), arguments=False, track=True)
_COUNTERS: Final = KindSupport(
    (NAME, CATEGORY, _ID), numeric_values=True, values_only=True, cpu=True, track=True
)


def _counter_support(event_class: EventClass) -> KindSupport:
    """Return how a counter is held: with its id, a number or a text."""
    index = event_class.index_of(Role.ID)
    if index is None or not isinstance(event_class.fields[index].type, StringClass):
        return _COUNTERS
    return replace(_COUNTERS, fields=(NAME, CATEGORY, Field("id", StringClass(), Role.ID)))


_SWITCHES: Final = KindSupport(
    (
        Field("prev_tid", _TID, Role.PREV_TID),
        Field("next_tid", _TID, Role.NEXT_TID),
        Field("prev_comm", StringClass(), Role.PREV_COMM),
        Field("next_comm", StringClass(), Role.NEXT_COMM),
    ),
    (),
    frozenset({Role.PREV_TID, Role.NEXT_TID}),
    cpu=True,
)

#: Samples are instants, whose stacks are in flame graphs.
_SAMPLES: Final = KindSupport(
    (FRAMES,), required=frozenset({Role.FRAMES}), cpu=True, track=True, timed=True
)


def _sample_support(event_class: EventClass) -> KindSupport | None:
    """Return how a sample is held: with its stack, and its weight if it has one."""
    index, amount = event_class.index_of(Role.FRAMES), event_class.index_of(Role.COUNT)
    frames = None if index is None else event_class.fields[index].type
    if not isinstance(frames, ArrayClass):
        return None
    if not isinstance(frames.element, IntegerClass | StringClass) and frames.element != FRAME:
        return None
    counted = () if amount is None else (event_class.fields[amount],)
    if not all(isinstance(one.type, IntegerClass) for one in counted):
        return None
    fields = (FRAMES, *(weight(one.unit) for one in counted))
    return replace(_SAMPLES, fields=fields, event=("", event_class.name))


def _with_frames(partition: Partition, projection: Projection) -> Partition:
    """Convert addresses and names of functions to frames."""
    index = partition.event_class.index_of(Role.FRAMES)
    assert index is not None
    held = partition.event_class.fields[index].type
    if held == FRAMES.type:
        return partition
    assert isinstance(held, ArrayClass)
    element = held.element
    fields = list(partition.event_class.fields)
    fields[index] = FRAMES
    columns: list[Any] = partition.lazy_columns()
    columns[index] = lambda: frames_of(partition.table.column(index), element, projection.source)
    whole = partition.derive(
        ("frames",), lambda: replace(partition.event_class, fields=tuple(fields))
    )
    return partition.rewritten(whole, columns)


SHOWN: Final = Capabilities(
    kinds={
        Kind.SLICE_BEGIN: _SLICES,
        Kind.SLICE_END: _SLICES,
        Kind.INSTANT: _SLICES,
        Kind.ASYNC_BEGIN: _BY_ID,
        Kind.ASYNC_INSTANT: _BY_ID,
        Kind.ASYNC_END: _BY_ID,
        Kind.FLOW_BEGIN: _FLOWS,
        Kind.FLOW_STEP: _FLOWS,
        Kind.FLOW_END: _FLOWS,
        Kind.COUNTER: replace(_COUNTERS, of_class=_counter_support),
        Kind.SCHED_SWITCH: _SWITCHES,
        Kind.SAMPLE: replace(_SAMPLES, of_class=_sample_support),
    },
    adapters={Kind.SAMPLE: _with_frames},
    call_stacks=True,
    blobs=False,
    nulls=False,
    styles=frozenset(Style),
    labels=True,
    # Digits that no text can contain are replaced: a page is UTF-8.
    utf8_only=True,
    negative_times=True,
    clock_rates=False,
    time_order=True,
    tracks=True,
    epoch=True,
    track_units=True,
)

#: Slices alone: everything else is dropped early, at no cost.
SLICES: Final = replace(
    SHOWN,
    kinds={
        kind: replace(SHOWN.kinds[kind], arguments=False)
        for kind in (Kind.SLICE_BEGIN, Kind.SLICE_END, Kind.ASYNC_BEGIN, Kind.ASYNC_END)
    },
    call_stacks=False,
)
#: Counters alone.
COUNTERS: Final = replace(SHOWN, kinds={Kind.COUNTER: SHOWN.kinds[Kind.COUNTER]}, call_stacks=False)
