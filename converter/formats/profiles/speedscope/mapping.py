"""Units of speedscope's values, and the members of files and profiles that are traceconv's own."""

from __future__ import annotations

from typing import Final

from converter.ir.events import EventClass, Field
from converter.ir.field_classes import IntegerClass, StringClass
from converter.ir.kinds import Kind
from converter.projection.timeline_fields import FRAMES, weight

#: By the unit of weights: that of the profile. All others are `none`.
PROFILE_UNITS: Final = {
    "ns": "nanoseconds",
    "us": "microseconds",
    "ms": "milliseconds",
    "s": "seconds",
    "bytes": "bytes",
}
#: The power of ten of nanoseconds in a unit of time.
POWERS: Final = {"nanoseconds": 0, "microseconds": 3, "milliseconds": 6, "seconds": 9}
#: By the unit of a profile: that of weights.
WEIGHT_UNITS: Final = {**dict.fromkeys(POWERS, "ns"), "bytes": "bytes"}
#: The member of a file with the side table, and that of a profile with what the format has no place for.
OWN: Final = "traceconv"
#: The version of these members.
VERSION: Final = 1

NAME: Final = Field("name", StringClass())
#: Where a function is, as arguments of its slice.
PLACE: Final = (Field("file", StringClass()), Field("line", IntegerClass(32)))


def sample_class(event: str, unit: str) -> EventClass:
    """Return the class of samples of an event."""
    return EventClass(Kind.SAMPLE, event, fields=(FRAMES, weight(unit)))
