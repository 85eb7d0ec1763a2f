"""Lines of call stacks as ``perf script`` prints them, for the report of samples and for the text of perf script."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Final

from converter.printing import program as op
from converter.printing.code import Code, Form

#: What perf prints for an unknown function or binary.
UNKNOWN: Final = b"[unknown]"
#: The level of the frames of a sample.
FRAME_LEVEL: Final = 2


def print_weight(code: Code, push: Callable[[], None], *, signed: bool) -> None:
    """Print the weight of a sample, which `push` puts on the stack, before the event."""
    code.literal(b" ")
    push()
    code.add(op.NUMBER, code.form(Form("", 10, conversion="d" if signed else "u")))


def print_frame(
    code: Code, address: Hashable, function: Callable[[], None], binary: Callable[[], None]
) -> None:
    """Print a frame.

    Args:
        code: the program.
        address: the key of the column with addresses; None if there are none.
        function: prints the function.
        binary: prints the binary.

    """
    code.literal(b"\t")
    if address is None:
        code.literal(b"%16x" % 0)
    else:
        code.number_of(address, FRAME_LEVEL)
        code.add(op.NUMBER, code.form(Form("", 16, conversion="x")))
    code.literal(b" ")
    function()
    code.literal(b" (")
    binary()
    code.literal(b")\n")
