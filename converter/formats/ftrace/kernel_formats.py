"""The kernel's own events: the formats of schemas/ftrace/events, and the event that represents each kind.

The formats are those of a 6.18 kernel (tracefs events/*/*/format), for events that this converter or Perfetto knows,
and for those of the latency tracers (system osnoise: of 6.12).
"""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Final

from converter.formats.ftrace.event_format.formats import EventFormats
from converter.formats.ftrace.event_format.syntax import EventFormat, parse_event_format
from converter.ir.events import Field
from converter.ir.field_classes import ArrayClass, FieldClass, IntegerClass
from converter.ir.kinds import Kind, Role

#: The event of each kind, as system and name; `mapping` has the other direction.
EVENTS: Final[dict[Kind, tuple[str, str]]] = {
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

#: Fields that older kernels lack, with their roles, and what prints them: the directive, with the text before it, and
#: the argument.
_NEWER: Final[dict[tuple[str, str], tuple[str, Role, str, str]]] = {
    ("sched", "sched_process_exit"): (
        "group_dead",
        Role.NONE,
        " group_dead=%s",
        ', REC->group_dead ? "true" : "false"',
    ),
    ("workqueue", "workqueue_execute_end"): (
        "function",
        Role.FUNCTION,
        ": function %ps",
        ", REC->function",
    ),
}
#: The field with the arguments of a function, which kernels have had since 6.15, at its offset.
_ARGUMENTS: Final = {("ftrace", "function"): 24, ("ftrace", "funcgraph_entry"): 20}
_ARGUMENTS_FIELD: Final = "args"

_PAGE_DATA = re.compile(rb"(field:\s*char data;\s*offset:\s*(\d+);\s*size:)\d+")
#: A valid name of a system or an event, and not a path to another folder.
_WORD = re.compile(r"[A-Za-z0-9_]{1,99}")


def header_texts(page_size: int) -> tuple[bytes, bytes]:
    """Return tracefs events/header_page for pages of this size, and events/header_event."""
    page = _PAGE_DATA.sub(
        lambda found: found[1] + str(page_size - int(found[2])).encode(), _read("header_page")
    )
    return page, _read("header_event")


#: The fields, by name, in which the format of a kernel differs from that of the schemas.
Differences = frozenset[str]


def differences(point: tuple[str, str], fields: Sequence[Field]) -> Differences:
    """Return how the format of the kernel that had these fields differs: a field that it lacks, or has besides."""
    own = {field.name: field.type for field in fields}
    newer = _NEWER.get(point)
    if newer is not None:
        name, role, *_ = newer
        # A field with the role becomes the kernel's, whatever its name is.
        if name not in own and (
            role is Role.NONE or all(field.role is not role for field in fields)
        ):
            return frozenset({name})
    if point in _ARGUMENTS and _are_numbers(own.get(_ARGUMENTS_FIELD)):
        return frozenset({_ARGUMENTS_FIELD})
    return frozenset()


def _are_numbers(field_class: FieldClass | None) -> bool:
    return isinstance(field_class, ArrayClass) and isinstance(field_class.element, IntegerClass)


@cache
def kernel_format(
    system: str, name: str, differing: Differences = frozenset()
) -> EventFormat | None:
    """Return the kernel's format of an event, None if it is not in the schemas."""
    if not _WORD.fullmatch(system) or not _WORD.fullmatch(name):
        return None
    try:
        text = kernel_text(system, name, differing)
    except FileNotFoundError:
        return None
    return parse_event_format(text, system)


@cache
def _systems_by_name() -> dict[str, list[str]]:
    from importlib.resources import files

    events = files("converter.schemas").joinpath("ftrace/events")
    found: dict[str, list[str]] = {}
    for system in sorted(entry.name for entry in events.iterdir() if entry.is_dir()):
        for event in events.joinpath(system).iterdir():
            found.setdefault(event.name, []).append(system)
    return found


def kernel_formats_by_name(name: str) -> list[EventFormat]:
    """Return the kernel's formats of an event of any system."""
    found = [kernel_format(system, name) for system in _systems_by_name().get(name, ())]
    return [format for format in found if format is not None]


def own_print_formats(formats: EventFormats, types: Iterable[int]) -> dict[str, bytes]:
    """Return the `print fmt` of a recording's events by "system:event", where new files have another one."""
    own = {}
    for type_id in types:
        format = formats.get(type_id)
        if format is not None:
            text = _printed(formats.text(type_id))
            if text != _kernel_printed(format.system, format.name):
                own[f"{format.system}:{format.name}"] = text
    return own


def _printed(text: bytes) -> bytes:
    return text.partition(b"\nprint fmt:")[2].strip()


@cache
def _kernel_printed(system: str, name: str) -> bytes | None:
    if not _WORD.fullmatch(system) or not _WORD.fullmatch(name):
        return None
    try:
        return _printed(kernel_text(system, name))
    except FileNotFoundError:
        return None


def kernel_text(system: str, name: str, differing: Differences = frozenset()) -> bytes:
    """Return the text of a format that is in the schemas, or as a kernel had it whose fields differ."""
    text = _read(f"events/{system}/{name}/format")
    if not differing:
        return text
    point = system, name
    if point in _ARGUMENTS:
        line = f"\tfield:unsigned long {_ARGUMENTS_FIELD}[];\toffset:{_ARGUMENTS[point]};\tsize:0;"
        return text.replace(b"\n\nprint fmt:", f"\n{line}\tsigned:0;\n\nprint fmt:".encode())
    field, _, *printed = _NEWER[point]
    for part in printed:
        text = text.replace(part.encode(), b"")
    return re.sub(rb"\tfield:[^;\n]*\b%b;[^\n]*\n" % field.encode(), b"", text)


@cache
def _read(path: str) -> bytes:
    data = pkgutil.get_data("converter.schemas", f"ftrace/{path}")
    assert data is not None
    return data
