from numpy import int64, uint8
from numpy.typing import NDArray

from converter.formats.perfetto.reading.kernels.scan_names import NamingEvents
from converter.kernels.batches.event_arrays import OutputArrays
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
#: Keys of events that are no FtraceEvent: what compact_sched holds, and a bundle's lost events. `start` of the last
#: is how many there were.
KEY_COMPACT_SWITCH: int
KEY_COMPACT_WAKING: int
KEY_LOST: int
KEY_LOST_COUNTED: int
#: Key of an event whose field number is beyond all that are assigned; its payload is the whole FtraceEvent.
KEY_UNKNOWN: int
#: The number of keys.
KEYS: int

def scan_bundles(
    data: memoryview | bytes | NDArray[uint8],
    starts: NDArray[int64],
    sizes: NDArray[int64],
    rows: NDArray[int64],
    naming: NamingEvents | None = None,
) -> None: ...

class CpuStates:
    def __init__(self) -> None: ...

def fill_bundles(
    data: memoryview | bytes | NDArray[uint8],
    starts: NDArray[int64],
    sizes: NDArray[int64],
    rows: NDArray[int64],
    cpus: CpuStates,
    strings: StringTable,
    events: OutputArrays,
    compact: tuple[NDArray[int64], NDArray[int64]],
) -> int: ...
