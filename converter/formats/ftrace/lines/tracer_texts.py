"""The programs of what tracers print in place of events: functions, their graph, latencies, stacks."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from functools import cache
from typing import Final

from converter.formats.ftrace.event_format.syntax import EventFormat, parse_event_format
from converter.formats.ftrace.kernel_formats import kernel_format
from converter.formats.ftrace.lines.inverse import (
    PLACE_TAIL,
    STEP_CALL,
    STEP_CHOICE,
    STEP_FRAMES,
    STEP_INDENT,
    STEP_MICROSECONDS,
    STEP_RETURN,
    STEP_SYMBOL,
)
from converter.formats.ftrace.lines.programs import NotInvertibleError, Program, ProgramMaker, Step

_COMMON: Final = (
    "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
    "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
    "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
    "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
)
#: trace-cmd's marks of calls that take long.
_LONG: Final = (*tuple((f"{mark} ".encode(), 0) for mark in "!#$+*@"), (b"", 0))
#: The offset of the duration of a call whose end is on its line.
DURATION_OFFSET: Final = 24
#: Bytes of a record of the function graph before its texts: the last 8 are those of steps that no field keeps.
_GRAPH_SIZE: Final = 64
#: How texts of stacks start.
STACKS: Final = {
    "kernel_stack": ("<stack trace>", "<stack trace >"),
    "user_stack": ("<user stack trace>", "<user stack trace >"),
}


#: The lines of the wakeup tracers, and the letters of states by number.
_OF_TASKS: Final = (("context_switch", "==>"), ("wakeup", "+"))
_STATES: Final = tuple((letter.encode(), state) for state, letter in enumerate("RSDTtXZPI"))


def made_format(system: str, name: str, fields: Iterable[tuple[str, str, int, int]]) -> EventFormat:
    """Return a format of fields: declaration, name, offset and size."""
    lines = "".join(
        f"\tfield:{declared} {field};\toffset:{offset};\tsize:{size};\tsigned:{int(declared[0] == 's')};\n"
        for declared, field, offset, size in fields
    )
    text = f'name: {name or "_"}\nID: 1\nformat:\n{_COMMON}{lines}\nprint fmt: ""\n'
    format = parse_event_format(text.encode("utf-8", "surrogateescape"), system)
    format.name = name
    return format


def _kernel(name: str) -> EventFormat:
    format = kernel_format("ftrace", name)
    assert format is not None
    return format


_SAMPLE: Final = (
    "#{seqnum} inner/outer(us): {duration}/{outer_duration} ts:{tv_sec}.{tv_nsec} count:{count}"
)
#: The lines of tracers of latency, which name no event (trace_output.c): texts, and fields in braces, of which "_" is
#: one that no record has. The first of an event is the longest.
_LATENCIES: Final = (
    ("hwlat", f"{_SAMPLE} nmi-total:{{nmi_total_ts}} nmi-count:{{nmi_count}}"),
    ("hwlat", f"{_SAMPLE} nmi-count:{{nmi_count}}"),
    ("hwlat", _SAMPLE),
    ("timerlat", "#{seqnum} context {context} timer_latency {timer_latency} ns"),
    (
        "osnoise",
        "{runtime} {noise} {_}.{_} {max_sample} {hw_count} {nmi_count} {irq_count} {softirq_count} {thread_count}",
    ),
)
#: The names of contexts of timerlat.
_CONTEXTS: Final = ((b"irq", 0), (b"thread", 1), (b"user", 2))


def nameless_programs() -> list[Program]:
    """Return the programs of lines without a name: the tracers of functions and of latencies, and stacks."""
    maker = ProgramMaker(_kernel("function"))
    maker.symbol("ip")
    maker.literal(" <-")
    maker.symbol("parent_ip")
    found = [maker.program(), callee_program(_kernel("function"))]
    found += [_latency(event, text) for event, text in _LATENCIES]
    found += [_of_tasks(event, sign) for event, sign in _OF_TASKS]
    for event in STACKS:
        found += stack_programs(event)
    return found


def callee_program(format: EventFormat) -> Program:
    """Return the program of a function without its caller."""
    maker = ProgramMaker(format)
    maker.spaces()
    maker.symbol("ip")
    return maker.program()


def stack_programs(event: str) -> list[Program]:
    """Return the programs of the texts of stacks, by the name of their event."""
    return [_stack(event, head) for head in STACKS[event]]


def _latency(event: str, text: str) -> Program:
    """Return the program of a line of a tracer of latencies; a space is any number of them."""
    maker = ProgramMaker(_kernel(event))
    maker.spaces()
    for part in re.findall(r"\{\w+\}| |[^ {]+", text):
        if part == " ":
            maker.spaces()
        elif part == "{_}":
            maker.unkept_number()
        elif part == "{context}":
            maker.choice("context", _CONTEXTS)
        elif part.startswith("{"):
            maker.number(part[1:-1])
        else:
            maker.literal(part)
    return maker.program()


def _of_tasks(event: str, sign: str) -> Program:
    """Return the program of a line of the wakeup tracers: 1991:120:R   + [000]  2448: 94:R sleep."""
    words = enumerate(("prev_pid", "next_pid", "next_cpu"))
    fields = [("unsigned int", name, 8 + 4 * i, 4) for i, name in words]
    letters = enumerate(("prev_prio", "prev_state", "next_prio", "next_state"))
    fields += [("unsigned char", name, 20 + i, 1) for i, name in letters]
    fields.append(("__data_loc char[]", "next_comm", 24, 4))
    maker = ProgramMaker(made_format("ftrace", event, fields))
    for task in ("prev", "next"):
        maker.spaces()
        maker.number(f"{task}_pid")
        maker.literal(":")
        maker.spaces()
        maker.number(f"{task}_prio")
        maker.literal(":")
        maker.choice(f"{task}_state", _STATES)
        if task == "prev":
            maker.spaces()
            maker.literal(f"{sign} [")
            maker.number("next_cpu")
            maker.literal("]")
    maker.literal(" ")
    maker.text("next_comm")
    return maker.program()


def _stack(event: str, head: str) -> Program:
    layout = made_format("ftrace", event, [("unsigned long", "caller[]", 16, 0)])
    maker = ProgramMaker(layout)
    maker.literal(head)
    return Program(layout, (*maker.steps, Step(STEP_FRAMES, PLACE_TAIL, 16, 0)), 24)


def graph_programs(name: str) -> list[Program]:
    """Return the programs of the function graph of the kernel and of trace-cmd, and of the kernel's print formats."""
    event = kernel_format("ftrace", name)
    found = []
    if event is not None:
        with suppress(NotInvertibleError):
            found.append(ProgramMaker(event).print_format())
    if name == "funcgraph_exit":
        return [
            *found,
            *(_end_of_call(value, function=has) for has in (False, True) for value in _VALUES),
        ]
    return [
        *found,
        *(leaf for leaf, _ in leaf_programs()),
        *(_call(arguments=has, caller=says) for says in (False, True) for has in (False, True)),
    ]


#: The text before a returned value: of none, in Linux 6.5, and in 6.13.
_VALUES: Final = ("", "= ", "ret=")


def _graph_maker(
    name: str, *, timed: bool, returns: bool, arguments: bool = False, caller: bool = False
) -> ProgramMaker:
    fields = [("unsigned long", "func", 8, 8), ("unsigned int", "depth", 16, 4)]
    if timed:
        fields.append(("u64", "duration", DURATION_OFFSET, 8))
    if returns:
        fields.append(("unsigned long", "retval", 32, 8))
    if arguments:
        fields.append(("__data_loc char[]", "arguments", 40, 4))
    if caller:
        fields.append(("unsigned long", "retaddr", 48, 8))
    maker = ProgramMaker(made_format("ftrace", name, fields))
    maker.spaces()
    if timed:
        maker.steps.append(Step(STEP_CHOICE, 0, _GRAPH_SIZE - 8, 8, c=1, choices=_LONG))
        maker.spaces()
        maker.steps.append(Step(STEP_MICROSECONDS, 0, DURATION_OFFSET, 8, c=1))
        maker.literal(" us")
        maker.spaces()
    maker.literal("|")
    maker.steps.append(Step(STEP_INDENT, 0, 16, 4, c=1))
    return maker


@cache
def leaf_programs() -> tuple[tuple[Program, Program], ...]:
    """Return the programs of calls that return on the same line, each with that of their ends.

    The ends have the same records, and their programs invert no text.
    """
    found = []
    for caller in (False, True):
        for value in _VALUES:
            maker = _graph_maker("funcgraph_exit", timed=True, returns=bool(value))
            end = Program(_of_graph(maker).format, (), _GRAPH_SIZE)
            found += [(_leaf(value, arguments=has, caller=caller), end) for has in (False, True)]
    return tuple(found)


def _leaf(value: str, *, arguments: bool, caller: bool) -> Program:
    maker = _graph_maker(
        "funcgraph_entry", timed=True, returns=bool(value), arguments=arguments, caller=caller
    )
    _add_function(maker, arguments=arguments, end=");")
    _add_remark(maker, value, caller=caller)
    return _of_graph(maker, without="retval")


def _add_function(maker: ProgramMaker, *, arguments: bool, end: str) -> None:
    maker.steps.append(Step(STEP_SYMBOL, 0, 8, 8, c=1))
    maker.steps.append(Step(STEP_CALL, 0, 8, 8))
    maker.literal("(")
    if arguments:
        maker.text("arguments")
    maker.literal(end)


def _add_remark(maker: ProgramMaker, value: str, *, caller: bool) -> None:
    """Add the remark after a call, if there is one: where it returns to (of Linux 6.13), and the returned value."""
    if not value and not caller:
        return
    maker.literal(" /*")
    if caller:
        maker.literal(" <-")
        maker.symbol("retaddr")
    if value:
        maker.literal(f" {value}")
        maker.any_number("retval")
    maker.literal(" */")


def _call(*, arguments: bool, caller: bool) -> Program:
    maker = _graph_maker(
        "funcgraph_entry", timed=False, returns=False, arguments=arguments, caller=caller
    )
    _add_function(maker, arguments=arguments, end=") {")
    _add_remark(maker, "", caller=caller)
    return _of_graph(maker)


def _end_of_call(value: str, *, function: bool) -> Program:
    maker = _graph_maker("funcgraph_exit", timed=True, returns=bool(value))
    maker.steps.append(Step(STEP_RETURN, 0, 8, 8))
    maker.literal("}")
    if value or function:
        maker.literal(" /*")
        if function:
            maker.literal(" ")
            maker.steps.append(Step(STEP_SYMBOL, 0, 8, 8, c=1))
        if value:
            maker.literal(f" {value}")
            maker.any_number("retval")
        maker.literal(" */")
    return _of_graph(maker)


def _of_graph(maker: ProgramMaker, without: str = "") -> Program:
    fields = tuple(item for item in maker.format.fields if item.name not in ("duration", without))
    return Program(replace(maker.format, fields=fields), tuple(maker.steps), _GRAPH_SIZE)
