from collections.abc import Callable, Sequence
from typing import Any

from numpy import int32
from numpy.typing import NDArray

from converter.ir.tables import Table
from converter.kernels.event_arrays import EventArrays
from converter.kernels.programs import ProgramSet
from converter.kernels.tables.strings import StringTable

class Provider(ProgramSet):
    """What is known of a provider whose records several emitters make: programs, and what its slots hold.

    What `bind` takes for a codec is an array, None for nulls, (values, offsets) for lists.
    """

    #: The number of times a slot was taken from one string for another.
    slots_taken: int

    def __init__(self, strings: StringTable, *, big_endian: bool) -> None: ...
    def add_program(
        self,
        shape: int,
        codecs: Sequence[int],
        arguments: Sequence[tuple[int, int]],
        extended: bool,
    ) -> int:
        """A program for an event class; its number.

        `shape` and `codecs` (one a field) are `mapping`'s; `arguments` are (argument type, string id of the name).
        Raises ValueError where the fields are not those of the shape.
        """
    def bind_tables(
        self,
        tables: dict[int, Table],
        programs: NDArray[int32],
        getters: list[list[Callable[[Table], Any]]],
    ) -> None:
        """`bind` columns of all tables that have rows, by class id: `programs` are by that, `getters` by program."""
    def add_threads(self, koids: Sequence[tuple[int, int]]) -> None:
        """Process and thread koid of the threads that follow those known."""
    def forget_slots(self) -> None:
        """Register anew what the next records refer to: others have written since, or the file is another."""
    def begin(self, columns: EventArrays) -> None:
        """The events of the next batch, whose columns are bound: `class_id` are the programs."""
    def release(self) -> None:
        """Let go of the batch and of its columns."""

def without_program(tables: dict[int, Table], programs: NDArray[int32]) -> list[int]:
    """The ids of the classes that have rows and no program yet, which is below 0."""
