"""Reports as the command writes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from converter.ir.trace import Trace


def reported(print_report: Callable[[Trace, Any], bool], trace: Trace) -> bytes | None:
    """The report of a format's own; None where the trace is not one for it."""
    blocks: list[bytes] = []
    done = print_report(trace, lambda block: blocks.append(bytes(block)))
    return b"".join(blocks) if done else None
