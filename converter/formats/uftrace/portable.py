"""A data directory that is embedded in another format."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from converter.errors import RemarkError
from converter.formats.lossless import travelling
from converter.formats.uftrace.directory import DataDirectory
from converter.ir.trace import Trace
from converter.storage.source_files import SourceFiles

_TOO_LARGE: Final = (
    "the files are too large to travel: where they are written again, events are encoded again"
)


class EmbeddedFiles:
    """The embedded files of a directory; `parts` is like that of `DataDirectory`.

    Args:
        files: by name, as compressed by `travelling.compressed`.

    """

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self.names = sorted(files)
        self._files = files

    def parts(self, name: str) -> Iterator[bytes]:
        """Yield a file's content in parts.

        Raises:
            TraceError: it is damaged.

        """
        return travelling.parts_of(name, self._files[name])


def portable(trace: Trace) -> dict[str, Any]:
    """Return the sidecar of a trace as JSON-like values and bytes, which the writer accepts like the reader's.

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
        directory.warn(RemarkError(_TOO_LARGE))
        return {}
    return {"files": files}


def source_files(trace: Trace) -> SourceFiles | None:
    """Return all files of the directory that a trace was read from; None if some cannot be read."""
    directory: DataDirectory = trace.sidecar["uftrace"]["directory"]
    names = list(directory.readable_names())
    return SourceFiles("", _files(directory, names)) if names == directory.names else None


def _files(
    directory: DataDirectory, names: Iterable[str]
) -> Iterator[tuple[str, int, Iterator[bytes]]]:
    return ((name, directory.size(name), directory.parts(name)) for name in names)


def travelled_files(trace: Trace) -> EmbeddedFiles | None:
    """Return the files that are embedded in a trace, if any."""
    files = trace.sidecar.get("uftrace", {}).get("files")
    if not isinstance(files, Mapping) or not files:
        return None
    if not all(isinstance(data, bytes) for data in files.values()):
        return None
    return EmbeddedFiles(files)
