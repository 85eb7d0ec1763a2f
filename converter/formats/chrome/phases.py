"""The meaning of phase letters."""

from __future__ import annotations

from collections.abc import Mapping

from converter.formats.chrome.layout import Phase
from converter.ir.kinds import Kind

#: The kinds of the phases, the usual spelling of each kind first.
PHASES: Mapping[Kind, tuple[Phase, ...]] = {
    Kind.SLICE_BEGIN: (Phase.DURATION_BEGIN,),
    Kind.SLICE_END: (Phase.DURATION_END,),
    Kind.SLICE_COMPLETE: (Phase.COMPLETE,),
    Kind.INSTANT: (Phase.INSTANT, Phase.INSTANT_OLD, Phase.MARK, Phase.SAMPLE),
    Kind.COUNTER: (Phase.COUNTER,),
    Kind.ASYNC_BEGIN: (Phase.NESTABLE_BEGIN, Phase.ASYNC_BEGIN),
    Kind.ASYNC_INSTANT: (Phase.NESTABLE_INSTANT, Phase.ASYNC_STEP_INTO, Phase.ASYNC_STEP_PAST),
    Kind.ASYNC_END: (Phase.NESTABLE_END, Phase.ASYNC_END),
    Kind.FLOW_BEGIN: (Phase.FLOW_BEGIN,),
    Kind.FLOW_STEP: (Phase.FLOW_STEP,),
    Kind.FLOW_END: (Phase.FLOW_END,),
    Kind.OBJECT_NEW: (Phase.OBJECT_CREATED,),
    Kind.OBJECT_SNAPSHOT: (Phase.OBJECT_SNAPSHOT,),
    Kind.OBJECT_DELETE: (Phase.OBJECT_DESTROYED,),
    Kind.CLOCK_SYNC: (Phase.CLOCK_SYNC,),
}

#: Perfetto's thread states (since v54) share their letter with the steps of async events, which have an id.
STATE_PHASE = Phase.ASYNC_STEP_INTO

KIND_OF_PHASE: Mapping[str, Kind] = {
    phase: kind for kind, phases in PHASES.items() for phase in phases
}
