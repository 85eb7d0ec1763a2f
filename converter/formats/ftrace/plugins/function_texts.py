"""Texts of ftrace's own events as trace-cmd prints them: functions, stacks, raw data."""

from __future__ import annotations

from typing import Final

from converter.formats.ftrace.plugins.event_fields import (
    Elements,
    Emit,
    EventFields,
    decimal,
    hexadecimal,
)
from converter.formats.ftrace.plugins.report_context import Maker, ReportContext, function_found
from converter.printing import program as op
from converter.printing.code import Code

#: The text of an event that lacks a field that its text needs.
MISSING: Final = b"!"
_INDENT: Final = 3
_MOST_NESTED: Final = 1 << 20
_LOW: Final = 0xFFFFFFFF


def _function(fields: EventFields, context: ReportContext) -> Emit:
    code, address, arguments = fields.code, fields.number("ip"), fields.elements("args")
    if address is None or fields.number("parent_ip") is None:
        return lambda: code.literal(MISSING)

    def text() -> None:
        code.number_of(("batch", "call_depth"), 0)
        code.add(op.BLANKS, _INDENT, _MOST_NESTED)
        context.function_name(code, address)
        if arguments is not None:
            arguments.count()
            code.unless_zero(lambda: listed(code, arguments), None)

    return text


def listed(code: Code, arguments: Elements | None) -> None:
    """Print the arguments of a call, in parentheses."""
    code.literal(b"(")
    if arguments is not None:
        arguments.for_each(lambda: hexadecimal(code, arguments.one, b""), between=b", ")
    code.literal(b")")


def _kernel_stack(fields: EventFields, context: ReportContext) -> Emit | None:
    code, stack = fields.code, fields.elements("caller")
    if stack is None:
        return None

    def goes_on() -> None:
        # The end marker of stacks in old kernels.
        stack.one()
        code.keep(_LOW)
        code.constant(_LOW)
        code.add(op.NOT_EQUAL)

    def known() -> None:
        function_found(code)
        hexadecimal(code, stack.one, b" (")
        code.literal(b")")

    def frame() -> None:
        code.literal(b"\n=> ")
        context.found(code, stack.one, known, lambda: hexadecimal(code, stack.one, b""))

    def text() -> None:
        code.literal(b"<stack trace >")
        stack.for_each(frame, goes_on=goes_on)

    return text


def _raw_data(fields: EventFields, _: ReportContext) -> Emit | None:
    code, number, data = fields.code, fields.number("id"), fields.elements("buf")
    if number is None or data is None:
        return None

    def byte() -> None:
        code.literal(b" ")
        data.two_digits()

    def text() -> None:
        hexadecimal(code, number, b"# ")
        data.for_each(byte)

    return text


def _func_repeats(fields: EventFields, context: ReportContext) -> Emit | None:
    code, address, count = fields.code, fields.number("ip"), fields.number("count")
    high, low = fields.number("top_delta_ts"), fields.number("bottom_delta_ts")
    if address is None or count is None or high is None or low is None:
        return None

    def last() -> None:
        code.number_of(("batch", "ts"), 0)
        high()
        code.constant(32)
        code.add(op.SHIFT_LEFT)
        low()
        code.add(op.OR)
        code.add(op.SUBTRACT)

    def text() -> None:
        code.number_of(("batch", "call_depth"), 0)
        code.add(op.BLANKS, _INDENT, _MOST_NESTED)
        context.function_name(code, address)
        code.literal(b" (count: ")
        decimal(code, count)
        code.literal(b"  last_ts: ")
        context.time(code, last)
        code.literal(b")")

    return text


FTRACE_TEXTS: Final[dict[str, Maker]] = {
    "function": _function,
    "kernel_stack": _kernel_stack,
    "raw_data": _raw_data,
    "func_repeats": _func_repeats,
}
