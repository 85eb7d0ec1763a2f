"""The mapping between the records of a data directory and classes of events, in both directions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from converter.formats.uftrace.layout import EventId
from converter.ir.events import EventClass, Field
from converter.ir.field_classes import (
    BytesClass,
    FieldClass,
    FloatClass,
    IntegerClass,
    Label,
    StringClass,
    Style,
)
from converter.ir.kinds import Kind, Role
from converter.projection.domain.scheduling.switched_tasks import UNKNOWN_LABEL

#: Names of functions, and the name of the file of each ("libc.so.6"), empty where the address is in none.
NAME: Final = Field("name", StringClass(), Role.NAME)
CATEGORY: Final = Field("category", StringClass(), Role.CATEGORY)

#: The location of a function in the source ("shapes.cc:17").
SOURCE_LINE: Final = Field("srcline", StringClass())

#: A LOST record; a count of 0 means "some records" and becomes -1.
DISCARDED: Final = EventClass(
    Kind.DISCARDED, fields=(Field("count", IntegerClass(64, signed=True), Role.COUNT),)
)
#: An event of events.txt: name and category are the two halves of "provider:name".
USER_EVENT: Final = EventClass(Kind.INSTANT, fields=(NAME, CATEGORY))
#: The same with data, which no version of uftrace writes or reads.
USER_EVENT_WITH_DATA: Final = EventClass(
    Kind.INSTANT, fields=(NAME, CATEGORY, Field("data", BytesClass()))
)
#: An EVENT record whose id or data nothing describes: the whole record, little-endian.
NATIVE: Final = EventClass(Kind.NATIVE, fields=(Field("payload", BytesClass(), Role.PAYLOAD),))
#: A line of extern.dat.
EXTERNAL: Final = EventClass(Kind.LOG, fields=(Field("message", StringClass(), Role.MESSAGE),))


#: Functions that uftrace gives a meaning by their names (utils/fstack.c, fixup_syms). After these a task is in none.
EXECUTING: Final = ("execl", "execlp", "execle", "execv", "execve", "execvp", "execvpe")
#: The place that the last of these has been called at is where a task is after those that jump.
SETTING_JUMP: Final = ("setjmp", "_setjmp", "sigsetjmp", "__sigsetjmp")
JUMPING: Final = ("longjmp", "siglongjmp", "__longjmp_chk")
#: What the child process of a task does is shown inside the last of these.
FORKING: Final = ("fork", "vfork", "daemon", "posix.fork")


def slice_begin(arguments: tuple[Field, ...]) -> EventClass:
    """Return the class of entries of functions with these arguments, which may include `SOURCE_LINE`."""
    return EventClass(Kind.SLICE_BEGIN, fields=(NAME, CATEGORY, *arguments))


def slice_end(returned: tuple[Field, ...]) -> EventClass:
    """Return the class of exits that close the function entered last."""
    return EventClass(Kind.SLICE_END, fields=returned)


def unmatched_end(returned: tuple[Field, ...]) -> EventClass:
    """Return the class of exits of functions whose entry is not in the recording."""
    return EventClass(Kind.SLICE_END, fields=(NAME, CATEGORY, *returned))


# Values read at a function's entry and exit: utils/event.c, libmcount/event.c.


@dataclass(frozen=True, slots=True)
class Reading:
    """An EVENT record whose data are numbers of one width; a COUNTER with a constant name and category."""

    category: str
    name: str
    fields: tuple[Field, ...]

    @property
    def event_class(self) -> EventClass:
        """The class of its events."""
        return EventClass(Kind.COUNTER, fields=(NAME, CATEGORY, *self.fields))


def _values(*names: str, signed: bool = False, unit: str = "") -> tuple[Field, ...]:
    held = IntegerClass(64, signed)
    return tuple(Field(name, held, Role.VALUE, unit) for name in names)


_STATM: Final = ("vmsize", "vmrss", "shared")
_FAULTS: Final = ("major", "minor")
_CYCLE: Final = ("cycles", "instructions")
_CACHE: Final = ("refers", "misses")
_BRANCH: Final = ("branch", "misses")

READINGS: Final[dict[EventId, Reading]] = {
    EventId.READ_PROC_STATM: Reading("read", "proc/statm", _values(*_STATM, unit="KB")),
    EventId.READ_PAGE_FAULT: Reading("read", "page-fault", _values(*_FAULTS)),
    EventId.DIFF_PROC_STATM: Reading(
        "diff", "proc/statm", _values(*_STATM, signed=True, unit="KB")
    ),
    EventId.DIFF_PAGE_FAULT: Reading("diff", "page-fault", _values(*_FAULTS, signed=True)),
    EventId.READ_PMU_CYCLE: Reading("read", "pmu-cycle", _values(*_CYCLE)),
    EventId.DIFF_PMU_CYCLE: Reading("diff", "pmu-cycle", _values(*_CYCLE, signed=True)),
    EventId.READ_PMU_CACHE: Reading("read", "pmu-cache", _values(*_CACHE)),
    EventId.DIFF_PMU_CACHE: Reading("diff", "pmu-cache", _values(*_CACHE, signed=True)),
    EventId.READ_PMU_BRANCH: Reading("read", "pmu-branch", _values(*_BRANCH)),
    EventId.DIFF_PMU_BRANCH: Reading("diff", "pmu-branch", _values(*_BRANCH, signed=True)),
    EventId.WATCH_CPU: Reading(
        "watch", "cpu", (Field("cpu", IntegerClass(32, signed=True), Role.VALUE),)
    ),
}


def watched_variable(size: int) -> EventClass:
    """Return the class of watch:var events of variables of `size` bytes (1, 2, 4, 8), named after the variable."""
    value = Field("value", IntegerClass(8 * size), Role.VALUE)
    return EventClass(Kind.COUNTER, fields=(NAME, CATEGORY, value))


#: Where the function that is entered next has been called from (`-T FUNCTION@callsite`): an address, and the function
#: there with the distance from its start.
CALLSITE: Final = EventClass(
    Kind.INSTANT,
    fields=(
        NAME,
        CATEGORY,
        Field("address", IntegerClass(64, style=Style.SYMBOL)),
        Field("address_text", StringClass()),
    ),
)


# perf-cpuN.dat. The names are those that uftrace gives such events.

_TID: Final = IntegerClass(32, signed=True)
_TASK: Final = IntegerClass(32, signed=True, labels=(UNKNOWN_LABEL,))

#: A context switch of a traced task, on its CPU and on no thread. The other task is not known.
SCHEDULE: Final = EventClass(
    Kind.SCHED_SWITCH,
    "schedule",
    "linux",
    fields=(
        Field("prev_tid", _TASK, Role.PREV_TID),
        Field("next_tid", _TASK, Role.NEXT_TID),
        # All that is known of a leaving task's state: if it is runnable, and if it has exited.
        Field(
            "prev_state",
            IntegerClass(8, labels=(Label(0, 0, "R"), Label(1, 1, "S"), Label(16, 16, "X"))),
            Role.PREV_STATE,
        ),
    ),
)
_LIFE: Final = (
    Field("pid", _TID, Role.PID),
    Field("parent_pid", _TID),
    Field("tid", _TID, Role.TID),
    Field("parent_tid", _TID, Role.PARENT_TID),
)
TASK_NEW: Final = EventClass(Kind.TASK_NEW, "task-new", "linux", fields=_LIFE)
TASK_EXIT: Final = EventClass(Kind.TASK_EXIT, "task-exit", "linux", fields=_LIFE)
TASK_NAME: Final = EventClass(
    Kind.TASK_RENAME,
    "task-name",
    "linux",
    fields=(
        Field("pid", _TID, Role.PID),
        Field("tid", _TID, Role.TID),
        Field("comm", StringClass(), Role.NEW_COMM),
    ),
)


# Arguments: the field of a specification such as "arg2/x32".

#: Media type of structures passed by value, whose members are not recorded; the type's name follows.
STRUCTURE: Final = "application/x-c-structure; name="

STYLES: Final = {"x": Style.HEXADECIMAL, "o": Style.OCTAL, "p": Style.POINTER}
_SIGNED: Final = frozenset("di")


def value_class(
    format: str, size: int, labels: tuple[Label, ...] = (), type_name: str = ""
) -> FieldClass:
    """Return the field class of a value of `size` bytes that is recorded in a format (the letter after "/")."""
    if format in "sS":
        return StringClass()
    if format == "f":
        # An 80-bit number is rounded to 64 bits.
        return FloatClass(32 if size == 4 else 64)
    if format == "t":
        return BytesClass(f"{STRUCTURE}{type_name}" if type_name else BytesClass().media_type)
    if format == "c":
        return IntegerClass(8 * size, True, Style.CHARACTER)
    if format == "e":
        return IntegerClass(8 * size, True, labels=labels)
    return IntegerClass(8 * size, format in _SIGNED, STYLES.get(format, Style.DECIMAL))


def argument_field(name: str, value: FieldClass) -> Field:
    """Return the field of an argument: its name is "arg1", "fparg1" or "retval"."""
    return Field(name, value, Role.RETURN if name == "retval" else Role.NONE)
