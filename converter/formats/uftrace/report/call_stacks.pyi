from typing import Final

from numpy import int8, int32, int64, uint8
from numpy.typing import NDArray

#: Kinds of records for the stacks: EVENT and the kinds after it are not shown where their task is in no function.
NOTHING: Final[int]
CALL: Final[int]
RETURN: Final[int]
LOST: Final[int]
EVENT: Final[int]
KERNEL_EVENT: Final[int]
#: An event of the task that was at work last.
EXTERNAL: Final[int]
LEAVES_CPU: Final[int]
PREEMPTED: Final[int]
GETS_CPU: Final[int]
#: Functions of the kernel: shown where their task is in none of its program, if the kernel is shown there.
KERNEL_CALL: Final[int]
KERNEL_RETURN: Final[int]
#: Further effects of a function on the stack of its task.
EXECUTES: Final[int]
SETS_JUMP: Final[int]
JUMPS: Final[int]
FORKS: Final[int]
#: The part of a record that is shown: all; a call as far as its arguments; its end, on the same line.
WHOLE: Final[int]
WITH_END: Final[int]
END: Final[int]
#: Which text a switch has.
OUT: Final[int]
OUT_PREEMPTED: Final[int]
IN: Final[int]
BOTH: Final[int]
BOTH_PREEMPTED: Final[int]
#: In place of names.
NO_NAME: Final[int]
SWITCHED: Final[int]
SWITCHED_PREEMPTED: Final[int]

class CallStacks:
    #: Batches that were followed.
    batches: int
    def __init__(
        self,
        parents: NDArray[int32],
        most_frames: int,
        levels: int,
        *,
        events_outside: bool,
        kernel_outside: bool,
    ) -> None: ...
    @property
    def settled(self) -> int: ...
    def follow(
        self,
        ts: NDArray[int64],
        kind: NDArray[int8],
        thread: NDArray[int32],
        depth: NDArray[int32],
        name: NDArray[int32],
        does: NDArray[int8],
        lines: NDArray[uint8],
    ) -> None: ...
    def end(self) -> None: ...
    def remaining(self) -> list[tuple[int, list[int]]]: ...
