"""What speedscope makes of Chrome JSON files, where it is found.

It is the folder `dist/release` of the npm package that `TRACECONV_SPEEDSCOPE` names, or the one that `.ci/viewers` has
put into the folder of viewers. Its importer runs under Node, without a browser.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from support.viewers.catapult import FOLDER, node_lines

RELEASE = Path(os.environ.get("TRACECONV_SPEEDSCOPE") or FOLDER / "speedscope")
#: The error of files that it takes for nothing that it knows.
UNKNOWN = "not recognised"
_SCRIPT = Path(__file__).with_name("speedscope.js")
_NAME = re.compile(r".*pid (-?\d+)\b.*\btid (-?\d+)\)?", re.DOTALL)


def is_absent() -> bool:
    """Whether it, or Node, is not installed."""
    return shutil.which("node") is None or not RELEASE.is_dir()


needs_speedscope = pytest.mark.skipif(
    is_absent(),
    reason="Node, or speedscope, is not installed (.ci/viewers)",
)


@dataclass(frozen=True)
class Profile:
    """A call tree: the calls that take time, how deep all calls are, and the microseconds that they take."""

    name: str
    calls: int
    depth: int
    weight: float
    #: The name of each function, what it took itself, and with all that it called.
    frames: list[list[object]] = field(default_factory=list, compare=False)

    @property
    def thread(self) -> tuple[int, int]:
        """Process and thread."""
        match = _NAME.fullmatch(self.name)
        assert match is not None, self.name
        return int(match[1]), int(match[2])


@dataclass(frozen=True)
class Imported:
    """A file that was imported."""

    #: Why it was refused; all else is empty then.
    error: str | None
    #: How often each warning was given: see `warn` in speedscope.js.
    warnings: dict[str, int]
    profiles: list[Profile]


def imported_all(paths: Sequence[Path]) -> Iterator[Imported]:
    """Import files in one process."""
    for found in node_lines([str(_SCRIPT), str(RELEASE)], paths):
        profiles = [Profile(*row) for row in found.get("profiles", ())]
        yield Imported(found.get("error"), found.get("warnings", {}), profiles)
