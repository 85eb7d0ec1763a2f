"""The layout of the text: members, phases, and the encoding of scanned events.

Sources: Trace Event Format (Google document 1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU), catapult's
tracing/extras/importer/trace_event_importer.html and Perfetto's importers/json.
"""

from __future__ import annotations

import struct
import sys
from dataclasses import dataclass
from enum import IntEnum, IntFlag, StrEnum, unique

#: White space of JSON, and the byte order mark that some writers put first.
SPACE = b" \t\r\n"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"

#: Top-level members that this project reads and writes; all others are kept unchanged.
TRACE_EVENTS = "traceEvents"
#: This project's member that describes the file, before the events: {"version", "clock", "offset", "added"}.
HEADER = "traceconv"
ENVIRONMENT = "environment"
#: What ``added`` may name besides top-level members: the ``bp`` of all flow ends.
BIND_POINT = "bp"
DISPLAY_TIME_UNIT = "displayTimeUnit"

#: Scheduling as a kernel's tracer prints it, for importers.
SYSTEM_TRACE_EVENTS = "systemTraceEvents"
#: The start of that string where it is derived from the events and says nothing else. It has the events' clock.
DERIVED_TEXT = (
    rb"# tracer: nop\n# clock_type=UNKNOWN_CHROME_LEGACY\n# made of the events of this file\n"
)
#: The start of events that importers parse as stripped metadata. That of a switch has its arguments in
#: `EVENT_ARGUMENTS`.
SWITCH_RECORD = b'{"ph":"M","name":"sched_switch","args":"__stripped__",'
NATIVE_RECORD = b'{"ph":"M","name":"native","args":"__stripped__",'
EVENT_ARGUMENTS = "event_args"

HEADER_VERSION = 1


@unique
class Phase(StrEnum):
    """The letters of ``ph``."""

    DURATION_BEGIN = "B"
    DURATION_END = "E"
    COMPLETE = "X"
    INSTANT = "i"
    INSTANT_OLD = "I"
    MARK = "R"
    SAMPLE = "P"
    COUNTER = "C"
    NESTABLE_BEGIN = "b"
    NESTABLE_INSTANT = "n"
    NESTABLE_END = "e"
    ASYNC_BEGIN = "S"
    ASYNC_STEP_INTO = "T"
    ASYNC_STEP_PAST = "p"
    ASYNC_END = "F"
    FLOW_BEGIN = "s"
    FLOW_STEP = "t"
    FLOW_END = "f"
    OBJECT_CREATED = "N"
    OBJECT_SNAPSHOT = "O"
    OBJECT_DESTROYED = "D"
    METADATA = "M"
    CLOCK_SYNC = "c"
    #: Memory dumps and contexts, which stay text.
    MEMORY_DUMP_GLOBAL = "V"
    MEMORY_DUMP_PROCESS = "v"
    CONTEXT_ENTER = "("
    CONTEXT_LEAVE = ")"


@unique
class Need(IntEnum):
    """The members an event of a phase needs to become more than text: the entries of the scanner's phase table."""

    NATIVE = 0
    TIME = 1
    METADATA = 2
    TIME_AND_ID = 3
    #: A step of an async event (with an id) or a thread state (with a duration).
    STEP_OR_STATE = 4
    TIME_AND_DURATION = 5


class Present(IntFlag):
    """The optional members that an event has, as bits."""

    DURATION = 4
    THREAD_TIME = 8
    THREAD_DURATION = 16
    SCOPE = 32
    ID_SCOPE = 64
    FLOW_IN = 128
    FLOW_OUT = 256
    MEMBERS = 512
    BINDS_ENCLOSING = 1 << 19


#: The member that holds an identity, by number in the class key.
ID_MEMBERS = ("", "id", "id2.local", "id2.global")

_KEY = struct.Struct("=BBcciii")


@dataclass(frozen=True, slots=True)
class ClassKey:
    """A class key of the scanner, decoded: what all events of a class share.

    `id_kind` and `bind_kind` are tags: i a number, x hexadecimal text, s any text, NUL none. `types` is the id of the
    text of ``arg_types`` among the names (0: none), `shape` that of the arguments among the shapes. Phase "" is NATIVE.
    """

    phase: str
    id_place: str
    id_kind: bytes
    bind_kind: bytes
    present: Present
    types: int
    shape: int

    @classmethod
    def parse(cls, data: bytes) -> ClassKey:
        """Decode the key of 16 bytes that the scanner interned."""
        phase, member, id_kind, bind_kind, present, types, shape = _KEY.unpack(data)
        letter = chr(phase) if phase else ""
        return cls(letter, ID_MEMBERS[member], id_kind, bind_kind, Present(present), types, shape)

    @staticmethod
    def undeclared(data: bytes) -> bytes:
        """Return the key of the same events without declarations."""
        *before, _, shape = _KEY.unpack(data)
        return _KEY.pack(*before, 0, shape)


@dataclass(frozen=True, slots=True)
class Leaf:
    """A value that contains no others, by tag: n null, b boolean, i and u integers, x hexadecimal text, d double,
    s text, j JSON text.
    """

    tag: str

    @property
    def width(self) -> int | None:
        """The number of slots of a value, None where that varies."""
        return {"n": 0, "j": 2}.get(self.tag, 1)


@dataclass(frozen=True, slots=True)
class ObjectNode:
    """An object: names and values in order."""

    members: tuple[tuple[str, Node], ...]

    @property
    def width(self) -> int | None:
        """The number of slots of a value, None where that varies."""
        total = 0
        for _, node in self.members:
            width = node.width
            if width is None:
                return None
            total += width
        return total


@dataclass(frozen=True, slots=True)
class ArrayNode:
    """An array of elements of one shape: a slot for the length, then the elements."""

    element: Node

    @property
    def width(self) -> int | None:
        """The number of slots of a value, None where that varies."""
        return None


Node = Leaf | ObjectNode | ArrayNode


def parse_shape(shape: bytes, names: dict[int, str]) -> ObjectNode:
    """Parse the shape of arguments from the scanner's signature; the caller fills in `names` by id.

    ``{`` (``,`` id of the name, 4 bytes, value)* ``}``, ``[`` element ``]``, or a tag.
    """
    node, end = _parse_node(shape, 0, names)
    assert isinstance(node, ObjectNode)
    assert end == len(shape)
    return node


def shape_names(shape: bytes) -> list[int]:
    """Return the ids of the names in a signature."""
    result = []
    at = 0
    while at < len(shape):
        if shape[at : at + 1] == b",":
            result.append(int.from_bytes(shape[at + 1 : at + 5], sys.byteorder))
            at += 4
        at += 1
    return result


def _parse_node(shape: bytes, at: int, names: dict[int, str]) -> tuple[Node, int]:
    tag = chr(shape[at])
    at += 1
    if tag == "{":
        members = []
        while shape[at : at + 1] == b",":
            name = names[int.from_bytes(shape[at + 1 : at + 5], sys.byteorder)]
            node, at = _parse_node(shape, at + 5, names)
            members.append((name, node))
        return ObjectNode(tuple(members)), at + 1
    if tag == "[":
        node, at = _parse_node(shape, at, names)
        return ArrayNode(node), at + 1
    return Leaf(tag), at
