"""The streams of a trace that is embedded in another format, and the copies that the writer makes of them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from converter.formats.aix.entries.prescan import prescan
from converter.formats.aix.entries.streams import TEMPLATES_SUFFIX, Stream, warn_of
from converter.formats.lossless import travelling
from converter.ir.trace import Trace
from converter.storage.sink import Sink
from converter.storage.source_files import SourceFiles, parts_of

#: The suffix of the files of single CPUs after the name of the trace.
_SUFFIX: Final = re.compile(r"(-\d{1,5})?")
#: Entries of the sidecar that are not embedded as they are.
_NOT_KEPT: Final = frozenset({"streams", "contents", "left_behind", "hooks"})
_LEFT_BEHIND: Final = "the hooks of the streams, which become user hooks"


def portable(trace: Trace) -> dict[str, Any]:
    """Return the sidecar of a trace as JSON-like values and bytes, with the streams that a kernel wrote.

    Streams are left out if the trace's events were changed, or if they are too large. The events themselves are
    embedded then, and written as user hooks.

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
    """Yield streams with the suffixes of their files' names relative to the first."""
    first = os.path.basename(streams[0].source.name)
    for stream in streams:
        yield os.path.basename(stream.source.name).removeprefix(first), stream


def source_files(trace: Trace) -> SourceFiles | None:
    """Return the streams that a kernel wrote, and the user's template file next to them."""
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
    """Return the ends of the valid parts of damaged streams, by file name, and warn about the rest.

    Raises:
        TraceError: nothing is valid.

    """
    ends: dict[str, int] = {}
    for damage in prescan(streams, own=trace.sidecar["aix"]["own"]).damage:
        warn_of(trace, streams[0].source.name, damage)
        if damage.path is not None and damage.offset is not None:
            ends[damage.path] = damage.offset
    if all(ends.get(stream.source.name, stream.source.size) <= stream.start for stream in streams):
        for warning in trace.warnings:
            if warning.offset is not None:
                raise warning.to_error()
    return ends


def copy_streams(trace: Trace, sink: Sink, bits: int) -> bool:
    """Write the streams that a trace was read from, or that are embedded; return False if that is not possible.

    Of a damaged stream the valid part is written, with a warning about the rest.

    Raises:
        TraceError: a stream cannot be read, or embedded data is damaged.

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
    # Only now, as this searches all of the streams for damage.
    contents = _contents(trace)
    for suffix, output in sinks.items():
        assert output is not None
        for part in contents[suffix]:
            output.write(part)
        if suffix:
            output.close()
    return True


def streams_of(trace: Trace) -> list[Stream]:
    """Return the streams that a trace is read from, none for an embedded one."""
    streams = trace.sidecar.get("aix", {}).get("streams")
    if not isinstance(streams, list) or not all(isinstance(one, Stream) for one in streams):
        return []
    return streams


def _suffixes(trace: Trace) -> list[str]:
    """Return the suffixes of the files' names relative to the first, none if there are no such files."""
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
    """Return the content of each file by the suffix of its name."""
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
    """Write the user's templates next to a stream, where its reader looks for them."""
    templates = trace.sidecar.get("aix", {}).get("trcfmt")
    if not isinstance(templates, bytes):
        return
    output = sink.companion(TEMPLATES_SUFFIX)
    if output is not None:
        output.write(templates)
        output.close()
