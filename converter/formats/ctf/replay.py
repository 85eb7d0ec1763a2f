"""The files of a trace that was read from CTF, written again: as they are, or with metadata of the other version."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from converter.errors import UnsupportedError
from converter.formats.ctf.files import FileContents
from converter.formats.ctf.layout import METADATA_NAME
from converter.formats.ctf.metadata_files import parse_metadata
from converter.formats.ctf.other_version import metadata_in
from converter.formats.ctf.portable import parts_of
from converter.ir.trace import Trace
from converter.storage.sink import Sink


def replay(trace: Trace, sink: Sink, variant: str) -> bool:
    """Write the files that a trace was read from, if it has their events unchanged and they can be of the variant.

    Args:
        trace: any.
        sink: a directory.
        variant: "" (that of the files), "1.8" or "2".

    Raises:
        TraceError: a file cannot be read.
        OutputError: the sink cannot be written to.

    """
    held = trace.sidecar.get("ctf", {})
    if trace.format != "ctf" or not trace.is_as_read or not _makes_sense(held):
        return False
    try:
        metadata = _metadata(held, variant)
    except UnsupportedError:
        return False
    if trace.check is not None:
        # The files are copied as they are, damage included: that of packets is said, as it costs next to nothing.
        trace.check(False)
    for name, content in held["files"].items():
        with sink.create(name) as output:
            for part in [metadata[name]] if name in metadata else parts_of(name, content):
                output.write(part)
    return True


def _makes_sense(held: Mapping[str, Any]) -> bool:
    """Whether there are files: what has travelled can be anything."""
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


def _metadata(held: Mapping[str, Any], variant: str) -> dict[str, bytes]:
    """The metadata files that are others in the variant, by relative name.

    Raises:
        UnsupportedError: the variant has no words for them.

    """
    result = {}
    for one in held["traces"]:
        version = "2" if one["version"][0] == 2 else "1.8"
        if variant and version != variant:
            name = f"{one['path']}/{METADATA_NAME}" if one["path"] else METADATA_NAME
            declared = parse_metadata(bytes(one["metadata"]))
            result[name] = metadata_in(declared, 2 if variant == "2" else 1)
    return result
