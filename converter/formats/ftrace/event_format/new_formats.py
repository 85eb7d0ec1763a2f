"""Event formats for events that did not come from a kernel's ring buffer.

Events with the fields of a kernel event get that event's format. All others get a format generated from their class.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from converter.errors import UnsupportedError
from converter.formats.ftrace.event_format.fields import fields_of
from converter.formats.ftrace.event_format.syntax import EventFormat, parse_event_format
from converter.formats.ftrace.kernel_formats import differences, kernel_format, kernel_text
from converter.ir.events import EventClass, Field
from converter.ir.field_classes import (
    ArrayClass,
    BytesClass,
    FieldClass,
    IntegerClass,
    StringClass,
    Style,
)
from converter.ir.kinds import Role
from converter.projection.domain.scheduling.state_bits import SINCE_4_14, StateBits, bits_of_release

#: The context that precedes the fields of every record; type and pid are the record's class and thread.
COMMON_FIELDS = (
    Field("common_flags", IntegerClass(8), Role.CONTEXT_FLAGS),
    Field("common_preempt_count", IntegerClass(8), Role.CONTEXT_PREEMPT_COUNT),
)
COMMON_LINES = (
    "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
    "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
    "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
    "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
)
COMMON_SIZE = 8
#: The size of long in the kernel that these formats are from.
LONG_SIZE: Final = 8
#: The first id that no kernel's schema has.
FIRST_ID = 4096
_LAST_ID = 0xFFFF

_ID_LINE = re.compile(rb"^ID: \d+$", re.MULTILINE)
#: The line of a field that takes the rest of the record; that of a stack is declared with eight frames.
_TAIL_LINE = r"(\tfield:[^;\n]*\b{})\[\d*\];\toffset:\d+;\tsize:\d+;"


@dataclass(frozen=True, slots=True)
class NewFormat:
    """The format of a class: the text that is written to the file, and the parsed text."""

    text: bytes
    format: EventFormat


#: The memory allocation flags that the kernel's text names, and the release since which their bits are those of the
#: schemas (include/linux/gfp_types.h, enum).
_ALLOCATION_FLAGS: Final = "__GFP_"
_SAME_FLAGS_SINCE: Final = (6, 10)
_RELEASE: Final = re.compile(r"(\d{1,4})\.(\d{1,4})")


_SWITCH: Final = ("sched", "sched_switch")
_SYSCALL_NUMBER: Final = "__syscall_nr"


def printed_states(release: str) -> StateBits:
    """Return the bits of states that new formats print, for a kernel's release: those of the schemas if not known."""
    return bits_of_release(release) or SINCE_4_14


def _switch_text(states: StateBits) -> str:
    """Return the `print fmt` of sched_switch of a kernel before 4.14."""
    (preempted, *_) = states.preempted
    letters = ", ".join(f'{{ {bit}, "{letter}" }}' for bit, letter in states.letters)
    mask = preempted - 1
    return (
        '\nprint fmt: "prev_comm=%s prev_pid=%d prev_prio=%d prev_state=%s%s ==> '
        'next_comm=%s next_pid=%d next_prio=%d", REC->prev_comm, REC->prev_pid, REC->prev_prio, '
        f'REC->prev_state & {mask} ? __print_flags(REC->prev_state & {mask}, "|", {letters}) : "R", '
        f'REC->prev_state & {preempted} ? "+" : "", '
        "REC->next_comm, REC->next_pid, REC->next_prio\n"
    )


class FormatMaker:
    """Makes the formats of one file, each with a unique id.

    Args:
        release: the kernel that recorded the events (`uname -r`), empty if unknown. For an old kernel, flags whose bits
            have changed since are printed as numbers.

    """

    def __init__(self, release: str = "") -> None:
        found = _RELEASE.match(release)
        self._states = printed_states(release)
        self._has_other_flags = found is not None and (
            (int(found[1]), int(found[2])) < _SAME_FLAGS_SINCE
        )
        self._taken: set[int] = set()
        self._next = FIRST_ID

    def make(self, event_class: EventClass) -> NewFormat:
        """Return the format of a class; UnsupportedError when all ids are taken."""
        point = event_class.category, event_class.name
        format = kernel_format(*point, differences(point, event_class.fields))
        if format is not None and _has_fields_of(event_class, format):
            text = self._kernel_text(event_class, format)
        else:
            text = self._text(event_class)
        data = text.encode("utf-8", "surrogateescape")
        return NewFormat(data, parse_event_format(data, event_class.category))

    def _id(self, wanted: int | None) -> int:
        if wanted is None or wanted in self._taken:
            while self._next in self._taken:
                self._next += 1
            wanted = self._next
        if wanted > _LAST_ID:
            raise UnsupportedError("more classes of events than there are numbers of types")
        self._taken.add(wanted)
        return wanted

    def _kernel_text(self, event_class: EventClass, format: EventFormat) -> str:
        """Return the kernel's text with further arguments after its own fields, but before a field without an end."""
        point = format.system, format.name
        own = kernel_text(*point, differences(point, event_class.fields))
        data = _ID_LINE.sub(b"ID: %d" % self._id(format.id), own)
        text = data.decode("utf-8")
        if self._has_other_flags and _ALLOCATION_FLAGS in format.print_fmt:
            directives, values = _print_fmt(event_class.fields[: -len(COMMON_FIELDS)])
            text = text.partition("\nprint fmt:")[0] + f'\nprint fmt: "{directives}", {values}\n'
        if (format.system, format.name) == _SWITCH and self._states is not SINCE_4_14:
            text = text.partition("\nprint fmt:")[0] + _switch_text(self._states)
        arguments = event_class.fields[len(format.fields) : -len(COMMON_FIELDS)]
        if not arguments:
            return text
        end = max(field.offset + field.size for field in format.fields)
        lines, end = field_lines(arguments, end)
        head, _, print_fmt = text.partition("\nprint fmt:")
        for tail in (field for field in format.fields if not field.size):
            there = rf"\g<1>[];\toffset:{-(-end // 8) * 8};\tsize:0;"
            head = re.sub(_TAIL_LINE.format(tail.name), there, head)
        # The print fmt stays the kernel's, because other tools parse its output.
        return f"{head}{lines}\nprint fmt:{print_fmt}"

    def _text(self, event_class: EventClass) -> str:
        fields = event_class.fields[: -len(COMMON_FIELDS)]
        lines, _ = field_lines(fields, COMMON_SIZE)
        directives, values = _system_call(event_class) or _print_fmt(fields)
        print_fmt = f'"{directives}", {values}' if values else f'"{directives}"'
        return (
            f"name: {event_class.name}\nID: {self._id(None)}\nformat:\n{COMMON_LINES}\n{lines}\n"
            f"print fmt: {print_fmt}\n"
        )


def _system_call(event_class: EventClass) -> tuple[str, str] | None:
    """Return the format string and arguments of one system call's entry or exit, as the kernel makes them for each.

    None for other events, and for arguments that are not the kernel's longs (kernel/trace/trace_syscalls.c).
    """
    fields = event_class.fields[: -len(COMMON_FIELDS)]
    arguments = fields[1:]
    if event_class.category != "syscalls" or not fields or fields[0].name != _SYSCALL_NUMBER:
        return None
    if not all(isinstance(one.type, IntegerClass) and one.type.bits == 64 for one in arguments):
        return None
    if event_class.name.startswith("sys_exit_"):
        named = [one.name for one in arguments] == ["ret"]
        return ("0x%lx", "REC->ret") if named else None
    if not event_class.name.startswith("sys_enter_"):
        return None
    return (
        ", ".join(f"{one.name}: 0x%08lx" for one in arguments),
        ", ".join(f"((unsigned long)(REC->{one.name}))" for one in arguments),
    )


def _has_fields_of(event_class: EventClass, format: EventFormat) -> bool:
    """Return True if a class that was fitted to the format's capabilities is held as the kernel's event."""
    own = fields_of(format, LONG_SIZE, None)[1][: -len(COMMON_FIELDS)]
    return event_class.fields[: len(own)] == own


def field_lines(fields: tuple[Field, ...], at: int) -> tuple[str, int]:
    """Return lines for fields from offset `at` on, each aligned to its size, and the end offset."""
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
    """Return C declaration, size and signedness of an argument; variable lengths use a data location."""
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
    raise UnsupportedError(f"no record can have field {field.name!r}")


def _integer(integer: IntegerClass) -> str:
    return f"{'s' if integer.signed else 'u'}{8 * integer.dtype.itemsize}"


def _print_fmt(fields: tuple[Field, ...]) -> tuple[str, str]:
    """Return the format string and arguments that print all fields."""
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
            length = "ll" if bits > 32 else ""
            if signed and bits <= 16:
                # libtraceevent extends the sign of a short number only if the directive says how short it is.
                length = "hh" if bits <= 8 else "h"
            return f"%{length}{'d' if signed else 'u'}", f"REC->{name}"
        case StringClass():
            return "%s", f"__get_str({name})"
        case BytesClass():
            length = f"__get_dynamic_array_len({name})"
            return "%s", f"__print_hex(__get_dynamic_array({name}), {length})"
        case ArrayClass(IntegerClass() as element):
            size = element.dtype.itemsize
            length = f"__get_dynamic_array_len({name}) / {size}"
            return "%s", f"__print_array(__get_dynamic_array({name}), {length}, {size})"
    raise UnsupportedError(f"no record can have field {name!r}")
