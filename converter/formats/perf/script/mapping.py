"""The mapping of the text of perf script to event classes.

A sample is of `Kind.SAMPLE`, its class has the name of the event as perf prints it, and the fields `FRAMES`, `weight`
(the period, if it is printed) and those below. A tracepoint has the kind and the fields that its text says, and
`CALLSTACK` where it has a stack. Of a frame, `rel_pc` is the address as perf prints it: of user space that is the
distance to the start of the mapping in call stacks, and the address in memory elsewhere.
"""

from __future__ import annotations

import re
from typing import Final

from converter.formats.perf.event_names import CLOCK_EVENTS, SOFTWARE_EVENTS
from converter.ir.events import EventClass, Field
from converter.ir.field_classes import ArrayClass, IntegerClass, StringClass
from converter.ir.kinds import Kind, Role
from converter.projection.domain import linux_tracepoints
from converter.projection.timeline_fields import FRAMES, weight

KINDS: Final = linux_tracepoints.KINDS | {
    Kind.TYPED,
    Kind.MARK,
    Kind.LOG,
    Kind.SAMPLE,
    Kind.MAPPING,
    Kind.DISCARDED,
}
#: The distance of each frame to the start of its function, -1 where it is not printed.
OFFSETS: Final = Field("function_offsets", ArrayClass(IntegerClass(64, signed=True)), Role.CONTEXT)
#: Where the sample was taken: U, K, H, G or g, and more letters.
MISC: Final = Field("misc", StringClass())
#: What is printed before the address of a sample, after its function, and after its frames.
BEFORE: Final = Field("values", StringClass())
AFTER: Final = Field("further", StringClass())
LINES: Final = Field("lines", StringClass())
_CLOCKS: Final = frozenset(SOFTWARE_EVENTS[number] for number in CLOCK_EVENTS)


def weight_field(name: str) -> Field:
    """Return the field of the period of an event."""
    return weight("ns" if name.partition(":")[0] in _CLOCKS else "")


def sample_class(name: str, fields: tuple[Field, ...], *, timed: bool) -> EventClass:
    """Return the class of samples of an event."""
    return EventClass(Kind.SAMPLE, name, fields=(FRAMES, *fields), timed=timed)


_SAMPLE_NAME: Final = re.compile(r"[^\s\0-\x1f]{1,500}")
_TRACEPOINT: Final = re.compile(r"([A-Za-z0-9_.-]+):(?![ukhGHIpPSDWebR]+\Z)[A-Za-z0-9_.:-]+")


def is_sample_name(name: str) -> bool:
    """Return True if lines can have this name of an event that is no tracepoint."""
    if not _SAMPLE_NAME.fullmatch(name) or name.startswith("PERF_RECORD_"):
        return False
    return _TRACEPOINT.fullmatch(name) is None
