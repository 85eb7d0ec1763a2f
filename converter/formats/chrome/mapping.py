"""The meaning of phases: two-way tables between the format's vocabulary and the IR's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from converter.formats.chrome.layout import Need, Phase
from converter.formats.chrome.phases import KIND_OF_PHASE, STATE_PHASE
from converter.ir.events import Field
from converter.ir.field_classes import (
    ArrayClass,
    BooleanClass,
    BytesClass,
    FieldClass,
    FloatClass,
    IntegerClass,
    NullClass,
    StringClass,
    StructureClass,
    Style,
)
from converter.ir.kinds import Kind, Role
from converter.ir.semantics import EndMatching, FlowBinding, Semantics, Unseen
from converter.projection.timeline_fields import (
    BINDS,
    DURATION,
    FLOW_IN,
    FLOW_OUT,
    ID_SCOPE,
    JSON_TEXT,
    MEMBERS,
    PHASE,
    SCOPE,
    THREAD_DURATION,
    THREAD_TIME,
)

#: What events mean, as viewers take them.
SEMANTICS: Final = Semantics(
    ends=EndMatching.NAME,
    flows=FlowBinding.NEXT_UNLESS_STATED,
    flows_at_begins=True,
    complete_first=True,
    counter_series=True,
    json_arguments="args",
    unseen=frozenset({Unseen.EMPTY_ARGUMENTS, Unseen.COUNTER_THREADS, Unseen.DATES}),
    old_states=True,
    zero_is_main=True,
)

SIGNED = IntegerClass(64, signed=True)
UNSIGNED = IntegerClass(64)
#: Written as text like "0x1f", which holds all 64 bits and which Perfetto parses as a number where it expects
#: an id.
HEXADECIMAL = IntegerClass(64, style=Style.HEXADECIMAL)

#: The class of a scanned leaf, by tag.
LEAF_CLASSES: Mapping[str, FieldClass] = {
    "n": NullClass(),
    "b": BooleanClass(),
    "i": SIGNED,
    "u": UNSIGNED,
    "x": HEXADECIMAL,
    "d": FloatClass(64),
    "s": StringClass(),
    "j": JSON_TEXT,
}

#: Kinds whose events need an id.
IDENTIFIED = frozenset(
    {
        Kind.ASYNC_BEGIN,
        Kind.ASYNC_INSTANT,
        Kind.ASYNC_END,
        Kind.FLOW_BEGIN,
        Kind.FLOW_STEP,
        Kind.FLOW_END,
        Kind.OBJECT_NEW,
        Kind.OBJECT_SNAPSHOT,
        Kind.OBJECT_DELETE,
    }
)


def _phase_table() -> bytes:
    table = bytearray(256)
    for phase, kind in KIND_OF_PHASE.items():
        table[ord(phase)] = Need.TIME_AND_ID if kind in IDENTIFIED else Need.TIME
    table[ord(Phase.COMPLETE)] = Need.TIME_AND_DURATION
    table[ord(STATE_PHASE)] = Need.STEP_OR_STATE
    table[ord(Phase.METADATA)] = Need.METADATA
    return bytes(table)


#: The members that the scanner requires for each letter.
PHASE_TABLE = _phase_table()

NAME = Field("name", StringClass(), Role.NAME)
CATEGORY = Field("category", StringClass(), Role.CATEGORY)
PAYLOAD = Field("payload", JSON_TEXT, Role.PAYLOAD)

#: An id is hexadecimal text, a number or any other text; it is in ``id`` or in one of two members of ``id2``.
ID_FIELDS: Mapping[str, str] = {"id": "id", "id2.local": "id.local", "id2.global": "id.global"}
ID_CLASSES: Mapping[str, FieldClass] = {"x": HEXADECIMAL, "i": SIGNED, "s": StringClass()}
ID = Field("id", HEXADECIMAL, Role.ID)


def id_field(member: str, tag: str) -> Field:
    """Return the field of an id in ``id``, ``id2.local`` or ``id2.global``."""
    return Field(ID_FIELDS[member], ID_CLASSES[tag], Role.ID)


def bind_field(tag: str) -> Field:
    """Return the field of ``bind_id``."""
    return Field("bind_id", ID_CLASSES[tag], Role.ID)


#: The optional fields of an event, in their order in its class.
OPTIONAL = (
    PHASE,
    *(id_field(place, tag) for place in ID_FIELDS for tag in ID_CLASSES),
    DURATION,
    THREAD_TIME,
    THREAD_DURATION,
    SCOPE,
    ID_SCOPE,
    *(bind_field(tag) for tag in ID_CLASSES),
    FLOW_IN,
    FLOW_OUT,
    BINDS,
    MEMBERS,
)

#: The first arguments of a context switch.
SWITCH_FIELDS = (
    Field("prev_tid", SIGNED, Role.PREV_TID),
    Field("prev_comm", StringClass(), Role.PREV_COMM),
    Field("prev_prio", SIGNED, Role.PREV_PRIORITY),
    Field("prev_state", SIGNED, Role.PREV_STATE),
    Field("next_tid", SIGNED, Role.NEXT_TID),
    Field("next_comm", StringClass(), Role.NEXT_COMM),
    Field("next_prio", SIGNED, Role.NEXT_PRIORITY),
)
#: The names and tags that these arguments have in the text.
SWITCH_ARGUMENTS = tuple((f.name, "s" if f.type == StringClass() else "i") for f in SWITCH_FIELDS)
#: The first argument of a wakeup, which is an instant.
WAKEUP_TID = Field("pid", SIGNED, Role.TID)
#: Wakeups (and new tasks), with the category and name that Linux has for them.
WAKEUPS: Mapping[Kind, tuple[str, str]] = {
    Kind.SCHED_WAKING: ("sched", "sched_waking"),
    Kind.SCHED_WAKEUP: ("sched", "sched_wakeup"),
    Kind.SCHED_WAKEUP_NEW: ("sched", "sched_wakeup_new"),
    Kind.TASK_NEW: ("task", "task_newtask"),
}


def is_writable(field_class: FieldClass) -> bool:
    """Return True if arguments of the class can be written (and declared by ``arg_types``)."""
    match field_class:
        case ArrayClass(element):
            return is_writable(element)
        case StructureClass(members):
            return all(is_writable(member.type) for member in members)
        case BytesClass():
            return field_class in (BytesClass(), JSON_TEXT)
        case _:
            return field_class in _WRITABLE


_WRITABLE = frozenset(LEAF_CLASSES.values())
