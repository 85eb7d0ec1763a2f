"""The fields of packets: all events of a packet get them, or are on the thread that they name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from converter.formats.ctf.mapping import (
    CPU_FIELD,
    DPDK,
    DPDK_NAME,
    NAME_CONTEXTS,
    PROCESS_CONTEXTS,
    THREAD_CONTEXTS,
)
from converter.formats.ctf.metadata.field_classes import Scope
from converter.formats.ctf.metadata.field_trees import has_plain_fields
from converter.formats.ctf.metadata.trace_class import StreamClass, TraceClass
from converter.formats.ctf.streams.columns import FieldMember, Plan, texts_of
from converter.formats.ctf.streams.field_program import FieldAssembler
from converter.formats.ctf.streams.program import Registers
from converter.formats.ctf.streams.scan_columns import decode
from converter.formats.ctf.streams.special_fields import (
    integer_member,
    is_integer,
    nothing_special,
    text_member,
)
from converter.ir.columns import Column
from converter.kernels.tables.strings import StringTable

#: The ID of a thread, or of its process, that a packet does not say.
NO_ID: Final = -1

_NO_REGISTERS: Final = np.zeros((0, 0), np.uint64)


class PacketThread(NamedTuple):
    """The members of a packet's context that identify the thread of its events: any of them can be None."""

    process: str | None
    thread: str | None
    name: str | None


def packet_thread(trace: TraceClass, stream: StreamClass) -> PacketThread | None:
    """Return the members of the packet context that identify a thread, None if there are none.

    Qt's tracer has a packet per thread with `thread_id` and `thread_name`; DPDK's has its `name`, and no ID.
    """
    context = stream.packet_context
    thread = integer_member(context, *THREAD_CONTEXTS)
    names: tuple[str, ...] = NAME_CONTEXTS
    if trace.environment.get("tracer_name") == DPDK:
        names = (*names, DPDK_NAME)
    name = text_member(context, *names)
    if thread is None and name is None:
        return None
    return PacketThread(integer_member(context, *PROCESS_CONTEXTS), thread, name)


class PacketField(NamedTuple):
    """A field that packets have: its values are in their heads, not in records."""

    fields: PacketFields
    number: int

    def build(self, slots: Sequence[NDArray[np.uint8]], strings: StringTable) -> Column:
        """Raise TypeError: records do not have the field."""
        raise TypeError("a field of packets")


class PacketFields:
    """Decodes the fields that the packets of a stream class have besides those that the reader uses itself."""

    def __init__(
        self,
        trace: TraceClass,
        stream: StreamClass,
        thread: PacketThread | None,
        registers: Registers,
    ) -> None:
        self._thread = thread
        of_trace = trace.environment.get("vpid")
        self._process = of_trace if isinstance(of_trace, int) else NO_ID
        assembler = FieldAssembler(registers, nothing_special)
        consumed = {name for name in thread if name is not None} if thread is not None else set()
        found = []
        for scope, structure in (
            (Scope.PACKET_HEADER, trace.packet_header),
            (Scope.PACKET_CONTEXT, stream.packet_context),
        ):
            members = assembler.members(
                structure, scope, lambda member: has_plain_fields(member.type)
            )
            found += [(scope, member, plan) for member, plan in members]
        #: Scope and declaration of the fields that events get.
        self.members: list[tuple[Scope, FieldMember]] = []
        #: The member with the thread's name: a field of events whose packet calls the thread otherwise than the first.
        self.name = thread.name if thread is not None else None
        plans: list[Plan] = []
        self._by_name: dict[str, Plan] = {}
        for scope, member, plan in found:
            of_context = scope is Scope.PACKET_CONTEXT
            if of_context and member.name in consumed:
                self._by_name[member.name] = plan
            elif not (of_context and member.name == CPU_FIELD and is_integer(member.type)):
                self.members.append((scope, member))
                plans.append(plan)
        if self.name is not None:
            plans.append(self._by_name[self.name])
        self._decoder = assembler.decoder(plans)

    @property
    def is_needed(self) -> bool:
        """True if events need the contents of their packets."""
        return self.names_threads or bool(self.members)

    @property
    def names_threads(self) -> bool:
        """True if packets say what thread their events are on."""
        return self._thread is not None

    def column(
        self, index: int, heads: Sequence[NDArray[np.uint8]], strings: StringTable
    ) -> Column:
        """Return the column of a field, with one row for each packet; after the last field is the thread's name."""
        return self._decoder.plans[index].build(self._slots(heads, strings), strings)

    def threads(
        self, heads: Sequence[NDArray[np.uint8]], strings: StringTable
    ) -> list[tuple[int, int, bytes]]:
        """Return the process ID, the thread ID and the thread's name in each packet."""
        assert self._thread is not None
        slots = self._slots(heads, strings)

        def numbers(name: str | None, otherwise: int) -> list[int]:
            if name is None:
                return [otherwise] * len(heads)
            column = self._by_name[name].build(slots, strings)
            assert isinstance(column, np.ndarray)
            ids: list[int] = column.astype(np.int64).tolist()
            return ids

        names = [b""] * len(heads)
        if self._thread.name is not None:
            names = list(texts_of(self._by_name[self._thread.name].build(slots, strings), strings))
        process, thread, _ = self._thread
        return list(
            zip(numbers(process, self._process), numbers(thread, NO_ID), names, strict=True)
        )

    def _slots(
        self, heads: Sequence[NDArray[np.uint8]], strings: StringTable
    ) -> list[NDArray[np.uint8]]:
        decoder = self._decoder
        return decode(
            decoder.program,
            heads,
            _NO_REGISTERS,
            np.arange(len(heads), dtype=np.int64) << 32,
            np.array([8 * len(head) for head in heads], np.uint32),
            decoder.item_sizes,
            decoder.expected * len(heads),
            strings,
        )
