"""Conventions of scheduling records that formats outside Linux share: states in one vocabulary, weights, wakers.

For `Capabilities.adapters` of formats whose records are those of the Fuchsia trace format ("Context switch record").
Perfetto takes a thread whose weight is the least Int32 for the idle thread, and drops records without weights.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.filters.pieces import Piece, Projection, map_distinct
from converter.filters.thread_states import (
    THREAD_STATES,
    ThreadState,
    state_of_name,
    thread_state,
)
from converter.ir.events import EventClass, Field
from converter.ir.field_classes import IntegerClass, Style
from converter.ir.kinds import Role
from converter.losses import LossKind

#: The weight of the idle thread, which is thread 0 on every CPU.
IDLE_WEIGHT: Final = -(1 << 31)

INCOMING_WEIGHT: Final = Field("incoming_weight", IntegerClass(32, True))
OUTGOING_WEIGHT: Final = Field("outgoing_weight", IntegerClass(32, True))
WEIGHT: Final = Field("weight", IntegerClass(32, True))
WAKER: Final = Field("waker", IntegerClass(64, False, Style.OBJECT_ID))


def adapt_sched_switch(piece: Piece, projection: Projection) -> Piece:
    """Thread states as `THREAD_STATES`, the scheduler's own as an argument, and weights; what is there stays."""
    piece = _with_thread_state(piece, projection)
    for field, role in (
        (OUTGOING_WEIGHT, Role.PREV_TID),
        (INCOMING_WEIGHT, Role.NEXT_TID),
    ):
        if not _has(piece, field):
            piece = piece.with_argument(field, _weights(piece, role), first=True)
    return piece


def adapt_sched_wakeup(piece: Piece, projection: Projection) -> Piece:
    """The weight of the woken thread, and who wakes it: the thread of the event, 0 where there is none."""
    if not _has(piece, WAKER):
        threads = projection.threads_of(piece)
        tids = np.where(threads >= 0, projection.tids_of(threads), 0).view(np.uint64)
        count = int(np.count_nonzero(threads >= 0))
        projection.lose(LossKind.LOWERED, "waking threads as arguments", piece, count)
        absent = np.broadcast_to(np.int32(-1), threads.shape)
        piece = piece.with_argument(WAKER, tids, first=True).moved(thread=absent)
    if not _has(piece, WEIGHT):
        piece = piece.with_argument(WEIGHT, _weights(piece, Role.TID), first=True)
    return piece


def _has(piece: Piece, wanted: Field) -> bool:
    return any(field.name == wanted.name for field in piece.event_class.fields)


def _weights(piece: Piece, role: Role) -> NDArray[np.int32]:
    tids = piece.integers(role)
    if tids is None:
        return np.broadcast_to(np.int32(0), (len(piece),))
    return np.where(tids == 0, np.int32(IDLE_WEIGHT), np.int32(0))


def _with_thread_state(piece: Piece, projection: Projection) -> Piece:
    event_class = piece.event_class
    index = event_class.index_of(Role.PREV_STATE)
    if index is None:
        return piece
    own = event_class.fields[index]
    if isinstance(own.type, IntegerClass) and own.type.labels == THREAD_STATES.labels:
        return piece
    states: Any
    texts = piece.texts(Role.PREV_STATE, projection.source.strings)
    if texts is not None:
        strings = projection.source.strings
        states = map_distinct(
            texts, lambda id: state_of_name(strings.text(id)) or ThreadState.NEW
        ).astype(np.uint8)
    elif isinstance(own.type, IntegerClass):
        own_class, column = own.type, piece.table.lazy(index)

        def states() -> NDArray[np.uint8]:
            return thread_state(np.asarray(column()), own_class)
    else:
        return piece

    def made() -> EventClass:
        raw = tuple(
            replace(field, role=Role.NONE) if field is own else field
            for field in event_class.fields
        )
        return replace(event_class, fields=raw)

    raw = piece.rewritten(piece.derive(("state",), made), piece.lazy_columns())
    state = Field(own.name, THREAD_STATES, Role.PREV_STATE)
    return raw.with_argument(state, states, first=True)
