"""The capabilities of a page: the timeline, as for any format that has nothing else, and context switches."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from converter.ir.events import Field
from converter.ir.field_classes import IntegerClass, StringClass, Style
from converter.ir.kinds import Kind, Role
from converter.projection.capabilities import Capabilities, KindSupport
from converter.projection.instants import CATEGORY, NAME
from converter.projection.timeline_fields import number_id

_TID: Final = IntegerClass(64, signed=True)
_ID: Final = number_id("id")

_SLICES: Final = KindSupport((NAME,), (CATEGORY,), cpu=True, track=True)
_BY_ID: Final = KindSupport((NAME, _ID), (CATEGORY,), frozenset({Role.ID}), cpu=True, track=True)
_FLOWS: Final = KindSupport((NAME, _ID), (), frozenset({Role.ID}), arguments=False, track=True)
_COUNTERS: Final = KindSupport(
    (NAME, CATEGORY, _ID), numeric_values=True, values_only=True, cpu=True, track=True
)
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
        Kind.COUNTER: _COUNTERS,
        Kind.SCHED_SWITCH: _SWITCHES,
    },
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
)
#: Counters alone.
COUNTERS: Final = replace(SHOWN, kinds={Kind.COUNTER: SHOWN.kinds[Kind.COUNTER]})
