"""What Zephyr's tracer (subsys/tracing/ctf) records of threads and interrupts, without saying on which CPU.

All CPUs have one stream, whose packets and records name none: what there is is on CPU 0, as where there is one CPU.
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
from converter.projection.domain.switched_tasks import UNKNOWN_LABEL, UNKNOWN_TASK

#: The thread that runs from now on, and that none does.
SWITCHED_IN: Final = "thread_switched_in"
SWITCHED_OUT: Final = "thread_switched_out"
#: Records that name their thread.
NAMING: Final = frozenset(
    {SWITCHED_IN, SWITCHED_OUT, "thread_create", "thread_info", "thread_name_set"}
)
#: Of a thread's records: the fields that say which it is and what it is called.
THREAD: Final = "thread_id"
NAME: Final = "name"

_OTHER: Final = IntegerClass(32, signed=True, labels=(UNKNOWN_LABEL,))
#: By the record: the roles of its own thread, and the field for the other one, which it does not say.
_SWITCHES: Final = {
    SWITCHED_IN: (Role.NEXT_TID, Role.NEXT_COMM, Field("prev_tid", _OTHER, Role.PREV_TID)),
    SWITCHED_OUT: (Role.PREV_TID, Role.PREV_COMM, Field("next_tid", _OTHER, Role.NEXT_TID)),
}


def is_zephyr(classes: Iterable[str]) -> bool:
    """Whether record classes of these names are Zephyr's."""
    return {SWITCHED_IN, SWITCHED_OUT} <= set(classes)


def thread_index(declared: EventClass) -> int | None:
    """The field that says which thread a record is about."""
    return _index(declared, THREAD, IntegerClass)


def name_index(declared: EventClass) -> int | None:
    """The field that says what it is called."""
    return _index(declared, NAME, StringClass)


def is_switch(declared: EventClass) -> bool:
    """Whether records of a class say that a thread begins or ceases to run."""
    own = not declared.category and declared.name in _SWITCHES
    return own and thread_index(declared) is not None


def as_switch(declared: EventClass) -> EventClass:
    """A class of `is_switch` as switches from or to a thread that is not known, which is their last field."""
    tid, comm, other = _SWITCHES[declared.name]
    roles = {thread_index(declared): tid, name_index(declared): comm}
    fields = tuple(
        replace(field, role=roles.get(index, field.role))
        for index, field in enumerate(declared.fields)
    )
    return replace(declared, kind=Kind.SCHED_SWITCH, fields=(*fields, other))


def unknown_tasks(threads: Column) -> Column:
    """The column of the threads that the switches of these do not say."""
    return np.full(len(threads), UNKNOWN_TASK, np.int32)


def _index(declared: EventClass, name: str, kind: type) -> int | None:
    for index, field in enumerate(declared.fields):
        if field.name == name and isinstance(field.type, kind) and field.role is Role.NONE:
            return index
    return None
