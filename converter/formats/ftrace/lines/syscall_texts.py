"""The programs of system calls, as the kernel's `trace` has them (kernel/trace/trace_syscalls.c).

    sys_openat(dfd: ffffff9c, filename: 7ffd1b2a "a.txt", flags: 80000)
    sys_openat -> 0x3

The option `verbose` adds the types of arguments: `int dfd: ffffff9c`.

The scanner takes the name with what follows it as the name of the line.
"""

from __future__ import annotations

import re
from typing import Final

from converter.formats.ftrace.lines.programs import NotInvertibleError, Program, ProgramMaker
from converter.formats.ftrace.lines.tracer_texts import made_format

#: The ends of the names of lines: of a call, and of its return.
CALL: Final = "("
RETURN: Final = " ->"
_PREFIX: Final = "sys_"
_ARGUMENT: Final = re.compile(
    rb'((?:\w[\w ]{0,80}[ *]{1,4})?)(\w{1,64}): (?:0x)?[0-9a-f]{1,16}( "[^"]*")?(?:, )?'
)
#: The kernel declares no more.
_MOST_ARGUMENTS: Final = 6


def event_of(name: str) -> str:
    """Return the name of the event whose lines have a name: sys_enter_openat of "sys_openat("."""
    if name.startswith(_PREFIX) and name.endswith((CALL, RETURN)):
        way = "enter" if name.endswith(CALL) else "exit"
        return f"sys_{way}_{name.removesuffix(CALL).removesuffix(RETURN)[len(_PREFIX) :]}"
    return name


def return_program(name: str) -> Program:
    """Return the program of returned values."""
    maker = ProgramMaker(made_format("syscalls", event_of(name), [("s64", "ret", 8, 8)]))
    maker.spaces()
    maker.number("ret", 16)
    return maker.program()


def call_program(name: str, text: bytes) -> Program | None:
    """Return the program of calls with arguments like those of this text; None if it has none."""
    arguments: list[tuple[str, str, bool]] = []
    at = 0
    while found := _ARGUMENT.match(text, at):
        declared, argument = (part.decode("utf-8", "surrogateescape") for part in found.group(1, 2))
        arguments.append((declared, argument, found[3] is not None))
        at = found.end()
    names = [argument for _, argument, _ in arguments]
    if text[at:] != b")" or len(names) > _MOST_ARGUMENTS or len(set(names)) < len(names):
        return None
    # Linux 7 has the memory that an argument points at as fields of these names.
    fields = [("unsigned long", argument, 8 + 8 * i, 8) for i, argument in enumerate(names)]
    end = 8 + 8 * len(names)
    texts = [argument for _, argument, has_text in arguments if has_text]
    fields += [
        ("__data_loc char[]", f"__{argument}_val", end + 4 * i, 4)
        for i, argument in enumerate(texts)
    ]
    maker = ProgramMaker(made_format("syscalls", event_of(name), fields))
    try:
        for i, (declared, argument, has_text) in enumerate(arguments):
            maker.literal(f"{', ' if i else ''}{declared}{argument}: ")
            maker.number(argument, 16)
            if has_text:
                maker.literal(' "')
                maker.text(f"__{argument}_val")
                maker.literal('"')
        maker.literal(")")
        return maker.program()
    except NotInvertibleError:
        return None
