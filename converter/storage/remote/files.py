"""Remote files by URL: their file system, their metadata, and errors as readable messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any, NamedTuple
from urllib.parse import unquote

from converter.errors import OutputError, TraceError
from converter.storage.locations import protocol, shown

#: The metadata of a server that differ when the object has been replaced.
_IDENTITY = (
    "size",
    "ETag",
    "etag",
    "VersionId",
    "generation",
    "md5Hash",
    "LastModified",
    "last_modified",
    "mtime",
    "created",
)
_MODIFIED = ("LastModified", "last_modified", "mtime", "updated", "created")
#: The protocols of libraries whose package is not named like the protocol.
_PACKAGES = {"gs": "gcsfs", "gcs": "gcsfs", "ssh": "paramiko", "sftp": "paramiko", "abfs": "adlfs"}
_WHO = {
    "s3": "AWS_PROFILE, AWS_ACCESS_KEY_ID or ~/.aws say who asks",
    "gs": "GOOGLE_APPLICATION_CREDENTIALS or gcloud say who asks",
    "http": "a signed address may have expired",
    "https": "a signed address may have expired",
}


class RemoteFile(NamedTuple):
    """A remote file or folder, as its file system describes it."""

    fs: Any
    path: str
    #: The URL as messages may show it.
    name: str
    details: Mapping[str, Any]

    @property
    def is_folder(self) -> bool:
        """True if it is a folder."""
        return self.details.get("type") == "directory"

    @property
    def size(self) -> int:
        """The size in bytes.

        Raises:
            TraceError: the file system reports none, or no valid one.

        """
        size = self.details.get("size")
        if not isinstance(size, int) or size < 0:
            raise TraceError(path=self.name, expected="a size", found=size)
        return size

    @property
    def identity(self) -> tuple[Any, ...]:
        """A value that changes when the contents do, as far as the file system reports it."""
        return tuple(self.details.get(key) for key in _IDENTITY)

    @property
    def modified(self) -> int | None:
        """The modification time in nanoseconds since 1970, if the file system reports it."""
        for key in _MODIFIED:
            value = self.details.get(key)
            if isinstance(value, datetime):
                return int(value.timestamp() * 1e9)
            if isinstance(value, int | float):
                return int(value * 1e9)
        return None

    def again(self) -> RemoteFile:
        """Query the file system again."""
        self.fs.invalidate_cache(self.path)
        return self._replace(details=self.fs.info(self.path))


def file_system_of(url: str) -> tuple[Any, str]:
    """Return the file system of a URL, and the path in it.

    The protocol is the one at the start of the URL: nothing that a server sends leads to another.

    Raises:
        TraceError: there is no such file system here; the message says what to install.

    """
    scheme = protocol(url) or ""
    with translated_errors(url):
        try:
            from fsspec import get_filesystem_class
        except ModuleNotFoundError as error:
            raise _missing(scheme, url) from error
        try:
            kind = get_filesystem_class(scheme)
            fs = kind(**kind._get_kwargs_from_urls(url))  # noqa: SLF001 - fsspec's interface for classes of protocols
        except ImportError as error:
            raise _missing(scheme, url) from error
        except ValueError as error:
            raise TraceError(f"no file system for {scheme}://: {error}", path=shown(url)) from error
        return fs, str(kind._strip_protocol(url))  # noqa: SLF001 - as above


def find(url: str) -> RemoteFile | None:
    """Return the file or folder at a URL, or None if there is none.

    Raises:
        TraceError: the request fails.

    """
    fs, path = file_system_of(url)
    with translated_errors(url):
        try:
            fs.invalidate_cache(path)
            return RemoteFile(fs, path, shown(url), fs.info(path))
        except FileNotFoundError as error:
            if _status(error) in (None, 404, 410):
                return None
            raise


def matching(pattern: str) -> list[str]:
    """Return the sorted URLs of the files and folders that match a pattern."""
    if not any(letter in pattern for letter in "*["):
        return [pattern] if find(pattern) is not None else []
    fs, path = file_system_of(pattern)
    with translated_errors(pattern):
        matched = fs.glob(path)
    # Names that a server lists must not lead out of the folder of the pattern.
    folder = (
        f"{path[: min(path.find(letter) for letter in '*[' if letter in path)].rpartition('/')[0]}/"
    )
    return sorted(
        fs.unstrip_protocol(found)
        for found in matched
        if found.startswith(folder)
        and all(map(is_name, found.removeprefix(folder).rstrip("/").split("/")))
    )


def is_name(name: str) -> bool:
    """Return True if a name that a server lists is that of a direct child of a folder."""
    plain = unquote(name)
    return bool(plain) and plain not in (".", "..") and not set(plain) & {"/", "\0", "?", "#"}


@contextmanager
def translated_errors(
    url: str, offset: int | None = None, *, output: bool = False
) -> Iterator[None]:
    """Turn errors of file systems into a `TraceError` that says what to do (an `OutputError` for an output)."""
    try:
        yield
    except TraceError:
        raise
    except Exception as error:  # each file system raises those of its library
        name, kind = shown(url), OutputError if output else TraceError
        raise kind(error_text(error, protocol(url) or ""), path=name, offset=offset) from error


def error_text(error: BaseException, scheme: str) -> str:
    """Return the message of a file system's error, and what can be done about it."""
    status = _status(error)
    who = _WHO.get(scheme, "check who may read it")
    text = str(error) or type(error).__name__
    if status in (401, 403) or isinstance(error, PermissionError):
        return f"access is refused{f' (HTTP {status})' if status else ''}: {who}"
    if type(error).__name__ in ("NoCredentialsError", "PartialCredentialsError"):
        return f"no credentials: {who}"
    if status in (404, 410) or (isinstance(error, FileNotFoundError) and status is None):
        return "no such file" + (f" (HTTP {status})" if status else "")
    if status is not None:
        return f"the server answers HTTP {status}: try again later"
    if isinstance(error, TimeoutError) or "Timeout" in type(error).__name__:
        return "the server does not answer in time: try again"
    if isinstance(error, NotImplementedError | TypeError):
        return f"{scheme}:// does not allow this: {text}"
    return text


def _status(error: BaseException | None) -> int | None:
    """Return the HTTP status that caused an error."""
    for _ in range(5):
        if error is None:
            return None
        status = getattr(error, "status", None)
        if isinstance(status, int):
            return status
        response = getattr(error, "response", None)
        if isinstance(response, Mapping):  # as in botocore
            status = response.get("ResponseMetadata", {}).get("HTTPStatusCode")
            if isinstance(status, int):
                return status
        error = error.__cause__
    return None


def _missing(scheme: str, url: str) -> TraceError:
    package = _PACKAGES.get(scheme)
    command = f"pip install {package}" if package else "pip install 'traceconv[remote]'"
    try:
        import fsspec  # noqa: F401 - is it installed?
    except ModuleNotFoundError:
        also = f" {package}" if package else ""
        command = f"pip install 'traceconv[remote]'{also}"
    return TraceError(f"{scheme}:// needs what is not installed: {command}", path=shown(url))
