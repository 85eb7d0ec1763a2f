"""Function calls as trace-cmd draws them: a leaf on one line, other calls with their end on a later line."""

from __future__ import annotations

from converter.formats.ftrace.plugins.event_fields import Emit, EventFields, decimal, hexadecimal
from converter.formats.ftrace.plugins.function_texts import listed
from converter.formats.ftrace.plugins.report_context import ReportContext
from converter.printing import program as op
from converter.printing.code import Code, Form

#: The marker of durations of at least a number of nanoseconds.
_OVERHEADS = (
    (1_000_000_000, b"$ "),
    (1_000_000, b"# "),
    (100_000, b"! "),
    (10_000, b"+ "),
)
_NO_DURATION = b"             |  "
_INDENT = 2
#: The largest number of an error, which kernel functions return as a negative number (include/linux/err.h, MAX_ERRNO).
_LAST_ERROR = 4095
#: The maximum nesting depth.
_MOST_NESTED = 1 << 16
_MICROSECOND = 1000
#: From this number of microseconds on, there is no space for decimals.
_WITH_DECIMALS = 1_000_000
_DURATION_WIDTH = 11


def entry(fields: EventFields, context: ReportContext) -> Emit:
    """Return the text of a call: a leaf where the column says that its end follows."""
    code = fields.code
    function, depth = fields.number("func") or _zero(code), fields.number("depth") or _zero(code)
    arguments = fields.elements("args")

    def call() -> None:
        _indented(code, depth)
        context.function_name(code, function, b"")
        listed(code, arguments)

    def leaf() -> None:
        _timed(code, lambda: code.number_of(("batch", "call_time"), 0))
        call()
        code.literal(b";")
        code.number_of(("batch", "returns"), 0)
        code.unless_zero(
            lambda: _returned(code, lambda: code.number_of(("batch", "value"), 0)), None
        )

    def nested() -> None:
        code.literal(_NO_DURATION)
        call()
        code.literal(b" {")

    def text() -> None:
        code.number_of(("batch", "is_leaf"), 0)
        code.unless_zero(leaf, nested)

    return text


def end(fields: EventFields, _: ReportContext) -> Emit:
    """Return the text of the end of a call that is not a leaf."""
    code = fields.code
    depth = fields.number("depth") or _zero(code)
    start, stop = fields.number("calltime"), fields.number("rettime")
    value = fields.number("retval")

    def duration() -> None:
        if start is None or stop is None:
            code.constant(0)
            return
        stop()
        start()
        code.add(op.SUBTRACT)

    def text() -> None:
        _timed(code, duration)
        _indented(code, depth)
        code.literal(b"}")
        if value is not None:
            _returned(code, value)

    return text


def _returned(code: Code, value: Emit) -> None:
    """Print what a function returned: errors in decimal."""

    def error() -> None:
        decimal(code, value, signed=True)

    code.literal(b" (ret=")
    value()
    code.constant(_LAST_ERROR)
    code.add(op.ADD)
    code.constant(_LAST_ERROR)
    code.add(op.LESS)
    code.unless_zero(error, lambda: hexadecimal(code, value))
    code.literal(b")")


def _zero(code: Code) -> Emit:
    return lambda: code.constant(0)


def _indented(code: Code, depth: Emit) -> None:
    depth()
    code.add(op.BLANKS, _INDENT, _MOST_NESTED)


def _timed(code: Code, duration: Emit) -> None:
    def mark(overheads: tuple[tuple[int, bytes], ...]) -> None:
        if not overheads:
            code.literal(b"  ")
            return
        (least, shown), *rest = overheads
        duration()
        code.constant(least)
        code.add(op.GREATER)
        code.unless_zero(lambda: code.literal(shown), lambda: mark(tuple(rest)))

    def micros() -> None:
        duration()
        code.constant(_MICROSECOND)
        code.add(op.DIVIDE)

    def decimals() -> None:
        code.literal(b".")
        duration()
        code.constant(_MICROSECOND)
        code.add(op.REMAINDER)
        code.add(op.NUMBER, code.form(Form("0", 3, conversion="u")))

    mark(_OVERHEADS)
    code.add(op.FORM, code.form(Form("-", _DURATION_WIDTH)))
    code.add(op.MARK)
    decimal(code, micros)
    micros()
    code.constant(_WITH_DECIMALS)
    code.add(op.LESS)
    code.unless_zero(decimals, None)
    code.literal(b" us ")
    code.add(op.FIT)
    code.literal(b"|  ")
