"""The programs that events are inverted with, by the names of events: known, or inferred from the first text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache
from itertools import zip_longest
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from converter.formats.ftrace.event_format.syntax import (
    EventFormat,
    Location,
)
from converter.formats.ftrace.kernel_formats import kernel_formats_by_name
from converter.formats.ftrace.lines.inverse import (
    Inverses,
)
from converter.formats.ftrace.lines.programs import (
    NotInvertibleError,
    Program,
    ProgramMaker,
    joined,
    tables,
)
from converter.formats.ftrace.lines.syscall_texts import (
    CALL,
    RETURN,
    call_program,
    event_of,
    return_program,
)
from converter.formats.ftrace.lines.tracer_texts import (
    STACKS,
    callee_program,
    graph_programs,
    made_format,
    nameless_programs,
    stack_programs,
)
from converter.kernels.tables.strings import StringTable

#: The field with the text of an event that no program can invert.
MESSAGE: Final = "message"
#: Different lists of fields that are inferred for the texts of one event.
_MOST_VARIATIONS: Final = 8
_MOST_KEYS: Final = 64
_LONGEST_INFERRED: Final = 4096
_KEY: Final = re.compile(r"(?:^|(?<=[ ,({\[]))\$?([A-Za-z_][A-Za-z0-9_.]*)=")
_DECIMAL: Final = re.compile(r"-?[0-9]{1,18}")
_ADDRESS: Final = re.compile(r"[0-9a-f]{6,16}")
_HEXADECIMAL: Final = re.compile(r"0x[0-9a-f]{1,16}")
#: A value of the option `fields`: the same number twice.
_TWICE: Final = re.compile(r"0x[0-9a-f]{1,16} \(-?[0-9]{1,19}\)")
#: The size of fields that may be addresses of functions.
_ADDRESS_SIZE: Final = 8
_KINDS: Final = (("s64", _DECIMAL), ("u64", _HEXADECIMAL), ("twice", _TWICE))
#: Where a probe is, and for a return where it returns to.
_PROBE: Final = re.compile(r"\(([^()<>\s]+)(?: <- ([^()<>\s]+))?\)(?= |$)")
#: Markers of programs by the function that writes them, and those of the kernel's own code.
_MARKS: Final = frozenset({"tracing_mark_write", "0"})
_GRAPH: Final = frozenset({"funcgraph_entry", "funcgraph_exit"})
_PRINTS: Final = ("print", "bprint", "bputs")


class Candidate(NamedTuple):
    """A program, and whether it takes any text whole."""

    program: Program
    whole: bool = False


class EventTexts:
    """The inverse programs of all events of a source so far.

    Args:
        known: formats by name in addition to those of new kernels, which come first.
        escaped: bytes of texts may be escaped.

    """

    def __init__(
        self,
        known: Callable[[str], list[EventFormat]] | None = None,
        *,
        escaped: bool = False,
    ) -> None:
        self.names = StringTable()
        self.symbols = StringTable()
        self.programs: list[Program] = []
        self.whole: list[bool] = []
        self.kernel = Inverses(self.symbols, escaped=escaped)
        #: By label: the programs of events that the text itself declares.
        self.declared: dict[str, Program] = {}
        self._known = known
        #: By the number of a name and 1.
        self._candidates: list[list[int]] = []
        self._tables = tables(())
        self._loaded = False

    def number_of(self, program: Program) -> int:
        """Return the number of a program, -1 if no event has it."""
        return self.programs.index(program) if program in self.programs else -1

    def add_program(self, program: Program) -> int:
        """Return the number of a program that inverts no text, adding it if it is new."""
        number = self.number_of(program)
        if number < 0:
            number = len(self.programs)
            self.programs.append(program)
            self.whole.append(False)
        return number

    def is_declared(self, program: int) -> bool:
        """Return True if a program is of an event that the text itself declares."""
        return self.programs[program] in self.declared.values()

    def add_names(self) -> None:
        """Find the programs of names that are new."""
        while len(self._candidates) <= len(self.names):
            number = len(self._candidates) - 1
            name = "" if number < 0 else self.names[number].decode("utf-8", "surrogateescape")
            self._candidates.append([])
            for program in self._programs_of(name):
                self._add(number, Candidate(program))
        self._load()

    def add_for(self, texts: Iterable[tuple[int, bytes]]) -> None:
        """Add programs that invert texts of names (-1: of none) that no program so far does."""
        for number, text in texts:
            self._add_for(number, text)
        self._load()

    def _add_for(self, number: int, text: bytes) -> None:
        name = "" if number < 0 else self.names[number].decode("utf-8", "surrogateescape")
        inferred = sum(not self.whole[one] for one in self._candidates[number + 1])
        program = None
        if inferred < _MOST_VARIATIONS and name and len(text) <= _LONGEST_INFERRED:
            program = self._inferred(name, text)
        if program is None or program in [
            self.programs[one] for one in self._candidates[number + 1]
        ]:
            self._add(number, Candidate(self._whole(name), whole=True))
        else:
            self._add(number, Candidate(program))

    def _add(self, number: int, candidate: Candidate) -> None:
        self._candidates[number + 1].append(len(self.programs))
        self.programs.append(candidate.program)
        self.whole.append(candidate.whole)
        self._loaded = False

    def _load(self) -> None:
        if self._loaded:
            return
        first: NDArray[np.int32] = np.zeros(len(self._candidates) + 1, np.int32)
        np.cumsum([len(some) for some in self._candidates], out=first[1:])
        candidates = [one for some in self._candidates for one in some]
        new = tables(self.programs[len(self._tables.programs) :])
        self._tables = joined(self._tables, new)
        self.kernel.load(self._tables, first, np.array(candidates, np.int32))
        self._loaded = True

    def _inferred(self, name: str, text: bytes) -> Program | None:
        infer = call_program if name.endswith(CALL) else inferred_program
        return infer(name, text)

    def _whole(self, name: str) -> Program:
        return whole_program(event_of(name))

    def _programs_of(self, name: str) -> list[Program]:
        if name in self.declared:
            return [self.declared[name]]
        if not name:
            return nameless_programs()
        if name.endswith(RETURN):
            return [return_program(name)]
        if name in _MARKS:
            return [_mark(name)]
        if name in _PRINTS:
            return _prints(name)
        if name in _GRAPH:
            return graph_programs(name)
        if name in STACKS:
            return stack_programs(name)
        formats = [] if self._known is None else self._known(name)
        formats += kernel_formats_by_name(name)
        found: list[Program] = []
        for format in formats:
            found += programs_of_format(format)
        return found


def programs_of_format(format: EventFormat) -> list[Program]:
    """Return the programs of the kernel's text of an event, that of trace-cmd's plugin, and the raw one."""
    found = []
    for make in (_printed, _of_plugin, _raw, _with_fields, _alone):
        try:
            program = make(format)
        except NotInvertibleError:
            continue
        if program is not None and program not in found:
            found.append(program)
    return found


def _printed(format: EventFormat) -> Program:
    return ProgramMaker(format).print_format()


def _raw(format: EventFormat) -> Program | None:
    """Return the program of `report -R`: all fields with their names."""
    maker = ProgramMaker(format)
    if not format.fields:
        return None
    maker.spaces()
    for number, item in enumerate(format.fields):
        maker.literal(f"{' ' if number else ''}{item.name}=")
        if item.is_string:
            maker.text(item.name)
        elif item.is_long and not item.signed and not item.is_array:
            maker.number(item.name, 16)
        else:
            maker.any_number(item.name)
    return maker.program()


def _with_fields(format: EventFormat) -> Program | None:
    """Return the program of the kernel's option `fields`: id=0x1 (1) comm=sh flag=(0) args=<INVALID-SIZE>."""
    maker = ProgramMaker(format)
    if not format.fields:
        return None
    for number, item in enumerate(format.fields):
        maker.literal(f"{' ' if number else ''}{item.name}=")
        if item.is_string:
            maker.text(item.name)
        elif item.is_array or item.location is not Location.INLINE or item.size not in (1, 2, 4, 8):
            maker.literal("<INVALID-SIZE>")
        elif item.size == 1:
            maker.literal("(")
            maker.number(item.name)
            maker.literal(")")
        else:
            if item.size == _ADDRESS_SIZE and not item.signed:
                maker.symbol(item.name)
            else:
                maker.number(item.name, 16)
            maker.literal(" (")
            maker.unkept_number()
            maker.literal(")")
    return maker.program()


def _of_plugin(format: EventFormat) -> Program | None:
    make = _PLUGINS.get((format.system, format.name))
    return None if make is None else make(format)


def _alone(format: EventFormat) -> Program | None:
    return (
        callee_program(format) if (format.system, format.name) == ("ftrace", "function") else None
    )


def _switch(format: EventFormat) -> Program:
    """Return the program of trace-cmd's sched_switch: git:23217 [120] R ==> grep:23218 [120]."""
    maker = ProgramMaker(format)
    printed = ProgramMaker(format)
    printed.print_format()
    states = [step for step in printed.steps if step.choices]
    for task in ("prev", "next"):
        maker.text(f"{task}_comm")
        maker.literal(":")
        maker.number(f"{task}_pid")
        maker.literal(" [")
        maker.number(f"{task}_prio")
        maker.literal("] " if task == "prev" else "]")
        if task == "prev":
            for step in states:
                if step.d:
                    maker.flags("prev_state", step.choices, chr(step.d))
                else:
                    maker.choice("prev_state", step.choices, adds=True)
            maker.literal(" ==> ")
    return maker.program()


def _wakeup(format: EventFormat) -> Program:
    """Return the program of trace-cmd's sched_wakeup: grep:23218 [120] CPU:000."""
    maker = ProgramMaker(format)
    maker.text("comm")
    maker.literal(":")
    maker.number("pid")
    maker.literal(" [")
    maker.number("prio")
    maker.literal("]")
    if any(item.name == "success" for item in format.fields):
        maker.literal(" success=")
        maker.number("success")
    maker.literal(" CPU:")
    maker.number("target_cpu")
    return maker.program()


def _function(format: EventFormat) -> Program:
    """Return the program of trace-cmd's function: callee <-- caller."""
    maker = ProgramMaker(format)
    maker.spaces()
    maker.symbol("ip")
    maker.spaces()
    maker.literal("<-- ")
    maker.symbol("parent_ip")
    return maker.program()


_PLUGINS: Final[dict[tuple[str, str], Callable[[EventFormat], Program]]] = {
    ("sched", "sched_switch"): _switch,
    ("sched", "sched_wakeup"): _wakeup,
    ("sched", "sched_wakeup_new"): _wakeup,
    ("ftrace", "function"): _function,
}


def _mark(name: str) -> Program:
    """Return the program of a marker, of which the kernel prints the function that wrote it as the event's name."""
    return whole_program(name, "ftrace", "print", "buf")


def _prints(name: str) -> list[Program]:
    """Return the program of trace-cmd's print: function: text."""
    # The texts of bprint and bputs have been made of what their records have.
    text = "buf" if name == "print" else MESSAGE
    layout = made_format(
        "ftrace", name, [("unsigned long", "ip", 8, 8), ("char", f"{text}[]", 16, 0)]
    )
    maker = ProgramMaker(layout)
    maker.symbol("ip")
    maker.literal(": ")
    maker.text(text)
    return [maker.program()]


@cache
def whole_program(
    name: str, system: str = "", event: str | None = None, field: str = MESSAGE
) -> Program:
    """Return the program that takes a text as it is."""
    layout = made_format(system, name if event is None else event, [("char", f"{field}[]", 16, 0)])
    maker = ProgramMaker(layout)
    maker.text(field)
    return maker.program()


def inferred_program(name: str, text: bytes, system: str | None = None) -> Program | None:
    """Return a program for texts like this one: the place of a probe, and key=value; None where there is none of it.

    The system of an event is that of the kernel's event of its name, if it is not given.
    """
    line = text.decode("latin-1")
    if "\n" in line or "\0" in line:
        return None
    parts: list[tuple[str, str, str]] = []
    at, literal = 0, ""
    probe = _PROBE.match(line)
    if probe is not None:
        returns = probe[2] is not None
        parts.append(("(", "__probe_func" if returns else "__probe_ip", _place(probe[1])))
        if returns:
            parts.append((" <- ", "__probe_ret_ip", _place(probe[2])))
        at, literal = probe.end(), ")"
    keys = list(_KEY.finditer(line, at))
    if len(keys) > _MOST_KEYS or not (keys or parts):
        return None
    between = line[at : keys[0].start()] if keys else line[at:]
    if between.strip():
        head = between[: len(between.rstrip(" ,"))]
        lead = head[: len(head) - len(head.lstrip())]
        parts.append((literal + lead, "text", "text"))
        literal, between = "", between[len(head) :]
    literal += between
    for key, following in zip_longest(keys, keys[1:]):
        value = line[key.end() : len(line) if following is None else following.start()]
        plain = value.rstrip(" ,({[") if following is not None else value.rstrip(" ")
        rest = value[len(plain) :]
        literal += key[0]
        quoted = len(plain) > 1 and plain[0] == plain[-1] == '"'
        if quoted:
            parts.append((f'{literal}"', key[1], "text"))
            literal = f'"{rest}'
        else:
            kind = next((kind for kind, form in _KINDS if form.fullmatch(plain)), "text")
            parts.append((literal, key[1], kind))
            literal = rest
    if system is None:
        known = kernel_formats_by_name(name)
        system = known[0].system if known else ""
    return _program_of(system, name, parts, literal.rstrip(" "))


def _place(text: str) -> str:
    """Return the kind of the place of a probe: an address, or a function by name."""
    return "address" if _ADDRESS.fullmatch(text) else "text"


_DECLARED: Final = {"s64": "s64", "twice": "s64", "u64": "void *", "address": "unsigned long"}


def _program_of(
    system: str, name: str, parts: list[tuple[str, str, str]], end: str
) -> Program | None:
    fields: list[tuple[str, str, int, int]] = []
    names: dict[str, int] = {}
    kinds = []
    at = 8
    for literal, field, kind in parts:
        count = names[field] = names.get(field, 0) + 1
        unique = field if count == 1 else f"{field}_{count}"
        size = 4 if kind == "text" else 8
        declared = _DECLARED.get(kind)
        at = -(-at // size) * size
        fields.append((declared or "__data_loc char[]", unique, at, size))
        kinds.append((literal, unique, kind))
        at += size
    maker = ProgramMaker(made_format(system, name, fields))
    try:
        for literal, field, kind in kinds:
            maker.literal(literal)
            if kind == "text":
                maker.text(field)
            else:
                maker.number(field, 10 if kind == "s64" else 16)
            if kind == "twice":
                maker.literal(" (")
                maker.unkept_number()
                maker.literal(")")
        maker.literal(end)
        return maker.program()
    except NotInvertibleError:
        return None
