"""Tasks in kernel events: their names, and whether they are threads, where the tables say so and the events do not.

Importers name threads by the events about them, and take a new task for a process unless its flags say otherwise.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from converter.ir.distinct_values import map_distinct
from converter.ir.events import Field, class_label
from converter.ir.field_classes import StringClass
from converter.ir.kinds import Kind, Role
from converter.projection.capabilities import Projection
from converter.projection.losses import Aspect, LossKind
from converter.projection.new_tasks import with_clone_flags
from converter.projection.pieces import Piece

#: Which name goes with which task, under the names of the kernel's fields.
_NAMES: Final = (
    (Role.PREV_TID, Field("prev_comm", StringClass(), Role.PREV_COMM)),
    (Role.NEXT_TID, Field("next_comm", StringClass(), Role.NEXT_COMM)),
    (Role.TID, Field("comm", StringClass(), Role.COMM)),
    (Role.PARENT_TID, Field("parent_comm", StringClass(), Role.PARENT_COMM)),
)
_KINDS: Final[dict[Kind, tuple[Role, ...]]] = {
    Kind.SCHED_SWITCH: (Role.PREV_TID, Role.NEXT_TID),
    Kind.SCHED_WAKING: (Role.TID,),
    Kind.SCHED_WAKEUP: (Role.TID,),
    Kind.SCHED_WAKEUP_NEW: (Role.TID,),
    Kind.PROCESS_FORK: (Role.PARENT_TID, Role.TID),
    Kind.TASK_NEW: (Role.TID,),
    Kind.TASK_EXIT: (Role.TID,),
    Kind.TASK_FREE: (Role.TID,),
}
#: Kinds whose events have fields for names of tasks.
NAMED_KINDS: Final = frozenset(_KINDS)


def with_tasks(piece: Piece, projection: Projection) -> Piece:
    """A piece of one of `NAMED_KINDS` with the names of its tasks, where it has none, and flags of new ones."""
    event_class = piece.event_class
    present = {field.role for field in event_class.fields}
    for role, field in _NAMES:
        if role in _KINDS[event_class.kind] and role in present and field.role not in present:
            piece = _with_name(piece, role, field, projection)
    if event_class.kind is Kind.TASK_NEW:
        piece = with_clone_flags(piece, projection)
    if piece.event_class is not event_class:
        what = f"which fields {class_label(event_class)} lacked: they are zero or empty"
        projection.lose(LossKind.RETYPED, what, piece, aspect=Aspect.LAYOUT)
    return piece


def _with_name(piece: Piece, role: Role, field: Field, projection: Projection) -> Piece:
    tids = piece.integers(role)
    if tids is None:
        return piece
    strings, threads = projection.source.strings, projection.target.threads
    found = projection.thread_of_tid(tids)
    if piece.event_class.kind is Kind.TASK_NEW:
        # Until it says another it has the name of the task that made it.
        named = map_distinct(found, lambda one: one >= 0 and bool(threads[one].name))
        found = np.where(named, found, projection.threads_of(piece))
    names = map_distinct(
        found,
        lambda one: (
            strings.intern(threads[one].name.encode("utf-8", "surrogateescape")) if one >= 0 else 0
        ),
    )
    return piece.with_argument(field, names)
