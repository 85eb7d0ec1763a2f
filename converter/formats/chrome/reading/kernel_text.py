"""Text of a kernel's tracer inside a document, the member ``systemTraceEvents``: importers show both on one timeline.

The format of that text reads it from the document itself, and its events are merged with those of the document.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

from converter.errors import TraceError, note
from converter.formats.chrome.layout import DERIVED_TEXT, SPACE, SYSTEM_TRACE_EVENTS
from converter.formats.table import formats
from converter.ir.trace import Trace
from converter.storage.source import Source

_NAME: Final = f'"{SYSTEM_TRACE_EVENTS}"'.encode()
_START: Final = re.compile(rb'\s{0,99}:\s{0,99}"')
#: A member of events.
_PHASE: Final = b'"ph"'
_WINDOW: Final = 1 << 20
#: As much of a text as its format is recognised by.
_HEAD: Final = 1 << 12


def with_kernel_text(trace: Trace, source: Source, head: bytes) -> Trace:
    """Return the trace of a document with the events of its text, whose start is given, if it is such text."""
    for owner in formats() if head else ():
        if owner.sniff(head):
            # The reader finds the text in the document. Viewers show nothing of other texts, either.
            with suppress(TraceError):
                return _merged(trace, owner.open(source, {}))
    return trace


def head_of_text(source: Source) -> bytes:
    """Return the start of the text, empty where there is none or it is made of the events.

    Only what is before and after the events is looked through: events take nearly all of a long document.
    """
    for window in _around_events(source):
        at = window.rfind(_NAME, 0, _WINDOW + len(_NAME))
        if at >= 0:
            start = _START.match(window, at + len(_NAME))
            if start is None or window.startswith(DERIVED_TEXT, start.end()):
                break
            head = window[start.end() : start.end() + _HEAD]
            return head.replace(b"\\n", b"\n").replace(b"\\t", b"\t")
    return b""


def _around_events(source: Source) -> Iterator[bytes]:
    """Yield the start of a document and, from its end on, what is there up to the last events."""
    window = source.read(0, _WINDOW + _HEAD)
    if not window.lstrip(b"\xef\xbb\xbf" + SPACE).startswith(b"{"):
        return
    yield window
    end = source.size
    while end > _WINDOW:
        end -= _WINDOW
        window = source.read(end, _WINDOW + _HEAD)
        yield window
        if _PHASE in window:
            return


def _merged(document: Trace, text: Trace) -> Trace:
    from converter.merging.batches import BatchMerge
    from converter.merging.machines import Machine
    from converter.merging.survey import survey
    from converter.merging.tables import MergedTables
    from converter.merging.tables import Source as Input
    from converter.projection.losses import LossReport
    from converter.projection.passes.clock_rates import at_rate

    if not survey(text).events:
        return document
    # Which process a thread of the text belongs to, the document may say at its end.
    survey(document)
    document.readers = text.readers = 2
    for warning in text.warnings:
        note(document.warnings, warning)
    names = [thread.name for thread in text.threads]
    for thread in text.threads:
        thread.name = ""
    for process in text.processes:
        process.name = ""
    rate = document.clock.ticks_per_second
    assert rate is not None
    if text.clock.ticks_per_second not in (None, rate):
        text = at_rate(text, rate, text.clock.ticks_per_second)
    result = Trace(
        format=f"{document.format} and {text.format}",
        semantics=replace(document.semantics, kinds=None),
        clock=document.clock,
        clock_domains=document.clock_domains,
        strings=document.strings,
        environment=text.environment | document.environment,
        symbols=text.symbols,
        sidecar={"chrome": _without_text(document.sidecar["chrome"])},
        warnings=document.warnings,
        progress=document.progress,
        document=document,
    )
    inputs = [Input("", document, Machine()), Input("text", text, Machine())]
    tables = MergedTables(result, inputs, LossReport())
    for number, name in zip(inputs[1].threads, names, strict=True):
        # As importers do, which name no process so.
        result.threads[number].name = name or result.threads[number].name
    result.make_batches = result.source_batches = lambda: BatchMerge(
        result, tables, inputs, [0, 0]
    ).batches()
    return result


def _without_text(sidecar: dict[str, Any]) -> dict[str, Any]:
    members = {**sidecar.get("members", {})}
    members.pop(SYSTEM_TRACE_EVENTS, None)
    return sidecar | {"members": members}
