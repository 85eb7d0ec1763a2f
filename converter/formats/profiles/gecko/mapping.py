"""The meaning of markers and samples: fields and kinds, in both directions."""

from __future__ import annotations

from typing import Final

from converter.formats.profiles.gecko.layout import MarkerPhase
from converter.ir.events import EventClass, Field
from converter.ir.field_classes import FloatClass, IntegerClass, StringClass
from converter.ir.kinds import Kind, Role
from converter.ir.semantics import EndMatching, Semantics, Unseen
from converter.projection.timeline_fields import DURATION, FRAMES, weight

#: What events mean, as profilers take them: data of markers are shown as such.
SEMANTICS: Final = Semantics(
    ends=EndMatching.NAME,
    json_arguments="data",
    unseen=frozenset({Unseen.EMPTY_ARGUMENTS, Unseen.BYTES, Unseen.COUNTER_THREADS}),
    kinds=frozenset(
        {
            *(Kind.INSTANT, Kind.SLICE_COMPLETE, Kind.SLICE_BEGIN, Kind.SLICE_END),
            *(Kind.SAMPLE, Kind.COUNTER),
        }
    ),
)

KINDS: Final = {
    MarkerPhase.INSTANT: Kind.INSTANT,
    MarkerPhase.INTERVAL: Kind.SLICE_COMPLETE,
    MarkerPhase.INTERVAL_START: Kind.SLICE_BEGIN,
    MarkerPhase.INTERVAL_END: Kind.SLICE_END,
}
PHASES: Final = {kind: phase for phase, kind in KINDS.items()}

NAME: Final = Field("name", StringClass(), Role.NAME)
CATEGORY: Final = Field("category", StringClass(), Role.CATEGORY)
INTEGER: Final = IntegerClass(64, signed=True)
#: Values of counters.
VALUES: Final = (Field("value", INTEGER, Role.VALUE), Field("value", FloatClass(64), Role.VALUE))
#: Of samples: the category of their stack, the CPU time of the thread since the sample before, and how long the thread
#: has not looked after its events.
CPU_DELTA: Final = Field("thread_cpu_delta", INTEGER, Role.NONE, "ns")
CPU_CYCLES: Final = Field("thread_cpu_delta", INTEGER, Role.NONE, "cycles")
EVENT_DELAY: Final = Field("event_delay", FloatClass(64), Role.NONE, "ms")
OF_SAMPLES: Final = (CATEGORY, CPU_DELTA, CPU_CYCLES, EVENT_DELAY)


def marker_fields(kind: Kind) -> tuple[Field, ...]:
    """Return the fields of markers that are no data."""
    return (NAME, CATEGORY, DURATION) if kind is Kind.SLICE_COMPLETE else (NAME, CATEGORY)


def sample_class(name: str, unit: str, *more: Field) -> EventClass:
    """Return the class of samples of an event, weighted in a unit."""
    return EventClass(Kind.SAMPLE, name, fields=(FRAMES, weight(unit), *more))
