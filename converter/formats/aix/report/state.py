"""State that templates can request besides an event itself, tracked in the order of events as trcrpt does.

Programs are those that EXEC hooks have named so far, and children run their parents'. Priorities are from dispatches
and the run queue. A system call is current from its SVC hook to its return.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from converter.formats.aix.hooks import HOOKS, Hook, Word
from converter.formats.aix.trcfmt import Entry, Environment
from converter.ir.events import Batch
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Trace

#: The task whose priority a hook reports, and the priority.
_PRIORITIES: Final = (
    (Role.NEXT_TID, Role.NEXT_PRIORITY),
    (Role.PREV_TID, Role.PREV_PRIORITY),
    (Role.TID, Role.PRIORITY),
)


class ReportState:
    """The environment of one event after another. `svc_names` are those of system calls, by their numbers."""

    def __init__(self, trace: Trace, bits: int, svc_names: Mapping[int, str]) -> None:
        self._trace = trace
        self._svc_names = svc_names
        files = trace.sidecar["aix"]["files"]
        self._file: str = files[0]
        # Files of CPUs are named after the trace with a number.
        cpus = max(len(files) - 1, 1)
        self.around = Environment(
            trace_env=bits,
            total_cpus=cpus,
            traced_cpus=cpus,
            reported_cpus=cpus,
        )
        self._priorities: dict[int, int] = {}
        self._calls: dict[int, str] = {}
        self._batch: Batch | None = None
        #: File names of CPUs with files of their own.
        self._files = {int(name.rpartition("-")[2]): name for name in files[1:]}
        #: The offset in the stream of the batch's first byte.
        self._offset = 0

    def begin(self, batch: Batch) -> None:
        """Start the next batch."""
        if self._batch is not None and self._batch.native is not None:
            self._offset += len(self._batch.native.data)
        self._batch = batch

    def enter(self, position: int, entry: Entry) -> Environment:
        """Return what the template of an event can request; events must come in order."""
        batch, around, trace = self._batch, self.around, self._trace
        assert batch is not None
        thread = int(batch.thread[position])
        around.tid = around.pid = -1
        if thread >= 0:
            around.tid = trace.threads[thread].tid
            around.pid = trace.processes[trace.threads[thread].process].pid
        around.cpu = int(batch.cpu[position])
        around.time_ns = _nanoseconds(trace, int(batch.ts[position]))
        around.logfile = self._files.get(around.cpu, self._file)
        if batch.native is not None and not self._files:
            around.log_offset = self._offset + int(batch.native.starts[position])
        hook = HOOKS.get(entry.id)
        if hook is not None:
            self._change(hook, entry)
        around.priority = self._priorities.get(around.tid, -1)
        around.exec_path = around.paths.get(around.pid, "")
        around.svc = self._calls.get(around.tid, "")
        return around

    def _change(self, hook: Hook, entry: Entry) -> None:
        around, words = self.around, _documented_words(hook, entry)
        for task, priority in _PRIORITIES:
            if task in words and priority in words:
                self._priorities[words[task]] = words[priority]
        match hook.kind:
            case Kind.SYSCALL_ENTRY:
                number = words.get(Role.SYSCALL_NUMBER, 0)
                # Unnamed calls appear as $HD prints them.
                self._calls[around.tid] = self._svc_names.get(number, f"{number:04X}")
            case Kind.PROCESS_EXEC if Role.PID in words and entry.generic:
                text = entry.data[2 * entry.word_size :].partition(b"\0")[0]
                path = text.decode("utf-8", "surrogateescape").partition(" ")[0]
                around.paths[words[Role.PID]] = path
            case Kind.PROCESS_FORK if Role.PID in words and around.pid in around.paths:
                around.paths.setdefault(words[Role.PID], around.paths[around.pid])

    def leave(self, entry: Entry) -> None:
        """Finish an event: what it ends still applies to the event itself."""
        hook = HOOKS.get(entry.id)
        if hook is not None and hook.kind in (Kind.SYSCALL_EXIT, Kind.TASK_EXIT):
            self._calls.pop(self.around.tid, None)


def _documented_words(hook: Hook, entry: Entry) -> dict[Role, int]:
    """Return the documented words of an entry by their roles, none if it has too few words."""
    size = entry.word_size
    if len(entry.data) < size * (1 + len(hook.words)):
        return {}
    words = {
        word.role: _signed(word, entry.word(number, size), size)
        for number, word in enumerate(hook.words, 1)
    }
    if hook.hookdata is not None:
        words[hook.hookdata.role] = entry.hook_data
    return words


def _signed(word: Word, number: int, size: int) -> int:
    return number - (1 << 8 * size) if word.signed and number >> (8 * size - 1) else number


def _nanoseconds(trace: Trace, ts: int) -> int:
    rate = trace.clock.ticks_per_second
    return ts if rate is None else ts * 10**9 * rate.denominator // rate.numerator
