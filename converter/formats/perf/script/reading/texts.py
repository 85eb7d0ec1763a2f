"""The programs that tracepoints and records are inverted with, by their names: "system:event", "PERF_RECORD_COMM"."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from typing import Final

from converter.formats.ftrace.kernel_formats import kernel_format
from converter.formats.ftrace.lines.event_texts import (
    EventTexts,
    inferred_program,
    programs_of_format,
    whole_program,
)
from converter.formats.ftrace.lines.programs import NotInvertibleError, Program, ProgramMaker
from converter.formats.ftrace.lines.tracer_texts import made_format
from converter.formats.perf.script.reading.records import PREFIX, record_programs, whole_record

_SYSCALLS: Final = "syscalls"
_ARGUMENT: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]*): 0x[0-9a-f]{1,16}(?:, |$)")
_RESULT: Final = re.compile(r"0x[0-9a-f]{1,16}")


class ScriptTexts(EventTexts):
    """The inverse programs of all tracepoints and records of a text so far."""

    def _programs_of(self, name: str) -> list[Program]:
        if name in self.declared:
            return [self.declared[name]]
        if name.startswith(PREFIX):
            return list(record_programs(_record(name)))
        system, colon, event = name.partition(":")
        if not colon:
            return []
        formats = [] if self._known is None else self._known(event)
        formats = [format for format in formats if format.system == system]
        kernel = kernel_format(system, event)
        formats += [] if kernel is None else [kernel]
        return [program for format in formats for program in programs_of_format(format)]

    def _inferred(self, name: str, text: bytes) -> Program | None:
        if name.startswith(PREFIX):
            return None
        system, _, event = name.partition(":")
        if system == _SYSCALLS:
            return _system_call(event, text.decode("latin-1").rstrip(" "))
        return inferred_program(event, text, system)

    def _whole(self, name: str) -> Program:
        if name.startswith(PREFIX):
            return whole_record(_record(name))
        system, _, event = name.partition(":")
        return _whole_tracepoint(system, event)


def _record(name: str) -> str:
    return name[len(PREFIX) :].lower()


@cache
def _whole_tracepoint(system: str, event: str) -> Program:
    found = whole_program(event)
    return replace(found, format=replace(found.format, system=system))


def _system_call(event: str, text: str) -> Program | None:
    """Return the program of the arguments of a system call, or of its result."""
    if event.startswith("sys_exit_") and _RESULT.fullmatch(text):
        names = ["ret"]
    else:
        names = _ARGUMENT.findall(text)
        if not names or _ARGUMENT.sub("", text) or len(set(names)) != len(names):
            return None
    declared = "s64" if names == ["ret"] else "void *"
    fields = [(declared, name, 8 * number, 8) for number, name in enumerate(names, 1)]
    maker = ProgramMaker(made_format(_SYSCALLS, event, fields))
    try:
        for number, name in enumerate(names):
            maker.literal("0x" if names == ["ret"] else f"{', ' if number else ''}{name}: 0x")
            maker.number(name, 16)
        return maker.program()
    except NotInvertibleError:
        return None
