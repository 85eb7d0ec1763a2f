"""What comes before a projection: steps that need the events before and after one, which no piece of a batch has.

Each is for formats with a capability, or without it, and gives a trace whose batches it rewrites while they pass.
A step is imported where one is taken: few formats need more than two.
"""

from __future__ import annotations

from converter.ir.kinds import Kind
from converter.ir.trace import Trace
from converter.projection.capabilities import Capabilities
from converter.projection.losses import LossReport
from converter.projection.timeline_fields import FLOW_IDS, THREAD_TIME


def prepared(
    trace: Trace, capabilities: Capabilities, format_name: str, report: LossReport
) -> Trace:
    """The trace in the order, with the tasks, flows and slices that a format of these capabilities needs."""
    trace = _of_tasks(trace, capabilities, report)
    if not capabilities.clock_rates:
        from converter.projection.passes.clock_rates import in_nanoseconds

        trace = in_nanoseconds(trace, report)
    trace = _with_flows(trace, capabilities, report)
    are_first = trace.format in capabilities.slices_first
    if are_first != (format_name in capabilities.slices_first):
        from converter.projection.passes.slices.complete_first import behind_slices, slices_first

        trace = slices_first(trace) if are_first else behind_slices(trace, report)
    if capabilities.call_stacks and trace.format != format_name:
        from converter.projection.domain.listed_samples import with_listed_samples
        from converter.projection.domain.v8_profiles import with_samples

        trace = with_listed_samples(with_samples(trace, report), report)
    return _of_slices(trace, capabilities, format_name, report)


def _of_tasks(trace: Trace, capabilities: Capabilities, report: LossReport) -> Trace:
    """The trace in time order, with what its scheduler says in the way of the format."""
    if capabilities.time_order:
        from converter.projection.passes.time_order import in_time_order

        trace = in_time_order(trace)
    if capabilities.exits_by_switch:
        from converter.projection.domain.exiting_tasks import leaving_at_exit

        trace = leaving_at_exit(trace, report)
    if not capabilities.unknown_tasks:
        from converter.projection.domain.switched_tasks import naming_both

        trace = naming_both(trace, report)
    if not capabilities.unknown_tids:
        from converter.projection.domain.switched_tasks import naming_left

        trace = naming_left(trace, report)
    if not capabilities.wakes_running:
        from converter.projection.domain.wakeups import of_sleepers

        trace = of_sleepers(trace)
    return trace


def _with_flows(trace: Trace, capabilities: Capabilities, report: LossReport) -> Trace:
    """The trace with its messages and ids of flows as events of flows."""
    if not {Kind.FLOW_BEGIN, Kind.FLOW_END, Kind.SLICE_BEGIN} <= capabilities.kinds.keys():
        return trace
    if Kind.MESSAGE_SEND not in capabilities.kinds:
        from converter.projection.passes.messages import with_flows

        trace = with_flows(trace, report, forks=capabilities.flows_fork)
    of_slices = capabilities.kinds[Kind.SLICE_BEGIN]
    # Formats that hold fields of any class hold those with ids as they are.
    if not (of_slices.of_class or FLOW_IDS in of_slices.optional):
        from converter.projection.passes.slices.slice_flows import with_events

        trace = with_events(trace, report)
    return trace


def _of_slices(
    trace: Trace, capabilities: Capabilities, format_name: str, report: LossReport
) -> Trace:
    """The trace with ends by name where the format finds slices so, and complete slices as begins and ends."""
    by_name = trace.format in capabilities.ends_by_name
    if capabilities.ends_by_name and (not by_name or trace.format not in capabilities.ends_alike):
        from converter.projection.passes.slices.slice_ends import under_their_names

        in_turn = trace.format in capabilities.ends_in_turn
        trace = under_their_names(trace, report, by_name=by_name, in_turn=in_turn)
    # What a rule lowers is held in another way.
    kinds = capabilities.kinds.keys() | capabilities.lowerings.keys()
    unit = capabilities.duration_unit
    split = Kind.SLICE_COMPLETE not in kinds and {Kind.SLICE_BEGIN, Kind.SLICE_END} <= kinds
    if split or (unit is not None and (capabilities.tracks or trace.format != format_name)):
        from converter.projection.passes.slices.complete_slices import begin_and_end

        ends = capabilities.kinds.get(Kind.SLICE_END)
        timed = ends is not None and THREAD_TIME in ends.optional
        trace = begin_and_end(trace, report, unit, timed=timed, tracks=capabilities.tracks)
    return trace
