from numpy import int64, uint8
from numpy.typing import NDArray

from converter.formats.perfetto.reading.kernels.scan_names import NamingEvents
from converter.kernels.event_arrays import OutputArrays
from converter.kernels.tables.strings import StringTable

#: Columns of a row of `scan_bundles`.
EVENTS: int
SWITCHES: int
WAKINGS: int
#: -1 when the bundle does not say.
CPU: int
LOST: int
CLOCK: int
FTRACE_TIMESTAMP: int
BOOT_TIMESTAMP: int
COMPACT_START: int
COMPACT_SIZE: int
#: Number of generic event descriptors.
DESCRIPTORS: int
#: previous_bundle_end_timestamp, or last_read_event_timestamp; 0 when both are absent.
PREVIOUS_END: int
#: Not 0 when the bundle cannot be read.
DAMAGE: int
IN_AN_EVENT: int
#: Not 0 when the bundle, or an event that was read of it, may have fields without a rule (`rules`).
FURTHER: int
BUNDLE_COLUMNS: int

#: Keys of events that are no FtraceEvent: what compact_sched holds, and a bundle's lost events. `start` of the last is
#: how many there were.
KEY_COMPACT_SWITCH: int
KEY_COMPACT_WAKING: int
KEY_LOST: int
KEY_LOST_COUNTED: int
#: Key of an event whose field number is beyond all that are assigned; its payload is the whole FtraceEvent.
KEY_UNKNOWN: int
#: The number of keys.
KEYS: int

def scan_bundles(
    data: NDArray[uint8],
    starts: NDArray[int64],
    sizes: NDArray[int64],
    rows: NDArray[int64],
    naming: NamingEvents | None = None,
) -> None:
    """Count what each FtraceEventBundle holds, a row each (shape (n, BUNDLE_COLUMNS)); `naming` notes names of tasks.

    Raises ValueError when a bundle lies outside the data. Releases the GIL.
    """

class CpuStates:
    """The task that each CPU runs, as the switches seen so far say: what compact_sched leaves out."""

    def __init__(self) -> None: ...

def fill_bundles(
    data: NDArray[uint8],
    starts: NDArray[int64],
    sizes: NDArray[int64],
    rows: NDArray[int64],
    cpus: CpuStates,
    strings: StringTable,
    events: OutputArrays,
    compact: tuple[NDArray[int64], NDArray[int64]],
) -> int:
    """Fill in the events of bundles, those of each merged by time, at equal times in the order event, waking, switch.

    The columns are ts, cpu, tid, key and bundle (int32), flags (32 bits), start and size (int64); `compact` are
    `switches` and `wakings`. `rows` are what `scan_bundles` returned; a row's LOST adds an event of key KEY_LOST before
    its bundle's. An event's payload is ``data[start:start + size]``; of compact ones `start` is a row of `switches`
    (shape (n, 7): prev_pid, prev_prio, prev_comm, prev_state, next_pid, next_prio, next_comm) or of `wakings` (shape
    (n, 4): pid, target_cpu, prio, comm), comms being string ids. Unknown previous tasks are pid -1, prio 0 and no comm.
    Returns the number of events. Raises ValueError when the columns are too short. Releases the GIL.
    """
