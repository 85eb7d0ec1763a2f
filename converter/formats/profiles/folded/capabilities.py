"""The capabilities of collapsed stacks: names and counts. Traces of other formats are summed by call stack."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from converter.formats.profiles.capabilities import with_function_names
from converter.formats.profiles.folded.mapping import CLASSES, sample_class
from converter.formats.profiles.sums import ORDER, summed_by_names
from converter.formats.profiles.timeline import timeline
from converter.ir.events import EventClass
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Trace
from converter.projection.capabilities import Capabilities, KindSupport
from converter.projection.domain.call_stacks import UNKNOWN
from converter.projection.losses import LossReport
from converter.projection.timeline_fields import FUNCTIONS

#: What ends in a line the name or the line.
_SEPARATORS: Final = bytes.maketrans(b";\n\r", b":  ")
#: The end of a name that would be a count of its line.
_COUNT: Final = re.compile(rb"[ \t](?=[0-9]+(\.[0-9]*)?\Z)")


@cache
def capabilities(variant: str) -> Capabilities:
    """Return the capabilities of the format."""
    del variant
    sample = KindSupport(
        CLASSES[0].fields,
        required=frozenset({Role.FRAMES}),
        arguments=False,
        thread=False,
        of_class=_held,
    )
    return Capabilities({Kind.SAMPLE: sample}, utf8_only=False, rewrite=_as_sums, only_clock=ORDER)


def _held(event_class: EventClass) -> KindSupport:
    own = event_class if event_class in CLASSES else CLASSES[0]
    return KindSupport(own.fields, required=frozenset({Role.FRAMES}), arguments=False, thread=False)


def _as_sums(trace: Trace, report: LossReport) -> Trace:
    """Return sums by call stack, as samples with names that lines can have."""
    held = timeline(with_function_names, frames=FUNCTIONS)
    return summed_by_names(trace, report, held, sample_class(), line_name)


def line_name(name: bytes, *, innermost: bool) -> bytes:
    """Return a name without semicolons and line ends, and the innermost one without a count at its end."""
    fitted = name.translate(_SEPARATORS)
    return (_COUNT.sub(b"_", fitted) if innermost else fitted) or UNKNOWN
