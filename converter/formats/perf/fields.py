"""Fields and names that recordings of perf and their texts have in common."""

from __future__ import annotations

from typing import Final

from converter.ir.events import Field
from converter.ir.field_classes import ArrayClass
from converter.ir.kinds import Role
from converter.projection.timeline_fields import FRAME

#: The category of the kernel's records but samples.
CATEGORY: Final = "perf"
#: The call stack of a tracepoint, innermost frame first.
CALLSTACK: Final = Field("callstack", ArrayClass(FRAME), Role.CONTEXT)
