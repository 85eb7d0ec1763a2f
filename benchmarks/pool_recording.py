"""Records what the thread pool does for a command: how long each task computes, what it submits, what it waits for.

python -m benchmarks.pool_recording RECORDING ARGUMENT...

The arguments are those of the command. One thread runs all tasks, so that none disturbs another, while the program
believes that it has as many threads as its ``--jobs`` says, and submits what it would submit to these.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from benchmarks.processes import ENVIRONMENT

#: What a task does next: compute for some seconds, or submit or wait for the task of a number.
Step = tuple[Literal["compute", "submit", "wait"], float]


class Task(NamedTuple):
    """The steps of a task, and whether it may wait for others (a blocking task)."""

    may_block: bool
    steps: list[Step]


class Recording(NamedTuple):
    """The tasks of a command by number; the first one is its main thread."""

    tasks: list[Task]

    @property
    def seconds(self) -> float:
        """The processor time of all tasks."""
        return sum(value for task in self.tasks for what, value in task.steps if what == "compute")


def record(command: Sequence[str]) -> Recording:
    """Run a command of ours (`Case.ours`, without the interpreter) in a process of its own, and record its tasks.

    Args:
        command: the arguments after ``python -m converter``.

    """
    with tempfile.TemporaryDirectory(prefix="traceconv-benchmark-") as folder:
        path = Path(folder) / "recording.json"
        recorder = [sys.executable, "-m", "benchmarks.pool_recording", str(path)]
        subprocess.run([*recorder, *command], check=True, env=ENVIRONMENT)
        tasks = json.loads(path.read_text())
    return Recording([Task(may_block, [*map(tuple, steps)]) for may_block, steps in tasks])


class _Recorder:
    """Records the tasks of this process."""

    def __init__(self) -> None:
        self.tasks = [Task(may_block=True, steps=[])]
        self._numbers: dict[object, int] = {}
        self._running = [0]
        #: The processor time that is recorded. Until now the interpreter has started: a part of the first step.
        self._recorded = 0.0

    def install(self) -> None:
        """Have the pool report what it does, and start no threads."""
        from converter.storage.pool import workers

        submit, do, result = (
            workers.TaskGroup.submit,
            workers.Future.do,
            workers.Future.result,
        )

        def submit_and_record(group: workers.TaskGroup, *arguments: Any, **named: Any) -> Any:
            self.compute()
            future = submit(group, *arguments, **named)
            self._numbers[future] = len(self.tasks)
            self.add("submit", len(self.tasks))
            self.tasks.append(Task(group.may_block, []))
            self._skip()
            return future

        def do_and_record(future: workers.Future[Any]) -> None:
            self.compute()
            self._running.append(self._numbers[future])
            try:
                do(future)
            finally:
                self.compute()
                self._running.pop()

        def result_and_record(future: workers.Future[Any]) -> Any:
            self.compute()
            self.add("wait", self._numbers[future])
            return result(future)

        replaced: Any = workers
        replaced.TaskGroup.submit = submit_and_record
        replaced.Future.do = do_and_record
        replaced.Future.result = result_and_record
        replaced._Pool._start_thread = lambda _: None  # noqa: SLF001

    def compute(self) -> None:
        """Add the processor time that is not recorded yet to the current task."""
        self.add("compute", time.process_time() - self._recorded)
        self._skip()

    def _skip(self) -> None:
        self._recorded = time.process_time()

    def add(self, what: Literal["compute", "submit", "wait"], value: float) -> None:
        """Add a step to the current task."""
        self.tasks[self._running[-1]].steps.append((what, value))


def main() -> None:
    """Run the command, and write the recording."""
    path, *arguments = sys.argv[1:]
    recorder = _Recorder()
    recorder.install()
    from converter.cli import main as command

    status = command(arguments)
    recorder.compute()
    Path(path).write_text(json.dumps(recorder.tasks))
    raise SystemExit(status)


if __name__ == "__main__":
    main()
