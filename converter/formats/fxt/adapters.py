"""FXT's conventions for events of other formats: what the projection does before it fits their fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from converter.formats.fxt.record_types import MAX_PROFILER_LENGTH
from converter.ir.columns import Column, ListColumn, take
from converter.ir.distinct_values import map_distinct
from converter.ir.events import class_label
from converter.ir.kinds import Kind, Role
from converter.projection.capabilities import Adapter, Projection
from converter.projection.domain.sched_conventions import adapt_sched_switch, adapt_sched_wakeup
from converter.projection.engine.pieces import Piece, Thunk
from converter.projection.engine.texts import cut_utf8
from converter.projection.instants import as_instant
from converter.projection.losses import Aspect, LossKind
from converter.projection.lowering import native_records
from converter.projection.timeline_fields import BINDS

#: Formats that have both kinds of ends of flows.
_ENDING_AT_NEXT: Final = frozenset({"chrome", "perfetto"})


def adapt_native(piece: Piece, projection: Projection) -> Piece:
    """None of it, unless it is FXT's own: records of other formats are no records here."""
    if projection.source.format == "fxt":
        return piece
    what = native_records(piece, projection)
    projection.lose(LossKind.DROPPED, what, piece, aspect=Aspect.EVENTS)
    return piece.select(np.zeros(0, np.int32))


def adapt_log(piece: Piece, projection: Projection) -> Piece:
    """An instant with all that the event says, unless it is FXT's own: viewers skip log records ("Log Record")."""
    if projection.source.format == "fxt":
        return piece
    what = f"{class_label(piece.event_class)} as instant"
    projection.lose(LossKind.LOWERED, what, piece, aspect=Aspect.FORMS)
    return as_instant(piece, projection)


def adapt_sample(piece: Piece, projection: Projection) -> Piece:
    """At most 255 frames, the first ("Backtrace Record")."""
    return _with_lists_cut(piece, projection, Role.FRAMES, "frames of samples")


def adapt_flow_end(piece: Piece, projection: Projection) -> Piece:
    """Flows end at the slice around their end; JSON's and Perfetto's, unless they say so, at the next one."""
    of_next = projection.source.format in _ENDING_AT_NEXT
    if of_next and BINDS not in piece.event_class.fields:
        what = "arrows to the next slice: they end at the one around"
        projection.lose(LossKind.CHANGED, what, piece, aspect=Aspect.FLOWS)
    return piece


def adapt_module(piece: Piece, projection: Projection) -> Piece:
    """Names and build ids of at most 255 bytes ("Module Record")."""
    strings = projection.source.strings
    names = piece.texts(Role.NAME, strings)
    if names is not None:
        cut = map_distinct(
            names, lambda id: strings.intern(cut_utf8(strings[id], MAX_PROFILER_LENGTH))
        ).astype(np.int32)
        what = f"names of modules to {MAX_PROFILER_LENGTH} bytes"
        projection.lose(LossKind.TRUNCATED, what, piece, int(np.count_nonzero(cut != names)))
        piece = _with_column(piece, Role.NAME, cut)
    return _with_lists_cut(piece, projection, Role.BUILD_ID, "build ids of modules")


def _with_lists_cut(piece: Piece, projection: Projection, role: Role, what: str) -> Piece:
    column = piece.column(role)
    if not isinstance(column, ListColumn):
        return piece
    lengths = np.diff(column.offsets)
    count = int(np.count_nonzero(lengths > MAX_PROFILER_LENGTH))
    if not count:
        return piece
    projection.lose(LossKind.TRUNCATED, f"{what} to {MAX_PROFILER_LENGTH}", piece, count)
    kept = np.minimum(lengths, MAX_PROFILER_LENGTH)
    offsets = np.zeros(len(kept) + 1, np.int64)
    np.cumsum(kept, out=offsets[1:])
    inner = np.arange(offsets[-1]) + np.repeat(column.offsets[:-1] - offsets[:-1], kept)
    return _with_column(piece, role, ListColumn(offsets, take(column.values, inner)))


def _with_column(piece: Piece, role: Role, column: Column) -> Piece:
    columns: list[Column | Thunk] = piece.lazy_columns()
    index = piece.event_class.index_of(role)
    assert index is not None
    columns[index] = column
    return piece.rewritten(piece.event_class, columns)


#: For `Capabilities.adapters`.
ADAPTERS: Final[Mapping[Kind, Adapter]] = {
    Kind.SCHED_SWITCH: adapt_sched_switch,
    Kind.SCHED_WAKEUP: adapt_sched_wakeup,
    Kind.LOG: adapt_log,
    Kind.FLOW_END: adapt_flow_end,
    Kind.SAMPLE: adapt_sample,
    Kind.MODULE: adapt_module,
    Kind.NATIVE: adapt_native,
}
