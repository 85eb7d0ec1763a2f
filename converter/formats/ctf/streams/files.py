"""The files of an input: traces in one tree of directories, and the data streams in their files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy as np

from converter.errors import TraceError
from converter.formats.ctf.layout import (
    INDEX_DIRECTORY,
    INDEX_SUFFIX,
    METADATA_NAME,
    PACKET_MAGIC,
    parse_index,
)
from converter.formats.ctf.metadata.files import parse_metadata
from converter.formats.ctf.metadata.trace_class import TraceClass
from converter.formats.ctf.side_table import SideTable, read_side_table
from converter.formats.ctf.streams.scan import PACKET, REGISTERS, Scanner
from converter.formats.ctf.streams.special_fields import empty_program, header_program
from converter.formats.ctf.streams.stream_files import StreamFile
from converter.formats.ctf.streams.stream_types import StreamType
from converter.kernels.batches.event_arrays import OutputArrays
from converter.limits import allowed, changed_limits, limit
from converter.storage.source import Source

#: The most that is read of a packet's header and context at first.
_HEAD: Final = 1 << 16

#: Offset and size of the metadata's UUID in a packet's header.
_UUID: Final = REGISTERS["uuid"]


class FileContents:
    """A file of the trace, read on demand for a byte-for-byte copy."""

    def __init__(self, directory: Source, name: str) -> None:
        self._directory = directory
        self.name = name

    def open(self) -> Source:
        """Open the file; a context manager."""
        return self._directory.open(self.name)

    @property
    def size(self) -> int:
        """Its size in bytes."""
        with self.open() as source:
            return source.size

    def read(self, offset: int, size: int) -> bytes:
        """Read a range of bytes; fewer only at the end of the file."""
        with self.open() as source:
            return source.read(offset, size)

    def __bytes__(self) -> bytes:
        with self.open() as source:
            return source.read(0, source.size)


#: The files of an input by relative name.
FileSet = dict[str, FileContents]


class FirstPacket(NamedTuple):
    """The values in the first packet of a file."""

    stream: int | None
    begin: int
    sequence: int


@dataclass(slots=True)
class TraceDirectory:
    """A trace: its directory (relative to the input, empty for itself), metadata and stream files."""

    path: str
    metadata: bytes
    trace: TraceClass
    side_table: SideTable | None
    files: list[tuple[StreamFile, FirstPacket]] = field(default_factory=list)

    def relative(self, name: str) -> str:
        """Return a file's name relative to the input."""
        return f"{self.path}/{name}" if self.path else name


def traces_in(
    source: Source, warn: Callable[[TraceError], None]
) -> tuple[list[TraceDirectory], FileSet]:
    """Return the traces of a tree, and all of their files.

    Raises:
        TraceError: there is no trace, or none with readable metadata.

    """
    by_directory: dict[str, list[str]] = {}
    for number, name in enumerate(source.walk()):
        if number == limit("ctf.files"):
            raise TraceError(expected=allowed("ctf.files"), path=source.name)
        # Hidden files are not streams: version control, editors and traceconv keep files of their own there.
        if any(part.startswith(".") for part in name.split("/")):
            continue
        folder, _, file = name.rpartition("/")
        by_directory.setdefault(folder, []).append(file)
    found: list[TraceDirectory] = []
    files = FileSet()
    failure: TraceError | None = None
    for path in sorted(by_directory):
        if METADATA_NAME not in by_directory[path]:
            continue
        try:
            directory = _read_metadata(source, path)
            for warning in directory.trace.tolerated:
                warn(warning.within(path=directory.relative(METADATA_NAME)))
        except TraceError as error:
            failure = error
            warn(error)
            continue
        types: dict[int, StreamType] = {}
        for name in by_directory[path]:
            relative = directory.relative(name)
            files[relative] = FileContents(source, relative)
            if name == METADATA_NAME:
                continue
            try:
                opened = _open_stream(source.open(relative), relative, directory, types, warn)
            except TraceError as error:
                warn(error)
                continue
            if opened is not None:
                directory.files.append(opened)
        for name in by_directory.get(directory.relative(INDEX_DIRECTORY), []):
            relative = directory.relative(f"{INDEX_DIRECTORY}/{name}")
            files[relative] = FileContents(source, relative)
        found.append(directory)
    if not found:
        if failure is not None:
            raise failure
        raise TraceError(expected=f"a file named {METADATA_NAME!r}", path=source.name)
    return found, files


def _read_metadata(source: Source, path: str) -> TraceDirectory:
    relative = f"{path}/{METADATA_NAME}" if path else METADATA_NAME
    with source.open(relative) as file:
        data = file.read(0, limit("ctf.metadata") + 1)
        try:
            trace = _declared(data, frozenset(changed_limits().items()))
            return TraceDirectory(path, data, trace, read_side_table(trace.environment))
        except TraceError as error:
            raise error.within(path=file.name) from error


@lru_cache(maxsize=1)
def _declared(metadata: bytes, _limits: frozenset[tuple[str, int]]) -> TraceClass:
    """Return the classes that a trace's metadata declares, within these limits; cached for rotated sessions, which
    repeat it.
    """
    return parse_metadata(metadata)


def _open_stream(
    source: Source,
    name: str,
    directory: TraceDirectory,
    types: dict[int, StreamType],
    warn: Callable[[TraceError], None],
) -> tuple[StreamFile, FirstPacket] | None:
    """Return the stream of a file, None for an empty one.

    Raises:
        TraceError: it is not a stream of the trace.

    """
    if source.size == 0:
        return None
    trace = directory.trace
    head = np.frombuffer(source.read(0, _HEAD), np.uint8)
    try:
        stream_class = _stream_class(head, trace)
        stream_type = types.get(stream_class)
        if stream_type is None:
            declared = trace.streams.get(stream_class)
            if declared is None:
                raise TraceError(
                    offset=0,
                    field="packet.stream_id",
                    expected="a stream class of the metadata",
                    found=stream_class,
                )
            stream_type = types[stream_class] = StreamType(trace, declared, directory.side_table)
        scanner = Scanner(
            stream_type.packet_program,
            stream_type.header_program,
            stream_type.common_program,
            8,
            False,
        )
        status = _first(scanner, head)
        if status != PACKET:
            raise TraceError(
                offset=0, field="packet", expected="a packet's header and context", found=len(head)
            )
        said = scanner.said()
        place, size = said[_UUID], said[_UUID + 1]
        if place is not None and size is not None and trace.uuid is not None:
            uuid = head[place : place + size].tobytes()
            if uuid != trace.uuid.bytes:
                warn(
                    TraceError(
                        "the packets say that they are of another trace",
                        path=source.name,
                        offset=place,
                        field="packet.uuid",
                        expected=str(trace.uuid),
                        found=uuid.hex(),
                    )
                )
        first = FirstPacket(
            said[REGISTERS["stream"]],
            said[REGISTERS["begin"]] or 0,
            said[REGISTERS["sequence"]] or 0,
        )
        return StreamFile(source, name, stream_type), first
    except TraceError as error:
        source.close()
        raise error.within(path=source.name) from error


def _first(scanner: Scanner, head: np.ndarray[Any, np.dtype[np.uint8]]) -> int:
    status, _, _ = scanner.scan(head, 0, True, no_columns(), 0)
    return status


def no_columns() -> OutputArrays:
    """The columns of a scan that is to read no event."""
    numbers, places = np.zeros(0, np.int32), np.zeros(0, np.uint32)
    own = {"place": numbers, "begin": places, "start": places, "size": places}
    return OutputArrays(ts=np.zeros(0, np.int64), class_id=numbers, **own)


def _stream_class(head: np.ndarray[Any, np.dtype[np.uint8]], trace: TraceClass) -> int:
    """Return the ID of the stream class that a file's first packet names."""
    if trace.packet_header is not None and trace.packet_header.members:
        nothing = empty_program()
        scanner = Scanner(header_program(trace), nothing, nothing, 8, False)
        if _first(scanner, head) != PACKET:
            raise TraceError(
                offset=0, field="packet.header", expected="a header", found=f"{len(head)} bytes"
            )
        said = scanner.said()
        magic = said[REGISTERS["magic"]]
        if magic is not None and magic != PACKET_MAGIC:
            raise TraceError(
                "this file is no data stream",
                offset=0,
                field="packet.magic",
                expected=f"{PACKET_MAGIC:#x}",
                found=f"{magic:#x}",
            )
        stream_class = said[REGISTERS["stream class"]]
        if stream_class is not None:
            return stream_class
    if len(trace.streams) == 1:
        return next(iter(trace.streams))
    return 0


def check_index(files: FileSet, stream: StreamFile) -> None:
    """Check a stream's index, if it has one, against the file's size; the index is not used otherwise.

    Raises:
        TraceError: it is damaged, or describes packets that do not exist.

    """
    directory, _, name = stream.name.rpartition("/")
    relative = f"{INDEX_DIRECTORY}/{name}{INDEX_SUFFIX}"
    if directory:
        relative = f"{directory}/{relative}"
    if relative not in files:
        return
    with files[relative].open() as index:
        try:
            entries = parse_index(index.read(0, index.size))
            for number, entry in enumerate(entries):
                if entry.content > entry.length or entry.offset * 8 + entry.length > (
                    stream.source.size * 8
                ):
                    raise TraceError(
                        field=f"index.{number}",
                        expected=f"a packet within {stream.source.size} bytes",
                        found=f"{entry.length} bits at {entry.offset}",
                    )
        except TraceError as error:
            raise error.within(path=index.name) from error
