"""Embeds the source of a trace in place of its events: the reader of its format restores them.

That costs only as much as the compressed files, and omits nothing. The options of the reader are embedded, too; other
inputs that it read are among the files. A trace that was changed after it was opened has no such source.
"""

from __future__ import annotations

from collections.abc import Iterator

from converter.errors import TraceError, note
from converter.formats.descriptor import Format
from converter.formats.ir import MAGIC, layout
from converter.formats.ir import messages as pb
from converter.formats.ir.values import (
    decoded,
    encoded,
    pack_clock,
    pack_entries,
    pack_warning,
    unpack_entries,
    unpack_warning,
)
from converter.formats.lossless.travelling import compressed, parts_of
from converter.formats.table import format_of, format_read
from converter.ir.trace import Trace
from converter.storage.compression.unpacked import Unpacked, no_room
from converter.storage.source import Source, spooled
from converter.storage.source_files import source_of_files


def source_records(trace: Trace) -> Iterator[bytes] | None:
    """Return the records of the source that represents an unread trace; None if its events must be embedded instead.

    Raises:
        TraceError: the source cannot be read.
    """
    format = format_read(trace)
    found = None if format is None else format.source_files(trace)
    files = None if found is None else compressed(found.files)
    if format is None or found is None or files is None:
        return None
    assert trace.origin is not None
    header = pb.Header(
        magic=MAGIC,
        version=layout.SOURCE_VERSION,
        format=trace.format,
        variant=trace.variant,
        clock=pack_clock(trace.clock),
    )
    options = {
        name: value
        for name, value in trace.origin.options.items()
        if name not in format.options_of_files
    }
    source = pb.Source(
        name=encoded(trace.origin.name),
        opened=encoded(found.opened),
        option=pack_entries(options),
        warning=map(pack_warning, trace.warnings),
    )
    return (
        layout.frame(record.SerializeToString())
        for record in (
            pb.Record(header=header),
            pb.Record(source=source),
            *(
                pb.Record(file=pb.SourceFile(name=encoded(name), zstd=data))
                for name, data in files.items()
            ),
        )
    )


def reopened(content: Source) -> Trace | None:
    """Return the trace of an embedded source; None if events are embedded.

    Raises:
        TraceError: the payload is damaged, or its reader finds nothing usable.
    """
    locations, damage = layout.record_places(content)
    if len(locations) < 2:
        return None
    header, *_ = layout.parse_record(content, *locations[0])
    if header.header.version != layout.SOURCE_VERSION:
        return None
    if damage:
        raise damage[0]
    records = (layout.parse_record(content, *location)[0] for location in locations[1:])
    described = next(records).source
    format = format_of(header.header.format)
    if format is None or not format.sends_source:
        raise TraceError(
            field="header.format", expected="a format of files", found=header.header.format
        )
    name = decoded(described.name)
    sizes: list[tuple[str, int]] = []
    files = spooled(_decompressed(content.unpacked, records, sizes), name)
    source = source_of_files(name, decoded(described.opened), sizes, files)
    trace = format.open(source, _options(format, described), travelled=True)
    for warning in described.warning:
        # Keep these warnings only: those about wrappers and skipped parts no longer apply.
        note(trace.warnings, unpack_warning(warning))
    return trace


def _options(format: Format, described: pb.Source) -> dict[str, str]:
    """Return the reader's options: none that could name a file outside the payload."""
    options = unpack_entries(described.option)
    known = set(format.options) - set(format.options_of_files)
    if not known.issuperset(options) or not all(isinstance(one, str) for one in options.values()):
        raise TraceError(field="source.option", expected="texts for options of the format")
    return options


def _decompressed(
    unpacked: Unpacked, records: Iterator[pb.Record], sizes: list[tuple[str, int]]
) -> Iterator[bytes]:
    """Return the contents of all files, in sequence; the size of each is appended to `sizes`."""
    for record in records:
        if record.WhichOneof("content") != "file":
            raise TraceError(field="source", expected="files")
        name, size = decoded(record.file.name), 0
        for part in parts_of(name, record.file.zstd):
            size += len(part)
            if not unpacked.take(("travelled", name), size):
                raise no_room(size).within(field=f"files.{name}")
            yield part
        sizes.append((name, size))
