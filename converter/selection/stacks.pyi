from typing import NamedTuple

from numpy import int8, int32, int64, uint64
from numpy.typing import NDArray

#: The action of an event on its stack: it opens an entry; it closes the entry opened last, or last under its name,
#: where there is one with that name; it sets a value that holds until the next one.
BEGIN: int
END: int
VALUE: int
#: In place of the owner of what an end closes, which may be nothing.
UNMATCHED: int

def steps_of_classes(
    class_id: NDArray[int32],
    thread: NDArray[int32],
    track: NDArray[int32],
    cpu: NDArray[int32],
    family: NDArray[int64],
    step: NDArray[int8],
    of_cpu: NDArray[int8],
) -> tuple[NDArray[int32], NDArray[uint64]]: ...

class Closed(NamedTuple):
    owner: NDArray[int32]
    number: NDArray[int64]
    name: NDArray[int64]
    inside: NDArray[int64]

class Stacks:
    def __init__(self) -> None: ...
    def follow(
        self,
        lane: NDArray[uint64],
        step: NDArray[int8],
        name: NDArray[int64],
        number: NDArray[int64],
        owner: NDArray[int32],
    ) -> Closed: ...
    def open(self) -> tuple[NDArray[int64], NDArray[int64]]: ...
