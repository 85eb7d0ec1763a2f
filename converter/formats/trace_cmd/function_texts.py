"""Texts of ftrace's own events as trace-cmd prints them: functions, stacks, raw data."""

from __future__ import annotations

from typing import Final

from converter.formats.trace_cmd.event_fields import EventFields, TextOf
from converter.formats.trace_cmd.report_context import Maker, ReportContext

#: What stands for an event that lacks the field that its text needs.
MISSING: Final = "!"
_INDENT: Final = "   "


def _function(fields: EventFields, context: ReportContext) -> TextOf:
    address, parent, arguments = (
        fields.numbers("ip"),
        fields.numbers("parent_ip"),
        fields.lists("args"),
    )
    if address is None or parent is None:
        return lambda _, __: MISSING

    def text(row: int, position: int) -> str:
        callee, caller = context.function(address[row]), context.function(parent[row])
        depth = 0
        if caller is not None:
            name = "" if callee is None else callee[0]
            depth = _depth(context.calls(context.cpus[position]), caller[0], name)
        shown = _INDENT * depth + context.function_name(address[row])
        return shown + listed(arguments[row]) if arguments and arguments[row] else shown

    return text


def listed(arguments: list[int]) -> str:
    """The arguments of a call, in parentheses."""
    return f"({', '.join([f'{one:x}' for one in arguments])})"


def _depth(stack: list[str], caller: str, callee: str) -> int:
    """How deep a CPU's calls are nested as far as their names tell; `stack` is what was called last."""
    depth = stack.index(caller) if caller in stack else 0
    if not stack or stack[depth] != caller:
        stack[:1] = [caller]
    stack[depth + 1 : depth + 2] = [callee]
    return depth


def _kernel_stack(fields: EventFields, context: ReportContext) -> TextOf | None:
    stacks = fields.lists("caller")
    if stacks is None:
        return None

    def text(row: int, _: int) -> str:
        lines = ["<stack trace >"]
        for address in stacks[row]:
            # What ended the stacks of old kernels.
            if address & 0xFFFFFFFF == 0xFFFFFFFF:
                break
            found = context.function(address)
            lines.append(f"=> {address:x}" if found is None else f"=> {found[0]} ({address:x})")
        return "\n".join(lines)

    return text


def _raw_data(fields: EventFields, _: ReportContext) -> TextOf | None:
    number, data = fields.numbers("id"), fields.lists("buf")
    if number is None or data is None:
        return None
    return lambda row, _: f"# {number[row]:x}" + "".join([f" {byte:02x}" for byte in data[row]])


def _func_repeats(fields: EventFields, context: ReportContext) -> TextOf | None:
    address, count = fields.numbers("ip"), fields.numbers("count")
    high, low = fields.numbers("top_delta_ts"), fields.numbers("bottom_delta_ts")
    if address is None or count is None or high is None or low is None:
        return None

    def text(row: int, position: int) -> str:
        last = context.times[position] - (high[row] << 32 | low[row])
        name = context.function_name(address[row])
        return f"{name} (count: {count[row]}  last_ts: {context.time(last)})"

    return text


FTRACE_TEXTS: Final[dict[str, Maker]] = {
    "function": _function,
    "kernel_stack": _kernel_stack,
    "raw_data": _raw_data,
    "func_repeats": _func_repeats,
}
