# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Names that kernel events give to tasks, found while passing over bundles, without decoding other events."""

# Stub:
# from collections.abc import Sequence
# from converter.kernels.tables.strings import StringTable
# from converter.kernels.tables.task_names import TaskNames

from libc.stdlib cimport calloc

from converter.formats.perfetto.protobuf.fields cimport (
    FTRACE_EVENT_TIMESTAMP, SCHED_SWITCH_NEXT_COMM_INDEX, SCHED_SWITCH_NEXT_PID, SCHED_SWITCH_TIMESTAMP,
    SCHED_WAKING_COMM_INDEX, SCHED_WAKING_PID, SCHED_WAKING_TIMESTAMP,
)


cdef class NamingEvents:
    """Which kernel events name tasks and in which fields, and what those of a trace name them."""

    # Stub:
    # #: The names, as strings of the table that was given.
    # names: TaskNames

    def __cinit__(self, StringTable strings not None):
        self.names = TaskNames()
        self._strings = strings
        self._count = 0
        self._of_event = <uint8_t*>calloc(NAMING_EVENTS, 1)
        if self._of_event is NULL:
            raise MemoryError("no room for numbers of events")

    def __dealloc__(self):
        free(self._of_event)

    def add(self, uint32_t event, places: Sequence[tuple[int, int]]) -> None:
        """Have events of a field number of FtraceEvent name one or two tasks.

        Args:
            event: the number, which has not been added before.
            places: the numbers of the fields with a task's tid and name, for each task.

        Raises:
            ValueError: it has been added, is beyond all that there are, or names another number of tasks.

        """
        cdef Naming* naming
        cdef int i
        if event >= NAMING_EVENTS or not 0 < len(places) <= MOST_NAMED or self._of_event[event]:
            raise ValueError("an event cannot be one that names tasks so")
        if self._count == MOST_NAMING:
            return
        naming = &self._namings[self._count]
        for i in range(MOST_NAMED):
            naming.tid[i], naming.name[i] = places[i] if i < len(places) else (0, 0)
            if 0 < naming.tid[i] < FEW_FIELDS:
                naming.says[naming.tid[i]] = <uint8_t>(SAYS_TID + i)
            if 0 < naming.name[i] < FEW_FIELDS:
                naming.says[naming.name[i]] = <uint8_t>(SAYS_NAME + i)
        self._count += 1
        self._of_event[event] = self._count

    def check(self) -> None:
        """Raise MemoryError if there was no room for a name."""
        self.names.check()


cdef void note_names(const uint8_t* data, int64_t at, int64_t end, int64_t ts, NamingEvents naming) noexcept nogil:
    cdef WireField field, message
    cdef int which = 0
    while at < end:
        at = next_field(data, at, end, &field)
        if at < 0:
            return
        if field.number == FTRACE_EVENT_TIMESTAMP and field.wire == WIRE_VARINT:
            ts = <int64_t>field.value
        elif field.wire == WIRE_BYTES and field.number < NAMING_EVENTS:
            which = naming._of_event[field.number]
            message = field
    if which:
        note_message(data, message.start, message.start + message.size, ts, &naming._namings[which - 1], naming)


cdef void note_message(
    const uint8_t* data, int64_t at, int64_t end, int64_t ts, const Naming* placed, NamingEvents naming
) noexcept nogil:
    cdef WireField field
    cdef int64_t tid[MOST_NAMED]
    cdef int64_t start[MOST_NAMED]
    cdef int64_t size[MOST_NAMED]
    cdef uint64_t value = 0
    cdef int tag, says, i
    for i in range(MOST_NAMED):
        # A field that is not there is zero, or empty.
        tid[i] = start[i] = size[i] = 0
    while at < end:
        tag = data[at]
        if FIRST_TAG <= tag < 0x80:
            # Nearly all fields: a number, or a text of fewer than 128 bytes, whose tag is one byte.
            says = placed.says[tag >> 3]
            if tag & 7 == WIRE_VARINT:
                if SAYS_TID <= says < SAYS_NAME:
                    at = read_short_varint(data, at + 1, end, &value)
                    tid[says - SAYS_TID] = <int64_t>value
                else:
                    at = skip_varint(data, at + 1, end)
                if at < 0:
                    return
                continue
            if tag & 7 == WIRE_BYTES and end - at >= 2 and data[at + 1] < 0x80:
                at += 2
                if data[at - 1] > end - at:
                    return
                if says >= SAYS_NAME:
                    start[says - SAYS_NAME] = at
                    size[says - SAYS_NAME] = data[at - 1]
                at += data[at - 1]
                continue
        at = next_field(data, at, end, &field)
        if at < 0:
            return
        for i in range(MOST_NAMED):
            if field.number == placed.tid[i]:
                if field.wire == WIRE_VARINT:
                    tid[i] = <int64_t>field.value
            elif field.number == placed.name[i] and field.wire == WIRE_BYTES:
                start[i] = field.start
                size[i] = field.size
    for i in range(MOST_NAMED):
        naming.names.note_text(tid[i], ts, data + start[i], size[i], naming._strings)


cdef void note_compact(
    const uint8_t* data, int64_t start, int64_t size, int64_t switches, int64_t wakings, NamingEvents naming
) noexcept nogil:
    cdef Compact compact
    cdef int64_t tid
    cdef int comm
    if open_compact(data, start, size, switches, wakings, &compact, naming._strings) < 0:
        free(compact.comms)
        naming.names.failed = True
        return
    while compact.switches_left:
        tid = <int64_t>advance(data, &compact.cursors[SCHED_SWITCH_NEXT_PID])
        comm = <int>comm_of(&compact, advance(data, &compact.cursors[SCHED_SWITCH_NEXT_COMM_INDEX]))
        naming.names.note(tid, compact.switch_ts, comm, naming._strings)
        compact.switches_left -= 1
        if compact.switches_left:
            compact.switch_ts += <int64_t>advance(data, &compact.cursors[SCHED_SWITCH_TIMESTAMP])
    while compact.wakings_left:
        tid = <int64_t>advance(data, &compact.cursors[SCHED_WAKING_PID])
        comm = <int>comm_of(&compact, advance(data, &compact.cursors[SCHED_WAKING_COMM_INDEX]))
        naming.names.note(tid, compact.waking_ts, comm, naming._strings)
        compact.wakings_left -= 1
        if compact.wakings_left:
            compact.waking_ts += <int64_t>advance(data, &compact.cursors[SCHED_WAKING_TIMESTAMP])
    free(compact.comms)
