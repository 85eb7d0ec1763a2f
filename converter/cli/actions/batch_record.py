"""The record of what ``traceconv batch`` has finished in a folder: after a crash it never claims more than is true.

A line of JSON is appended before an output is written and after it is complete; each is on the disk before work goes
on. An output that was started and never finished, or that is shorter than when it was finished, is written again.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any, Final

from converter.storage.writing.durability import is_left_to_the_system, make_folders, sync_name
from converter.storage.writing.placing import output_error

#: In the folder that outputs are written to.
NAME: Final = ".traceconv-batch.jsonl"
_STARTED, _FINISHED, _ABANDONED = "started", "finished", "abandoned"


@dataclass(frozen=True, slots=True)
class State:
    """The state of an output: bytes of all its files, and its modification time in nanoseconds since 1970."""

    size: int
    modified: int


class BatchRecord:
    """The record of a local folder. Lines that it does not understand, such as those cut by a crash, are ignored."""

    def __init__(self, folder: str) -> None:
        self._folder = os.path.abspath(folder)
        self._path = os.path.join(self._folder, NAME)
        #: By output: None if it was started, its state if it was finished.
        self._last: dict[str, State | None] = {}
        self._read()

    def start(self, output: str) -> None:
        """Record that an output is about to be written.

        Raises:
            OutputError: the record cannot be written.

        """
        self._append({"state": _STARTED, "output": self._name(output)})

    def finish(self, output: str) -> None:
        """Record that an output is complete.

        Raises:
            OutputError: the record cannot be written.

        """
        found = state_of(output)
        if found is not None:
            self._append(
                {
                    "state": _FINISHED,
                    "output": self._name(output),
                    "size": found.size,
                    "modified": found.modified,
                }
            )

    def abandon(self, output: str) -> None:
        """Record that an output was not written, and that nothing of it is there.

        Raises:
            OutputError: the record cannot be written.

        """
        self._append({"state": _ABANDONED, "output": self._name(output)})

    def is_broken(self, output: str) -> bool:
        """Return True if an existing output is one of ours that a crash left incomplete."""
        found = state_of(output)
        if found is None:
            return False
        if not found.size:
            return True
        name = self._name(output)
        if name not in self._last:
            return False
        last = self._last[name]
        return last is None or (found.size < last.size and found.modified <= last.modified)

    def _name(self, output: str) -> str:
        return os.path.relpath(output, self._folder)

    def _read(self) -> None:
        try:
            with open(self._path, encoding="utf-8", errors="surrogateescape") as file:
                lines = file.read().split("\n")
        except OSError:
            return
        for line in lines:
            try:
                self._learn(json.loads(line))
            except (ValueError, KeyError, TypeError):
                continue

    def _learn(self, entry: dict[str, Any]) -> None:
        output, state = str(entry["output"]), entry["state"]
        if state == _FINISHED:
            self._last[output] = State(int(entry["size"]), int(entry["modified"]))
        elif state == _STARTED:
            self._last[output] = None
        elif state == _ABANDONED:
            self._last.pop(output, None)

    def _append(self, entry: dict[str, Any]) -> None:
        try:
            make_folders(self._folder)
            is_new = not os.path.exists(self._path)
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
            descriptor = os.open(self._path, flags, 0o666)
            try:
                # Start a new line even after one that a crash has cut.
                os.write(descriptor, f"\n{json.dumps(entry)}\n".encode())
                if not is_left_to_the_system():
                    os.fsync(descriptor)
            finally:
                os.close(descriptor)
            if is_new:
                sync_name(self._path)
        except OSError as error:
            raise output_error(error, self._path) from error
        self._learn(entry)


def state_of(output: str) -> State | None:
    """Return the state of a file or folder; None if it does not exist."""
    try:
        status = os.stat(output)
        if not os.path.isdir(output):
            return State(status.st_size, status.st_mtime_ns)
        sizes = [
            os.stat(os.path.join(folder, name)).st_size
            for folder, _, names in os.walk(output)
            for name in names
        ]
    except OSError:
        return None
    return State(sum(sizes), status.st_mtime_ns)
