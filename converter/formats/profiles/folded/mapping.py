"""Classes of samples in collapsed stacks: with one count or two, of integers or of other numbers."""

from __future__ import annotations

from typing import Final

from converter.ir.events import EventClass, Field
from converter.ir.field_classes import FloatClass, IntegerClass
from converter.ir.kinds import Kind, Role
from converter.projection.timeline_fields import FUNCTIONS

#: The name of the count before the last: that of the other profile, which a difference is to.
BEFORE: Final = "weight_before"


def sample_class(*, two: bool = False, fraction: bool = False) -> EventClass:
    """Return the class of lines with `two` counts, or with a `fraction` in one of them."""
    number = FloatClass(64) if fraction else IntegerClass(64, signed=True)
    fields = [FUNCTIONS, Field("weight", number, Role.COUNT)]
    if two:
        fields.append(Field(BEFORE, number))
    return EventClass(Kind.SAMPLE, fields=tuple(fields))


#: By the bits of a line's counts (`scan.HAS_TWO`, `scan.HAS_FRACTION`).
CLASSES: Final = tuple(
    sample_class(two=two, fraction=fraction) for fraction in (False, True) for two in (False, True)
)
