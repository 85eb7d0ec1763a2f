"""What is done with the traces of changed inputs."""

from __future__ import annotations

import json

from support.fuzzing.corpus import Files

from converter.cli.actions.reporting import write_report
from converter.cli.output.first_events import first_events
from converter.errors import TraceError
from converter.ir.trace import Trace
from converter.jobs.transcription import transcribe
from converter.registry import format_named
from converter.selection.select import selected
from converter.selection.selection import Selection
from converter.storage.sink import BufferSink, Sink

#: What is written as lines of text, by templates and print formats of the input.
REPORT = "report"
#: What is read from a moment to another, which lets readers seek.
PART = "part"
#: What is written in its own format after it was selected, of which nothing is taken as it stands.
ANEW = "anew"
#: What is shown one by one, with the texts that the reader has for events.
SHOWN = "shown"
#: Events that are shown.
_SHOWN_EVENTS = 100


class MemoryDirectory(BufferSink):
    """An output directory in memory."""

    is_directory = True

    def __init__(self) -> None:
        super().__init__()
        self._files: dict[str, BufferSink] = {}

    def create(self, relative: str) -> BufferSink:
        """A new file."""
        if relative in self._files:
            raise TraceError("there already", path=relative)
        self._files[relative] = BufferSink(relative)
        return self._files[relative]

    def files(self) -> dict[str, Sink]:
        """The files so far."""
        return dict(self._files)

    def contents(self) -> Files:
        """What is in the files."""
        return {name: sink.getvalue() for name, sink in self._files.items()}


def written(trace: Trace, target: str, *, lossless: bool = False) -> Files:
    """A trace in a format, or its report."""
    if target == ANEW:
        trace, target = selected(trace, Selection(since="+0us")).trace, trace.format
    if target == REPORT:
        lines = BufferSink()
        write_report(trace, lines.write)
        return {"": lines.getvalue()}
    format, variant = format_named(target)
    sink = MemoryDirectory() if format.is_directory(variant) else BufferSink()
    transcribe(trace, sink, format, variant, lossless=lossless)
    return sink.contents() if isinstance(sink, MemoryDirectory) else {"": sink.getvalue()}


def read_in_part(trace: Trace) -> None:
    """Read what is between two moments."""
    part = selected(trace, Selection(since="+10us", until="+1ms"), narrow=True)
    for _ in part.trace.batches():
        pass


def show(trace: Trace) -> None:
    """Show the first events, for people and for programs."""
    for event in first_events(trace, _SHOWN_EVENTS):
        event.line()
        json.dumps(event.as_json())
