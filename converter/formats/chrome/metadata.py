"""Metadata events: names of processes and threads for the tables, everything else unchanged for the sidecar.

An identity that is text (some recorders write ``"tid":"main"``) gets a number from `FIRST_TEXT_ID` on, or is the number
that it spells (``"tid":"7"``). Viewers keep this apart from 7, and a second one of the same number gets another one.
``sidecar["chrome"]["text_ids"]`` has the values as the document has them, by these numbers.
"""

from __future__ import annotations

import json
import re
import zlib
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from converter.formats.chrome.layout import Phase
from converter.ir.trace import Process, Thread, Trace
from converter.kernels.batches.union import looked_up
from converter.kernels.tables.strings import StringTable

#: Numbers of identities that are text: above any real one, and one that Perfetto would read as 0.
FIRST_TEXT_ID = 1 << 62
#: The bits of such a number that follow from the text: as many as formats of 31 bits keep of it.
_HASH = (1 << 30) - 1

#: A text that spells a number as numbers are written.
_NUMBER = re.compile(r"0|[1-9][0-9]{0,18}", re.ASCII)
#: The same as it is in the document.
_PLAIN_NUMBER = re.compile(_NUMBER.pattern.encode())
_PLAIN_PROCESS = {"name", "ph", "pid", "args"}
#: Metadata events with the position of a process or a thread in the viewer.
_ORDER = frozenset({"process_sort_index", "thread_sort_index"})
_PLAIN_THREAD = _PLAIN_PROCESS | {"tid"}


class _Members(dict[str, Any]):
    """An object of a metadata event, of whose repeated members those count that importers use."""

    #: No member is repeated.
    said_once = True


def _members(pairs: list[tuple[str, Any]]) -> _Members:
    """Return an object, in which the last value of a member counts that is of the type that it has to be."""
    result = _Members(pairs)
    if len(result) == len(pairs):
        return result
    fits = _FITS if "ph" in result else _ARGUMENT_FITS
    result.clear()
    result.said_once = False
    for name, value in pairs:
        is_fit = fits.get(name)
        if name not in result or is_fit is None or is_fit(value):
            result[name] = value
    return result


def _is_identity(value: Any) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)


#: What members have to be. A repeated name of the event replaces the one before, whatever it is.
_FITS: dict[str, Callable[[Any], bool]] = {
    "args": lambda value: isinstance(value, dict),
    "pid": _is_identity,
    "tid": _is_identity,
}
_ARGUMENT_FITS: dict[str, Callable[[Any], bool]] = {
    "name": lambda value: isinstance(value, str) and value != ""
}


def process_name(pid: str, name: str) -> str:
    """Return the metadata event that names a process; `pid` is JSON text."""
    return f'{{"name":"process_name","ph":"M","pid":{pid},"args":{_named(name)}}}'


def thread_name(pid: str, tid: str, name: str) -> str:
    """Return the metadata event that names a thread; `pid` and `tid` are JSON text."""
    return f'{{"name":"thread_name","ph":"M","pid":{pid},"tid":{tid},"args":{_named(name)}}}'


def _named(name: str) -> str:
    """Return the arguments of such an event; Perfetto's importer counts an empty name as an error."""
    return json.dumps({"name": name} if name else {}, ensure_ascii=False, separators=(",", ":"))


class Tables:
    """The processes and threads of a trace as the events name them."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._processes: dict[int, int] = {}
        self._threads: dict[tuple[int, int], int] = {}
        # By the identity as the document has it, text or a number; and the numbers that are some identity's.
        self._numbers: dict[str | int, int] = {}
        self._taken: set[int] = set()
        self._learned = 0
        self._of_key = np.full(2, -1, np.int32)
        self._seen: set[bytes] = set()

    @property
    def known(self) -> bool:
        """True if there is any process, thread or metadata."""
        return bool(self._processes or self._seen)

    def threads(self, keys: StringTable, ids: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the thread of each event from the id of its texts of pid and tid; -1 stays -1."""
        known = len(self._of_key) - 1
        if len(keys) > known:
            new = [self._thread_of(keys[id]) for id in range(known, len(keys))]
            # Index -1 selects the last entry.
            self._of_key = np.concatenate([self._of_key[:-1], np.array([*new, -1], np.int32)])
        return looked_up(self._of_key, ids)

    def _thread_of(self, key: bytes) -> int:
        pid_text, _, tid_text = key.partition(b"\0")
        if tid_text == b"null":
            return -1
        # As Perfetto does: a missing tid is the pid, a missing pid is 0.
        pid = self._identity(pid_text) if pid_text else 0
        tid = self._identity(tid_text) if tid_text else pid
        return self.thread(pid, tid)

    def _identity(self, text: bytes) -> int:
        if _PLAIN_NUMBER.fullmatch(text):
            return self.identity(int(text))
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            value = text.decode("utf-8", "replace")
        return self.identity(value)

    def identity(self, value: Any) -> int:
        """Return the number of a pid or tid that is a number, or text."""
        if isinstance(value, float) and abs(value) < FIRST_TEXT_ID:
            value = int(value)
        if not isinstance(value, int) or not -FIRST_TEXT_ID <= value < 1 << 64:
            # A lone surrogate is not valid text.
            value = str(value).encode("utf-8", "backslashreplace").decode()
        self._learn()
        number = self._numbers.get(value)
        if number is None:
            number = self._numbers[value] = self._number_of(value)
            self._taken.add(number)
            if number != value:
                self._sidecar().setdefault("text_ids", {})[str(number)] = value
        return number

    def _number_of(self, value: str | int) -> int:
        spelled: int | None = None
        if isinstance(value, int) or (_NUMBER.fullmatch(value) and int(value) < FIRST_TEXT_ID):
            spelled = int(value)
        if spelled is not None and spelled not in self._taken:
            return spelled
        # The same in all files, so that those of several are one when they are merged.
        number = FIRST_TEXT_ID | zlib.crc32(json.dumps(value).encode()) & _HASH
        while number in self._taken:
            number += 1
        return number

    def _learn(self) -> None:
        """Read identities that others have added: a writer shares those of the trace's reader, which may meet more."""
        texts = self._texts()
        if len(texts) == self._learned:
            return
        for number, value in texts.items():
            self._numbers[value] = int(number)
            self._taken.add(int(number))
        self._learned = len(texts)

    def _sidecar(self) -> dict[str, Any]:
        return self._trace.sidecar.setdefault("chrome", {})

    def process(self, pid: int) -> int:
        """Return the index of a process, which is added if it is new."""
        index = self._processes.get(pid)
        if index is None:
            index = self._processes[pid] = len(self._trace.processes)
            self._trace.processes.append(Process(pid, self.text_of(pid)))
        return index

    def thread(self, pid: int, tid: int) -> int:
        """Return the index of a thread, which is added if it is new."""
        index = self._threads.get((pid, tid))
        if index is None:
            index = self._threads[pid, tid] = len(self._trace.threads)
            self._trace.threads.append(Thread(tid, self.process(pid), self.text_of(tid)))
        return index

    def add_metadata(self, lines: bytes) -> None:
        """Add metadata events, one a line, each only once even if the batches are read repeatedly."""
        for line in lines.split(b"\n")[:-1]:
            if line not in self._seen:
                self._seen.add(line)
                if not self._name(line):
                    self._sidecar().setdefault("metadata", []).append(line.decode())

    def _name(self, line: bytes) -> bool:
        """Set a name if this is one; return True if the event says nothing else."""
        try:
            event = json.loads(line, object_pairs_hook=_members)
        except (ValueError, RecursionError):
            return False
        arguments = event.get("args")
        # Of a longer phase the first letter counts.
        phase = str(event.get("ph"))[:1]
        if phase != Phase.METADATA or not isinstance(arguments, _Members):
            return False
        name, pid = arguments.get("name", None if arguments else ""), event.get("pid", 0)
        tid = event.get("tid", pid)
        if not _is_identity(pid) or not _is_identity(tid):
            return False
        if not isinstance(event.get("name"), str):
            return False
        if event["name"] in _ORDER:
            # Viewers show the thread that such an event names, with or without other events.
            self.thread(self.identity(pid), self.identity(tid))
            self._trace.sidecar_shown.setdefault("chrome", Counter())[str(event["name"])] += 1
        if not isinstance(name, str):
            return False
        # A lone surrogate is not valid text.
        name = name.encode("utf-8", "replace").decode()
        pid = self.identity(pid)
        if event.get("name") == "process_name":
            process = self._trace.processes[self.process(pid)]
            old, process.name = process.name, name
            rest = process_name(self.shown(pid), old)
            plain = _PLAIN_PROCESS
            unnamed = old == self.text_of(pid)
        elif event.get("name") == "thread_name":
            tid = self.identity(tid)
            thread = self._trace.threads[self.thread(pid, tid)]
            old, thread.name = thread.name, name
            rest = thread_name(self.shown(pid), self.shown(tid), old)
            plain = _PLAIN_THREAD
            unnamed = old == self.text_of(tid)
        else:
            return False
        if not unnamed and old != name and event.keys() == plain:
            # The table holds only the last name.
            self._sidecar().setdefault("metadata", []).append(rest)
        is_plain = event.keys() == plain and event["ph"] == Phase.METADATA
        is_plain &= all(one.said_once for one in (event, arguments))
        return is_plain and len(arguments) <= 1

    def text_of(self, number: int) -> str:
        """Return the text of a pid or tid, empty where it is a number."""
        text = self._texts().get(str(number), "")
        return text if isinstance(text, str) else ""

    def shown(self, number: int) -> str:
        """Return a pid or tid as JSON text."""
        return json.dumps(self._texts().get(str(number), number), ensure_ascii=False)

    def _texts(self) -> dict[str, str | int]:
        texts: dict[str, str | int] = self._trace.sidecar.get("chrome", {}).get("text_ids", {})
        return texts
