"""Writes the files of a CTF trace again: unchanged, or with metadata of the other version."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from converter.errors import UnsupportedError
from converter.formats.ctf.layout import METADATA_NAME
from converter.formats.ctf.metadata.files import parse_metadata
from converter.formats.ctf.metadata.other_version import metadata_in
from converter.formats.ctf.metadata.trace_class import TraceClass
from converter.formats.ctf.portable import parts_of
from converter.formats.ctf.streams.files import FileContents
from converter.formats.ctf.writing.contexts import has_threads
from converter.formats.ctf.writing.metadata_losses import (
    count_encoded_otherwise,
    count_losses,
    count_other_programs,
)
from converter.ir.trace import Trace
from converter.projection.losses import LossReport
from converter.storage.sink import Sink

#: The name of a trace that has none.
_UNNAMED: Final = "trace"


def replay(trace: Trace, sink: Sink, variant: str) -> LossReport | None:
    """Write the files that a trace was read from, if its events are unchanged and the files fit the variant.

    Args:
        trace: any trace.
        sink: a directory.
        variant: "" (the version of the files), "1.8" or "2".

    Returns:
        What metadata of the variant no longer have; None if nothing was written.

    Raises:
        TraceError: a file cannot be read.
        OutputError: the sink cannot be written to.

    """
    held = trace.sidecar.get("ctf", {})
    if trace.format != "ctf" or not trace.is_as_read or not _has_files(held):
        return None
    report = LossReport()
    try:
        metadata = _metadata(held, variant, report)
    except UnsupportedError:
        return None
    if trace.check is not None:
        # The files are copied as they are, damage included; damage of packets is reported, as checking them is cheap.
        trace.check(False)
    for name, content in held["files"].items():
        with sink.create(name) as output:
            for part in [metadata[name]] if name in metadata else parts_of(name, content):
                output.write(part)
    return report


def _with_identity(trace: TraceClass) -> TraceClass:
    """Return a trace with a name and a UID, by which Babeltrace relates the directories of one trace in CTF 2.

    It then reads packets once that snapshots share; in CTF 1.8 the UUID is enough.
    """
    name = trace.environment.get("trace_name")
    return replace(
        trace,
        name=trace.name or (name if isinstance(name, str) and name else _UNNAMED),
        uid=trace.uid or str(trace.uuid),
    )


def source_metadata(trace: Trace) -> list[TraceClass]:
    """Return the metadata that a trace from CTF was read from."""
    held = trace.sidecar.get("ctf", {})
    if trace.format != "ctf" or not _has_files(held):
        return []
    return [parse_metadata(bytes(one["metadata"])) for one in held["traces"]]


def losses_of_rewriting(trace: Trace, version: int) -> LossReport:
    """Return the losses of a trace from CTF whose events are encoded again, in version 1 (1.8) or 2: its metadata, but
    no event.
    """
    report = LossReport()
    traces = source_metadata(trace)
    for declared in traces:
        count_losses(declared, None, report)
        count_encoded_otherwise(declared, version, report)
        if trace.threads and not has_threads(declared):
            report.add("ctf-told-thread")
    if traces:
        count_other_programs(traces, report)
    return report


def _has_files(held: Mapping[str, Any]) -> bool:
    """Return True if there are files: embedded payloads can be anything."""
    files, traces = held.get("files"), held.get("traces")
    return (
        isinstance(files, Mapping)
        and bool(files)
        and all(isinstance(content, bytes | FileContents) for content in files.values())
        and isinstance(traces, list)
        and all(
            isinstance(one, Mapping)
            and isinstance(one.get("path"), str)
            and isinstance(one.get("metadata"), bytes)
            and isinstance(one.get("version"), list)
            and bool(one["version"])
            for one in traces
        )
    )


def _metadata(held: Mapping[str, Any], variant: str, report: LossReport) -> dict[str, bytes]:
    """Return the metadata files that differ in the variant, by relative name, and count what they cannot express.

    Raises:
        UnsupportedError: the variant cannot express them.

    """
    result = {}
    directories = Counter(one.get("uuid") for one in held["traces"])
    for one in held["traces"]:
        version = "2" if one["version"][0] == 2 else "1.8"
        if variant and version != variant:
            name = f"{one['path']}/{METADATA_NAME}" if one["path"] else METADATA_NAME
            declared = parse_metadata(bytes(one["metadata"]))
            related = declared
            if declared.uuid is not None and directories[str(declared.uuid)] > 1:
                related = _with_identity(declared)
            data = result[name] = metadata_in(related, 2 if variant == "2" else 1)
            count_losses(declared, parse_metadata(data), report)
    return result
