"""What KernelShark's library (libkshark 2) lists of trace.dat files, where it is installed.

    python -m tests.support.viewers.kernelshark FILE...

prints a line of JSON for each file: its entries and what its filters show of them. The library is that of
`TRACECONV_LIBKSHARK`, or the one that the linker finds. It runs in a process of its own, since it may end its process.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

LIBRARY = os.environ.get("TRACECONV_LIBKSHARK") or ctypes.util.find_library("kshark")
#: Seconds that a file may take.
TIMEOUT = 300
#: The event id of missed events, -EOVERFLOW.
_MISSED = -75
#: The parts that tasks and events are divided into for the filters.
_GROUPS = 5
#: Bits of `visible`, and kinds of filters (enum kshark_filter_masks, enum kshark_filter_type).
_ALL_VIEWS = 1 | 2 | 4
_SHOW_EVENT, _SHOW_TASK, _SHOW_CPU = 1, 3, 5


def is_absent() -> bool:
    """Whether the library is not installed."""
    return LIBRARY is None


class Entry(NamedTuple):
    """A line of the list view; times in nanoseconds."""

    ts: int
    cpu: int
    pid: int
    task: str
    event: str
    info: str
    latency: str
    missed: bool


@dataclass(frozen=True)
class Listing:
    """What KernelShark shows of a file."""

    entries: list[Entry]
    #: By "task", "event" and "cpu": for each group of values, the entries that are shown, and those that should be.
    filters: dict[str, list[tuple[int, int]]]


def listing_of(path: Path) -> Listing:
    """Open a file with the library, in a process of its own.

    Raises:
        AssertionError: the library does not open it, ends its process, or takes too long.

    """
    (listing,) = listings_of([path])
    assert not isinstance(listing, str), listing
    return listing


def listings_of(paths: Sequence[Path]) -> Iterator[Listing | str]:
    """List files one after the other; for one that is not opened, why."""
    for path in paths:
        command = [sys.executable, __file__, str(path)]
        try:
            done = subprocess.run(command, capture_output=True, timeout=TIMEOUT, check=False)
        except subprocess.TimeoutExpired:
            yield f"takes more than {TIMEOUT} seconds"
            continue
        if done.returncode:
            told = done.stderr.decode(errors="replace")[-500:].strip()
            yield f"ended with {done.returncode}: {told}"
            continue
        found = json.loads(done.stdout.decode(errors="surrogateescape"))
        filters = {
            what: [(one, other) for one, other in counts] for what, counts in found[1].items()
        }
        yield Listing([Entry(*entry) for entry in found[0]], filters)


class _Record(ctypes.Structure):
    """`struct kshark_entry`."""

    _fields_ = (
        ("next", ctypes.c_void_p),
        ("visible", ctypes.c_uint16),
        ("stream_id", ctypes.c_int16),
        ("event_id", ctypes.c_int16),
        ("cpu", ctypes.c_int16),
        ("pid", ctypes.c_int32),
        ("offset", ctypes.c_int64),
        ("ts", ctypes.c_int64),
    )


class _Context(ctypes.Structure):
    """The start of `struct kshark_context`."""

    _fields_ = (
        ("stream", ctypes.c_void_p),
        ("n_streams", ctypes.c_int),
        ("stream_info", ctypes.c_int * 3),
        ("filter_mask", ctypes.c_uint8),
    )


class _Session:
    """A file that is open in the library, with all its buffers."""

    def __init__(self, path: str) -> None:
        library = self._library = ctypes.CDLL(LIBRARY)
        for name in ("get_task", "get_event_name", "get_info", "get_aux_info"):
            getattr(library, f"kshark_{name}").restype = ctypes.c_char_p
        library.kshark_load_all_entries.restype = ctypes.c_ssize_t
        self._context = ctypes.POINTER(_Context)()
        if not library.kshark_instance(ctypes.byref(self._context)):
            raise SystemExit("no session")
        stream = library.kshark_open(self._context, path.encode())
        if stream < 0:
            raise SystemExit(f"not opened: {stream}")
        if library.kshark_tep_init_all_buffers(self._context, stream) < 0:
            raise SystemExit("the buffers are not opened")
        self._rows = ctypes.POINTER(ctypes.POINTER(_Record))()
        self._count = library.kshark_load_all_entries(self._context, ctypes.byref(self._rows))
        if self._count < 0:
            raise SystemExit(f"not loaded: {self._count}")

    def records(self) -> Iterator[_Record]:
        """The entries in the order of the list view."""
        for i in range(self._count):
            yield self._rows[i].contents

    def text(self, what: str, record: _Record) -> str:
        """A text of an entry: "task", "event_name", "info" or "aux_info"."""
        found = getattr(self._library, f"kshark_get_{what}")(ctypes.byref(record))
        return (found or b"").decode(errors="surrogateescape")

    def entry(self, record: _Record) -> Entry:
        """A line of the list view."""
        return Entry(
            *(record.ts, record.cpu, record.pid, self.text("task", record)),
            *(self.text(what, record) for what in ("event_name", "info", "aux_info")),
            record.event_id == _MISSED,
        )

    def shown(self, kind: int, values: Sequence[tuple[int, int]]) -> int:
        """The number of entries that a filter shows which lets (stream, value) pairs through."""
        library, context = self._library, self._context
        context.contents.filter_mask = _ALL_VIEWS
        for stream, value in values:
            library.kshark_filter_add_id(context, stream, kind, value)
        library.kshark_filter_all_entries(context, self._rows, ctypes.c_size_t(self._count))
        count = sum(record.visible & 1 for record in self.records())
        for stream in {stream for stream, _ in values}:
            library.kshark_filter_clear(context, stream, kind)
        return count

    def filtered(self, kind: int, key: Callable[[_Record], int]) -> Iterator[tuple[int, int]]:
        """For each group of values, the entries that are shown, and those that have one of them."""
        counts = Counter((record.stream_id, key(record)) for record in self.records())
        streams = {stream for stream, _ in counts}
        known = sorted(counts)
        for group in filter(None, (known[i::_GROUPS] for i in range(_GROUPS))):
            # A stream without a filter is shown whole.
            bare = streams - {stream for stream, _ in group}
            whole = sum(count for (stream, _), count in counts.items() if stream in bare)
            yield self.shown(kind, group), whole + sum(counts[value] for value in group)


def _list(path: str) -> None:
    session = _Session(path)
    entries = [session.entry(record) for record in session.records()]
    filters: dict[str, list[Any]] = {
        "task": list(session.filtered(_SHOW_TASK, lambda record: record.pid)),
        "event": list(session.filtered(_SHOW_EVENT, lambda record: record.event_id)),
        "cpu": list(session.filtered(_SHOW_CPU, lambda record: record.cpu)),
    }
    out = json.dumps([entries, filters], ensure_ascii=False)
    sys.stdout.buffer.write(out.encode(errors="surrogateescape") + b"\n")


if __name__ == "__main__":
    for one in sys.argv[1:]:
        _list(one)
    sys.stdout.flush()
    os._exit(0)
