"""The mapping of trace.dat's records and options; the meaning of its events is in `linux_tracepoints`."""

from __future__ import annotations

from converter.ir.field_classes import Style
from converter.ir.kinds import Kind, Role
from converter.projection.domain import linux_tracepoints

#: The kinds of the events of recordings.
KINDS = linux_tracepoints.KINDS | {Kind.TYPED, Kind.MARK, Kind.LOG, Kind.DISCARDED, Kind.NATIVE}

#: Clocks that count nanoseconds (tracefs/trace_clock); "boot" does too, though trace-cmd prints it as a bare number.
NANOSECOND_CLOCKS = frozenset(
    {
        "local",
        "global",
        "uptime",
        "perf",
        "mono",
        "mono_raw",
        "boot",
        "tai",
        "tsc2nsec",
    }
)

#: Fields of the record itself: the type is the class, the pid the thread; the others are context.
TYPE_FIELD = "common_type"
PID_FIELD = "common_pid"
COMMON_ROLES = {
    "common_flags": Role.CONTEXT_FLAGS,
    "common_preempt_count": Role.CONTEXT_PREEMPT_COUNT,
}


#: The fields that name a task: (role of its pid, role of its name).
NAMING_ROLES = (
    (Role.PREV_TID, Role.PREV_COMM),
    (Role.NEXT_TID, Role.NEXT_COMM),
    (Role.TID, Role.COMM),
    (Role.PARENT_TID, Role.PARENT_COMM),
    (Role.TID, Role.NEW_COMM),
)

#: Stacks of system ftrace: of the kernel's code, or of a program's, whose symbols are unknown.
STACK_STYLES = {"kernel_stack": Style.SYMBOL, "user_stack": Style.POINTER}

#: Character arrays that are not text: (system, event, field).
BINARY_FIELDS = frozenset({("ftrace", "raw_data", "buf")})

#: Events of text buffers that are written by programs (trace_marker).
TEXT_MARKERS = frozenset({"print", "tracing_mark_write", "bprint", "bputs"})
