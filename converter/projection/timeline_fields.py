"""Fields of timeline events that several formats have, each with one name, type and role.

A format lists those that its record has a field for; the others become arguments.

A sample is an event of kind SAMPLE: its thread, or its CPU, had this call stack at this time. Its class has the name of
the event that was sampled ("cycles", "cpu-clock", "alloc_space"), or none. `FRAMES`, `FUNCTIONS` or `ADDRESSES` is its
stack, `weight` its amount, `CPU_MODE` what the CPU ran; further fields are arguments. Some formats have, in place of
the weight, `total`: the sum of all weights of the event on the CPU so far (`passes.sample_weights`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from converter.ir.events import Field
from converter.ir.field_classes import (
    ArrayClass,
    BooleanClass,
    BytesClass,
    IntegerClass,
    Member,
    StringClass,
    StructureClass,
    Style,
)
from converter.ir.kinds import Kind, Role

_TICKS: Final = IntegerClass(64, signed=True)
_HEXADECIMAL: Final = IntegerClass(64, style=Style.HEXADECIMAL)
#: JSON that stays text.
JSON_TEXT: Final = BytesClass("application/json")

#: A spelling of the event's phase in the Trace Event Format that is not its kind's usual one.
PHASE: Final = Field("phase", StringClass(), Role.TYPE)
DURATION: Final = Field("duration", _TICKS, Role.DURATION)
#: The CPU time of the thread at the event, and the CPU time that a complete slice used.
THREAD_TIME: Final = Field("thread_time", _TICKS, Role.THREAD_TIME)
THREAD_DURATION: Final = Field("thread_duration", _TICKS, Role.THREAD_DURATION)
#: The scope of an instant: g (everything), p (its process) or t (its thread).
SCOPE: Final = Field("scope", StringClass(), Role.SCOPE)
#: Ids of equal value in different scopes are different.
ID_SCOPE: Final = Field("id_scope", StringClass(), Role.SCOPE)
#: Names of an identity: of unspecified scope, of the process, of all processes.
ID_NAMES: Final = ("id", "id.local", "id.global")
#: A slice in the middle of, at the end of, or at the start of the flow of this id.
BIND_NAME: Final = "bind_id"
#: The kinds that can have it, of which viewers may follow some only.
FOLLOWED: Final = (Kind.SLICE_BEGIN, Kind.SLICE_COMPLETE, Kind.SLICE_END, Kind.INSTANT)
FLOW_IN: Final = Field("flow_in", BooleanClass(), Role.CONTEXT)
FLOW_OUT: Final = Field("flow_out", BooleanClass(), Role.CONTEXT)
#: A flow that ends at the slice around it and not at the next one.
BINDS: Final = Field("binds_enclosing", BooleanClass(), Role.CONTEXT)
#: Flows that an event begins or is in the middle of, and those that end at it: each of the slices of an id leads to the
#: next.
FLOW_IDS: Final = Field("flow_ids", ArrayClass(IntegerClass(64)), Role.CONTEXT)
TERMINATING_FLOW_IDS: Final = replace(FLOW_IDS, name="terminating_flow_ids")
#: An id that several slices share if they belong to one operation.
CORRELATION_ID: Final = Field("correlation_id", IntegerClass(64), Role.CONTEXT)
#: Members of a JSON event that are not standard, as the text of an object.
MEMBERS: Final = Field("members", JSON_TEXT, Role.PAYLOAD)

#: A frame: a function's name, the file that it was loaded from, the offset in it, the source file and the line. Empty
#: texts and 0 are unknown.
FRAME: Final = StructureClass(
    (
        Member("function", StringClass()),
        Member("mapping", StringClass()),
        Member("rel_pc", _HEXADECIMAL),
        Member("source", StringClass()),
        Member("line", IntegerClass(32)),
    )
)
#: The call stack of a sample, innermost frame first: as frames, names of functions, or addresses.
FRAMES: Final = Field("frames", ArrayClass(FRAME), Role.FRAMES)
FUNCTIONS: Final = Field("frames", ArrayClass(StringClass()), Role.FRAMES)
ADDRESSES: Final = Field("frames", ArrayClass(_HEXADECIMAL), Role.FRAMES)
#: The call stack of an event that is no sample.
CALLSTACK: Final = Field("callstack", FRAMES.type, Role.CONTEXT)
#: The name of the field with the absolute address of a sample, which its innermost frame has in its mapping.
SAMPLE_ADDRESS: Final = "ip"
#: Fields of perf's samples that no viewer of profiles shows: the address, and the numbers of the counter.
UNSHOWN_OF_SAMPLES: Final = frozenset({SAMPLE_ADDRESS, "id", "stream_id"})
#: What the CPU ran at a sample: 1 the kernel, 2 a program, 3 a hypervisor, 4 a guest's kernel, 5 a guest's program, 0
#: unknown.
CPU_MODE: Final = Field("cpu_mode", IntegerClass(32, signed=True))


def number_id(name: str) -> Field:
    """Return the field of an id that is a number, or is written as one: ``0x1f``."""
    return Field(name, _HEXADECIMAL, Role.ID)


def text_id(name: str) -> Field:
    """Return the field of an id that is any text."""
    return Field(name, StringClass(), Role.ID)


def weight(unit: str) -> Field:
    """Return the field of a sample's weight: the amount of what was sampled, in its unit ("ns", "bytes", "count")."""
    return Field("weight", _TICKS, Role.COUNT, unit)


def total(unit: str) -> Field:
    """Return the field of the sum of the weights of all samples of an event on a CPU, up to this one, in its unit."""
    return Field("timebase_count", IntegerClass(64), Role.VALUE, unit)
