"""Processes and threads of a profile. An id that is text and no number gets a number."""

from __future__ import annotations

import json
import zlib
from typing import Any, Final

from converter.formats.profiles.gecko.layout import FIRST_TEXT_ID
from converter.ir.trace import Process, Thread, Trace

_HASH: Final = (1 << 30) - 1
_MOST: Final = 1 << 62


class Identities:
    """The tables of processes and threads, by the ids that the profile has for them."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._processes: dict[Any, int] = {}
        self._threads: dict[tuple[int, Any], int] = {}
        #: By number: the texts that ids are.
        self.texts: dict[str, str] = {}

    def process(self, pid: Any, name: str = "") -> int:
        """Return the index of a process, which is added if it is new; a name is set where there is none."""
        key = _plain(pid)
        index = self._processes.get(key)
        if index is None:
            index = self._processes[key] = len(self._trace.processes)
            self._trace.processes.append(Process(self._number(key)))
        process = self._trace.processes[index]
        process.name = process.name or name
        return index

    def thread(self, process: int, tid: Any, name: str) -> int:
        """Return the index of a thread, which is added if it is new."""
        key = process, _plain(tid)
        index = self._threads.get(key)
        if index is None:
            index = self._threads[key] = len(self._trace.threads)
            self._trace.threads.append(Thread(self._number(key[1]), process, name))
        thread = self._trace.threads[index]
        thread.name = thread.name or name
        return index

    def _number(self, key: Any) -> int:
        if isinstance(key, int):
            return key
        number = FIRST_TEXT_ID | zlib.crc32(json.dumps(key).encode()) & _HASH
        while self.texts.setdefault(str(number), key) != key:
            number += 1
        return number


def _plain(value: Any) -> int | str:
    """Return an id as a number; processed profiles have them as text."""
    if isinstance(value, bool) or value is None:
        return 0
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int):
        return value if 0 <= value < _MOST else str(value)
    text = str(value).encode("utf-8", "replace").decode()
    if text.isascii() and text.isdigit() and len(text) < 19 and (text == "0" or text[0] != "0"):
        return int(text) if int(text) < _MOST else text
    return text
