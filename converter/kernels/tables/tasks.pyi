from collections.abc import Iterator

class TaskTable:
    """The tasks of a trace by pid: what records said about them, and the index of the thread each became."""

    def __init__(self) -> None: ...
    def __len__(self) -> int: ...
    def add(self, pid: int) -> None:
        """Make sure that a task is in the table."""
    def absorb(self, other: TaskTable) -> None:
        """Add what another table says; of contradictory statements the one of the later record wins."""
    def tasks(self) -> Iterator[tuple[int, bytes, int, int, str, bool]]:
        """(pid, name, process id that it named itself or -1, creator's pid or -1, relation, is a group leader).

        The relation is "thread" (of the creator's process), "process", "forked" (either) or "".
        """
    def assign(self, pid: int, thread: int) -> None:
        """Set the thread that `pid` becomes, adding the task if need be."""
    def thread_of(self, pid: int) -> int:
        """The thread assigned to `pid`, -1 if none."""
