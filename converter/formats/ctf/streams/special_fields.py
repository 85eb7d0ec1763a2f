"""The fields that the reader itself uses: the fields of packets, and the times, IDs and threads of records."""

from __future__ import annotations

from typing import Final

from converter.formats.ctf.mapping import (
    CPU_FIELD,
    NAME_CONTEXTS,
    PROCESS_CONTEXTS,
    THREAD_CONTEXTS,
)
from converter.formats.ctf.metadata.field_classes import (
    Array,
    Blob,
    FieldDeclaration,
    FieldRole,
    FixedInteger,
    Scope,
    Structure,
    Text,
    VariableInteger,
)
from converter.formats.ctf.metadata.field_trees import fields_in, locations
from converter.formats.ctf.metadata.trace_class import TraceClass
from converter.formats.ctf.streams.columns import is_spread
from converter.formats.ctf.streams.field_program import FieldAssembler
from converter.formats.ctf.streams.program import Registers
from converter.formats.ctf.streams.scan import FIRST_FREE, REGISTERS
from converter.formats.ctf.streams.scan_programs import FLAGS, Program

_ROLE_REGISTERS: Final = {
    FieldRole.MAGIC: "magic",
    FieldRole.METADATA_UUID: "uuid",
    FieldRole.STREAM_CLASS_ID: "stream class",
    FieldRole.STREAM_ID: "stream",
    FieldRole.TIMESTAMP: "begin",
    FieldRole.PACKET_END_TIMESTAMP: "end",
    FieldRole.CONTENT_LENGTH: "content",
    FieldRole.PACKET_LENGTH: "length",
    FieldRole.SEQUENCE_NUMBER: "sequence",
    FieldRole.DISCARDED: "discarded",
}


def header_program(trace: TraceClass) -> Program:
    """Return the program of a packet's header alone, which names the stream class."""
    registers = Registers(FIRST_FREE)
    registers.add(locations(trace.packet_header))
    assembler = FieldAssembler(registers, packet_special)
    assembler.structure(trace.packet_header, Scope.PACKET_HEADER)
    return assembler.program()


def empty_program() -> Program:
    """Return a program that reads nothing."""
    return FieldAssembler(Registers(FIRST_FREE), nothing_special).program()


def nothing_special(
    _declared: FieldDeclaration, _scope: Scope, _path: tuple[str, ...]
) -> tuple[int, int] | None:
    """Return None: no field needs more than its length or selector."""
    return None


def packet_special(
    declared: FieldDeclaration, scope: Scope, path: tuple[str, ...]
) -> tuple[int, int] | None:
    """Return the register for a field of the packet itself."""
    if not isinstance(declared, FixedInteger | VariableInteger | Array | Blob):
        return None
    for role in declared.roles:
        name = _ROLE_REGISTERS.get(role)
        if name is not None:
            return REGISTERS[name], 0
    if scope is Scope.PACKET_CONTEXT and path == (CPU_FIELD,) and is_integer(declared):
        return REGISTERS["cpu"], 0
    return None


def header_special(
    declared: FieldDeclaration, _scope: Scope, _path: tuple[str, ...]
) -> tuple[int, int] | None:
    """Return the register for times and IDs in the headers of records."""
    if isinstance(declared, FixedInteger | VariableInteger):
        if FieldRole.TIMESTAMP in declared.roles:
            return -1, FLAGS["CLOCK"]
        if FieldRole.EVENT_CLASS_ID in declared.roles:
            return REGISTERS["event"], 0
    return None


def is_integer(declared: FieldDeclaration | None) -> bool:
    """Return True for an integer of up to 64 bits."""
    return isinstance(declared, FixedInteger | VariableInteger) and (
        isinstance(declared, VariableInteger) or declared.length <= 64
    )


def bits_of(role: FieldRole, *structures: Structure | None) -> int:
    """Return the number of bits of the field that has a role in packets, 64 if there is none."""
    for structure in structures:
        for item in fields_in(structure):
            if isinstance(item, FixedInteger) and role in item.roles:
                return min(item.length, 64)
    return 64


def text_member(structure: Structure | None, *names: str) -> str | None:
    """Return the first of these names that is a text in UTF-8 among the structure's members."""
    found = {member.name: member.type for member in structure.members} if structure else {}
    for name in names:
        declared = found.get(name)
        if (
            isinstance(declared, Text)
            and declared.encoding in ("utf-8", "ascii")
            and not is_spread(declared)
        ):
            return name
    return None


def integer_member(structure: Structure | None, *names: str) -> str | None:
    """Return the first of these names that is an integer member of the structure."""
    if structure is None:
        return None
    found = {member.name: member.type for member in structure.members}
    for name in names:
        if is_integer(found.get(name)):
            return name
    return None


def thread_contexts(context: Structure | None) -> dict[str, str]:
    """Return the members of a common context that identify the thread, and the register of each."""
    thread = integer_member(context, *THREAD_CONTEXTS)
    if thread is None:
        return {}
    process = integer_member(context, *PROCESS_CONTEXTS)
    name = text_member(context, *NAME_CONTEXTS)
    found = {thread: "tid", process: "pid", name: "name"}
    return {member: register for member, register in found.items() if member is not None}
