"""The meaning of events (kinds) and of their fields (roles).

The vocabulary has two layers, each with the standard terms of its field: CTF's for events, Perfetto's for the timeline.
A reader sets kind and role on the classes that it knows by declaration; every writer then treats `sched_switch` of
ftrace, LTTng and FXT alike without moving a byte. The numbers are published in ``schemas/ir.proto``: never reuse one.
"""

from __future__ import annotations

from enum import IntEnum, unique


@unique
class Kind(IntEnum):
    """The meaning of the events of a class. TYPED is a tracepoint that nothing interprets."""

    TYPED = 0
    # The timeline: the contents of tracks.
    SLICE_BEGIN = 1
    SLICE_END = 2
    SLICE_COMPLETE = 3
    INSTANT = 4
    COUNTER = 5
    ASYNC_BEGIN = 6
    ASYNC_INSTANT = 7
    ASYNC_END = 8
    FLOW_BEGIN = 9
    FLOW_STEP = 10
    FLOW_END = 11
    STATE = 12
    # Scheduling.
    SCHED_SWITCH = 20
    SCHED_WAKING = 21
    SCHED_WAKEUP = 22
    SCHED_WAKEUP_NEW = 23
    # Interrupts and timers: scoped to the CPU.
    IRQ_ENTRY = 30
    IRQ_EXIT = 31
    SOFTIRQ_RAISE = 32
    SOFTIRQ_ENTRY = 33
    SOFTIRQ_EXIT = 34
    TIMER_ENTRY = 35
    TIMER_EXIT = 36
    IPI_ENTRY = 37
    IPI_EXIT = 38
    # Scoped to the thread.
    SYSCALL_ENTRY = 40
    SYSCALL_EXIT = 41
    WORK_BEGIN = 42
    WORK_END = 43
    FUNCTION = 44
    FUNCTION_ENTRY = 45
    FUNCTION_EXIT = 46
    SIGNAL_GENERATE = 47
    SIGNAL_DELIVER = 48
    # Counters of the machine.
    CPU_FREQUENCY = 50
    CPU_IDLE = 51
    CPU_FREQUENCY_LIMITS = 52
    CLOCK_RATE = 53
    # Life cycle of tasks and processes.
    TASK_NEW = 60
    TASK_RENAME = 61
    TASK_EXIT = 62
    TASK_FREE = 63
    PROCESS_FORK = 64
    PROCESS_EXEC = 65
    # Text.
    LOG = 70
    MARK = 71
    # Messages between threads. If one has a scope, its id is local to that process, else it is global.
    MESSAGE_SEND = 75
    MESSAGE_RECEIVE = 76
    # Objects, bulk data, profiles.
    OBJECT_NEW = 80
    OBJECT_SNAPSHOT = 81
    OBJECT_DELETE = 82
    OBJECT_INFO = 83
    BLOB = 84
    SAMPLE = 85
    MAPPING = 86
    MODULE = 87
    CLOCK_SYNC = 88
    # About the recording itself.
    DISCARDED = 90
    NATIVE = 91


@unique
class Role(IntEnum):
    """The role of a field in its event's kind. NONE is a plain argument."""

    NONE = 0
    NAME = 1
    CATEGORY = 2
    ID = 3
    SCOPE = 4
    DURATION = 5
    VALUE = 6
    TYPE = 7
    MESSAGE = 8
    PAYLOAD = 9
    COUNT = 10
    THREAD_TIME = 11
    THREAD_DURATION = 12
    PREV_TID = 20
    PREV_COMM = 21
    PREV_PRIORITY = 22
    PREV_STATE = 23
    PREV_PID = 24
    NEXT_TID = 25
    NEXT_COMM = 26
    NEXT_PRIORITY = 27
    NEXT_PID = 28
    TID = 30
    COMM = 31
    PRIORITY = 32
    TARGET_CPU = 33
    WAKER_TID = 34
    PARENT_TID = 35
    PARENT_COMM = 36
    OLD_COMM = 37
    NEW_COMM = 38
    OLD_TID = 39
    CLONE_FLAGS = 40
    FILENAME = 41
    PID = 42
    IRQ = 50
    VECTOR = 51
    RETURN = 52
    SYSCALL_NUMBER = 53
    SYSCALL_ARGUMENTS = 54
    FUNCTION = 55
    PARENT_FUNCTION = 56
    DEPTH = 57
    TIMER = 58
    WORK = 59
    SIGNAL = 60
    INSTRUCTION = 61
    MINIMUM = 62
    MAXIMUM = 63
    FRAMES = 70
    ADDRESS = 71
    SIZE = 72
    BUILD_ID = 73
    # Context that a recorder attaches to each of its events (LTTng contexts, ftrace's common fields).
    CONTEXT_FLAGS = 80
    CONTEXT_PREEMPT_COUNT = 81
    CONTEXT = 82


#: Fields that are ids of processes and threads.
ID_ROLES = frozenset(
    {
        Role.PREV_TID,
        Role.PREV_PID,
        Role.NEXT_TID,
        Role.NEXT_PID,
        Role.TID,
        Role.PID,
        Role.WAKER_TID,
        Role.PARENT_TID,
        Role.OLD_TID,
    }
)

#: Fields that count ticks of the trace's clock.
TICK_ROLES = frozenset({Role.DURATION, Role.THREAD_TIME, Role.THREAD_DURATION})

#: Kinds of events that occur on a thread, rather than being the contents of a track.
TRACEPOINT_KINDS = frozenset(
    kind
    for kind in Kind
    if kind in (Kind.TYPED, Kind.MARK) or Kind.SCHED_SWITCH <= kind <= Kind.PROCESS_EXEC
)


#: The roles without which an event of the kind is meaningless; `invariants.required_roles` checks them.
REQUIRED_ROLES: dict[Kind, frozenset[Role]] = {
    Kind.SLICE_BEGIN: frozenset({Role.NAME}),
    Kind.SLICE_COMPLETE: frozenset({Role.NAME, Role.DURATION}),
    Kind.INSTANT: frozenset({Role.NAME}),
    Kind.COUNTER: frozenset({Role.NAME}),
    Kind.ASYNC_BEGIN: frozenset({Role.ID}),
    Kind.ASYNC_INSTANT: frozenset({Role.ID}),
    Kind.ASYNC_END: frozenset({Role.ID}),
    Kind.FLOW_BEGIN: frozenset({Role.ID}),
    Kind.FLOW_STEP: frozenset({Role.ID}),
    Kind.FLOW_END: frozenset({Role.ID}),
    Kind.STATE: frozenset({Role.NAME}),
    Kind.SCHED_SWITCH: frozenset({Role.PREV_TID, Role.NEXT_TID}),
    Kind.SCHED_WAKING: frozenset({Role.TID}),
    Kind.SCHED_WAKEUP: frozenset({Role.TID}),
    Kind.SCHED_WAKEUP_NEW: frozenset({Role.TID}),
    Kind.SOFTIRQ_RAISE: frozenset({Role.VECTOR}),
    Kind.SOFTIRQ_ENTRY: frozenset({Role.VECTOR}),
    Kind.SOFTIRQ_EXIT: frozenset({Role.VECTOR}),
    Kind.WORK_BEGIN: frozenset({Role.WORK}),
    Kind.WORK_END: frozenset({Role.WORK}),
    Kind.FUNCTION: frozenset({Role.FUNCTION}),
    Kind.FUNCTION_ENTRY: frozenset({Role.FUNCTION}),
    Kind.CPU_FREQUENCY: frozenset({Role.VALUE}),
    Kind.CPU_IDLE: frozenset({Role.VALUE}),
    Kind.TASK_NEW: frozenset({Role.TID}),
    Kind.TASK_RENAME: frozenset({Role.NEW_COMM}),
    Kind.PROCESS_FORK: frozenset({Role.TID}),
    Kind.LOG: frozenset({Role.MESSAGE}),
    Kind.MARK: frozenset({Role.MESSAGE}),
    Kind.MESSAGE_SEND: frozenset({Role.ID}),
    Kind.MESSAGE_RECEIVE: frozenset({Role.ID}),
    Kind.BLOB: frozenset({Role.PAYLOAD}),
    Kind.SAMPLE: frozenset({Role.FRAMES}),
    Kind.NATIVE: frozenset({Role.PAYLOAD}),
}
