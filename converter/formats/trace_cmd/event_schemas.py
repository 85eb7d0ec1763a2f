"""Event formats for events that did not come from a kernel's ring buffer.

Kernel events have the formats of schemas/ftrace/events, which are those of a 6.18 kernel (tracefs events/*/*/format) as
far as this converter knows their fields. All others get a format made from their class.
"""

from __future__ import annotations

import pkgutil
import re
from dataclasses import dataclass
from functools import cache

from converter.errors import UnsupportedError
from converter.formats.trace_cmd.event_format import EventFormat, parse_event_format
from converter.ir.events import EventClass, Field
from converter.ir.field_classes import (
    ArrayClass,
    BytesClass,
    FieldClass,
    IntegerClass,
    StringClass,
    Style,
)
from converter.ir.kinds import Kind, Role

#: The event of each kind, as system and name; `mapping` says the same in the other direction.
EVENTS: dict[Kind, tuple[str, str]] = {
    Kind.SCHED_SWITCH: ("sched", "sched_switch"),
    Kind.SCHED_WAKING: ("sched", "sched_waking"),
    Kind.SCHED_WAKEUP: ("sched", "sched_wakeup"),
    Kind.SCHED_WAKEUP_NEW: ("sched", "sched_wakeup_new"),
    Kind.PROCESS_FORK: ("sched", "sched_process_fork"),
    Kind.PROCESS_EXEC: ("sched", "sched_process_exec"),
    Kind.TASK_EXIT: ("sched", "sched_process_exit"),
    Kind.TASK_FREE: ("sched", "sched_process_free"),
    Kind.TASK_NEW: ("task", "task_newtask"),
    Kind.TASK_RENAME: ("task", "task_rename"),
    Kind.IRQ_ENTRY: ("irq", "irq_handler_entry"),
    Kind.IRQ_EXIT: ("irq", "irq_handler_exit"),
    Kind.SOFTIRQ_RAISE: ("irq", "softirq_raise"),
    Kind.SOFTIRQ_ENTRY: ("irq", "softirq_entry"),
    Kind.SOFTIRQ_EXIT: ("irq", "softirq_exit"),
    Kind.TIMER_ENTRY: ("timer", "hrtimer_expire_entry"),
    Kind.TIMER_EXIT: ("timer", "hrtimer_expire_exit"),
    Kind.SYSCALL_ENTRY: ("raw_syscalls", "sys_enter"),
    Kind.SYSCALL_EXIT: ("raw_syscalls", "sys_exit"),
    Kind.WORK_BEGIN: ("workqueue", "workqueue_execute_start"),
    Kind.WORK_END: ("workqueue", "workqueue_execute_end"),
    Kind.FUNCTION: ("ftrace", "function"),
    Kind.FUNCTION_ENTRY: ("ftrace", "funcgraph_entry"),
    Kind.FUNCTION_EXIT: ("ftrace", "funcgraph_exit"),
    Kind.SIGNAL_GENERATE: ("signal", "signal_generate"),
    Kind.SIGNAL_DELIVER: ("signal", "signal_deliver"),
    Kind.CPU_FREQUENCY: ("power", "cpu_frequency"),
    Kind.CPU_IDLE: ("power", "cpu_idle"),
    Kind.CPU_FREQUENCY_LIMITS: ("power", "cpu_frequency_limits"),
    Kind.CLOCK_RATE: ("power", "clock_set_rate"),
    Kind.MARK: ("ftrace", "print"),
}

#: Context that every record has, in front of its own fields; type and pid are the record's class and thread.
COMMON_FIELDS = (
    Field("common_flags", IntegerClass(8), Role.CONTEXT_FLAGS),
    Field("common_preempt_count", IntegerClass(8), Role.CONTEXT_PREEMPT_COUNT),
)
_COMMON = (
    "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
    "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
    "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
    "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
)
_COMMON_SIZE = 8
#: Where ids start that no kernel's schema has.
_FIRST_ID = 1000
_LAST_ID = 0xFFFF

_ID_LINE = re.compile(rb"^ID: \d+$", re.MULTILINE)
_TAIL_LINE = re.compile(r"(\tfield:[^;]*;\toffset:)(\d+)(;\tsize:0;[^\n]*)")
_PAGE_DATA = re.compile(rb"(field:\s*char data;\s*offset:\s*(\d+);\s*size:)\d+")


def header_texts(page_size: int) -> tuple[bytes, bytes]:
    """Tracefs events/header_page for pages of this size, and events/header_event."""
    page = _PAGE_DATA.sub(
        lambda found: found[1] + str(page_size - int(found[2])).encode(), _read("header_page")
    )
    return page, _read("header_event")


@cache
def kernel_format(kind: Kind) -> EventFormat:
    """The kernel's format of the event of a kind in `EVENTS`."""
    system, name = EVENTS[kind]
    return parse_event_format(_read(f"events/{system}/{name}/format"), system)


@cache
def _read(path: str) -> bytes:
    data = pkgutil.get_data("converter.schemas", f"ftrace/{path}")
    assert data is not None
    return data


@dataclass(frozen=True, slots=True)
class NewFormat:
    """A format for a class: the text that the file gets, and the same parsed."""

    text: bytes
    format: EventFormat


class FormatMaker:
    """Makes the formats of one file, each with an id of its own."""

    def __init__(self) -> None:
        self._taken: set[int] = set()
        self._next = _FIRST_ID
        self._schema_ids = {kernel_format(kind).id for kind in EVENTS}

    def make(self, event_class: EventClass) -> NewFormat:
        """The format of a class; UnsupportedError when all ids are taken."""
        if event_class.kind in EVENTS:
            text = self._kernel_text(event_class)
        else:
            text = self._text(event_class)
        data = text.encode("utf-8", "surrogateescape")
        return NewFormat(data, parse_event_format(data, event_class.category))

    def _id(self, wanted: int | None) -> int:
        if wanted is None or wanted in self._taken:
            while self._next in self._taken or self._next in self._schema_ids:
                self._next += 1
            wanted = self._next
        if wanted > _LAST_ID:
            raise UnsupportedError(
                "more classes of events than there are numbers of types", format="trace_cmd"
            )
        self._taken.add(wanted)
        return wanted

    def _kernel_text(self, event_class: EventClass) -> str:
        """The kernel's text, with fields for arguments behind its own, in front of one without an end."""
        format = kernel_format(event_class.kind)
        system, name = EVENTS[event_class.kind]
        data = _ID_LINE.sub(
            b"ID: %d" % self._id(format.id), _read(f"events/{system}/{name}/format")
        )
        text = data.decode("utf-8")
        arguments = event_class.fields[len(format.fields) : -len(COMMON_FIELDS)]
        if not arguments:
            return text
        end = max(field.offset + field.size for field in format.fields)
        lines, end = _lines(arguments, end)
        head, _, print_fmt = text.partition("\nprint fmt:")
        tail = _TAIL_LINE.search(head)
        if tail:
            head = head[: tail.start(2)] + str(-(-end // 8) * 8) + head[tail.end(2) :]
        # The print fmt stays the kernel's, which other tools parse the text of.
        return f"{head}{lines}\nprint fmt:{print_fmt}"

    def _text(self, event_class: EventClass) -> str:
        fields = event_class.fields[: -len(COMMON_FIELDS)]
        lines, _ = _lines(fields, _COMMON_SIZE)
        directives, values = _print_fmt(fields)
        print_fmt = f'"{directives}", {values}' if fields else '""'
        return (
            f"name: {event_class.name}\nID: {self._id(None)}\nformat:\n{_COMMON}\n{lines}\n"
            f"print fmt: {print_fmt}\n"
        )


def _lines(fields: tuple[Field, ...], at: int) -> tuple[str, int]:
    """Lines for fields from offset `at` on, each aligned to its size, and where they end."""
    lines = []
    for field in fields:
        declared, size, signed = _declared(field)
        at = -(-at // size) * size
        lines.append(
            f"\tfield:{declared} {field.name};\toffset:{at};\tsize:{size};\tsigned:{int(signed)};\n"
        )
        at += size
    return "".join(lines), at


def _declared(field: Field) -> tuple[str, int, bool]:
    """C declaration, size and signedness of an argument; what varies in length is behind a data location."""
    match field.type:
        case IntegerClass(64, False, Style.POINTER):
            return "void *", 8, False
        case IntegerClass() as integer:
            return _integer(integer), integer.dtype.itemsize, integer.signed
        case StringClass():
            return "__data_loc char[]", 4, False
        case BytesClass():
            return "__data_loc u8[]", 4, False
        case ArrayClass(IntegerClass() as element):
            return f"__data_loc {_integer(element)}[]", 4, element.signed
    raise UnsupportedError(f"no record can have field {field.name!r}", format="trace_cmd")


def _integer(integer: IntegerClass) -> str:
    return f"{'s' if integer.signed else 'u'}{8 * integer.dtype.itemsize}"


def _print_fmt(fields: tuple[Field, ...]) -> tuple[str, str]:
    """Format string and arguments that print all fields."""
    pieces = [_printed(field.name, field.type) for field in fields]
    directives = " ".join(
        f"{field.name}={directive}" for field, (directive, _) in zip(fields, pieces, strict=True)
    )
    return directives, ", ".join(value for _, value in pieces)


def _printed(name: str, field_class: FieldClass) -> tuple[str, str]:
    match field_class:
        case IntegerClass(64, False, Style.POINTER):
            return "0x%llx", f"(unsigned long long)REC->{name}"
        case IntegerClass(bits, signed):
            long = "ll" if bits > 32 else ""
            return f"%{long}{'d' if signed else 'u'}", f"REC->{name}"
        case StringClass():
            return "%s", f"__get_str({name})"
        case BytesClass():
            length = f"__get_dynamic_array_len({name})"
            return "%s", f"__print_hex(__get_dynamic_array({name}), {length})"
        case ArrayClass(IntegerClass() as element):
            size = element.dtype.itemsize
            length = f"__get_dynamic_array_len({name}) / {size}"
            return "%s", f"__print_array(__get_dynamic_array({name}), {length}, {size})"
    raise UnsupportedError(f"no record can have field {name!r}", format="trace_cmd")
