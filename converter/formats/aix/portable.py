"""The streams of a trace that travels in another format, and the copies that the writer makes of them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from converter.formats.aix.entries.prescan import survey
from converter.formats.aix.entries.streams import TEMPLATES_SUFFIX, Stream, warn_of
from converter.ir.trace import Trace
from converter.lossless import travelling
from converter.storage.sink import Sink
from converter.storage.source_files import SourceFiles, parts_of

#: What names of files of CPUs have behind that of the trace.
_SUFFIX: Final = re.compile(r"(-\d{1,5})?")
#: What does not travel as it is.
_NOT_KEPT: Final = frozenset({"streams", "contents", "left_behind", "hooks"})
_LEFT_BEHIND: Final = "hooks of the streams, which are written as user hooks"


def portable(trace: Trace) -> dict[str, Any]:
    """The sidecar of a trace as JSON-like values and bytes, with the streams that a kernel wrote.

    Those of a trace whose events were changed do not travel, nor those that are too large: the events do, and what is
    written of them are user hooks.

    Raises:
        TraceError: a stream cannot be read, or changes meanwhile.

    """
    held = trace.sidecar["aix"]
    streams = streams_of(trace)
    if not streams and trace.is_as_read:
        return held
    kept = {name: value for name, value in held.items() if name not in _NOT_KEPT}
    if held.get("own"):
        return kept
    contents = None
    if trace.is_as_read and streams:
        contents = travelling.compressed(
            (suffix, stream.source.size, parts_of(stream.source))
            for suffix, stream in _by_suffix(streams)
        )
    if contents is None:
        held["left_behind"] = _LEFT_BEHIND
        return kept
    return {**kept, "contents": contents}


def _by_suffix(streams: list[Stream]) -> Iterator[tuple[str, Stream]]:
    """Streams by what their files' names have behind that of the first."""
    first = os.path.basename(streams[0].source.name)
    for stream in streams:
        yield os.path.basename(stream.source.name).removeprefix(first), stream


def source_files(trace: Trace) -> SourceFiles | None:
    """The streams that a kernel wrote, and the user's templates beside them, where the reader looks for them."""
    held, streams = trace.sidecar["aix"], streams_of(trace)
    if held.get("own") or not streams:
        return None
    name = os.path.basename(streams[0].source.name)
    files = [
        (f"{name}{suffix}", stream.source.size, parts_of(stream.source))
        for suffix, stream in _by_suffix(streams)
    ]
    templates = held.get("trcfmt")
    if templates is not None:
        files.append((f"{name}{TEMPLATES_SUFFIX}", len(templates), iter([templates])))
    return SourceFiles(name, files)


def _ends(trace: Trace, streams: list[Stream]) -> dict[str, int]:
    """Where damaged streams, by the names of their files, are no longer good; the trace is warned.

    Raises:
        TraceError: nothing is good.

    """
    ends: dict[str, int] = {}
    for damage in survey(streams, own=trace.sidecar["aix"]["own"]).damage:
        warn_of(trace, streams[0].source.name, damage)
        if damage.path is not None and damage.offset is not None:
            ends[damage.path] = damage.offset
    if all(ends.get(stream.source.name, stream.source.size) <= stream.start for stream in streams):
        for warning in trace.warnings:
            if warning.offset is not None:
                raise warning.to_error()
    return ends


def copy_streams(trace: Trace, sink: Sink, bits: int) -> bool:
    """Write the streams that a trace was read from, or that have travelled with it; whether that can be.

    Of a damaged stream what is good is written, and the trace warned of the rest.

    Raises:
        TraceError: a stream cannot be read, or what has travelled is damaged.

    """
    held = trace.sidecar.get("aix", {})
    if trace.format != "aix" or not trace.is_as_read or held.get("bits") != bits:
        return False
    suffixes = _suffixes(trace)
    if "" not in suffixes:
        return False
    sinks = {suffix: sink.companion(suffix) if suffix else sink for suffix in suffixes}
    if None in sinks.values():
        return False
    # Only now: damage is looked for in all of the streams.
    contents = _contents(trace)
    for suffix, output in sinks.items():
        assert output is not None
        for part in contents[suffix]:
            output.write(part)
        if suffix:
            output.close()
    return True


def streams_of(trace: Trace) -> list[Stream]:
    """The streams that a trace is read from; none of one that has travelled."""
    streams = trace.sidecar.get("aix", {}).get("streams")
    if not isinstance(streams, list) or not all(isinstance(one, Stream) for one in streams):
        return []
    return streams


def _suffixes(trace: Trace) -> list[str]:
    """What names of files have behind that of the first; none where there are no such files."""
    streams = streams_of(trace)
    if streams:
        return [suffix for suffix, _ in _by_suffix(streams)]
    files = trace.sidecar["aix"].get("contents")
    if isinstance(files, Mapping) and all(
        isinstance(suffix, str) and _SUFFIX.fullmatch(suffix) and isinstance(data, bytes)
        for suffix, data in files.items()
    ):
        return list(files)
    return []


def _contents(trace: Trace) -> dict[str, Iterator[bytes]]:
    """The content of each file by the suffix of its name."""
    streams = streams_of(trace)
    if not streams:
        files = trace.sidecar["aix"]["contents"]
        return {suffix: travelling.parts_of(suffix, data) for suffix, data in files.items()}
    ends = _ends(trace, streams)
    return {
        suffix: parts_of(stream.source, ends.get(stream.source.name))
        for suffix, stream in _by_suffix(streams)
    }


def write_templates(trace: Trace, sink: Sink) -> None:
    """Write the user's templates beside a stream, where its reader looks for them."""
    templates = trace.sidecar.get("aix", {}).get("trcfmt")
    if not isinstance(templates, bytes):
        return
    output = sink.companion(TEMPLATES_SUFFIX)
    if output is not None:
        output.write(templates)
        output.close()
