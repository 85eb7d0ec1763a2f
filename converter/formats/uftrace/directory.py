"""The files of a data directory."""

from __future__ import annotations

from collections.abc import Iterator

from converter.errors import TraceError, TraceWarning, note
from converter.formats.uftrace.layout import Header
from converter.limits import allowed, limit
from converter.lossless.footer import HIDDEN_FILE
from converter.storage.source import Source
from converter.storage.source_files import PART_SIZE

INFO_FILE = "info"


class DataDirectory:
    """An open data directory: what the same format's writer copies.

    `names` are those of all its files, sorted.
    """

    def __init__(self, source: Source, header: Header, warnings: list[TraceWarning]) -> None:
        self.source = source
        self.header = header
        # What travelled here for another format has been left behind.
        self.names = [name for name in source.walk() if name != HIDDEN_FILE]
        self._known = frozenset(self.names)
        self._warnings = warnings
        #: Whether exits that the recorder has estimated are put behind the switches of their task, as replay puts them.
        self.moves_estimated = False

    def __contains__(self, name: str) -> bool:
        return name in self._known

    def open(self, name: str) -> Source:
        """A file; TraceError for names that lead out of the directory."""
        return self.source.open(name)

    def read(self, name: str) -> bytes:
        """All of a text file.

        Raises:
            TraceError: it cannot be read, or is larger than such a file ever is.

        """
        with self.open(name) as file:
            if file.is_directory or file.size > limit("uftrace.text"):
                expected = f"a text file of {allowed('uftrace.text')}"
                raise TraceError(path=file.name, expected=expected)
            return file.read(0, file.size)

    def read_if_there(self, name: str) -> bytes | None:
        """All of a text file; None, with a warning, if it cannot be read, and without if there is none."""
        if name not in self:
            return None
        try:
            return self.read(name)
        except TraceError as error:
            self.warn(error)
            return None

    def readable_names(self) -> Iterator[str]:
        """The files that can be opened; the others, such as links that lead out of the directory, with a warning."""
        for name in self.names:
            try:
                self.open(name).close()
            except TraceError as error:
                self.warn(error)
            else:
                yield name

    def size(self, name: str) -> int:
        """The size of a file."""
        with self.open(name) as file:
            return file.size

    def parts(self, name: str) -> Iterator[bytes]:
        """A file's content, part after part."""
        with self.open(name) as file:
            offset = 0
            while part := file.read(offset, PART_SIZE):
                yield part
                offset += len(part)

    def warn(self, error: TraceError, name: str | None = None) -> None:
        """Keep as a warning what prevents reading a part only; each once, as later passes find it again."""
        path = self.source.name if name is None else f"{self.source.name}/{name}"
        warning = error.within(format="uftrace", path=path).to_warning()
        note(self._warnings, warning)

    def warn_of_info(self, error: TraceError) -> None:
        """The same of the `info` file."""
        self.warn(error, INFO_FILE)
