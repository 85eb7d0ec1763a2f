from typing import Any

from numpy import int64
from numpy.typing import NDArray

from converter.kernels.event_arrays import EventArrays
from converter.kernels.tables.strings import StringTable

class LineColumns:
    """The columns of a class of switches or wakeups in a batch.

    Args:
        name: of wakeups, what their lines call them; empty of switches.
        columns: of switches int64 prev_tid, text prev_comm, int64 prev_prio, prev_state and next_tid, text next_comm,
            int64 next_prio, and the int64 id of the process of prev_tid, below 1 where it is not known; of wakeups
            int64 tid, text comm, int64 prio and target_cpu. Texts are int32 ids, or (values, offsets).

    Raises:
        ValueError: another number of columns, or one of another width.

    """

    def __init__(self, name: bytes, columns: list[Any]) -> None: ...

class SchedLines:
    """Prints lines; of one thread at a time.

    Args:
        strings: what the ids of texts are of.
        decimals: of times, in decimals of a microsecond.
        letters: of the states of tasks that leave a CPU, by bits.
        preempted: the number of the bit that says that a task was preempted.

    Raises:
        ValueError: more than 18 decimals, or 32 letters.

    """

    def __init__(
        self, strings: StringTable, decimals: int, letters: bytes, preempted: int
    ) -> None: ...
    def lines(
        self,
        classes: list[LineColumns | None],
        columns: EventArrays,
        tids: NDArray[int64],
        pids: NDArray[int64],
        start: int,
        stop: int,
    ) -> tuple[memoryview, int]:
        """Return the lines of the events from `start` to `stop`, as they appear inside a JSON string.

        Events at a time before 0, switches without a CPU, and tasks whose ids are texts have no line.

        Args:
            classes: the columns by class; None of those that are no scheduling.
            columns: the events of the batch; threads are those that wake, in `tids` and `pids`.
            tids: the id of each thread.
            pids: the id of each thread's process.
            start: the first event.
            stop: the event after the last.

        Returns:
            The lines, and the nanoseconds of the latest of these events, -1 where there is none.

        Raises:
            ValueError: a row or text that the columns do not have.
        """
