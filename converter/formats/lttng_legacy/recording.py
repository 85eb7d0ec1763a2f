"""The directory of a trace: its files, their channels, and their contents."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final

from converter.errors import TraceError, UnsupportedError
from converter.formats.lttng_legacy.layout import (
    HEAD_SIZE,
    MAGIC,
    Version,
    check_geometry,
    find_version,
)
from converter.limits import allowed, limit
from converter.storage.source import Source

#: traceconv's own file with what markers cannot represent; readers of this format ignore it.
TABLES_NAME: Final = "traceconv.json"

#: Larger CPU numbers are invalid.
MAX_CPU: Final = 0xFFFF

_NAME = re.compile(r"(?P<channel>.+)_(?P<cpu>\d{1,9})", re.DOTALL)
_FLIGHT: Final = "flight-"

#: Channels with declarations, in all versions.
METADATA_CHANNELS: Final = frozenset(
    {"metadata", "control/metadata", "control/facilities", "facilities"}
)


@dataclass(frozen=True, slots=True)
class ChannelFile:
    """A file of a channel and CPU. `path` is relative; `header` is that of its first block."""

    path: str
    channel: str
    cpu: int
    size: int
    version: Version
    big_endian: bool
    header: dict[str, int]

    @property
    def marker_channel(self) -> str:
        """The channel in declarations of markers: without the prefix of flight recorders."""
        return without_flight(self.channel)

    @property
    def is_metadata(self) -> bool:
        """True if it declares markers."""
        return self.marker_channel in METADATA_CHANNELS

    @property
    def is_compact(self) -> bool:
        """True if its event headers are one word (version 1.0)."""
        return self.version.major == 1 and self.marker_channel == "compact"


def without_flight(channel: str) -> str:
    """Return the name of a channel without the prefix of flight recorders."""
    folder, slash, name = channel.rpartition("/")
    return folder + slash + name.removeprefix(_FLIGHT)


class Recording:
    """A directory with a trace."""

    def __init__(self, source: Source) -> None:
        self._open: dict[str, Source] = {}
        self.source = source
        self.folder = ""
        self.errors: list[TraceError] = []
        #: All files, relative to `folder`.
        self.paths: list[str] = []
        self.files: list[ChannelFile] = []
        self._find()

    def read_into(self, path: str, offset: int, buffer: memoryview) -> int:
        """Fill a buffer from a file; return the number of bytes read."""
        return self._opened(path).read_into(offset, buffer)

    def size(self, path: str) -> int:
        """Return the size of a file."""
        return self._opened(path).size

    def _opened(self, path: str) -> Source:
        opened = self._open.get(path)
        if opened is None:
            opened = self._open[path] = self.source.open(self.folder + path)
        return opened

    def _find(self) -> None:
        if not self.source.is_directory:
            self._refuse_file()
        paths = []
        for path in self.source.walk():
            paths.append(path)
            if len(paths) > limit("lttng_legacy.files"):
                raise TraceError(expected=allowed("lttng_legacy.files"), found="more")
        self.folder = _folder(paths)
        self.paths = [
            path.removeprefix(self.folder) for path in paths if path.startswith(self.folder)
        ]
        for path in self.paths:
            try:
                self._add(path)
            except UnsupportedError:
                raise
            except TraceError as error:
                self.errors.append(error.within(path=f"{self.source.name}/{path}"))
        if not self.files:
            if self.errors:
                raise self.errors[0]
            raise TraceError(
                path=self.source.name, expected="files of a legacy LTTng trace", found="none"
            )
        self._check_versions()

    def _refuse_file(self) -> None:
        head = self.source.read(0, HEAD_SIZE)
        if find_version(head) is not None:
            raise TraceError(
                "this is one file of a trace, which is the directory that it is in",
                path=self.source.name,
            )
        raise TraceError(path=self.source.name, expected="a directory", found="a file")

    def _add(self, path: str) -> None:
        found = _NAME.fullmatch(path)
        if found is None or path.rpartition("/")[0] not in ("", "control"):
            return
        source = self._opened(path)
        if source.is_directory or source.size == 0:
            return
        head = source.read(0, HEAD_SIZE)
        known = find_version(head)
        if known is None:
            raise TraceError(offset=0, field="block header.magic_number", expected=f"{MAGIC:#010x}")
        version, big_endian = known
        layout = version.layout
        if len(head) < layout.size:
            raise TraceError(
                offset=0, field="block header", expected=f"{layout.size} bytes", found=len(head)
            )
        header = layout.parse(head, big_endian=big_endian)
        check_geometry(header)
        cpu = int(found["cpu"])
        if cpu > MAX_CPU:
            raise TraceError("the number of the CPU in the file's name is too large")
        self.files.append(
            ChannelFile(path, found["channel"], cpu, source.size, version, big_endian, header)
        )

    def _check_versions(self) -> None:
        first = self._reference()
        mixed = [
            file
            for file in self.files
            if (file.version, file.big_endian) != (first.version, first.big_endian)
        ]
        left_out = {file.path for file in mixed}
        self.files = [file for file in self.files if file.path not in left_out]
        for file in mixed:
            self.errors.append(
                TraceError(
                    path=f"{self.source.name}/{file.path}",
                    field="block header",
                    expected=f"version {first.version.name} as in {first.path}",
                    found=f"version {file.version.name} or another byte order",
                )
            )
        self.files.sort(key=lambda file: (not file.is_metadata, file.channel, file.cpu))

    def _reference(self) -> ChannelFile:
        """The file whose header is used for the trace."""
        return min(self.files, key=lambda file: (not file.is_metadata, file.cpu, file.path))

    def layouts(self) -> tuple[Version, ...]:
        """The possible file layouts, the likeliest first: version 1.0 was written in two ways (see `Version`)."""
        first = self.files[0]
        if first.version.major > 1:
            return (first.version,)
        tracer, document = Version(1, 0), Version(1, 0, literal=True, byte_ids=True)
        mixed = (Version(1, 0, byte_ids=True), Version(1, 0, literal=True))
        return (tracer, document, *mixed) if _has_time(first) else (document, tracer, *mixed)

    def lay_out(self, version: Version) -> None:
        """Set the layout of the files."""
        self.files = [self._laid_out(file, version) for file in self.files]

    def _laid_out(self, file: ChannelFile, version: Version) -> ChannelFile:
        if version == file.version:
            return file
        head = bytearray(HEAD_SIZE)
        self.read_into(file.path, 0, memoryview(head))
        header = version.layout.parse(bytes(head), big_endian=file.big_endian)
        return replace(file, version=version, header=header)


def _folder(paths: list[str]) -> str:
    """Return the folder that contains a trace's files: none, or the one that they are all in."""
    tops = {path.partition("/")[0] for path in paths}
    at_top = any("/" not in path and _NAME.fullmatch(path) for path in paths)
    if at_top or len(tops) != 1 or tops == {"control"}:
        return ""
    return f"{tops.pop()}/"


def _has_time(file: ChannelFile) -> bool:
    """Return True if the start_time of a header of version 1.0 is plausible, read as the tracer wrote it.

    The document's is two words of 32 bits. Read as the tracer's two of 64 bits, the first has nanoseconds in its upper
    half, and the second is the first event's header: usually neither is a valid time then.
    """
    seconds, microseconds = file.header["start_time_sec"], file.header["start_time_usec"]
    return seconds < 1 << 33 and microseconds < 1_000_000
