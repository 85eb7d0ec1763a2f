"""The meaning of a source's events where formats differ, stated by the source itself.

A format's reader states these rules once for its traces. A target states in its capabilities the rules that its viewers
follow, and the projection compares the two: neither knows which other formats there are.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum, unique
from typing import Any

from converter.ir.kinds import Kind


@unique
class EndMatching(Enum):
    """The rule by which viewers find the slice that an end closes, among those open on a thread or track."""

    #: The innermost with the end's name; the innermost of all where none has it or the end has no name.
    NAME_OR_INNERMOST = "name or innermost"
    #: The innermost, whatever name the end has.
    INNERMOST = "innermost"
    #: The innermost with the end's name, and all inside it; none where no slice has that name. An end without a name
    #: closes the innermost.
    NAME = "name"
    #: As `NAME`, but an end with a name also closes a slice without one.
    NAME_OR_UNNAMED = "name or unnamed"

    @property
    def requires_name(self) -> bool:
        """True if an end with a name that no open slice has closes nothing."""
        return self in (EndMatching.NAME, EndMatching.NAME_OR_UNNAMED)


@unique
class FlowBinding(Enum):
    """Which slice of its thread a flow ends at."""

    #: The one that encloses the end.
    ENCLOSING = "enclosing"
    #: The one that begins next, unless the flow's end states that it is the enclosing one.
    NEXT_UNLESS_STATED = "next unless stated"


@unique
class FlowMatching(Enum):
    """Which events of flows belong together, and whether an end closes the flow."""

    #: Those of one id, name and category. A flow may end several times, and an id does not begin again.
    NAME_AND_ID = "name and id"
    #: Those of one id. The end closes the flow, after which its id may begin another one.
    ID = "id"


@unique
class Unseen(Enum):
    """Something that viewers of a source do not show, although its events have it: an output that does not show it
    either looks the same.
    """

    #: Arguments without a value.
    EMPTY_ARGUMENTS = "empty arguments"
    #: Binary arguments that are not JSON.
    BYTES = "bytes"
    #: The threads of counter values.
    COUNTER_THREADS = "threads of counters"
    #: Arguments of counters that are not their values.
    COUNTER_ARGUMENTS = "arguments of counters"
    #: Arguments of switches and wakeups other than tasks, states and priorities.
    SCHED_ARGUMENTS = "arguments of scheduling"
    #: The date of the recording.
    DATES = "dates"
    #: Samples of call stacks.
    SAMPLES = "samples"


@dataclass(frozen=True, slots=True)
class Semantics:
    """The rules of one source.

    Attributes:
        ends: how ends of slices match begins.
        flows: which slices flows end at.
        lone_ends: viewers show the end of a slice that has no begin: it says what a thread has been in.
        flow_matching: which events of flows belong together.
        flows_at_begins: viewers follow flow ids of slices (`timeline_fields.BIND_NAME`) only where a slice begins.
        complete_first: at one timestamp, viewers take ends of slices first, then complete slices that last, the longest
            first, then all other events in their order.
        counter_series: viewers call the track of a counter "name series", after the counter and its argument.
        json_arguments: the name under which viewers show arguments, which are JSON values; empty where they are not.
        unseen: what viewers do not show.
        old_states: viewers take a kernel of unknown release for one before 4.8, whose task states have other bits.
        zero_is_main: viewers take thread 0 of a process other than 0 for its main thread.
        thread_time_counters: viewers show the CPU times of threads as counters, too.
        rounded_rate: viewers multiply times by a rounded length of the clock's ticks: they show some nanoseconds early.
        kinds: the kinds that events may have; None where any may occur. Passes over the events that concern no such
            kind are skipped.

    """

    ends: EndMatching = EndMatching.NAME_OR_INNERMOST
    flows: FlowBinding = FlowBinding.ENCLOSING
    lone_ends: bool = False
    complete_first: bool = False
    counter_series: bool = False
    json_arguments: str = ""
    kinds: frozenset[Kind] | None = None
    flow_matching: FlowMatching = FlowMatching.NAME_AND_ID
    flows_at_begins: bool = False
    unseen: frozenset[Unseen] = frozenset()
    old_states: bool = False
    zero_is_main: bool = False
    thread_time_counters: bool = False
    rounded_rate: bool = False

    def may_have(self, *kinds: Kind) -> bool:
        """Return True if events of one of these kinds may occur."""
        return self.kinds is None or not self.kinds.isdisjoint(kinds)


_FLAGS = (
    *("lone_ends", "complete_first", "counter_series", "flows_at_begins", "old_states"),
    *("zero_is_main", "thread_time_counters", "rounded_rate"),
)
#: The rules of a source that states none.
DEFAULT = Semantics()


def common_semantics(semantics: Iterable[Semantics]) -> Semantics:
    """Return the rules of several sources that are merged: those that all share, else the default ones."""
    every = list(semantics)
    kinds: frozenset[Kind] | None = frozenset()
    for one in every:
        kinds = None if kinds is None or one.kinds is None else kinds | one.kinds
    first = every[0] if every else DEFAULT
    if any(replace(one, kinds=None) != replace(first, kinds=None) for one in every):
        return Semantics(kinds=kinds)
    return replace(first, kinds=kinds)


def semantics_form(semantics: Semantics) -> dict[str, Any]:
    """Return the rules that are not the default ones as JSON-like values."""
    form: dict[str, Any] = {}
    if semantics.ends is not DEFAULT.ends:
        form["ends"] = semantics.ends.value
    if semantics.flows is not DEFAULT.flows:
        form["flows"] = semantics.flows.value
    if semantics.flow_matching is not DEFAULT.flow_matching:
        form["flow_matching"] = semantics.flow_matching.value
    for name in _FLAGS:
        if getattr(semantics, name):
            form[name] = True
    if semantics.json_arguments:
        form["json_arguments"] = semantics.json_arguments
    if semantics.unseen:
        form["unseen"] = sorted(one.value for one in semantics.unseen)
    return form


def semantics_of(form: dict[str, Any]) -> Semantics:
    """Return the rules that JSON-like values state; rules of unknown names or values are left out."""
    ends = {one.value: one for one in EndMatching}.get(form.get("ends", ""), DEFAULT.ends)
    flows = {one.value: one for one in FlowBinding}.get(form.get("flows", ""), DEFAULT.flows)
    group = form.get("json_arguments", "")
    unseen = form.get("unseen", ())
    matching = {one.value: one for one in FlowMatching}.get(form.get("flow_matching", ""))
    rules = Semantics(
        ends,
        flows,
        json_arguments=group if isinstance(group, str) else "",
        flow_matching=DEFAULT.flow_matching if matching is None else matching,
        unseen=frozenset(one for one in Unseen if one.value in unseen)
        if isinstance(unseen, list)
        else frozenset(),
    )
    flags: dict[str, Any] = {name: form.get(name) is True for name in _FLAGS}
    return replace(rules, **flags)
