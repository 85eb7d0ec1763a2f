"""Programs that write the events of a class: the kernel's inputs for its columns, and its name in the metadata."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import Any, Final, TypeVar

import numpy as np

from converter.formats.ctf.lttng_events import (
    PRIORITY_OFFSET,
    lttng_name,
    priorities,
    tracepoint_name,
)
from converter.formats.ctf.writing.event_classes import record_name
from converter.formats.ctf.writing.field_types import Written
from converter.ir.columns import Column
from converter.ir.events import EventClass, Field, Table
from converter.ir.field_classes import FloatClass, IntegerClass, StringClass
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Trace
from converter.projection.domain.syscalls import name_in_class

SYSCALL_KINDS: Final = frozenset({Kind.SYSCALL_ENTRY, Kind.SYSCALL_EXIT})
_PLAIN: Final = (IntegerClass, FloatClass, StringClass)
#: The names of the members before these in a common context.
_OF_THREADS: Final = frozenset({"pid", "tid", "vpid", "vtid", "procname", "track"})
_Item = TypeVar("_Item")


class Program:
    """Writes the events of a class; if a field has the system call's number, the events of one call."""

    def __init__(
        self,
        number: int,
        event_class: EventClass,
        written: Written,
        syscall: str | None,
        contexts: int = 0,
        context_members: int = 0,
    ) -> None:
        self.number = number
        #: This many fields at the end are context, which is written first.
        self.contexts = contexts
        #: The number of their members in the metadata, with lengths and selectors.
        self.context_members = context_members
        self.event_class = event_class
        self.written = written
        #: LTTng's name for the event, if it has one.
        self.known_name = lttng_name(event_class, syscall)
        self._priorities = priorities(event_class, event_class.name)

    def columns(self, table: Table) -> list[Any]:
        """Return the kernel's inputs for the columns of a table."""
        adjusted = self._priorities if self.known_name is not None else ()
        return self.written.columns(
            _less_offset(table.column(index)) if index in adjusted else table.column(index)
            for index in contexts_first(range(table.width), self.contexts)
        )

    def name(self, *, kernel: bool) -> str:
        """Return the name in the metadata."""
        if self.known_name is not None:
            return self.known_name
        name = record_name(self.event_class)
        if self._priorities:
            # Its priorities are not LTTng's, which readers recognize by names without a provider.
            return name if ":" in name else f"traceconv:{name}"
        return (tracepoint_name(self.event_class) if kernel else None) or name


def contexts_of(event_class: EventClass) -> int:
    """Return the number of fields at the end of a class of CTF that can be in a record's own context.

    Babeltrace crashes at lengths and selectors there.
    """
    contexts = reversed(_contexts(event_class))
    return sum(1 for _ in takewhile(lambda field: isinstance(field.type, _PLAIN), contexts))


def common_contexts(trace: Trace) -> int:
    """Return the number of fields at the end of each class of a trace of CTF that can be the common context of all."""
    classes = (one for one in trace.event_classes if one.kind is not Kind.DISCARDED)
    first, *others = {_contexts(one) for one in classes} or {()}
    if others or not _OF_THREADS.isdisjoint(field.name for field in first):
        return 0
    return len(first)


def _contexts(event_class: EventClass) -> tuple[Field, ...]:
    fields = event_class.fields
    own = sum(1 for _ in takewhile(lambda field: field.role is Role.CONTEXT, reversed(fields)))
    return fields[len(fields) - own :]


def contexts_first(fields: Sequence[_Item], contexts: int) -> list[_Item]:
    """Return the fields of a class in the order of its records."""
    payload = len(fields) - contexts
    return [*fields[payload:], *fields[:payload]]


def _less_offset(column: Column) -> Column:
    """Convert to LTTng's priorities; overflow is undone when the offset is added again."""
    assert isinstance(column, np.ndarray)
    wide = column.astype(np.int64) - PRIORITY_OFFSET
    return wide.astype(column.dtype)


def is_numbered(event_class: EventClass, index: int) -> bool:
    """Return True if events of a class are of all system calls, and a field has the call's number."""
    return (
        event_class.kind in SYSCALL_KINDS
        and name_in_class(event_class.name) is None
        and isinstance(event_class.fields[index].type, IntegerClass)
    )
