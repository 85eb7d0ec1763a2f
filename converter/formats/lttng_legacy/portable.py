"""What a legacy trace keeps of its files besides the events, for travelling without the files."""

from __future__ import annotations

from typing import Any

from converter.ir.trace import Trace


def portable(trace: Trace) -> dict[str, Any]:
    """The sidecar of a trace as JSON-like values and bytes; the writer makes files of it, though not byte for byte."""
    sidecar = trace.sidecar["lttng_legacy"]
    return {name: value for name, value in sidecar.items() if name != "recording"}
