"""Capabilities of formats that do not exist, from one that holds everything to one that holds next to nothing."""

from converter.ir.events import Field
from converter.ir.field_classes import BytesClass, IntegerClass, StringClass, Style
from converter.ir.kinds import Kind, Role
from converter.projection.capabilities import Capabilities, KindSupport
from converter.projection.domain.scheduling.sched_conventions import (
    adapt_sched_switch,
    adapt_sched_wakeup,
)
from converter.projection.domain.scheduling.thread_states import THREAD_STATES

NAME = Field("name", StringClass(), Role.NAME)
CATEGORY = Field("category", StringClass(), Role.CATEGORY)
U64 = IntegerClass(64)
ID = Field("id", U64, Role.ID)

_SWITCH = (
    Field("prev_tid", U64, Role.PREV_TID),
    Field("next_tid", U64, Role.NEXT_TID),
    Field("prev_state", THREAD_STATES, Role.PREV_STATE),
)
_SLICE = (NAME, CATEGORY)

#: A binary format of profilers: threads but no tracks, few types of arguments, at most 15 of them.
PROFILER = Capabilities(
    kinds={
        Kind.INSTANT: KindSupport(_SLICE),
        Kind.COUNTER: KindSupport((*_SLICE, ID), numeric_values=True),
        Kind.SLICE_BEGIN: KindSupport(_SLICE),
        Kind.SLICE_END: KindSupport(_SLICE),
        Kind.ASYNC_BEGIN: KindSupport((*_SLICE, ID), required=frozenset({Role.ID})),
        Kind.ASYNC_END: KindSupport((*_SLICE, ID), required=frozenset({Role.ID})),
        Kind.SCHED_SWITCH: KindSupport(
            _SWITCH, required=frozenset({Role.PREV_TID, Role.NEXT_TID}), thread=False, cpu=True
        ),
        Kind.SCHED_WAKEUP: KindSupport(
            (Field("tid", U64, Role.TID),), required=frozenset({Role.TID}), thread=False, cpu=True
        ),
        Kind.LOG: KindSupport(
            (Field("message", StringClass(), Role.MESSAGE),),
            required=frozenset({Role.MESSAGE}),
            arguments=False,
        ),
        Kind.BLOB: KindSupport(
            (NAME, Field("payload", BytesClass(), Role.PAYLOAD)),
            required=frozenset({Role.PAYLOAD}),
            arguments=False,
            thread=False,
            timed=False,
        ),
    },
    integers=frozenset((bits, signed) for bits in (32, 64) for signed in (False, True)),
    floats=frozenset({64}),
    styles=frozenset({Style.POINTER, Style.OBJECT_ID}),
    wide_styles=frozenset({Style.POINTER, Style.OBJECT_ID}),
    max_arguments=15,
    max_string_bytes=100,
    max_blob_bytes=8,
    max_cpu=0xFFFE,
    threadless=False,
    weights=True,
    adapters={Kind.SCHED_SWITCH: adapt_sched_switch, Kind.SCHED_WAKEUP: adapt_sched_wakeup},
)

#: A tracer of everything, which has all kinds, types and tracks.
EVERYTHING = Capabilities(
    kinds={kind: KindSupport(cpu=True, track=True, named=True, roles=True) for kind in Kind},
    styles=frozenset(Style),
    labels=True,
    units=True,
    arrays=True,
    structures=True,
    variants=True,
    optionals=True,
    utf8_only=False,
    negative_times=True,
    negative_durations=True,
    late_ends=True,
    tracks=True,
    clock_names=True,
    other_clocks=True,
    epoch=True,
    environment=True,
    command_lines=True,
)

#: A text format of viewers: tracks, nested values, no integers but signed 64-bit ones, slices only as a whole.
VIEWER = Capabilities(
    kinds={
        Kind.INSTANT: KindSupport(_SLICE, track=True),
        Kind.COUNTER: KindSupport((NAME,), track=True, numeric_values=True),
        Kind.SLICE_COMPLETE: KindSupport(
            (*_SLICE, Field("duration", IntegerClass(64, True), Role.DURATION)),
            required=frozenset({Role.DURATION}),
            track=True,
        ),
        Kind.SLICE_BEGIN: KindSupport(_SLICE, track=True),
        Kind.SLICE_END: KindSupport(track=True),
    },
    integers=frozenset({(64, True)}),
    floats=frozenset({64}),
    blobs=False,
    arrays=True,
    structures=True,
    optionals=True,
    tracks=True,
)

#: A recorder of tracepoints on CPUs: no timeline at all, and little besides integers and short strings.
RECORDER = Capabilities(
    kinds={Kind.TYPED: KindSupport(cpu=True, named=True)},
    integers=frozenset({(16, False), (64, True)}),
    floats=frozenset(),
    booleans=False,
    nulls=False,
    blobs=False,
    max_arguments=2,
    max_string_bytes=7,
    id_bits=16,
    threadless=False,
    cpuless=False,
)

TARGETS = {
    "profiler": PROFILER,
    "everything": EVERYTHING,
    "viewer": VIEWER,
    "recorder": RECORDER,
}
