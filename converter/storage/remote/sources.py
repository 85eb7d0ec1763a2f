"""Remote inputs: files of which only the requested ranges are fetched, and folders."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final
from urllib.parse import unquote

from converter.errors import ClosedError, TraceError
from converter.limits import allowed, limit
from converter.storage.locations import protocol, shown
from converter.storage.remote.cache import BlockCache
from converter.storage.remote.files import (
    RemoteFile,
    file_system_of,
    find,
    is_name,
    translated_errors,
)
from converter.storage.remote.objects import MOST_FETCHED, RemoteObject, StoredObject
from converter.storage.remote.web import WebObject
from converter.storage.source import MemorySource, Source, check_relative, spooled
from converter.storage.transfers import counted

#: Smaller files are fetched at once, and stay in memory.
_SMALL: Final = 1 << 16
#: The most positions at which a reader may continue (a stream each) and still get prefetched data.
_MOST_STREAMS: Final = 256
#: Larger reads are split, so that memory grows with what a server sends, not with what it promises.
_PIECE: Final = 64 << 20
_WEB: Final = frozenset({"http", "https"})


def open_remote(url: str, unwrap: Callable[[Source], Source]) -> Source:
    """Open a remote file or folder.

    Args:
        url: its location.
        unwrap: applied to each file that is opened (decompression).

    Raises:
        TraceError: it cannot be opened; the message says what to do.

    """
    if protocol(url) in _WEB:
        # Everything on a web server is a file; only a URL that ends in a slash is a folder.
        fs, path = file_system_of(url)
        if path.partition("?")[0].endswith("/"):
            return RemoteFolder(url, RemoteFile(fs, path, shown(url), {}), unwrap)
        return _opened(url, WebObject(url, shown(url)), unwrap)
    file = find(url)
    if file is None:
        raise TraceError("no such file", path=shown(url))
    if file.is_folder:
        return RemoteFolder(url, file, unwrap)
    return _opened(url, StoredObject(url, file), unwrap)


def _opened(url: str, contents: RemoteObject, unwrap: Callable[[Source], Source]) -> Source:
    source: Source
    try:
        if contents.size is None:
            source = spooled(counted(contents.stream(), contents.name), contents.name)
        elif contents.size <= _SMALL:
            source = MemorySource(contents.name, contents.fetch(0, contents.size))
        else:
            source = RemoteSource(contents, contents.size)
    except BaseException:
        contents.close()
        raise
    source = unwrap(source)
    if "?" not in url:
        source.open_beside = partial(open_remote, f"{url.rpartition('/')[0]}/", unwrap)
    return source


class RemoteSource(Source):
    """A remote file, which it owns. Fetched data are cached in a temporary file.

    A read that continues at the end of an earlier one prefetches more and more; other reads fetch only the blocks that
    they need. So a search fetches little, and reading everything takes few requests.
    """

    def __init__(self, contents: RemoteObject, size: int) -> None:
        super().__init__(contents.name, size)
        self._contents = contents
        self._cache: BlockCache | None = BlockCache(contents.name, size)
        #: Positions at which reading may continue, and how much was fetched there last.
        self._ends: OrderedDict[int, int] = OrderedDict()
        self._lock = threading.Lock()

    def read(self, offset: int, size: int) -> bytes:
        """Implement `Source.read`; only what a server sends takes memory, not what it promises."""
        if self._available(offset, size) <= _PIECE:
            return super().read(offset, size)
        gathered = bytearray()
        while piece := super().read(offset + len(gathered), min(_PIECE, size - len(gathered))):
            gathered += piece
        return bytes(gathered)

    def close(self) -> None:
        with self._lock:
            if self._cache is not None:
                self._cache.close()
                self._contents.close()
            self._cache = None

    def _fill(self, offset: int, view: memoryview) -> int:
        done = 0
        with self._lock:
            if self._cache is None:
                raise ClosedError("read of a closed source")
            while done < len(view):
                piece = view[done : done + MOST_FETCHED]
                self._fetch(self._cache, offset + done, offset + done + len(piece))
                count = self._cache.fill(offset + done, piece)
                if not count:
                    break
                done += count
        return done

    def _fetch(self, cache: BlockCache, start: int, end: int) -> None:
        # Checked again each time: the cache may be emptied to keep another range.
        while (missing := next(cache.missing(start, end), None)) is not None:
            begin = missing[0]
            # Others may have read farther along: nothing is fetched twice.
            ahead = next(cache.missing(begin, min(self._ahead(*missing), self.size)))[1]
            self._remember(begin, ahead)
            cache.put(begin, self._contents.fetch(begin, min(ahead, self.size)))

    def _ahead(self, begin: int, until: int) -> int:
        """Return up to which offset to fetch the data missing between two offsets."""
        before = self._ends.pop(begin, 0)
        return begin + min(max(until - begin, 2 * before), MOST_FETCHED)

    def _remember(self, begin: int, end: int) -> None:
        self._ends[end] = end - begin
        if len(self._ends) > _MOST_STREAMS:
            self._ends.popitem(last=False)


class RemoteFolder(Source):
    """A remote folder. No name that a server lists, or that is in a file, leads out of it."""

    is_directory = True

    def __init__(self, url: str, folder: RemoteFile, unwrap: Callable[[Source], Source]) -> None:
        super().__init__(folder.name.rstrip("/"), 0)
        self._url = url.rstrip("/")
        self._folder = folder
        self._unwrap = unwrap

    def listdir(self, relative: str = "") -> list[str]:
        self._check(relative or "x")
        return sorted(name for name, _ in self._entries(relative))

    def walk(self) -> Iterator[str]:
        yield from self._below("")

    def open(self, relative: str) -> Source:
        self._check(relative)
        inside = os.path.normpath(relative)
        source = open_remote(f"{self._url}/{inside}", self._unwrap)
        source.name = f"{self.name}/{relative}"
        return source

    def _below(self, relative: str) -> Iterator[str]:
        folders = []
        if relative.count("/") >= limit("folder-depth"):
            raise TraceError(path=self.name, expected=allowed("folder-depth"), found="more")
        for name, is_folder in sorted(self._entries(relative)):
            path = f"{relative}/{name}" if relative else name
            if is_folder:
                folders.append(path)
            else:
                yield path
        for folder in folders:
            yield from self._below(folder)

    def _entries(self, relative: str) -> Iterator[tuple[str, bool]]:
        """Yield the names in it, or in a folder of it, and True for each that is a folder."""
        url = f"{self._url}/{os.path.normpath(relative)}" if relative else self._url
        fs, path = file_system_of(url)
        if protocol(url) in _WEB:
            path = path.rstrip("/") + "/"  # so that links in the listing page resolve against it
        with translated_errors(url):
            fs.invalidate_cache(path)
            listed = fs.ls(path, detail=True)
        start = path.rstrip("/") + "/"
        for entry in listed:
            whole = str(entry.get("name", ""))
            name = whole.removeprefix(start).rstrip("/")
            kind = "directory" if whole.endswith("/") else entry.get("type")
            if whole.startswith(start) and is_name(name) and kind in ("file", "directory"):
                yield name, kind == "directory"

    def _check(self, relative: str) -> None:
        try:
            check_relative(relative)
            if protocol(self._url) in _WEB:
                # The server sees the unescaped name.
                check_relative(unquote(relative))
        except TraceError as error:
            raise error.within(path=self.name) from None

    def _fill(self, offset: int, view: memoryview) -> int:
        raise TraceError("is a directory", path=self.name)

    def _available(self, offset: int, size: int) -> int:
        raise TraceError("is a directory", path=self.name)
