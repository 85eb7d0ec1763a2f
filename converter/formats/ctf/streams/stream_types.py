"""Compiled stream classes: how packets and records of a stream are read, and the event classes of the records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Final, NamedTuple

import numpy as np

from converter.errors import TraceError
from converter.formats.ctf import qt
from converter.formats.ctf.lttng_events import PRIORITY_OFFSET
from converter.formats.ctf.mapping import (
    CPU_FIELD,
    PERF_CPU,
    PERF_PROCESS,
    PERF_THREAD,
    TRACK_CONTEXT,
    event_class,
    shifted_priorities,
)
from converter.formats.ctf.metadata.field_classes import (
    FieldDeclaration,
    FieldRole,
    Location,
    Scope,
    Structure,
    alignment_of,
)
from converter.formats.ctf.metadata.field_trees import (
    fields_in,
    has_plain_fields,
    locations,
    roles_in,
)
from converter.formats.ctf.metadata.trace_class import EventRecordClass, StreamClass, TraceClass
from converter.formats.ctf.side_table import SideTable
from converter.formats.ctf.streams.addresses import NAMING
from converter.formats.ctf.streams.columns import FieldMember, Plan, Transformed, field_class
from converter.formats.ctf.streams.field_program import FieldAssembler
from converter.formats.ctf.streams.packet_fields import PacketField, PacketFields, packet_thread
from converter.formats.ctf.streams.program import Decoder, Registers, State
from converter.formats.ctf.streams.scan import FIRST_FREE, REGISTERS
from converter.formats.ctf.streams.scan_programs import Program
from converter.formats.ctf.streams.special_fields import (
    bits_of,
    header_special,
    integer_member,
    nothing_special,
    packet_special,
    thread_contexts,
)
from converter.formats.ctf.streams.tasks import PERF_COMM, STATEDUMP_NAME
from converter.formats.ctf.zephyr import (
    as_switch,
    is_switch,
    is_zephyr,
    thread_index,
    unknown_tasks,
)
from converter.ir.columns import Column
from converter.ir.events import EventClass
from converter.ir.field_classes import FieldClass, IntegerClass, StringClass
from converter.ir.kinds import Kind, Role

#: The largest alignment that records can be read with: windows start at multiples of it.
MAX_ALIGNMENT: Final = 1 << 20


#: The domain of kernel events in a trace's environment; others ("ust", "jul", "bare" ...) are of programs.
_KERNEL: Final = "kernel"
#: Kinds whose events do not affect later ones, except those that name what later ones refer to.
_MOMENTARY: Final = frozenset({Kind.TYPED, Kind.INSTANT, Kind.LOG})
_NAMING: Final = NAMING | {STATEDUMP_NAME, ("", PERF_COMM)}


class RecordType(NamedTuple):
    """A class of event records, compiled. `placed`: its scan finds thread and track."""

    event_class: EventClass
    scan: Program
    decoder: Decoder
    placed: bool
    #: True if its records affect later events.
    lasting: bool
    #: Everything that decides how its records are decoded; those with equal keys can be decoded together.
    key: tuple[object, ...]
    #: The number of registers that a packet sets for its records.
    packet_registers: int
    #: Returns the same type with the thread's name as its last field, decoded from the record's start on; None if there
    #: is no name.
    named: Callable[[], RecordType] | None = None
    #: True if a program has recorded them, not a kernel.
    of_program: bool = False
    #: The field with the CPU of each record, where packets do not say it.
    cpu_field: int | None = None


class StreamType:
    """A stream class of a trace, compiled; its record classes are compiled when they first occur."""

    def __init__(
        self, trace: TraceClass, stream: StreamClass, side_table: SideTable | None = None
    ) -> None:
        self.trace = trace
        self.stream = stream
        self._side_table = side_table
        self.clock = trace.clocks.get(stream.clock)
        self._types: dict[int, RecordType | None] = {}
        packet = (trace.packet_header, stream.packet_context)
        self.packet_roles = roles_in(packet[0]) | roles_in(packet[1])
        #: The bits of the clock's value where packets begin, and of their counters: they wrap around.
        self.begin_bits = bits_of(FieldRole.TIMESTAMP, *packet)
        self.end_bits = bits_of(FieldRole.PACKET_END_TIMESTAMP, *packet)
        self.sequence_bits = bits_of(FieldRole.SEQUENCE_NUMBER, *packet)
        self.discarded_bits = bits_of(FieldRole.DISCARDED, *packet)
        self.has_cpu = integer_member(stream.packet_context, CPU_FIELD) is not None
        self._names = frozenset(record.name for record in stream.events.values())
        #: The CPU of records whose packets name none.
        self.cpu = 0 if is_zephyr(self._names) else -1
        # Records without a time have that of the start of their packet, or of the end of the one before.
        has_times = FieldRole.TIMESTAMP in self.packet_roles | roles_in(stream.event_header)
        #: True if ends of packets are the only times.
        self.has_only_ends = not has_times and FieldRole.PACKET_END_TIMESTAMP in self.packet_roles
        self.is_timed = has_times or self.has_only_ends
        self._registers = Registers(FIRST_FREE)
        self._thread = thread_contexts(stream.common_context)
        if self._thread and side_table and integer_member(stream.common_context, TRACK_CONTEXT):
            self._thread[TRACK_CONTEXT] = "track"
        self._reserve_registers()
        thread = packet_thread(trace, stream) if not self._thread else None
        #: The fields that packets have for their records; None if there are none.
        self.packet_fields: PacketFields | None = None
        if side_table is None:
            fields = PacketFields(trace, stream, thread, self._registers)
            self.packet_fields = fields if fields.is_needed else None
        #: The first registers, which each packet sets; 0 if no record depends on them.
        self.packet_registers = (
            self._packet_register_count if self._packet_register_count > FIRST_FREE else 0
        )
        assembler = FieldAssembler(self._registers, packet_special)
        assembler.structure(trace.packet_header, Scope.PACKET_HEADER)
        assembler.structure(stream.packet_context, Scope.PACKET_CONTEXT)
        self.packet_program = assembler.program()
        # The start of all records: their header, and the common context, which few events change.
        assembler = FieldAssembler(self._registers, self._header_special)
        assembler.structure(stream.event_header, Scope.EVENT_HEADER)
        self.header_program = assembler.program()
        assembler = FieldAssembler(self._registers, self._header_special, assembler.state)
        assembler.structure(stream.common_context, Scope.COMMON_CONTEXT)
        self.common_program = assembler.program()
        self._common_state = assembler.state
        self.alignment = max([8, *self._alignments()])
        if self.alignment > MAX_ALIGNMENT:
            raise TraceError(
                field="metadata",
                expected=f"alignments of at most {MAX_ALIGNMENT} bits",
                found=self.alignment,
            )

    def _structures(self) -> list[Structure | None]:
        """Return all structures of records."""
        stream = self.stream
        result = [stream.event_header, stream.common_context]
        for record in stream.events.values():
            result += [record.specific_context, record.payload]
        return result

    def _reserve_registers(self) -> None:
        stream = self.stream
        wanted: list[Location] = []
        for structure in (self.trace.packet_header, stream.packet_context):
            wanted += locations(structure)
        of_records: list[Location] = []
        for structure in self._structures():
            of_records += locations(structure)
        of_packets = [place for place in of_records if place.scope <= Scope.PACKET_CONTEXT]
        # Registers that records need of their packets come first: each window keeps them.
        self._registers.add(of_packets)
        self._packet_register_count = self._registers.count
        self._registers.add(wanted)
        self._registers.add(of_records)
        header = self.stream.event_header
        self._header_extras = frozenset(
            member.name
            for member in (header.members if header is not None else ())
            if has_plain_fields(member.type)
        )
        needed = set(of_records) - set(locations(header))
        # Fields of the header and the common context are delivered, or needed to read others: records are decoded from
        # their header on, not only from the end of the common context.
        self.from_header = (
            bool(self._header_extras)
            or bool(self._kept_context_members())
            or any(place.scope in (Scope.EVENT_HEADER, Scope.COMMON_CONTEXT) for place in needed)
        )

    def _kept_context_members(self) -> set[str]:
        """Return the members of the common context that are not about the thread."""
        context = self.stream.common_context
        return {member.name for member in context.members} - set(self._thread) if context else set()

    def _alignments(self) -> list[int]:
        structures = [self.trace.packet_header, self.stream.packet_context, *self._structures()]
        return [alignment_of(item) for structure in structures for item in fields_in(structure)]

    def _header_special(
        self, declared: FieldDeclaration, scope: Scope, path: tuple[str, ...]
    ) -> tuple[int, int] | None:
        """Return the register for times and IDs in the headers of records, and for the thread in their context."""
        if scope is Scope.EVENT_HEADER:
            return header_special(declared, scope, path)
        name = self._thread.get(path[0]) if len(path) == 1 else None
        return (REGISTERS[name], 0) if name is not None else None

    def process_of(self, pid: int, tid: int) -> int:
        """Return the process of a thread: without such a context, that of the whole trace, or one of its own."""
        if not self._thread or "pid" in self._thread.values():
            return pid
        of_trace = self.trace.environment.get("vpid")
        return of_trace if isinstance(of_trace, int) else tid

    @property
    def _has_names(self) -> bool:
        """True if the common context, or the packets', name threads."""
        of_packets = self.packet_fields is not None and self.packet_fields.name is not None
        return self._side_table is None and ("name" in self._thread.values() or of_packets)

    def record_type(self, id: int) -> RecordType | None:
        """Return the record class of this ID, or None if the metadata have none."""
        if id not in self._types:
            record = self.stream.events.get(id)
            if record is None and len(self.stream.events) == 1:
                only = next(iter(self.stream.events.values()))
                # Without IDs all records are of the only class.
                if FieldRole.EVENT_CLASS_ID not in roles_in(self.stream.event_header):
                    record = only
            self._types[id] = self._compile(record) if record is not None else None
        return self._types[id]

    def _decoded(
        self, record: EventRecordClass, *, named: bool
    ) -> tuple[FieldAssembler, EventClass, list[Plan]]:
        """Return the program for the fields of a record class, its event class, and the plans of its columns."""
        stream = self.stream
        whole = self.from_header or named
        decode = FieldAssembler(
            self._registers, nothing_special, State() if whole else self._common_state
        )
        extras: list[tuple[FieldMember, Plan]] = []
        common: list[tuple[FieldMember, Plan]] = []
        if whole:
            extras = decode.members(
                stream.event_header,
                Scope.EVENT_HEADER,
                lambda member: member.name in self._header_extras,
            )
            common = decode.members(
                stream.common_context,
                Scope.COMMON_CONTEXT,
                lambda member: (
                    member.name not in self._thread
                    or (named and self._thread[member.name] == "name")
                ),
            )
        specific = decode.members(record.specific_context, Scope.SPECIFIC_CONTEXT, lambda _: True)
        payload = decode.members(record.payload, Scope.PAYLOAD, lambda _: True)
        # The name of the thread comes last.
        name = [item for item in common if item[0].name in self._thread]
        common = [item for item in common if item[0].name not in self._thread]
        context = [
            *_typed(specific, Scope.SPECIFIC_CONTEXT),
            *_typed(common, Scope.COMMON_CONTEXT),
            *_typed(extras, Scope.EVENT_HEADER),
        ]
        plans = [plan for _, plan in (*payload, *specific, *common, *extras)]
        packets = self.packet_fields
        if packets is not None:
            for number, (scope, member) in enumerate(packets.members):
                context.append((member.name, field_class(member.type, scope, (member.name,))))
                plans.append(PacketField(packets, number))
        context += _typed(name, Scope.COMMON_CONTEXT)
        plans += [plan for _, plan in name]
        if packets is not None and named and packets.name is not None:
            context.append((packets.name, StringClass()))
            plans.append(PacketField(packets, len(packets.members)))
        declared = event_class(
            record.name, _typed(payload, Scope.PAYLOAD), context, timed=self.is_timed
        )
        return decode, declared, plans

    def _interpreted(
        self,
        record: EventRecordClass,
        declared: EventClass,
        plans: list[Plan],
        decode: FieldAssembler,
    ) -> tuple[EventClass, list[Plan]]:
        """Return the event class with what the side table, or the recorder's conventions, say of it."""
        if self._side_table is not None:
            recorded = self._side_table.recorded_class(record.id, declared)
            if recorded is None:
                return declared, plans
            return recorded.event_class, [
                plan if change is None else Transformed(plan, change)
                for plan, change in zip(plans, recorded.transforms, strict=True)
            ]
        if is_switch(declared):
            thread = thread_index(declared)
            assert thread is not None
            return as_switch(declared), [*plans, Transformed(plans[thread], unknown_tasks)]
        if self.trace.environment.get("tracer_name") == qt.TRACER:
            name = qt.range_name(record.name, self._names)
            if name is not None:
                return qt.as_begin(declared), [*plans, decode.constant_text(name)]
            if qt.ends_range(record.name, self._names):
                return qt.as_end(declared), plans
        return declared, plans

    def _compile(self, record: EventRecordClass, *, named: bool = False) -> RecordType:
        stream = self.stream
        threads = self._thread
        perf = not threads and (
            integer_member(record.payload, PERF_THREAD) is not None
            and integer_member(record.payload, PERF_PROCESS) is not None
        )

        def special(
            _declared: FieldDeclaration, scope: Scope, path: tuple[str, ...]
        ) -> tuple[int, int] | None:
            name = None
            if perf and scope is Scope.PAYLOAD:
                name = {PERF_THREAD: "tid", PERF_PROCESS: "pid"}.get(".".join(path))
            return (REGISTERS[name], 0) if name is not None else None

        scan = FieldAssembler(self._registers, special, self._common_state)
        scan.structure(record.specific_context, Scope.SPECIFIC_CONTEXT)
        scan.structure(record.payload, Scope.PAYLOAD)

        decode, declared, plans = self._decoded(record, named=named)
        delivered, plans = self._interpreted(record, declared, plans, decode)
        adjusted = shifted_priorities(record.name, delivered)
        plans = [
            Transformed(plan, _more_offset) if number in adjusted else plan
            for number, plan in enumerate(plans)
        ]
        key = (
            delivered,
            declared,
            (self.trace.packet_header, stream.packet_context)
            if self.packet_registers or self.packet_fields is not None
            else None,
            stream.event_header if self.from_header or named else None,
            stream.common_context,
            record.specific_context,
            record.payload,
        )
        return RecordType(
            delivered,
            scan.program(),
            decode.decoder(plans),
            bool(threads) or perf,
            delivered.kind not in _MOMENTARY or (delivered.category, delivered.name) in _NAMING,
            key,
            self.packet_registers,
            cache(lambda: self._compile(record, named=True))
            if self._has_names and not named
            else None,
            self.trace.environment.get("domain", _KERNEL) != _KERNEL,
            self._cpu_field(delivered),
        )

    def _cpu_field(self, delivered: EventClass) -> int | None:
        """Return the field with the CPU of each record: a context `cpu_id`, or perf's `perf_cpu`."""
        if self.has_cpu:
            return None
        payload = None if self._side_table is not None else PERF_CPU
        for number, field in enumerate(delivered.fields):
            name = CPU_FIELD if field.role is Role.CONTEXT else payload
            if field.name == name and isinstance(field.type, IntegerClass):
                return number
        return None


def _more_offset(column: Column) -> Column:
    """Convert priorities to ftrace's numbers; overflow wraps around."""
    assert isinstance(column, np.ndarray)
    wide = column.astype(np.int64) + PRIORITY_OFFSET
    return wide.astype(column.dtype)


def _typed(
    members: Sequence[tuple[FieldMember, Plan]], scope: Scope
) -> list[tuple[str, FieldClass]]:
    """Return name and class of each member."""
    return [(member.name, field_class(member.type, scope, (member.name,))) for member, _ in members]
