from numpy import int32, int64, uint8
from numpy.typing import NDArray

from converter.kernels.tables.tasks import TaskTable

#: Steps of a survey; the columns of `steps` are (step, next step or -1, a, b, c), offsets within the record:
#: NAME: a task's pid at a has the name in the c bytes at b.
SURVEY_NAME: int
#: NEW_TASK: the record's own task made the task whose pid is at a; clone flags of c bytes at b.
SURVEY_NEW_TASK: int
#: FORK: the task whose pid is at a made the one whose pid is at b.
SURVEY_FORK: int
#: LEADER: the task whose pid is at a is the leader of a process.
SURVEY_LEADER: int
#: MARKER: text at a may name the process of the record's own task ("B|1234|name").
SURVEY_MARKER: int

class Surveyor:
    #: Records by type (65,536 entries).
    counts: NDArray[int64]
    #: Pages before which events were lost.
    missed: int
    #: Return what the records say about tasks.
    tasks: TaskTable
    def __init__(
        self,
        long_size: int,
        big_endian: bool,
        type_offset: int,
        pid_offset: int,
        first_step: NDArray[int32],
        steps: NDArray[int32],
    ) -> None: ...
    def look_at(
        self, data: memoryview | bytes | NDArray[uint8], page_size: int
    ) -> tuple[int, int]: ...
