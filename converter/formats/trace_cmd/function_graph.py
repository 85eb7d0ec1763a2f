"""Calls of functions as trace-cmd draws them: a leaf on one line, others with their ends below."""

from __future__ import annotations

from converter.formats.trace_cmd.event_fields import EventFields
from converter.formats.trace_cmd.function_texts import listed
from converter.formats.trace_cmd.report_context import ReportContext

#: Marks of durations from that many nanoseconds on.
_OVERHEADS = (
    (1_000_000_000, "$ "),
    (1_000_000, "# "),
    (100_000, "! "),
    (10_000, "+ "),
)
_NO_DURATION = "             |  "
_INDENT = "  "


class Entry:
    """The entries of a batch."""

    def __init__(self, fields: EventFields, context: ReportContext) -> None:
        self._functions = fields.numbers("func")
        self._depths = fields.numbers("depth")
        self._arguments = fields.lists("args")
        self._context = context

    def function(self, row: int) -> int:
        """The address of the function."""
        return 0 if self._functions is None else self._functions[row]

    def leaf(self, row: int, duration: int) -> str:
        """A call that ends before anything else."""
        return f"{_timed(duration)}{self._call(row)};"

    def nested(self, row: int) -> str:
        """A call in which something happens."""
        return f"{_NO_DURATION}{self._call(row)} {{"

    def _call(self, row: int) -> str:
        depth = 0 if self._depths is None else self._depths[row]
        name = self._context.function_name(self.function(row), "{:x}")
        return (
            _indented(depth)
            + name
            + listed([] if self._arguments is None else self._arguments[row])
        )


class Exit:
    """The exits of a batch."""

    def __init__(self, fields: EventFields) -> None:
        self._functions = fields.numbers("func")
        self._depths = fields.numbers("depth")
        self._starts = fields.numbers("calltime")
        self._ends = fields.numbers("rettime")

    def function(self, row: int) -> int:
        """The address of the function."""
        return 0 if self._functions is None else self._functions[row]

    def duration(self, row: int) -> int:
        """How long the call took, in nanoseconds."""
        if self._starts is None or self._ends is None:
            return 0
        return self._ends[row] - self._starts[row] & (1 << 64) - 1

    def text(self, row: int) -> str:
        """The end of a call that is not on its line."""
        depth = 0 if self._depths is None else self._depths[row]
        return f"{_timed(self.duration(row))}{_indented(depth)}}}"


def _indented(depth: int) -> str:
    # As a signed number, of what a kernel can nest.
    return _INDENT * depth if depth < 1 << 16 else ""


def _timed(duration: int) -> str:
    mark = next((mark for least, mark in _OVERHEADS if duration > least), "  ")
    micros, nanos = divmod(duration, 1000)
    shown = str(micros)
    if len(shown) < 7:
        shown += f".{nanos:03}"
    return f"{mark}{shown} us {'':{max(7 - len(shown), 0)}}|  "
