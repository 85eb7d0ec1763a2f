"""Programs that write the events of a class: the kernel's inputs for its columns, and its name in the metadata."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from converter.formats.ctf.lttng_events import (
    PRIORITY_OFFSET,
    lttng_name,
    priorities,
    tracepoint_name,
)
from converter.formats.ctf.mapping import joined_name, shifted_priorities
from converter.formats.ctf.metadata.field_classes import Member, Scope
from converter.formats.ctf.writing.contexts import Contexts
from converter.formats.ctf.writing.event_classes import record_name
from converter.formats.ctf.writing.field_types import FieldWriter, Written
from converter.ir.columns import Column
from converter.ir.events import EventClass, Table
from converter.ir.field_classes import FieldClass, IntegerClass
from converter.ir.kinds import Kind
from converter.projection.domain.syscalls import name_in_class

SYSCALL_KINDS: Final = frozenset({Kind.SYSCALL_ENTRY, Kind.SYSCALL_EXIT})


@dataclass(frozen=True, slots=True)
class Layout:
    """The members of records: of the common context, the event's own, and the payload."""

    common: tuple[Member, ...]
    own: list[Member]
    payload: list[Member]
    #: What writes all of them, and the number of the field of each, None for parts of the thread.
    written: Written
    order: list[int | None]
    #: The operations of the common context.
    operations: int


def layout_of(version: int, fields: Sequence[tuple[str, FieldClass]], contexts: Contexts) -> Layout:
    """Return the members of an event whose fields have these names and types."""
    held = {*contexts.own, *(one for one in contexts.common if isinstance(one, int))}
    payload = [number for number in range(len(fields)) if number not in held]
    common = FieldWriter(version, Scope.COMMON_CONTEXT).structure(
        [fields[one] if isinstance(one, int) else ("", one) for one in contexts.common],
        lengths=contexts.common_lengths,
    )
    own = FieldWriter(version, Scope.SPECIFIC_CONTEXT).structure(fields[i] for i in contexts.own)
    rest = FieldWriter(version).structure(
        [fields[i] for i in payload], lengths=contexts.payload_lengths
    )
    written = Written()
    for one in (common, own, rest):
        written.extend(one)
    numbers = [one if isinstance(one, int) else None for one in contexts.common]
    return Layout(
        tuple(common.members),
        own.members,
        rest.members,
        written,
        [*numbers, *contexts.own, *payload],
        len(common.operations),
    )


class Program:
    """Writes the events of a class; if a field has the system call's number, the events of one call."""

    def __init__(
        self,
        number: int,
        event_class: EventClass,
        layout: Layout,
        *,
        syscall: str | None = None,
        as_declared: bool = False,
    ) -> None:
        self.number = number
        self.event_class = event_class
        self.layout = layout
        self._as_declared = as_declared
        #: LTTng's name for the event, if it has one, or the name that it has in the source's metadata.
        self._known_name = (
            joined_name(event_class.category, event_class.name)
            if as_declared
            else lttng_name(event_class, syscall)
        )
        self._adjusted = shifted_priorities(self._known_name or ":", event_class)

    @property
    def is_lttng(self) -> bool:
        """True for an event of another format that has LTTng's name."""
        return self._known_name is not None and not self._as_declared

    def columns(self, table: Table) -> list[Any]:
        """Return the kernel's inputs for the columns of a table."""
        columns = [None if index is None else table.column(index) for index in self.layout.order]
        for index in self._adjusted:
            columns[self.layout.order.index(index)] = _less_offset(table.column(index))
        return self.layout.written.columns(columns)

    def name(self, *, kernel: bool) -> str:
        """Return the name in the metadata."""
        if self._known_name is not None:
            return self._known_name
        name = record_name(self.event_class)
        if priorities(self.event_class, self.event_class.name):
            # Its priorities are not LTTng's, which readers recognize by names without a provider.
            return name if ":" in name else f"traceconv:{name}"
        return (tracepoint_name(self.event_class) if kernel else None) or name


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
