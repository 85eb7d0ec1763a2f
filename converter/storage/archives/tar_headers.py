"""The members of a tar archive, header by header, in bounded memory and time.

A single header is parsed by `tarfile`. Preceding headers that extend it (long names of GNU tar, extended headers of
pax) are followed here. Python's module reads such a header as a whole, whatever its size, recurses for each of them,
and up to 3.11.9 takes a time that is quadratic in its digits.
"""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from dataclasses import dataclass

from converter.errors import TraceError
from converter.limits import allowed, limit
from converter.storage.source import Source

_BLOCK = 512
#: A type of member that `tarfile` does not name: an extended header as Solaris writes it.
_EXTENDED = frozenset({tarfile.XHDTYPE, tarfile.SOLARIS_XHDTYPE})
_LONG = frozenset({tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK})
#: The flag in a sparse file's header that a block with more of its map follows, and the same flag in that block.
_MORE_OF_MAP, _MORE_OF_BLOCK = 482, 504
#: Keys of extended headers, and the prefix of those of sparse files.
_PATH, _SIZE, _SPARSE = b"path", b"size", b"GNU.sparse."


@dataclass(frozen=True, slots=True)
class Member:
    """A member: its name, the offset and size of its data in bytes, and whether it is a folder or a plain file."""

    name: str
    offset: int
    size: int
    is_folder: bool
    is_file: bool


class _Said:
    """Values from headers that apply to later members: to the next one, and to all."""

    def __init__(self) -> None:
        self.next: dict[bytes, bytes] = {}
        self.all: dict[bytes, bytes] = {}

    def take(self) -> dict[bytes, bytes]:
        """Return the values for the member that comes now."""
        said, self.next = {**self.all, **self.next}, {}
        return said


def members(source: Source) -> Iterator[Member]:
    """Yield the members of an archive in its order, up to its end.

    Raises:
        TraceError: the archive is damaged from some offset on, or a header is larger than the limit allows.

    """
    said = _Said()
    offset = 0
    while offset < source.size:
        header = _header(source, offset)
        if header is None:
            return
        data = offset + _BLOCK
        if header.type in _LONG or header.type in _EXTENDED or header.type == tarfile.XGLTYPE:
            _learn(said, header, _contents(source, data, header.size))
            offset = data + _padded(header.size)
            continue
        known = said.take()
        is_sparse = header.type == tarfile.GNUTYPE_SPARSE or any(
            key.startswith(_SPARSE) for key in known
        )
        if header.type == tarfile.GNUTYPE_SPARSE:
            data = _after_map(source, offset)
        size = _size(known, header, data)
        name = known[_PATH].decode("utf-8", "surrogateescape") if _PATH in known else header.name
        is_folder = header.isdir() or name.endswith("/")
        yield Member(name, data, size, is_folder, header.isreg() and not is_sparse)
        # Links, folders and devices have no data, whatever size they claim.
        has_data = header.isreg() or header.type not in tarfile.SUPPORTED_TYPES
        offset = data + _padded(size) if has_data else data


def _header(source: Source, offset: int) -> tarfile.TarInfo | None:
    """Return a header; None at the end of the archive."""
    block = source.read(offset, _BLOCK)
    try:
        header = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
    except tarfile.EOFHeaderError:  # type: ignore[attr-defined] # documented, but missing in the stubs
        return None
    except (tarfile.HeaderError, ValueError, ArithmeticError) as error:
        raise TraceError(str(error), format="tar", path=source.name, offset=offset) from error
    if header.size < 0:
        raise TraceError(
            format="tar",
            path=source.name,
            offset=offset,
            field="size",
            expected="a size",
            found=header.size,
        )
    return header


def _contents(source: Source, offset: int, size: int) -> bytes:
    most = limit("tar.header")
    if size > most:
        raise TraceError(
            format="tar",
            path=source.name,
            offset=offset - _BLOCK,
            field="size",
            expected=allowed("tar.header"),
            found=size,
        )
    return source.read(offset, size)


def _learn(said: _Said, header: tarfile.TarInfo, contents: bytes) -> None:
    if header.type == tarfile.GNUTYPE_LONGNAME:
        said.next[_PATH] = contents.partition(b"\0")[0]
    elif header.type == tarfile.XGLTYPE:
        said.all.update(_records(contents))
    elif header.type in _EXTENDED:
        said.next.update(_records(contents))


def _records(contents: bytes) -> dict[bytes, bytes]:
    """Return the records of an extended header, up to a damaged one: a length, a key, a value and a line end each."""
    found: dict[bytes, bytes] = {}
    at = 0
    while at < len(contents):
        # The number of digits of the largest allowed length.
        digits, blank, _ = contents[at : at + 20].partition(b" ")
        if not blank or not digits.isdigit():
            break
        end = at + int(digits)
        start = at + len(digits) + 1
        if not start < end <= len(contents) or contents[end - 1 : end] != b"\n":
            break
        key, equals, value = contents[start : end - 1].partition(b"=")
        if not equals:
            break
        found[key] = value
        at = end
    return found


def _size(known: dict[bytes, bytes], header: tarfile.TarInfo, offset: int) -> int:
    if _SIZE not in known:
        return header.size
    digits = known[_SIZE]
    # No file has a size of more digits.
    if not digits.isdigit() or len(digits) > 19:
        shown = digits[:40].decode("ascii", "backslashreplace")
        raise TraceError(format="tar", offset=offset, field="size", expected="a size", found=shown)
    return int(digits)


def _after_map(source: Source, offset: int) -> int:
    """Return where the data of a sparse file of GNU tar begin: after the blocks with more of its map."""
    more = source.read(offset + _MORE_OF_MAP, 1)
    offset += _BLOCK
    while more and more != b"\0":
        more = source.read(offset + _MORE_OF_BLOCK, 1)
        offset += _BLOCK
    return offset


def _padded(size: int) -> int:
    return -(-size // _BLOCK) * _BLOCK
