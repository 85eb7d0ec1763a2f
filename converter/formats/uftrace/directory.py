"""The files of a data directory."""

from __future__ import annotations

from collections.abc import Iterator

from converter.errors import TraceError, TraceWarning, note
from converter.formats.lossless.footer import HIDDEN_FILE
from converter.formats.uftrace.layout import Header
from converter.formats.uftrace.mapping import EXECUTING, FORKING, JUMPING, SETTING_JUMP
from converter.limits import allowed, limit
from converter.storage.source import Source
from converter.storage.source_files import PART_SIZE

INFO_FILE = "info"


class DataDirectory:
    """An open data directory, which the same format's writer copies.

    `names` are those of all its files, sorted.
    """

    def __init__(self, source: Source, header: Header, warnings: list[TraceWarning]) -> None:
        self.source = source
        self.header = header
        # The embedded payload of another format is not part of it.
        self.names = [name for name in source.walk() if name != HIDDEN_FILE]
        self._known = frozenset(self.names)
        self._warnings = warnings
        #: The functions that have a meaning by their names.
        self.meanings = frozenset((*EXECUTING, *SETTING_JUMP, *JUMPING, *FORKING))
        #: True while a writer copies records: tables have them, and exits the times that a recorder has estimated.
        self.keeps_records = False

    def keep_records(self) -> None:
        """Give tables the records of their events, from the next pass on."""
        self.keeps_records = True

    def __contains__(self, name: str) -> bool:
        return name in self._known

    def open(self, name: str) -> Source:
        """Open a file; TraceError for names that lead out of the directory."""
        return self.source.open(name)

    def read(self, name: str) -> bytes:
        """Return the content of a text file.

        Raises:
            TraceError: it cannot be read, or is larger than such a file ever is.

        """
        with self.open(name) as file:
            if file.is_directory or file.size > limit("uftrace.text"):
                expected = f"a text file of {allowed('uftrace.text')}"
                raise TraceError(path=file.name, expected=expected)
            return file.read(0, file.size)

    def read_if_there(self, name: str) -> bytes | None:
        """Return the content of a text file; None if it does not exist or, with a warning, if it cannot be read."""
        if name not in self:
            return None
        try:
            return self.read(name)
        except TraceError as error:
            self.warn(error)
            return None

    def readable_names(self) -> Iterator[str]:
        """Yield the files that can be opened; warn about others, such as links that lead out of the directory."""
        for name in self.names:
            try:
                self.open(name).close()
            except TraceError as error:
                self.warn(error)
            else:
                yield name

    def size(self, name: str) -> int:
        """Return the size of a file."""
        with self.open(name) as file:
            return file.size

    def parts(self, name: str) -> Iterator[bytes]:
        """Yield a file's content in parts."""
        with self.open(name) as file:
            offset = 0
            while part := file.read(offset, PART_SIZE):
                yield part
                offset += len(part)

    def warn(self, error: TraceError, name: str | None = None) -> None:
        """Keep an error that prevents reading only a part as a warning, once, as later passes find it again."""
        path = self.source.name if name is None else f"{self.source.name}/{name}"
        warning = error.within(format="uftrace", path=path).to_warning()
        note(self._warnings, warning)

    def warn_of_info(self, error: TraceError) -> None:
        """Keep an error of the `info` file as a warning."""
        self.warn(error, INFO_FILE)
