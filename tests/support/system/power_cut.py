"""A disk whose power can be cut: a file system in an image, and copies of the image as the disk has it at that time."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_SIZE = 64 << 20


def _may_mount() -> bool:
    if os.geteuid() or not all(shutil.which(name) for name in ("mkfs.ext4", "mount", "umount")):
        return False
    return Path("/dev/loop-control").exists()


needs_mounts = pytest.mark.skipif(not _may_mount(), reason="needs root, loop devices and mkfs.ext4")


class Disk:
    """An ext4 file system, mounted at `folder`, whose journal is written each second."""

    def __init__(self, place: Path) -> None:
        self.folder = place / "disk"
        self._image = place / "disk.img"
        self._copies = 0

    @contextmanager
    def mounted(self) -> Iterator[Path]:
        """Make and mount it.

        Raises:
            pytest.skip.Exception: this system does not let the image be mounted.

        """
        with self._image.open("wb") as file:
            file.truncate(_SIZE)
        subprocess.run(["mkfs.ext4", "-q", "-F", str(self._image)], check=True)
        with _mounted(self._image, self.folder, "loop,commit=1"):
            os.sync()
            yield self.folder

    @contextmanager
    def after_power_cut(self) -> Iterator[Path]:
        """What a system finds that starts after the power was cut now: the journal is replayed."""
        self._copies += 1
        copy = self._image.with_name(f"copy{self._copies}.img")
        subprocess.run(["cp", "--sparse=always", str(self._image), str(copy)], check=True)
        try:
            with _mounted(copy, self.folder.with_name(f"copy{self._copies}"), "loop") as folder:
                yield folder
        finally:
            copy.unlink()


@contextmanager
def _mounted(image: Path, folder: Path, options: str) -> Iterator[Path]:
    folder.mkdir()
    ran = subprocess.run(
        ["mount", "-o", options, str(image), str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    if ran.returncode:
        folder.rmdir()
        pytest.skip(f"mount: {ran.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)
        folder.rmdir()


def contents(folder: Path) -> dict[str, bytes]:
    """All files below a folder, but for what ext4 makes, by relative name."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "lost+found" not in path.parts
    }
