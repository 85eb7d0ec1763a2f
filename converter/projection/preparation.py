"""Passes over the events before a projection: what depends on the events before and after one.

Each is for formats with a capability, or without it, and returns a trace whose batches it rewrites as they stream. A
pass is imported only where it is applied, and applied only where the source may have events that it concerns.
"""

from __future__ import annotations

from typing import Final

from converter.ir.kinds import Kind
from converter.ir.semantics import EndMatching, FlowBinding, FlowMatching
from converter.ir.trace import Trace
from converter.projection.capabilities import Capabilities
from converter.projection.losses import LossReport
from converter.projection.passes.time_limits import with_held_durations, within_limits
from converter.projection.passes.untimed import since_first_time
from converter.projection.timeline_fields import FLOW_IDS, FOLLOWED, THREAD_TIME

_WAKEUPS: Final = (Kind.SCHED_WAKING, Kind.SCHED_WAKEUP, Kind.SCHED_WAKEUP_NEW)
_CALLS: Final = (Kind.FUNCTION_ENTRY, Kind.FUNCTION_EXIT)
_ASYNC: Final = (Kind.ASYNC_BEGIN, Kind.ASYNC_END)
_MESSAGES: Final = (Kind.MESSAGE_SEND, Kind.MESSAGE_RECEIVE)
_SLICES: Final = (Kind.SLICE_COMPLETE, Kind.SLICE_END)
#: What samples become in formats without them.
_LOWERED: Final = (Kind.INSTANT, Kind.TYPED)
_WITH_FLOW_IDS: Final = (Kind.SLICE_BEGIN, Kind.SLICE_COMPLETE, Kind.INSTANT)


def prepared(
    trace: Trace, capabilities: Capabilities, format_name: str, report: LossReport
) -> Trace:
    """Return the trace in the order, with the tasks, flows and slices that a format of these capabilities needs."""
    if trace.explain is not None and trace.format != format_name:
        trace = trace.explain(
            trace,
            lambda name, count, first: report.add(
                "record-field", count, first, name=name, format=trace.format
            ),
        )
    if capabilities.rewrite is not None and trace.format != format_name:
        trace = capabilities.rewrite(trace, report)
    trace = _of_tasks(since_first_time(trace), capabilities, report)
    if not _holds_rate(trace, capabilities, format_name):
        from converter.projection.passes.clock_rates import in_nanoseconds

        trace = in_nanoseconds(trace, report)
    if capabilities.time_unit is not None:
        from converter.projection.passes.clock_rates import in_units

        trace = in_units(trace, capabilities.time_unit, report)
    trace = with_held_durations(trace, capabilities, format_name, report)
    source = trace.semantics
    if source.complete_first and capabilities.complete_first is False and source.may_have(*_SLICES):
        from converter.projection.passes.slices.complete_first import in_viewer_order

        trace = in_viewer_order(trace)
    trace = _with_flows(trace, capabilities, format_name, report)
    if capabilities.call_stacks and trace.format != format_name and source.may_have(Kind.INSTANT):
        from converter.projection.domain.listed_samples import with_listed_samples
        from converter.projection.domain.v8_profiles import with_samples

        trace = with_listed_samples(with_samples(trace, report), report)
    if capabilities.call_depths and trace.format != format_name and source.may_have(*_CALLS):
        from converter.projection.domain.function_calls import with_depths

        trace = with_depths(trace)
    if capabilities.call_stacks and trace.format != format_name and source.may_have(Kind.TYPED):
        from converter.projection.domain import perf_samples

        of_stacks = not capabilities.event_stacks
        trace = perf_samples.with_samples(trace, report, capabilities.kinds, of_stacks=of_stacks)
    if capabilities.call_stacks and trace.format != format_name:
        if source.may_have(*_LOWERED):
            from converter.projection.domain.lowered_samples import restored

            trace = restored(trace)
        if source.may_have(Kind.SAMPLE, *_LOWERED):
            from converter.projection.passes.sample_weights import with_totals, with_weights

            trace = with_totals(trace) if capabilities.totals else with_weights(trace)
    trace = _of_slices(trace, capabilities, format_name, report)
    return within_limits(trace, capabilities)


def _holds_rate(trace: Trace, capabilities: Capabilities, format_name: str) -> bool:
    """Return True if the format's viewers show times in ticks of the trace's clock as they are."""
    rate, is_exact = trace.clock.ticks_per_second, capabilities.exact_rate
    if not capabilities.clock_rates:
        return rate is None or rate == 1_000_000_000
    return rate is None or is_exact is None or trace.format == format_name or is_exact(rate)


def _of_tasks(trace: Trace, capabilities: Capabilities, report: LossReport) -> Trace:
    """Return the trace in time order, with scheduling stated the way the format needs it."""
    if capabilities.time_order:
        from converter.projection.passes.time_order import in_time_order

        trace = in_time_order(trace)
    # Formats whose viewers show no scheduling keep the records as they are.
    as_tasks = capabilities.exits_by_switch and not capabilities.weights
    if as_tasks and trace.semantics.may_have(Kind.SCHED_SWITCH, Kind.SCHED_WAKEUP):
        from converter.projection.domain.scheduling.weighted_tasks import as_priorities

        trace = as_priorities(trace, report, by_cpu=not capabilities.cpuless)
    source = trace.semantics
    if capabilities.exits_by_switch and source.may_have(Kind.TASK_EXIT):
        from converter.projection.domain.scheduling.exiting_tasks import leaving_at_exit

        trace = leaving_at_exit(trace, report)
    if not source.may_have(Kind.SCHED_SWITCH):
        return trace
    if not capabilities.unknown_tasks:
        from converter.projection.domain.scheduling.switched_tasks import naming_both

        trace = naming_both(trace, report)
    if not capabilities.unknown_tids:
        from converter.projection.domain.scheduling.switched_tasks import naming_left

        trace = naming_left(trace, report)
    if not capabilities.wakes_running and source.may_have(*_WAKEUPS):
        from converter.projection.domain.scheduling.wakeups import of_sleepers

        trace = of_sleepers(trace)
    return trace


def _with_flows(
    trace: Trace, capabilities: Capabilities, format_name: str, report: LossReport
) -> Trace:
    """Return the trace with its messages and ids of flows as events of flows, as the format's viewers follow them."""
    if not {Kind.FLOW_BEGIN, Kind.FLOW_END, Kind.SLICE_BEGIN} <= capabilities.kinds.keys():
        return trace
    source = trace.semantics
    if Kind.MESSAGE_SEND not in capabilities.kinds and source.may_have(*_MESSAGES):
        from converter.projection.passes.messages import with_flows

        trace = with_flows(trace, report, forks=capabilities.flows_fork)
    of_slices = capabilities.kinds[Kind.SLICE_BEGIN]
    # Formats that hold fields of any class hold those with ids as they are.
    holds_ids = bool(of_slices.of_class) or FLOW_IDS in of_slices.optional
    if not holds_ids and source.may_have(*_WITH_FLOW_IDS):
        from converter.projection.passes.flows.slice_flows import with_events

        trace = with_events(trace, report)
    if capabilities.flow_fields is None or trace.format == format_name:
        return trace
    if source.may_have(*FOLLOWED):
        from converter.projection.passes.flows.bound_flows import followed_kinds, with_bound_flows

        if capabilities.flow_fields != followed_kinds(trace):
            trace = with_bound_flows(trace, capabilities.flow_fields, report)
    to_next = source.flows is FlowBinding.NEXT_UNLESS_STATED
    if to_next and not capabilities.flows_to_next and source.may_have(Kind.FLOW_END):
        from converter.projection.passes.flows.next_slices import at_next_slices

        trace = at_next_slices(trace, report)
    if capabilities.flow_matching is not None and source.flow_matching is FlowMatching.ID:
        from converter.projection.passes.flows.outside_slices import without_unattached

        trace = without_unattached(trace, report)
    if capabilities.flow_matching not in (None, source.flow_matching):
        from converter.projection.passes.flows.identities import with_matching_flows

        trace = with_matching_flows(trace, report)
    by_category = capabilities.flow_matching is not FlowMatching.ID
    is_known = by_category or source.flow_matching is FlowMatching.ID
    if source.may_have(*_ASYNC) and (source.json_arguments or not is_known):
        from converter.projection.passes.flows.async_identities import with_distinct_ids

        trace = with_distinct_ids(trace, report, by_category=by_category)
    return trace


def _of_slices(
    trace: Trace, capabilities: Capabilities, format_name: str, report: LossReport
) -> Trace:
    """Return the trace with ends matched as the format's viewers do, and complete slices as begins and ends."""
    if trace.semantics.may_have(Kind.SLICE_END):
        trace = _with_ends(trace, capabilities, report)
    if not trace.semantics.may_have(Kind.SLICE_COMPLETE):
        return trace
    # What a rule lowers is held in another way.
    kinds = capabilities.kinds.keys() | capabilities.lowerings.keys()
    unit = capabilities.duration_unit
    first_slices = bool(capabilities.complete_first) and not trace.semantics.complete_first
    split = Kind.SLICE_COMPLETE not in kinds and {Kind.SLICE_BEGIN, Kind.SLICE_END} <= kinds
    if split or (unit is not None and (capabilities.tracks or trace.format != format_name)):
        from converter.projection.passes.slices.complete_slices import begin_and_end

        ends = capabilities.kinds.get(Kind.SLICE_END)
        timed = ends is not None and THREAD_TIME in ends.optional
        first = None if capabilities.negative_times else 0
        trace = begin_and_end(
            trace,
            report,
            unit,
            timed=timed,
            tracks=capabilities.tracks,
            first=first,
            complete_first=first_slices,
        )
    elif first_slices and trace.semantics.may_have(Kind.SLICE_BEGIN):
        from converter.projection.passes.slices.complete_slices import begin_and_end

        trace = begin_and_end(trace, report, complete_first=True)
    return trace


def _with_ends(trace: Trace, capabilities: Capabilities, report: LossReport) -> Trace:
    """Return the trace whose ends close in the format's viewers what they close in the source's."""
    source, target = trace.semantics.ends, capabilities.ends
    if target is None or source is target:
        return trace
    if target is EndMatching.INNERMOST:
        if not source.requires_name:
            return trace
        from converter.projection.passes.slices.stated_ends import with_inner_ends

        or_unnamed = source is EndMatching.NAME_OR_UNNAMED
        complete = Kind.SLICE_COMPLETE in capabilities.kinds
        return with_inner_ends(trace, report, or_unnamed=or_unnamed, complete=complete)
    if source is EndMatching.NAME and target is EndMatching.NAME_OR_UNNAMED:
        # Slices without a name are not open for ends with one in either.
        return trace
    from converter.projection.passes.slices.slice_ends import under_their_names

    by_name, in_turn = source.requires_name, source is EndMatching.INNERMOST
    return under_their_names(trace, report, by_name=by_name, in_turn=in_turn)
