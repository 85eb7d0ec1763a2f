"""The event formats that a user names for a text: of a recording of the same kernel, or of its tracefs."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from converter.errors import TraceError
from converter.formats.ftrace.event_format.formats import EventFormats
from converter.formats.ftrace.event_format.syntax import (
    EventFormat,
    FormatSyntaxError,
    parse_event_format,
)
from converter.formats.ftrace.recording import Section
from converter.formats.table import formats as all_formats
from converter.limits import limit
from converter.storage.opening import open_source


class NamedFormats(NamedTuple):
    """The formats and the machine of a kernel, as far as they are known."""

    #: Returns the formats of a name, of all systems.
    of: Callable[[str], list[EventFormat]] | None = None
    #: The output of ``uname -m``, empty if it is not known.
    machine: str = ""


def named_formats(path: str | None) -> NamedFormats:
    """Return the formats of a recording, or of a directory like ``/sys/kernel/tracing/events``; none without a path."""
    if path is None:
        return NamedFormats()
    return _of_directory(path) if os.path.isdir(path) else _of_recording(path)


def _of_directory(path: str) -> NamedFormats:
    """Return the formats of `path`/SYSTEM/EVENT/format; those of a system or event may be named as well."""
    found: dict[str, list[tuple[str, str]]] = {}
    for folder, folders, files in os.walk(path):
        if "format" in files:
            folders.clear()
            above, event = os.path.split(os.path.abspath(folder))
            found.setdefault(event, []).append((os.path.basename(above), folder))
    if not found:
        raise TraceError("no events/*/*/format files in the directory", path=path)

    def named(name: str) -> list[EventFormat]:
        formats = []
        for system, folder in found.get(name, ()):
            with suppress(OSError, FormatSyntaxError), open(f"{folder}/format", "rb") as file:
                formats.append(parse_event_format(file.read(limit("trace_cmd.section")), system))
        return formats

    return NamedFormats(named)


def _of_recording(path: str) -> NamedFormats:
    """Return the formats that a recording holds, or those of its events if it does not say others."""
    with open_source(path) as source:
        head = source.read(0, 4096)
        owner = next((format for format in all_formats() if format.sniff(head)), None)
        if owner is None:
            raise TraceError("no recording with formats of events", path=path)
        trace = owner.open(source, {})
        machine = str(trace.environment.get("machine", ""))
        try:
            for kept in trace.sidecar.values():
                sections = kept.get("sections")
                if sections and isinstance(sections[0], Section):
                    return NamedFormats(EventFormats(sections[0].file).named, machine)
            for _ in trace.batches():
                pass
            classes = [(one.native, one.category) for one in trace.event_classes]
        finally:
            trace.close()
    found: dict[str, list[EventFormat]] = {}
    for text, system in classes:
        with suppress(FormatSyntaxError):
            format = parse_event_format(text, system)
            found.setdefault(format.name, []).append(format)
    return NamedFormats(lambda name: list(found.get(name, ())), machine)
