"""The contexts of events as they are written: the parts of their thread, and those that events from CTF had.

A trace from CTF that is encoded again keeps what Babeltrace prints of its events: the name, the members of the common
context in their order, the contexts of the event itself. The metadata that it was read from say which is which.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Final

from converter.formats.ctf.mapping import CPU_FIELD, PERF_THREAD, TRACK_CONTEXT, joined_name
from converter.formats.ctf.metadata.field_classes import (
    Array,
    Location,
    Member,
    Scope,
    Structure,
)
from converter.formats.ctf.metadata.trace_class import StreamClass, TraceClass
from converter.formats.ctf.side_table import ENTRY
from converter.formats.ctf.streams.packet_fields import packet_thread
from converter.formats.ctf.streams.special_fields import integer_member, thread_contexts
from converter.formats.ctf.writing.field_types import NAME, PROCESS, THREAD, ThreadParts
from converter.ir.events import EventClass
from converter.ir.field_classes import FloatClass, IntegerClass, StringClass
from converter.ir.kinds import Role

#: The parts of threads in the order of their bytes, by their registers and usual names.
_PARTS: Final = {"pid": PROCESS, "tid": THREAD, "name": NAME}
_USUAL: Final = {PROCESS: "vpid", THREAD: "vtid", NAME: "procname"}
_PLAIN: Final = (IntegerClass, FloatClass, StringClass)


@dataclass(frozen=True, slots=True)
class _Declared:
    """The contexts that a stream class of the source declares for the records of a name."""

    #: The members of the common context, each with the part of the thread that it is, else 0.
    common: dict[str, int]
    own: frozenset[str]
    #: The parts that events get although no context has them: of threads that packets or context switches name.
    further_parts: int
    names_cpu: bool
    common_lengths: dict[str, str] = field(default_factory=dict)
    payload_lengths: dict[str, str] = field(default_factory=dict)

    @property
    def fields(self) -> set[str]:
        """The contexts that are fields of events."""
        return {*self.own, *(name for name, part in self.common.items() if not part)}


@dataclass(slots=True)
class Contexts:
    """The contexts of a class of events."""

    #: The numbers of fields, and parts of the thread.
    common: list[int | ThreadParts] = field(default_factory=list)
    #: The numbers of the fields that are contexts of the event itself.
    own: list[int] = field(default_factory=list)
    #: True if the packets of these events name their CPU.
    in_packets_of_cpu: bool = True
    #: True if the source's metadata name the class: its names stay as they are.
    as_declared: bool = False
    #: The fields of each that are the lengths of others, by the names of these.
    common_lengths: dict[str, str] = field(default_factory=dict)
    payload_lengths: dict[str, str] = field(default_factory=dict)

    def add_parts(self, parts: dict[str, int]) -> None:
        """Add parts of the thread to the common context; those in the usual order are one."""
        for name, part in parts.items():
            last = self.common[-1] if self.common else 0
            if isinstance(last, ThreadParts) and last.can_precede(part):
                self.common[-1] = ThreadParts({**last.names, part: name})
            else:
                self.common.append(ThreadParts({part: name}))


_UNKNOWN: Final = _Declared({}, frozenset(), sum(_USUAL), True)


class SourceContexts:
    """The contexts of the events of a trace: those that the metadata declare which it was read from, if it is CTF."""

    def __init__(self, sources: list[TraceClass], *, is_ctf: bool) -> None:
        self._is_ctf = is_ctf
        self._declared: dict[str, list[_Declared]] = defaultdict(list)
        for source in sources:
            for stream in source.streams.values():
                parts = {
                    name: _PARTS[register]
                    for name, register in thread_contexts(stream.common_context).items()
                }
                members = _names(stream.common_context)
                if f"{ENTRY}0" in source.environment:
                    members = [name for name in members if name != TRACK_CONTEXT]
                common = {name: parts.get(name, 0) for name in members}
                further = 0 if parts else further_parts(source, stream)
                has_cpu = integer_member(stream.packet_context, CPU_FIELD) is not None
                of_contexts = {
                    **shown_lengths(stream.packet_context, Scope.PACKET_CONTEXT),
                    **shown_lengths(stream.common_context, Scope.COMMON_CONTEXT),
                }
                for record in stream.events.values():
                    own = frozenset(_names(record.specific_context))
                    lengths = shown_lengths(record.payload, Scope.PAYLOAD)
                    one = _Declared(common, own, further, has_cpu, of_contexts, lengths)
                    self._declared[record.name].append(one)

    def declares(self, event_class: EventClass) -> bool:
        """Return True if the metadata that the trace was read from have records of this name."""
        return joined_name(event_class.category, event_class.name) in self._declared

    def of(self, event_class: EventClass, *, threaded: bool) -> Contexts:
        """Return the contexts of a class. `threaded`: some events have threads."""
        result = Contexts()
        every = {name: part for part, name in _USUAL.items()}
        if not self._is_ctf:
            result.add_parts(every)
            return result
        fields = event_class.fields
        count = sum(1 for _ in takewhile(lambda one: one.role is Role.CONTEXT, reversed(fields)))
        context = [*range(len(fields) - count, len(fields))]
        names = {fields[i].name for i in context}
        known = self._declared.get(joined_name(event_class.category, event_class.name))
        declared = min(known or [_UNKNOWN], key=lambda one: len(one.fields ^ names))
        # Babeltrace crashes at lengths and selectors in the context of an event itself.
        own = takewhile(
            lambda i: fields[i].name in declared.own and isinstance(fields[i].type, _PLAIN), context
        )
        result.own = [*own]
        if threaded:
            further = declared.further_parts
            result.add_parts({name: part for name, part in every.items() if part & further})
        pending = [*declared.common.items()]
        for i in context[len(result.own) :]:
            name = fields[i].name
            if name not in declared.own:
                # Fields of headers and packets come after all of the common context.
                left = [one for one, _ in pending]
                at = left.index(name) if name in left else len(left)
                result.add_parts({one: part for one, part in pending[:at] if part})
                del pending[: at + 1]
            result.common.append(i)
        result.add_parts({one: part for one, part in pending if part})
        result.in_packets_of_cpu = declared.names_cpu or CPU_FIELD not in names
        result.as_declared = known is not None
        result.common_lengths = declared.common_lengths
        result.payload_lengths = declared.payload_lengths
        return result


def as_of_kernel(context: tuple[Member, ...]) -> tuple[Member, ...]:
    """Return a common context with the names of threads in traces of the kernel."""
    return tuple(
        one._replace(name=one.name[1:], declared=one.declared.replace("_v", "_"))
        if one.name in ("vpid", "vtid")
        else one
        for one in context
    )


def further_parts(source: TraceClass, stream: StreamClass) -> int:
    """Return the parts of their thread that events get which no context of the source has."""
    packet = packet_thread(source, stream)
    if packet is not None and packet.thread is not None:
        return THREAD | (PROCESS if packet.process else 0) | (NAME if packet.name else 0)
    if packet is None and has_threads(source):
        return 0
    return PROCESS | THREAD | NAME


def has_threads(source: TraceClass) -> bool:
    """Return True if contexts of the source, its packets, or perf's fields name the threads of events."""
    return any(
        thread_contexts(stream.common_context)
        or packet_thread(source, stream)
        or any(integer_member(record.payload, PERF_THREAD) for record in stream.events.values())
        for stream in source.streams.values()
    )


def _names(structure: Structure | None) -> list[str]:
    return [member.name for member in structure.members] if structure is not None else []


def shown_lengths(structure: Structure | None, scope: Scope) -> dict[str, str]:
    """Return the members of a structure that are the lengths of other members, by the names of these."""
    lengths = {Location(scope, (name,)): name for name in _names(structure)}
    return {
        member.name: lengths[member.type.length]
        for member in (structure.members if structure is not None else ())
        if isinstance(member.type, Array) and member.type.length in lengths
    }
