"""Inputs of a format that are worth changing: small fixtures, what has reached something new since, and large ones."""

from __future__ import annotations

import contextlib
import hashlib
import io
import random
import tarfile
from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]

#: The share of changes that start from an input that has much of something.
LARGE = 1 / 32

#: The files of an input by name; that of a format that is one file has none.
Files = dict[str, bytes]


def packed(files: Files) -> bytes:
    """An input as one file: as it is, or an archive, which is read as a directory."""
    if "" in files:
        return files[""]
    pieces: list[bytes] = []
    for name, data in files.items():
        pieces += (_member(name, len(data)), data, bytes(-len(data) % tarfile.BLOCKSIZE))
    return b"".join((*pieces, bytes(2 * tarfile.BLOCKSIZE)))


@lru_cache(maxsize=4096)
def _member(name: str, size: int) -> bytes:
    """The header of a file in an archive; made anew, it takes as long as reading a small trace."""
    member = tarfile.TarInfo(name)
    member.size = size
    return member.tobuf()


def unpacked(data: bytes) -> Files:
    """The files of an archive; one file if it is none."""
    with contextlib.suppress(tarfile.TarError), tarfile.open(fileobj=io.BytesIO(data)) as archive:
        members = [(member.name, archive.extractfile(member)) for member in archive]
        return {name: file.read() for name, file in members if file is not None}
    return {"": data}


def size_of(files: Files) -> int:
    """How many bytes an input has."""
    return sum(map(len, files.values()))


@dataclass(slots=True)
class Entry:
    """An input, and what its numbers were compared with, once that is known."""

    files: Files
    pairs: list[tuple[int, int]] | None = None


class Corpus:
    """The inputs of a format, and those that a run has kept in a folder."""

    def __init__(
        self, inputs: list[Files], folder: Path | None = None, large: Sequence[Files] = ()
    ) -> None:
        self.entries: list[Entry] = []
        self.large = [Entry(files) for files in large]
        self._weights: list[float] = []
        self._folder = folder
        self._names: set[str] = set()
        for files in inputs:
            self._append(files)

    def _append(self, files: Files) -> None:
        self.entries.append(Entry(files))
        # The larger an input, the longer it takes, and the less a change of it matters.
        before = self._weights[-1] if self._weights else 0
        self._weights.append(before + (4096 + size_of(files)) ** -1.5)

    def chosen(self, rng: random.Random) -> Entry:
        """One of the inputs, rather a small one; sometimes one of those that have much of something."""
        if self.large and rng.random() < LARGE:
            return rng.choice(self.large)
        return self.entries[bisect(self._weights, rng.random() * self._weights[-1])]

    def add(self, files: Files) -> None:
        """Keep an input."""
        self._append(files)
        if self._folder is not None:
            data = packed(files)
            name = hashlib.sha256(data).hexdigest()[:16]
            self._names.add(name)
            self._folder.mkdir(parents=True, exist_ok=True)
            (self._folder / name).write_bytes(data)

    def kept(self) -> list[Path]:
        """What earlier runs have kept that is not known here, the smallest first."""
        if self._folder is None or not self._folder.is_dir():
            return []
        found = [path for path in self._folder.iterdir() if path.name not in self._names]
        return sorted(found, key=lambda path: path.stat().st_size)

    def load(self) -> None:
        """Take in what others have kept."""
        for path in self.kept():
            self._names.add(path.name)
            self._append(unpacked(path.read_bytes()))
