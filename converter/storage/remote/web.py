"""Objects on a web server: by ranges (RFC 9110, 14), or as a whole if the server does not support ranges.

fsspec's own reading of ranges accepts as much as a server sends, and does not check which object an answer is of. Its
session sends the requests, with what the user has configured.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Any, Final

from converter.errors import TraceError
from converter.storage.remote.files import file_system_of, translated_errors
from converter.storage.remote.objects import MOST_FETCHED, changed, check_length

_RANGE = re.compile(r"bytes (\d{1,18})-(\d{1,18})/(\d{1,18})", re.ASCII)
#: The first request tells the size of the file and its identity.
_FIRST: Final = 1 << 14
_TRIES: Final = 3
_SECONDS_BETWEEN: Final = 0.2
#: The longest time for a server to be found, and between two chunks.
_CONNECTING: Final = 30
_WAITING: Final = 60
#: HTTP statuses after which a retry may succeed.
_PASSING = frozenset({408, 429, 500, 502, 503, 504})


class WebObject:
    """A file on a web server."""

    def __init__(self, url: str, name: str) -> None:
        self.name = name
        self.size: int | None = None
        self._url = url
        with translated_errors(url):
            self._fs, path = file_system_of(url)
            self._address = self._fs.encode_url(path)
            from fsspec.asyn import sync

            self._sync = sync
            self._session = sync(self._fs.loop, self._fs.set_session)
        self._identity: tuple[str | None, ...] | None = None
        self._begun = b""
        self._whole: Any = None
        self._begin()

    def fetch(self, start: int, end: int) -> bytes:
        """Implement `RemoteObject.fetch`."""
        if end <= len(self._begun):
            return self._begun[start:end]
        with translated_errors(self._url, start):
            data: bytes = self._tried(self._range, start, end)
        check_length(data, start, end, self.name)
        return data

    def stream(self) -> Iterator[bytes]:
        """Implement `RemoteObject.stream`."""
        answer, self._whole = self._whole, None
        with translated_errors(self._url):
            if answer is None:
                answer = self._sync(self._fs.loop, self._ask, None)
            try:
                while chunk := self._sync(self._fs.loop, answer.content.read, MOST_FETCHED):
                    yield chunk
            finally:
                self._fs.loop.call_soon_threadsafe(answer.close)

    def close(self) -> None:
        """Do nothing: the session belongs to the file system."""
        if self._whole is not None:
            self._fs.loop.call_soon_threadsafe(self._whole.close)
            self._whole = None

    def _begin(self) -> None:
        """Request the first bytes: the answer tells how large the file is, and whether ranges are supported."""
        with translated_errors(self._url):
            self._begun = self._tried(self._range, 0, _FIRST)

    def _tried(self, function: Any, *arguments: int) -> Any:
        from aiohttp import ClientConnectionError, ClientPayloadError, ClientResponseError

        for number in range(_TRIES):
            try:
                return self._sync(self._fs.loop, function, *arguments)
            except (ClientConnectionError, ClientPayloadError, TimeoutError):
                if number == _TRIES - 1:
                    raise
            except ClientResponseError as error:
                if error.status not in _PASSING or number == _TRIES - 1:
                    raise
            time.sleep(_SECONDS_BETWEEN * (1 << number))
        raise AssertionError("the last try returns or raises")

    async def _ask(self, byte_range: tuple[int, int] | None) -> Any:
        """Return the answer to a request for a range, or for the whole file."""
        from aiohttp import ClientTimeout

        options = dict(self._fs.kwargs)
        headers = {**options.pop("headers", {}), "Accept-Encoding": "identity"}
        if byte_range is not None:
            headers["Range"] = f"bytes={byte_range[0]}-{byte_range[1] - 1}"
        waiting = ClientTimeout(total=None, sock_connect=_CONNECTING, sock_read=_WAITING)
        answer = await self._session.get(
            self._address, headers=headers, **{"timeout": waiting, **options}
        )
        if answer.status != 416:
            try:
                answer.raise_for_status()
            except BaseException:
                answer.close()
                raise
        return answer

    async def _range(self, start: int, end: int) -> bytes:
        """Return a range; for the first request, when the size is still unknown, as much of it as exists."""
        answer = await self._ask((start, end))
        first = self._identity is None
        keep = False
        try:
            identity = tuple(answer.headers.get(key) for key in ("ETag", "Last-Modified"))
            given = _RANGE.fullmatch(answer.headers.get("Content-Range", ""))
            plain = answer.headers.get("Content-Encoding", "identity") == "identity"
            if first and (answer.status != 206 or given is None or not plain):
                if answer.status == 416:  # there is no first byte
                    self.size, self._identity = 0, identity
                else:
                    self._whole, keep = answer, True
                return b""
            if answer.status != 206 or given is None or not plain:
                raise TraceError(
                    "the server gives no ranges any more: begin again", path=self.name, offset=start
                )
            begin, last, size = map(int, given.groups())
            if first:
                self.size, self._identity = size, identity
                end = min(end, size)
            elif (size, identity) != (self.size, self._identity):
                raise changed(self.name, start)
            if (begin, last) != (start, end - 1):
                return b""
            data = bytearray()
            while len(data) < end - start:
                chunk = await answer.content.read(end - start - len(data))
                if not chunk:
                    break
                data += chunk
            return bytes(data)
        finally:
            if not keep:
                answer.release() if answer.content.at_eof() else answer.close()
