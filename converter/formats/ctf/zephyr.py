"""Threads and interrupts that Zephyr's tracer (subsys/tracing/ctf) records without their CPU.

All CPUs share one stream, whose packets and records name no CPU: everything is on CPU 0, as on a single-CPU system.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

import numpy as np

from converter.ir.columns import Column
from converter.ir.events import EventClass, Field
from converter.ir.field_classes import IntegerClass, StringClass
from converter.ir.kinds import Kind, Role
from converter.projection.domain.scheduling.switched_tasks import UNKNOWN_LABEL, UNKNOWN_TASK

#: A thread starts to run, and no thread runs any more.
SWITCHED_IN: Final = "thread_switched_in"
SWITCHED_OUT: Final = "thread_switched_out"
#: Records that name their thread.
NAMING: Final = frozenset(
    {SWITCHED_IN, SWITCHED_OUT, "thread_create", "thread_info", "thread_name_set"}
)
#: The fields of a thread's records with its ID and its name.
THREAD: Final = "thread_id"
NAME: Final = "name"

_OTHER: Final = IntegerClass(32, signed=True, labels=(UNKNOWN_LABEL,))
#: By the record: the roles of its own thread, and the field for the other one, which the record does not name.
_SWITCHES: Final = {
    SWITCHED_IN: (Role.NEXT_TID, Role.NEXT_COMM, Field("prev_tid", _OTHER, Role.PREV_TID)),
    SWITCHED_OUT: (Role.PREV_TID, Role.PREV_COMM, Field("next_tid", _OTHER, Role.NEXT_TID)),
}


def is_zephyr(classes: Iterable[str]) -> bool:
    """Return True if record classes of these names are Zephyr's."""
    return {SWITCHED_IN, SWITCHED_OUT} <= set(classes)


def thread_index(declared: EventClass) -> int | None:
    """Return the index of the field with the thread that a record is about."""
    return _index(declared, THREAD, IntegerClass)


def name_index(declared: EventClass) -> int | None:
    """Return the index of the field with the thread's name."""
    return _index(declared, NAME, StringClass)


def is_switch(declared: EventClass) -> bool:
    """Return True if records of a class say that a thread starts or stops running."""
    own = not declared.category and declared.name in _SWITCHES
    return own and thread_index(declared) is not None


def as_switch(declared: EventClass) -> EventClass:
    """Return a class of `is_switch` as switches from or to an unknown thread, which becomes the last field."""
    tid, comm, other = _SWITCHES[declared.name]
    roles = {thread_index(declared): tid, name_index(declared): comm}
    fields = tuple(
        replace(field, role=roles.get(index, field.role))
        for index, field in enumerate(declared.fields)
    )
    return replace(declared, kind=Kind.SCHED_SWITCH, fields=(*fields, other))


def unknown_tasks(threads: Column) -> Column:
    """Return the column of the unknown threads of these switches."""
    return np.full(len(threads), UNKNOWN_TASK, np.int32)


def _index(declared: EventClass, name: str, kind: type) -> int | None:
    for index, field in enumerate(declared.fields):
        if field.name == name and isinstance(field.type, kind) and field.role is Role.NONE:
            return index
    return None
