"""The capabilities of the text of perf script: tracepoints as far as their texts say them exactly, and samples."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from typing import Final

import numpy as np

from converter.formats.ftrace.lines.text_capabilities import text_capabilities
from converter.formats.perf.fields import CATEGORY
from converter.formats.perf.script.mapping import OFFSETS, is_sample_name, weight_field
from converter.formats.profiles.capabilities import lists_with, with_limited_weights
from converter.ir.columns import Column, ListColumn, StructColumn
from converter.ir.distinct_values import map_distinct
from converter.ir.events import EventClass, Field
from converter.ir.field_classes import IntegerClass
from converter.ir.kinds import Kind, Role
from converter.projection.capabilities import Adapter, Capabilities, KindSupport, Projection
from converter.projection.domain.call_stacks import members_of
from converter.projection.domain.lost_events import counted
from converter.projection.domain.lowered_samples import with_frames
from converter.projection.engine.partitions import Partition
from converter.projection.timeline_fields import CALLSTACK, FRAMES

_LOST: Final = Field("lost", IntegerClass(64), Role.COUNT)
MOST_LOST: Final = (1 << 63) - 1
#: Periods have no more digits.
MOST_WEIGHT: Final = 10**18 - 1
#: The name of samples of an unknown event, and of those whose weight is time.
_UNKNOWN_EVENT: Final = "samples"
_UNKNOWN_CLOCK: Final = "cpu-clock"
_IN_NAMES: Final = re.compile(r"[\s\0-\x1f:]+")
_CONTROL: Final = re.compile(rb"[\0-\x1f\x7f]")
_DISTANCE: Final = re.compile(rb"\+0x([0-9a-f]{1,15})\Z")
_UNKNOWN: Final = b"[unknown]"


@cache
def capabilities(variant: str) -> Capabilities:
    """Return the capabilities of a variant: times are microseconds or, of "ns", nanoseconds."""
    texts = text_capabilities(())
    kinds = {
        kind: replace(support, of_class=partial(_with_stack, support))
        for kind, support in texts.kinds.items()
    }
    kinds[Kind.SAMPLE] = replace(_sample_support(EventClass(Kind.SAMPLE)), of_class=_sample_support)
    kinds[Kind.DISCARDED] = KindSupport(
        fields=(_LOST,), arguments=False, thread=False, cpu=True, event=(CATEGORY, "lost")
    )
    adapters = {kind: _adapted(adapter) for kind, adapter in texts.adapters.items()}
    adapters[Kind.SAMPLE] = _adapt_sample
    adapters[Kind.DISCARDED] = counted(MOST_LOST, unknown=1, zeros=True)
    return replace(
        texts,
        kinds=kinds,
        adapters=adapters,
        cpuless=True,
        call_stacks=True,
        event_stacks=True,
        time_unit=None if variant == "ns" else 1000,
    )


def _with_stack(usual: KindSupport, event_class: EventClass) -> KindSupport | None:
    """Return how a tracepoint is held: a call stack follows what it prints."""
    support = usual if usual.of_class is None else usual.of_class(event_class)
    if support is None or CALLSTACK not in event_class.fields:
        return support
    stack = (CALLSTACK, OFFSETS) if OFFSETS in event_class.fields else (CALLSTACK,)
    return replace(support, trailing=stack)


def _sample_support(event_class: EventClass) -> KindSupport:
    name = _sample_name(event_class)
    return KindSupport(
        fields=(FRAMES,),
        optional=(weight_field(name), OFFSETS),
        required=frozenset({Role.FRAMES}),
        arguments=False,
        cpu=True,
        event=("", name),
        holds=Capabilities({}, arrays=True, structures=True, utf8_only=False),
    )


def _sample_name(event_class: EventClass) -> str:
    """Return the name of an event as a line can have it: one word that is not that of a tracepoint."""
    name = event_class.name
    if not name:
        in_ns = any(field.role is Role.COUNT and field.unit == "ns" for field in event_class.fields)
        return _UNKNOWN_CLOCK if in_ns else _UNKNOWN_EVENT
    if is_sample_name(name):
        return name
    return _IN_NAMES.sub("_", name).strip("_") or _UNKNOWN_EVENT


def _adapted(adapter: Adapter) -> Adapter:
    def adapt(partition: Partition, projection: Projection) -> Partition:
        partition = _without_flags(partition, projection)
        if CALLSTACK in partition.event_class.fields:
            index = partition.event_class.fields.index(CALLSTACK)
            partition = _with_printed_frames(partition, projection, index)
        return adapter(partition, projection)

    return adapt


def _without_flags(partition: Partition, projection: Projection) -> Partition:
    """Return events without the context that records have and perf does not print."""
    for number, field in enumerate(partition.event_class.fields):
        if field.role in (Role.CONTEXT_FLAGS, Role.CONTEXT_PREEMPT_COUNT):
            projection.lose("field-dropped", partition, field=field.name)
            # The fields after it have other numbers then.
            return _without_flags(partition.without_field(number), projection)
    return partition


def _adapt_sample(partition: Partition, projection: Projection) -> Partition:
    index = partition.event_class.index_of(Role.FRAMES)
    assert index is not None
    field = partition.event_class.fields[index]
    if field.type != FRAMES.type:
        partition = with_frames(partition, projection, index)
    printed = _with_printed_frames(partition, projection, index)
    return with_limited_weights(printed, projection, MOST_WEIGHT)


def _with_printed_frames(partition: Partition, projection: Projection, index: int) -> Partition:
    """Return frames as perf prints them: without source files, and with names that fit on a line."""
    strings = projection.source.strings

    def function(id: int) -> int:
        return _fitted(id, lambda text: _DISTANCE.sub(rb"+\1", text))

    def mapping(id: int) -> int:
        return _fitted(id, _balanced)

    def _fitted(id: int, fit: Callable[[bytes], bytes]) -> int:
        text = strings[id]
        fitted = fit(_CONTROL.sub(b"_", text).strip(b" "))
        if fitted == _UNKNOWN:
            fitted = b""
        return id if fitted == text else strings.intern(fitted)

    def printed() -> Column:
        column = partition.table.column(index)
        assert isinstance(column, ListColumn)
        assert isinstance(column.values, StructColumn)
        functions, mappings, address, source, line = members_of(
            column.values, projection.source.strings
        )
        new = map_distinct(functions, function), map_distinct(mappings, mapping)
        changed = (new[0] != functions) | (new[1] != mappings)
        placed = (source != 0) | (line != 0)
        if not changed.any() and not placed.any():
            return column
        projection.lose("frame-text-changed", partition, rows=lists_with(column, changed))
        projection.lose("frame-source-dropped", partition, rows=lists_with(column, placed))
        nothing = np.zeros(len(source), np.int32), np.zeros(len(source), np.uint32)
        members: tuple[Column, ...] = (*new, address, *nothing)
        return ListColumn(column.offsets, StructColumn(len(source), members))

    columns = partition.lazy_columns()
    columns[index] = printed
    return partition.rewritten(partition.event_class, columns)


def _balanced(text: bytes) -> bytes:
    """Return a name in which each parenthesis has its other one."""
    depth = 0
    for letter in text:
        depth += (letter == ord("(")) - (letter == ord(")"))
        if depth < 0:
            break
    return text.replace(b"(", b"[").replace(b")", b"]") if depth else text
