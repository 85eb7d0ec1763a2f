# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Bundles of ftrace events (ftrace_event_bundle.proto): from packets to one row an event."""

# Stub:
# from converter.formats.perfetto.reading.kernels.scan_names import NamingEvents
# from converter.kernels.batches.event_arrays import OutputArrays
# from converter.kernels.tables.strings import StringTable
#
# #: Columns of a row of `scan_bundles`.
# EVENTS: int
# SWITCHES: int
# WAKINGS: int
# #: -1 when the bundle does not say.
# CPU: int
# LOST: int
# CLOCK: int
# FTRACE_TIMESTAMP: int
# BOOT_TIMESTAMP: int
# COMPACT_START: int
# COMPACT_SIZE: int
# #: Number of generic event descriptors.
# DESCRIPTORS: int
# #: previous_bundle_end_timestamp, or last_read_event_timestamp; 0 when both are absent.
# PREVIOUS_END: int
# #: Not 0 when the bundle cannot be read.
# DAMAGE: int
# IN_AN_EVENT: int
# #: Not 0 when the bundle, or an event that was read of it, may have fields without a rule (`rules`).
# FURTHER: int
# BUNDLE_COLUMNS: int
# #: Keys of events that are no FtraceEvent: what compact_sched holds, and a bundle's lost events. `start` of the last
# #: is how many there were.
# KEY_COMPACT_SWITCH: int
# KEY_COMPACT_WAKING: int
# KEY_LOST: int
# KEY_LOST_COUNTED: int
# #: Key of an event whose field number is beyond all that are assigned; its payload is the whole FtraceEvent.
# KEY_UNKNOWN: int
# #: The number of keys.
# KEYS: int

from converter.kernels.protobuf.wire cimport WIRE_BYTES, WIRE_VARINT, WireField, next_field, read_short_varint, read_size, read_varint
from converter.formats.perfetto.protobuf.fields cimport (
    BUNDLE_BOOT_TIMESTAMP, BUNDLE_COMPACT_SCHED, BUNDLE_CPU, BUNDLE_EVENT, BUNDLE_EVENT_NOTES,
    BUNDLE_FTRACE_CLOCK, BUNDLE_FTRACE_TIMESTAMP, BUNDLE_GENERIC_EVENT_DESCRIPTORS,
    BUNDLE_LAST_READ_EVENT_TIMESTAMP, BUNDLE_LOST_COUNT, BUNDLE_LOST_EVENTS,
    BUNDLE_PREVIOUS_BUNDLE_END_TIMESTAMP, FTRACE_EVENT_COMMON_FLAGS, FTRACE_EVENT_GENERIC, FTRACE_EVENT_PID,
    FTRACE_EVENT_SCHED_SWITCH, FTRACE_EVENT_TIMESTAMP, SCHED_SWITCH_NEXT_COMM_INDEX, SCHED_SWITCH_NEXT_PID, SCHED_SWITCH_NEXT_PRIO,
    SCHED_SWITCH_PREV_STATE, SCHED_SWITCH_TIMESTAMP, SCHED_WAKING_COMMON_FLAGS,
    SCHED_WAKING_COMM_INDEX, SCHED_WAKING_PID, SCHED_WAKING_PRIO, SCHED_WAKING_TARGET_CPU,
    SCHED_WAKING_TIMESTAMP,
)
from converter.formats.perfetto.reading.kernels.scan_compact cimport (
    Compact, CpuState, advance, comm_of, count_compact, note_switch, open_compact,
)
from converter.formats.perfetto.reading.kernels.scan_names cimport NamingEvents, note_compact, note_event
from converter.kernels.batches.event_arrays cimport Events, OutputArrays, WITH_CPU
from converter.kernels.tables.strings cimport StringTable

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free

cdef enum:
    bEVENTS = 0
    bSWITCHES = 1
    bWAKINGS = 2
    bCPU = 3
    bLOST = 4
    bCLOCK = 5
    bFTRACE_TIMESTAMP = 6
    bBOOT_TIMESTAMP = 7
    bCOMPACT_START = 8
    bCOMPACT_SIZE = 9
    bDESCRIPTORS = 10
    bPREVIOUS_END = 11
    bDAMAGE = 12
    bLOST_COUNT = 13
    bNOTES_START = 14
    bNOTES_SIZE = 15
    bFURTHER = 16
    bCOLUMNS = 17
    # Field numbers of events with a descriptor of their own end at 131072.
    MAX_KEY = 131072
    kCOMPACT_SWITCH = 131073
    kCOMPACT_WAKING = 131074
    kLOST = 131075
    kUNKNOWN = 131076
    kLOST_COUNTED = 131077
    kCOUNT = 131078
    SWITCH_COLUMNS = 7
    WAKING_COLUMNS = 4
    MAX_CPUS = 1024
    NOT_COUNTED = 1
    COUNTED = 2
    # A kind of damage: in an event, the rest of which is left out.
    cIN_AN_EVENT = 2
    # Tags of what there is most of: FtraceEventBundle.event, FtraceEvent.timestamp and pid.
    tEVENT = BUNDLE_EVENT << 3 | WIRE_BYTES
    tTIMESTAMP = FTRACE_EVENT_TIMESTAMP << 3
    tPID = FTRACE_EVENT_PID << 3

IN_AN_EVENT = cIN_AN_EVENT
EVENTS, SWITCHES, WAKINGS, CPU, LOST, CLOCK = bEVENTS, bSWITCHES, bWAKINGS, bCPU, bLOST, bCLOCK
FTRACE_TIMESTAMP, BOOT_TIMESTAMP, PREVIOUS_END = bFTRACE_TIMESTAMP, bBOOT_TIMESTAMP, bPREVIOUS_END
COMPACT_START, COMPACT_SIZE, DESCRIPTORS = bCOMPACT_START, bCOMPACT_SIZE, bDESCRIPTORS
DAMAGE, FURTHER, BUNDLE_COLUMNS = bDAMAGE, bFURTHER, bCOLUMNS
KEY_COMPACT_SWITCH, KEY_COMPACT_WAKING, KEY_LOST = kCOMPACT_SWITCH, kCOMPACT_WAKING, kLOST
KEY_UNKNOWN, KEY_LOST_COUNTED, KEYS = kUNKNOWN, kLOST_COUNTED, kCOUNT


cdef void scan_bundle(
    const uint8_t* data, int64_t at, int64_t end, int64_t* row, NamingEvents naming, bint names
) noexcept nogil:
    cdef WireField field
    cdef int64_t size
    cdef int i, state
    for i in range(bCOLUMNS):
        row[i] = 0
    row[bCPU] = -1
    while at < end:
        if data[at] == tEVENT:
            at = read_size(data, at + 1, end, &size)
            if at < 0:
                row[bDAMAGE] = 1
                return
            row[bEVENTS] += 1
            if names:
                note_event(data, at, at + size, naming)
            at += size
            continue
        at = next_field(data, at, end, &field)
        if at < 0:
            row[bDAMAGE] = 1
            return
        if field.wire == WIRE_BYTES:
            if field.number == BUNDLE_EVENT:
                # With a tag longer than it need be.
                row[bEVENTS] += 1
            elif field.number == BUNDLE_COMPACT_SCHED:
                state = count_compact(data, field.start, field.start + field.size, &row[bSWITCHES], &row[bWAKINGS])
                if state < 0:
                    row[bDAMAGE] = 1
                    return
                row[bFURTHER] |= state
                row[bCOMPACT_START] = field.start
                row[bCOMPACT_SIZE] = field.size
            elif field.number == BUNDLE_GENERIC_EVENT_DESCRIPTORS:
                row[bDESCRIPTORS] += 1
                row[bFURTHER] = 1
            elif field.number == BUNDLE_EVENT_NOTES:
                row[bNOTES_START] = field.start
                row[bNOTES_SIZE] = field.size
            else:
                row[bFURTHER] = 1
        elif field.wire == WIRE_VARINT:
            if field.number == BUNDLE_CPU:
                row[bCPU] = <int64_t>(<uint32_t>field.value)
            elif field.number == BUNDLE_LOST_EVENTS:
                if row[bLOST] != COUNTED:
                    row[bLOST] = NOT_COUNTED if field.value else 0
            elif field.number == BUNDLE_LOST_COUNT:
                row[bLOST] = COUNTED
                row[bLOST_COUNT] = <int64_t>field.value
            elif field.number == BUNDLE_FTRACE_CLOCK:
                row[bCLOCK] = <int64_t>(<uint32_t>field.value)
            elif field.number == BUNDLE_FTRACE_TIMESTAMP:
                row[bFTRACE_TIMESTAMP] = <int64_t>field.value
            elif field.number == BUNDLE_BOOT_TIMESTAMP:
                row[bBOOT_TIMESTAMP] = <int64_t>field.value
            # New recorders report the end of the bundle before, older ones its last event.
            elif (
                field.number == BUNDLE_PREVIOUS_BUNDLE_END_TIMESTAMP
                or field.number == BUNDLE_LAST_READ_EVENT_TIMESTAMP
            ):
                row[bPREVIOUS_END] = <int64_t>field.value
            else:
                row[bFURTHER] = 1
        else:
            row[bFURTHER] = 1
    if row[bCPU] < 0 or row[bCPU] >= MAX_CPUS:
        row[bDAMAGE] = 1
    elif names and row[bCOMPACT_SIZE]:
        note_compact(data, row[bCOMPACT_START], row[bCOMPACT_SIZE], row[bSWITCHES], row[bWAKINGS], naming)


def scan_bundles(
    const uint8_t[::1] data, const int64_t[:] starts, const int64_t[:] sizes, int64_t[:, ::1] rows,
    NamingEvents naming=None,
) -> None:
    """Count what each FtraceEventBundle holds, a row each (shape (n, BUNDLE_COLUMNS)); `naming` notes names of tasks.

    Raises ValueError when a bundle lies outside the data. Releases the GIL.
    """
    cdef int64_t i
    cdef bint names = naming is not None
    cdef int64_t count = starts.shape[0]
    cdef int64_t end = data.shape[0]
    if sizes.shape[0] != count or rows.shape[0] != count or rows.shape[1] != bCOLUMNS:
        raise ValueError("starts, sizes and rows differ in length")
    for i in range(count):
        if starts[i] < 0 or sizes[i] < 0 or starts[i] > end or sizes[i] > end - starts[i]:
            raise ValueError(f"bundle {i} lies outside the data")
    if end == 0:
        return
    with nogil:
        for i in range(count):
            scan_bundle(&data[0], starts[i], starts[i] + sizes[i], &rows[i, 0], naming, names)
    if names:
        naming.check()


cdef class CpuStates:
    """The task that each CPU runs, as all switches seen so far say: what compact_sched leaves out."""

    cdef CpuState _states[MAX_CPUS]

    def __cinit__(self):
        cdef int i
        for i in range(MAX_CPUS):
            self._states[i].known = 0


# Parts of one FtraceEvent.
cdef struct Event:
    int64_t ts
    int64_t start
    int64_t size
    int32_t tid
    int32_t key
    uint32_t flags
    # True if it has fields besides these, or a message of them.
    uint32_t further
    uint32_t is_damaged


cdef inline void read_event(const uint8_t* data, int64_t at, int64_t end, Event* event) noexcept nogil:
    cdef WireField field
    cdef uint64_t value
    cdef uint8_t tag
    cdef int64_t whole = at
    event.ts = 0
    event.tid = -1
    event.key = 0
    event.flags = 0
    event.further = 0
    event.is_damaged = 0
    event.start = at
    event.size = 0
    while at < end:
        tag = data[at]
        if tag == tTIMESTAMP:
            at = read_varint(data, at + 1, end, &value)
            if at < 0:
                event.is_damaged = 1
                return
            event.ts = <int64_t>value
            continue
        if tag == tPID:
            at = read_short_varint(data, at + 1, end, &value)
            if at < 0:
                event.is_damaged = 1
                return
            event.tid = <int32_t>value
            continue
        # The event itself, mostly: a number of two bytes and a size of one.
        if (
            tag & 0x87 == (0x80 | WIRE_BYTES) and end - at > 2 and 0 < data[at + 1] < 0x80
            and data[at + 2] < 0x80 and data[at + 2] <= end - at - 3
        ):
            field.number = (tag >> 3 & 15) | <uint32_t>data[at + 1] << 4
            field.wire = WIRE_BYTES
            field.start = at + 3
            field.size = data[at + 2]
            at += 3 + field.size
        else:
            at = next_field(data, at, end, &field)
            if at < 0:
                event.is_damaged = 1
                return
        if field.wire == WIRE_BYTES:
            event.start = field.start
            event.size = field.size
            event.key = <int32_t>field.number
            if field.number > MAX_KEY:
                event.key = kUNKNOWN
                event.start = whole
                event.size = end - whole
            elif field.number == FTRACE_EVENT_GENERIC:
                event.further = 1
        elif field.wire == WIRE_VARINT:
            if field.number == FTRACE_EVENT_TIMESTAMP:
                event.ts = <int64_t>field.value
            elif field.number == FTRACE_EVENT_PID:
                event.tid = <int32_t>field.value
            elif field.number == FTRACE_EVENT_COMMON_FLAGS:
                event.flags = <uint32_t>field.value
            else:
                event.further = 1
        else:
            event.further = 1


# The notes of a bundle on its events (`layout.EVENT_NOTES`): the distance to the next event that has a note, and the
# note.
cdef struct Notes:
    int64_t at
    int64_t end
    # No event is as far as that if there is no further note.
    uint64_t ahead
    uint64_t note


cdef inline void next_note(const uint8_t* data, Notes* notes) noexcept nogil:
    notes.at = read_varint(data, notes.at, notes.end, &notes.ahead)
    if notes.at >= 0:
        notes.at = read_varint(data, notes.at, notes.end, &notes.note)
    if notes.at < 0:
        notes.end = -1
        notes.ahead = <uint64_t>-1


cdef inline void take_note(const uint8_t* data, Notes* notes, Event* event) noexcept nogil:
    if notes.ahead:
        notes.ahead -= 1
        return
    event.flags |= <uint32_t>(notes.note >> 1)
    if notes.note & 1:
        event.tid = -1
    next_note(data, notes)


cdef struct Output:
    int64_t* ts
    int32_t* tid
    int32_t* key
    int32_t* cpu
    int32_t* bundle
    uint32_t* flags
    int64_t* start
    int64_t* size
    int64_t* switches
    int64_t* wakings
    int64_t events
    int64_t switch_count
    int64_t waking_count
    int64_t capacity
    int64_t switch_capacity
    int64_t waking_capacity


cdef inline void put_switch(const uint8_t* data, Compact* compact, CpuState* state, Output* out) noexcept nogil:
    cdef int64_t* row = &out.switches[out.switch_count * SWITCH_COLUMNS]
    cdef int64_t at = out.events
    row[0] = state.pid if state.known else -1
    row[1] = state.priority if state.known else 0
    row[2] = state.comm if state.known else 0
    row[3] = <int64_t>advance(data, &compact.cursors[SCHED_SWITCH_PREV_STATE])
    row[4] = <int32_t>advance(data, &compact.cursors[SCHED_SWITCH_NEXT_PID])
    row[5] = <int32_t>advance(data, &compact.cursors[SCHED_SWITCH_NEXT_PRIO])
    row[6] = comm_of(compact, advance(data, &compact.cursors[SCHED_SWITCH_NEXT_COMM_INDEX]))
    out.ts[at] = compact.switch_ts
    out.tid[at] = <int32_t>row[0]
    out.key[at] = kCOMPACT_SWITCH
    out.start[at] = out.switch_count
    out.size[at] = 0
    out.flags[at] = 0
    state.known = 1
    state.pid = row[4]
    state.priority = row[5]
    state.comm = row[6]
    out.switch_count += 1
    compact.switches_left -= 1
    if compact.switches_left:
        compact.switch_ts += <int64_t>advance(data, &compact.cursors[SCHED_SWITCH_TIMESTAMP])


cdef inline void put_waking(const uint8_t* data, Compact* compact, CpuState* state, Output* out) noexcept nogil:
    cdef int64_t* row = &out.wakings[out.waking_count * WAKING_COLUMNS]
    cdef int64_t at = out.events
    row[0] = <int32_t>advance(data, &compact.cursors[SCHED_WAKING_PID])
    row[1] = <int32_t>advance(data, &compact.cursors[SCHED_WAKING_TARGET_CPU])
    row[2] = <int32_t>advance(data, &compact.cursors[SCHED_WAKING_PRIO])
    row[3] = comm_of(compact, advance(data, &compact.cursors[SCHED_WAKING_COMM_INDEX]))
    out.ts[at] = compact.waking_ts
    # The waker is the task that runs on the CPU.
    out.tid[at] = <int32_t>state.pid if state.known else -1
    out.key[at] = kCOMPACT_WAKING
    out.start[at] = out.waking_count
    out.size[at] = 0
    out.flags[at] = <uint32_t>advance(data, &compact.cursors[SCHED_WAKING_COMMON_FLAGS])
    out.waking_count += 1
    compact.wakings_left -= 1
    if compact.wakings_left:
        compact.waking_ts += <int64_t>advance(data, &compact.cursors[SCHED_WAKING_TIMESTAMP])


# The events of one bundle; -1 when memory runs out, -2 when the columns are too short.
cdef int fill_bundle(
    const uint8_t* data, int64_t at, int64_t end, int64_t* row, CpuState* state, StringTable strings,
    int32_t bundle, Output* out,
) noexcept nogil:
    cdef WireField field
    cdef Compact compact
    cdef Event event
    cdef Notes notes
    cdef bint has_event = False
    cdef int64_t first = out.events
    cdef int64_t room = out.capacity - out.events - (row[bLOST] != 0)
    cdef int64_t i
    cdef int64_t lost = -1
    # The last switch that is an event of its own, until its task is needed.
    cdef int64_t switch_start = -1
    cdef int64_t switch_size = 0
    if (
        row[bSWITCHES] > out.switch_capacity - out.switch_count
        or row[bWAKINGS] > out.waking_capacity - out.waking_count
        # The others are as many as there is room for by now, so that no sum is too large.
        or row[bEVENTS] > room - row[bSWITCHES] - row[bWAKINGS]
    ):
        return -2
    if row[bLOST]:
        # The task that ran meanwhile is not known.
        state.known = 0
        lost = out.events
        out.ts[lost] = row[bPREVIOUS_END]
        out.tid[lost] = -1
        out.key[lost] = kLOST_COUNTED if row[bLOST] == COUNTED else kLOST
        out.flags[lost] = 0
        out.start[lost] = row[bLOST_COUNT]
        out.size[lost] = 0
        out.events += 1
    if open_compact(
        data, row[bCOMPACT_START], row[bCOMPACT_SIZE], row[bSWITCHES], row[bWAKINGS], &compact, strings
    ) < 0:
        free(compact.comms)
        return -1
    notes.at = row[bNOTES_START]
    notes.end = notes.at + row[bNOTES_SIZE]
    notes.note = 0
    next_note(data, &notes)
    while True:
        if not has_event:
            while at >= 0 and at < end:
                if data[at] == tEVENT:
                    field.number = BUNDLE_EVENT
                    field.wire = WIRE_BYTES
                    field.start = at = read_size(data, at + 1, end, &field.size)
                    if at >= 0:
                        at += field.size
                else:
                    at = next_field(data, at, end, &field)
                if at >= 0 and field.wire == WIRE_BYTES and field.number == BUNDLE_EVENT:
                    read_event(data, field.start, field.start + field.size, &event)
                    take_note(data, &notes, &event)
                    row[bFURTHER] |= event.further
                    if event.is_damaged:
                        row[bDAMAGE] = cIN_AN_EVENT
                    has_event = True
                    break
        if out.events == out.capacity and (has_event or compact.wakings_left or compact.switches_left):
            # More than `scan_bundles` has counted.
            free(compact.comms)
            return -2
        if (
            has_event
            and (not compact.wakings_left or event.ts <= compact.waking_ts)
            and (not compact.switches_left or event.ts <= compact.switch_ts)
        ):
            i = out.events
            out.ts[i] = event.ts
            out.tid[i] = event.tid
            out.key[i] = event.key
            out.flags[i] = event.flags
            out.start[i] = event.start
            out.size[i] = event.size
            has_event = False
            if event.key == FTRACE_EVENT_SCHED_SWITCH:
                switch_start, switch_size = event.start, event.size
            out.events += 1
            continue
        if switch_start >= 0:
            # Here, and at the end of the bundle.
            if note_switch(data, switch_start, switch_size, state, strings) < 0:
                free(compact.comms)
                return -1
            switch_start = -1
        if compact.wakings_left and (not compact.switches_left or compact.waking_ts <= compact.switch_ts):
            put_waking(data, &compact, state, out)
        elif compact.switches_left:
            put_switch(data, &compact, state, out)
        else:
            break
        out.events += 1
    free(compact.comms)
    if lost >= 0 and row[bPREVIOUS_END] == 0 and out.events > lost + 1:
        out.ts[lost] = out.ts[lost + 1]
    for i in range(first, out.events):
        out.cpu[i] = <int32_t>row[bCPU]
        out.bundle[i] = bundle
    return 0


def fill_bundles(
    const uint8_t[::1] data,
    const int64_t[:] starts,
    const int64_t[:] sizes,
    int64_t[:, ::1] rows,
    CpuStates cpus,
    StringTable strings,
    OutputArrays events not None,
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
    cdef Output out
    cdef Events columns = events.common(WITH_CPU)
    cdef int64_t[:, ::1] switches
    cdef int64_t[:, ::1] wakings
    cdef int64_t count = starts.shape[0]
    cdef int64_t end = data.shape[0]
    cdef int64_t capacity = columns.count
    cdef int64_t i
    cdef int result = 0
    if sizes.shape[0] != count or rows.shape[0] != count or rows.shape[1] != bCOLUMNS:
        raise ValueError("starts, sizes and rows differ in length")
    switches, wakings = compact
    if switches.shape[1] != SWITCH_COLUMNS or wakings.shape[1] != WAKING_COLUMNS:
        raise ValueError("switches or wakings have the wrong shape")
    for i in range(count):
        if starts[i] < 0 or sizes[i] < 0 or starts[i] > end or sizes[i] > end - starts[i]:
            raise ValueError(f"bundle {i} lies outside the data")
        if not rows[i, bDAMAGE] and not (
            0 <= rows[i, bCPU] < MAX_CPUS
            and rows[i, bEVENTS] >= 0 and rows[i, bSWITCHES] >= 0 and rows[i, bWAKINGS] >= 0
            and 0 <= rows[i, bCOMPACT_START] <= end and 0 <= rows[i, bCOMPACT_SIZE] <= end - rows[i, bCOMPACT_START]
            and 0 <= rows[i, bNOTES_START] <= end and 0 <= rows[i, bNOTES_SIZE] <= end - rows[i, bNOTES_START]
        ):
            raise ValueError(f"row {i} is not one of scan_bundles")
    if capacity == 0 or end == 0:
        return 0
    out.ts = columns.ts
    out.tid = <int32_t*>events.own("tid", 4)
    out.key = <int32_t*>events.own("key", 4)
    out.cpu = columns.cpu
    out.bundle = <int32_t*>events.own("bundle", 4)
    out.flags = <uint32_t*>events.own("flags", 4)
    out.start = <int64_t*>events.own("start", 8)
    out.size = <int64_t*>events.own("size", 8)
    out.switches = &switches[0, 0] if switches.shape[0] else NULL
    out.wakings = &wakings[0, 0] if wakings.shape[0] else NULL
    out.events = 0
    out.switch_count = 0
    out.waking_count = 0
    out.capacity = capacity
    out.switch_capacity = switches.shape[0]
    out.waking_capacity = wakings.shape[0]
    with nogil:
        for i in range(count):
            if rows[i, bDAMAGE]:
                continue
            result = fill_bundle(
                &data[0], starts[i], starts[i] + sizes[i], &rows[i, 0], &cpus._states[rows[i, bCPU]], strings,
                <int32_t>i, &out,
            )
            if result < 0:
                break
    if result == -1:
        raise MemoryError("no room for more strings")
    if result == -2:
        raise ValueError("the columns are too short")
    return out.events
