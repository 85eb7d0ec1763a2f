"""A data directory that travels in another format."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from converter.errors import TraceError
from converter.formats.uftrace.directory import DataDirectory
from converter.ir.trace import Trace
from converter.lossless import travelling
from converter.storage.source_files import SourceFiles

_TOO_LARGE: Final = (
    "the files are too large to travel: where they are written again, events are encoded anew"
)


class TravelledFiles:
    """The files of a directory as they have travelled; `parts` is that of `DataDirectory`.

    Args:
        files: by name, as `travelling.compressed` has made them.

    """

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self.names = sorted(files)
        self._files = files

    def parts(self, name: str) -> Iterator[bytes]:
        """A file's content, part after part.

        Raises:
            TraceError: it is damaged.

        """
        return travelling.parts_of(name, self._files[name])


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
    files = travelling.compressed(_files(directory, directory.readable_names()))
    if files is None:
        directory.warn(TraceError(_TOO_LARGE))
        return {}
    return {"files": files}


def source_files(trace: Trace) -> SourceFiles | None:
    """All files of the directory that a trace was read from; None where there are some that cannot be read."""
    directory: DataDirectory = trace.sidecar["uftrace"]["directory"]
    names = list(directory.readable_names())
    return SourceFiles("", _files(directory, names)) if names == directory.names else None


def _files(
    directory: DataDirectory, names: Iterable[str]
) -> Iterator[tuple[str, int, Iterator[bytes]]]:
    return ((name, directory.size(name), directory.parts(name)) for name in names)


def travelled_files(trace: Trace) -> TravelledFiles | None:
    """The files that have travelled with a trace, if any."""
    files = trace.sidecar.get("uftrace", {}).get("files")
    if not isinstance(files, Mapping) or not files:
        return None
    if not all(isinstance(data, bytes) for data in files.values()):
        return None
    return TravelledFiles(files)
