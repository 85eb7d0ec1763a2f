"""What templates can ask besides an event itself, in the order of events: as trcrpt knows it when it prints them.

Programs are those that EXEC hooks have named so far, and children run their parents'; priorities those that dispatches
and the run queue have told; a system call is current from its SVC hook to its return.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from converter.formats.aix.hooks import HOOKS, Hook, Word
from converter.formats.aix.trcfmt import Entry, Environment
from converter.ir.events import Batch
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Trace

#: Whose priority a hook tells, and which it is.
_PRIORITIES: Final = (
    (Role.NEXT_TID, Role.NEXT_PRIORITY),
    (Role.PREV_TID, Role.PREV_PRIORITY),
    (Role.TID, Role.PRIORITY),
)


class ReportState:
    """The environment of one event after the other. `svc_names` are those of system calls, by their numbers."""

    def __init__(self, trace: Trace, bits: int, svc_names: Mapping[int, str]) -> None:
        self._trace = trace
        self._svc_names = svc_names
        files = trace.sidecar["aix"]["files"]
        self._file: str = files[0]
        # Files of CPUs have a number behind the name of the trace's.
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
        #: Of CPUs, where they have files of their own.
        self._files = {int(name.rpartition("-")[2]): name for name in files[1:]}
        #: Of the first byte of the batch in the stream.
        self._offset = 0

    def begin(self, batch: Batch) -> None:
        """The next batch."""
        if self._batch is not None and self._batch.native is not None:
            self._offset += len(self._batch.native.data)
        self._batch = batch

    def enter(self, position: int, entry: Entry) -> Environment:
        """What the template of an event can ask; events come in their order."""
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
        around, told = self.around, _told(hook, entry)
        for task, priority in _PRIORITIES:
            if task in told and priority in told:
                self._priorities[told[task]] = told[priority]
        match hook.kind:
            case Kind.SYSCALL_ENTRY:
                number = told.get(Role.SYSCALL_NUMBER, 0)
                # Without a name, as $HD prints it.
                self._calls[around.tid] = self._svc_names.get(number, f"{number:04X}")
            case Kind.PROCESS_EXEC if Role.PID in told and entry.generic:
                text = entry.data[2 * entry.word_size :].partition(b"\0")[0]
                path = text.decode("utf-8", "surrogateescape").partition(" ")[0]
                around.paths[told[Role.PID]] = path
            case Kind.PROCESS_FORK if Role.PID in told and around.pid in around.paths:
                around.paths.setdefault(told[Role.PID], around.paths[around.pid])

    def leave(self, entry: Entry) -> None:
        """What an event ends holds for the event itself."""
        hook = HOOKS.get(entry.id)
        if hook is not None and hook.kind in (Kind.SYSCALL_EXIT, Kind.TASK_EXIT):
            self._calls.pop(self.around.tid, None)


def _told(hook: Hook, entry: Entry) -> dict[Role, int]:
    """The documented words of an entry by their roles; none of one that has fewer words."""
    size = entry.word_size
    if len(entry.data) < size * (1 + len(hook.words)):
        return {}
    told = {
        word.role: _signed(word, entry.word(number, size), size)
        for number, word in enumerate(hook.words, 1)
    }
    if hook.hookdata is not None:
        told[hook.hookdata.role] = entry.hook_data
    return told


def _signed(word: Word, number: int, size: int) -> int:
    return number - (1 << 8 * size) if word.signed and number >> (8 * size - 1) else number


def _nanoseconds(trace: Trace, ts: int) -> int:
    rate = trace.clock.ticks_per_second
    return ts if rate is None else ts * 10**9 * rate.denominator // rate.numerator
