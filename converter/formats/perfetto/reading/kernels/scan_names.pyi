from collections.abc import Sequence

from converter.kernels.tables.strings import StringTable
from converter.kernels.tables.task_names import TaskNames

class NamingEvents:
    """Which kernel events name tasks and in which fields, and what those of a trace name them."""

    #: The names, as strings of the table that was given.
    names: TaskNames

    def __init__(self, strings: StringTable) -> None: ...
    def add(self, event: int, places: Sequence[tuple[int, int]]) -> None:
        """Have events of a field number of FtraceEvent name one or two tasks.

        Args:
            event: the number, which has not been added before.
            places: the numbers of the fields with a task's tid and name, for each task.

        Raises:
            ValueError: it has been added, is beyond all that there are, or names another number of tasks.

        """
    def check(self) -> None:
        """Raise MemoryError if there was no room for a name."""
