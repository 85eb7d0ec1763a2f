"""What each loss may change of the tables of trace_processor; it excuses no other difference.

A column is ``table.column``, and ``table.*`` is whole rows. Of losses of kinds of events, columns of other tables than
those that show events of these kinds do not count, unless they are ``!table.column``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from converter.ir.kinds import Kind
from converter.projection.losses import Loss, LossClass

_SCHED = (Kind.SCHED_SWITCH, Kind.SCHED_WAKING, Kind.SCHED_WAKEUP, Kind.SCHED_WAKEUP_NEW)
_COUNTERS = (Kind.CPU_FREQUENCY, Kind.CPU_IDLE, Kind.CPU_FREQUENCY_LIMITS, Kind.CLOCK_RATE)
_TASKS = (Kind.TASK_NEW, Kind.TASK_RENAME, Kind.TASK_EXIT, Kind.TASK_FREE)
_TIMELINE = (Kind.SLICE_BEGIN, Kind.SLICE_END, Kind.SLICE_COMPLETE, Kind.INSTANT)
_FLOWS = (Kind.FLOW_BEGIN, Kind.FLOW_STEP, Kind.FLOW_END)
#: The tables that show events of a kind; those of other kinds are slices, and kernel events.
ROWS: Final[Mapping[Kind, frozenset[str]]] = {
    **dict.fromkeys((*_SCHED, Kind.STATE), frozenset({"sched", "states", "ftrace"})),
    **dict.fromkeys(_COUNTERS, frozenset({"counters", "ftrace"})),
    **dict.fromkeys(_TASKS, frozenset({"threads", "processes", "ftrace"})),
    **dict.fromkeys(_TIMELINE, frozenset({"slices"})),
    **dict.fromkeys(_FLOWS, frozenset({"flows"})),
    Kind.COUNTER: frozenset({"counters"}),
    # Some are slices that arrows connect: transactions of binders, jobs of GPUs.
    Kind.TYPED: frozenset({"slices", "flows", "ftrace"}),
    Kind.LOG: frozenset({"logs"}),
    Kind.SAMPLE: frozenset({"samples"}),
    # Records that only one format has may be shown anywhere.
    Kind.NATIVE: frozenset({"slices", "counters", "logs", "samples", "ftrace"}),
}
_OTHER = frozenset({"slices", "ftrace"})
_EVENTS = tuple(
    f"{table}.*"
    for table in ("slices", "counters", "sched", "states", "flows", "logs", "samples", "ftrace")
)
_ARGUMENTS = ("slices.args", "ftrace.args", "samples.is_stack")
_VALUES = (*_ARGUMENTS, "counters.value", "sched.*", "states.*")
_THREAD = ("slices.tid", "slices.pid", "counters.tid", "samples.tid", "ftrace.tid")
_CPU = ("slices.cpu", "counters.cpu", "samples.cpu", "ftrace.cpu")
_STATE = ("sched.end_state", "states.state", "ftrace.args")
_WAIT = ("states.state", "states.waker", "states.dur", "states.*")
_SWITCH = ("sched.*", "states.*", "ftrace.*", "threads.*", "threads.name")
_SLICE = ("slices.depth", "slices.dur", "slices.*")
_IDS = (
    *(f"{table}.*" for table in ("threads", "processes", "states", "sched")),
    *(f"{table}.{id}" for table in ("slices", "counters", "logs") for id in ("tid", "pid")),
)
_NAMES = ("threads.name", "processes.name")
_GAPS = ("slices.args",)
_NOTHING = ()

#: By code; a loss that is not here excuses nothing.
CHANGES: Final[Mapping[str, tuple[str, ...]]] = {
    # Fields
    "event-dropped": _EVENTS,
    "sample-as-instant": ("samples.*", "!counters.*"),
    "event-as": ("ftrace.*", "logs.*", "samples.*", "states.*"),
    "value-on-its-own": ("counters.*", "slices.*"),
    "event-renamed": ("slices.name", "counters.*", "ftrace.*"),
    "time-dropped": _EVENTS,
    **dict.fromkeys(
        (
            *("field-dropped", "field-unshown", "list-elements-unshown", "empty-field-unshown"),
            *("field-as-text", "arguments-dropped", "arguments-in-instants", "function-names"),
            *("text-cut", "text-cut-for-viewer", "text-cut-at-nul", "text-not-utf8", "bytes-cut"),
            *("list-cut", "flag-names"),
            *("syscall-arguments-cut", "address-invalid", "bytes-unshown"),
        ),
        _ARGUMENTS,
    ),
    "number-out-of-range": (*_VALUES, "!threads.name"),
    "id-text-as-number": (*_ARGUMENTS, "counters.track"),
    "field-renamed": _ARGUMENTS,
    "argument-name-shown-as": ("slices.args",),
    "nested-fields": ("slices.args",),
    "optional-fields": ("slices.args",),
    # Places
    "interrupted-thread": ("ftrace.tid", "ftrace.*"),
    "thread-of-event-on-track": ("slices.tid", "slices.pid", "ftrace.tid", "ftrace.*"),
    "thread-dropped": ("slices.tid", "slices.pid", "ftrace.tid", "ftrace.*"),
    "counter-thread": ("counters.tid", "ftrace.tid", "ftrace.*"),
    "thread-shares-tid": _IDS,
    "threadless-on-made-up-thread": _THREAD,
    "track-dropped": (*_THREAD, *_CPU),
    "track-as-thread": (*_THREAD, *_CPU),
    "cpu-unknown-shown-on-0": _CPU,
    "cpu-dropped": (*_CPU, "sched.*"),
    "cpu-too-high": (*_CPU, "sched.*", "states.cpu"),
    "command-line": ("processes.cmdline",),
    "parent-process": ("processes.parent", "processes.*", "threads.*"),
    "track-unit": ("counters.unit",),
    "track-unit-changed": ("counters.unit",),
    "name-changed": _NAMES,
    "thread-in-process-of-its-own": _IDS,
    "thread-0-renumbered": _IDS,
    "thread-0-apart": (*_IDS, "slices.depth", "threads.name"),
    "id-taken": _IDS,
    "id-too-large": _IDS,
    # Scheduling
    "state-shown-as": _STATE,
    "state-bits-unknown": _STATE,
    "state-of-other-kernel": _STATE,
    "state-unknown-shown-runnable": _STATE,
    "waiting-shown-runnable": _WAIT,
    "waiting-shown-waking": _WAIT,
    "new-task-wait-unshown": ("!states.*",),
    # The importer of FXT ends what a thread does that is woken while it runs.
    "wakeup-again": (*_WAIT, "sched.dur"),
    # The importer of FXT ends what a thread does on whichever CPU.
    "thread-moved-at-once": (*_WAIT, "sched.dur", "sched.end_state"),
    "switch-of-other-thread": (*_WAIT, "sched.dur", "sched.end_state"),
    "idle-thread-renamed": ("slices.tid", "slices.pid", "threads.name"),
    "switch-task-guessed": _SWITCH,
    "first-switch-task-guessed": _SWITCH,
    "compact-switch-unhidden": _SWITCH,
    "switch-without-cpu-unshown": _SWITCH,
    "waker-as-argument": ("states.waker",),
    "state-end-and-arguments": ("states.dur", "slices.args"),
    "state-of-no-thread": ("states.*",),
    "separator-in-marker": ("slices.name", "counters.*", "ftrace.args"),
    "marker-process-id": ("slices.pid",),
    "gap-size-guessed": _GAPS,
    "gap-size-capped": _GAPS,
    "gap-packets-dropped": _GAPS,
    "gap-packets-capped": _GAPS,
    # Timeline
    "nested-too-deep": _SLICE,
    "slice-end-cut": _SLICE,
    "slice-outlasting": _SLICE,
    "slice-tied": _SLICE,
    "slice-depth-changed": _SLICE,
    "slice-end-name-unmatched": _SLICE,
    "slice-end-too-late": ("slices.dur",),
    "negative-duration": ("slices.dur", "slices.*"),
    "slice-end-mixes-with-marks": _SLICE,
    "depth-at-shared-time": ("slices.depth",),
    "arrow-ids-unshown": ("!flows.*",),
    "correlation-unshown": ("slices.args",),
    "arrows-at-ends": ("!flows.*",),
    "flow-at-shared-time": ("flows.*", "flows.to_ts", "flows.to_name", "flows.from_name"),
    "flow-turned": ("flows.*",),
    "flow-after-end": ("flows.*", "flows.to_ts", "flows.to_name"),
    "flow-begins-again": ("flows.*", "flows.to_ts", "flows.to_name"),
    "message-second-receiver": ("!flows.*",),
    "thread-time-counter": ("!counters.*",),
    "counter-rounded": ("counters.value",),
    "counter-argument-dropped": ("ftrace.*", "ftrace.args", "counters.*"),
    "counter-arguments-in-instants": ("counters.*",),
    "counter-text-dropped": ("counters.*",),
    "counter-without-number": ("counters.*",),
    "instant-scope": ("slices.tid", "slices.pid", "slices.depth"),
    "instant-scope-unknown": ("slices.tid", "slices.pid", "slices.depth"),
    "async-id-scope": ("slices.dur", "slices.depth", "slices.*"),
    "phase-dropped": ("slices.args", "slices.depth"),
    "thread-time-rounded": ("slices.thread_ts", "slices.thread_dur"),
    "thread-time-unshown": ("slices.thread_ts", "slices.thread_dur", "!counters.*"),
    # Samples
    **dict.fromkeys(
        (
            *("frame-place-dropped", "frame-renamed", "stack-cut", "summed-samples"),
            *("sample-of-other-event", "sample-sum-too-large", "sample-without-thread"),
            *("sample-weight-limited", "frame-text-changed", "frame-source-dropped"),
            *("frame-binary-unshown", "frame-source-unshown"),
        ),
        ("!samples.*",),
    ),
    "tracepoint-sample-unshown": ("!samples.*",),
    "frames-as-recorded": ("samples.mapping", "samples.pc", "samples.caller"),
    "summed-slices": ("!slices.*",),
    "slice-beside-samples": ("!slices.*",),
    "slice-time-moved": ("!slices.*",),
    "counter-as-bytes": ("counters.unit",),
    "times-between-units": _EVENTS,
    "call-site": ("ftrace.args",),
    # The whole trace
    "clock-rate-unknown": _EVENTS,
    "times-rounded": _EVENTS,
    "times-rounded-by-viewers": _EVENTS,
    "times-moved": _EVENTS,
    "time-beyond-63-bits": _EVENTS,
    "time-before-zero": _EVENTS,
    "time-too-late": _EVENTS,
    "wall-clock-dropped": ("dates.*",),
    "wall-clock-unshown": ("dates.*",),
    "wall-clock-too-late": ("dates.*",),
    "wall-clock-before-1970": ("dates.*",),
    "wall-clock-rounded": ("dates.*",),
    "native-dropped": ("slices.*", "counters.*", "logs.*", "samples.*", "facts.*"),
    "native-unshown": ("slices.*", "counters.*", "logs.*", "samples.*", "facts.*"),
    "native-big-endian": ("slices.*",),
    "native-thread": _THREAD,
    "native-data-shown": ("facts.*", "processes.*"),
    # Log messages of track events, too.
    "record-field": ("slices.args", "logs.*"),
    "hidden-event-unhidden": (*_SWITCH, "states.tid", "states.dur", "sched.dur"),
    "sequence-texts": ("slices.name", "slices.category", "slices.args"),
    "event-without-sequence": ("slices.*", "counters.*"),
    "json-metadata-unshown": ("facts.*",),
    # What trace_processor shows of no format.
    "file-layout": _NOTHING,
    "ctf-attribute-shown": _NOTHING,
    "ctf-flag-names": _NOTHING,
    "ctf-plain-fields": _NOTHING,
    # Merging
    "merge-parent-differs": ("processes.parent",),
    "merge-command-line-differs": ("processes.cmdline",),
    "merge-name-differs": _NAMES,
    "merge-clock-unknown": _EVENTS,
    "merge-times-rounded": _EVENTS,
    "merge-ids-moved": _IDS,
    "merge-cpus-moved": (*_CPU, "sched.*"),
}
#: The importer of Perfetto makes slices, arrows and names of tasks of some of the kernel's events.
_OF_TYPED = ("!slices.*", "!flows.*", "!threads.*", "!processes.*")
#: Losses of other classes after which rows look different without anything missing: they are in another table, on a
#: thread that stands for their track, or have structures as text.
MOVES: Final = frozenset(
    {
        *("event-as", "value-on-its-own", "counter-arguments-in-instants", "waker-as-argument"),
        *("track-as-thread", "threadless-on-made-up-thread"),
        *("field-as-text", "field-renamed", "nested-fields", "optional-fields"),
    }
)


def changed_by(loss: Loss) -> frozenset[str]:
    """The columns in which a loss shows."""
    if loss.loss_class is not LossClass.SHOWN and loss.code not in MOVES:
        return frozenset()
    columns = CHANGES.get(loss.code, ())
    if loss.code == "event-as" and Kind.TYPED in loss.event_kinds:
        columns += _OF_TYPED
    if not loss.event_kinds:
        return frozenset(column.removeprefix("!") for column in columns)
    tables = frozenset[str]().union(*(ROWS.get(kind, _OTHER) for kind in loss.event_kinds))
    return frozenset(
        column.removeprefix("!")
        for column in columns
        if column.startswith("!") or column.partition(".")[0] in tables
    )


def tables_of(loss: Loss) -> frozenset[str]:
    """The tables in which a loss shows."""
    return frozenset(column.partition(".")[0] for column in changed_by(loss))


def excuses(changed: frozenset[str], column: str) -> bool:
    """Tell whether what losses change has a column."""
    return column in changed or f"{column.partition('.')[0]}.*" in changed
