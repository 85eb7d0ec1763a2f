"""A data directory that travels in another format: its files, compressed one by one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import zstandard

from converter.errors import TraceError
from converter.formats.uftrace.directory import PART_SIZE, DataDirectory
from converter.ir.trace import Trace

#: What all files together may take when compressed: what travels is held in memory.
_MOST = 256 << 20
#: Records of task files shrink five- to eightfold, and faster than they are read.
_LEVEL = 1
_TOO_LARGE = (
    "the files are too large to travel: where they are written again, events are encoded anew"
)


class TravelledFiles:
    """The files of a directory as they have travelled; `parts` is that of `DataDirectory`.

    Args:
        files: by name, compressed with zstd.

    """

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self.names = sorted(files)
        self._files = files

    def parts(self, name: str) -> Iterator[bytes]:
        """A file's content, part after part.

        Raises:
            TraceError: it is damaged.

        """
        data = self._files[name]
        done = 0
        try:
            expected = zstandard.frame_content_size(data)
            with zstandard.ZstdDecompressor().stream_reader(data) as reader:
                while part := reader.read(PART_SIZE):
                    done += len(part)
                    yield part
        except zstandard.ZstdError as error:
            raise TraceError(f"zstd: {error}", format="uftrace", field=f"files.{name}") from error
        if done != expected:
            raise TraceError(
                format="uftrace",
                field=f"files.{name}",
                expected=f"{expected} bytes of uncompressed data",
                found=done,
            )


def portable(trace: Trace) -> dict[str, Any]:
    """The sidecar of a trace as JSON-like values and bytes; the writer takes it as it takes the reader's.

    Raises:
        TraceError: a file of the directory cannot be read, or changes meanwhile.

    """
    sidecar = trace.sidecar["uftrace"]
    directory = sidecar.get("directory")
    if not isinstance(directory, DataDirectory):
        return sidecar
    if not trace.is_as_read:
        return {}
    files: dict[str, bytes] = {}
    room = _MOST
    for name in directory.readable_names():
        parts = []
        try:
            for part in _compressed(directory, name):
                parts.append(part)
                room -= len(part)
                if room < 0:
                    directory.warn(TraceError(_TOO_LARGE))
                    return {}
        except zstandard.ZstdError as error:
            raise TraceError(f"the file changes: {error}", field=name) from error
        files[name] = b"".join(parts)
    return {"files": files}


def _compressed(directory: DataDirectory, name: str) -> Iterator[bytes]:
    compressor = zstandard.ZstdCompressor(_LEVEL, write_checksum=True).compressobj(
        size=directory.size(name)
    )
    for part in directory.parts(name):
        yield compressor.compress(part)
    yield compressor.flush()


def travelled_files(trace: Trace) -> TravelledFiles | None:
    """The files that have travelled with a trace, if any."""
    files = trace.sidecar.get("uftrace", {}).get("files")
    if not isinstance(files, Mapping) or not files:
        return None
    if not all(isinstance(data, bytes) for data in files.values()):
        return None
    return TravelledFiles(files)
