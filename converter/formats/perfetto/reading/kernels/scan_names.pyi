from collections.abc import Sequence

from converter.kernels.tables.strings import StringTable
from converter.kernels.tables.task_names import TaskNames

class NamingEvents:
    #: The names, as strings of the table that was given.
    names: TaskNames
    def __init__(self, strings: StringTable) -> None: ...
    def add(self, event: int, places: Sequence[tuple[int, int]]) -> None: ...
    def check(self) -> None: ...
