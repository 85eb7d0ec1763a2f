# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Perfetto's framing: TracePackets of a window, and the fields of any message."""

# Stub:
# #: Columns of a row of `scan_packets`. Starts are offsets in the window.
# START: int
# SIZE: int
# TIMESTAMP: int
# #: The packet's own timestamp_clock_id, -1 when it has none.
# CLOCK: int
# SEQUENCE: int
# FLAGS: int
# #: Field number of the packet's data: 0 when it has none, DAMAGED when the packet cannot be read.
# DATA: int
# DATA_START: int
# DATA_SIZE: int
# INTERNED_START: int
# INTERNED_SIZE: int
# DEFAULTS_START: int
# DEFAULTS_SIZE: int
# COLUMNS: int
# #: Bits of FLAGS.
# CLEARED: int
# NEEDS_STATE: int
# TIMED: int
# INTERNED: int
# DEFAULTS: int
# DROPPED: int
# FIRST: int
# #: It is of another computer than the one that recorded (machine_id).
# MACHINE: int
# #: It may have fields without a rule (`rules`), as scanning it, and then its events, has seen.
# FURTHER: int
# DAMAGED: int

from converter.formats.perfetto.protobuf.fields cimport (
    PACKET_ANDROID_LOG, PACKET_FIRST_PACKET_ON_SEQUENCE, PACKET_FTRACE_EVENTS,
    PACKET_GENERIC_KERNEL_TASK_STATE_EVENT, PACKET_INCREMENTAL_STATE_CLEARED, PACKET_INTERNED_DATA,
    PACKET_MACHINE_ID, PACKET_PERF_SAMPLE, PACKET_PREVIOUS_PACKET_DROPPED, PACKET_SEQUENCE_FLAGS,
    PACKET_TIMESTAMP, PACKET_TIMESTAMP_CLOCK_ID, PACKET_TRACE_PACKET_DEFAULTS, PACKET_TRACK_EVENT,
    PACKET_TRUSTED_PACKET_SEQUENCE_ID, PACKET_TRUSTED_PID, PACKET_TRUSTED_UID,
)
from converter.kernels.protobuf.wire cimport (
    WIRE_BYTES, WIRE_VARINT, WireField, next_field, read_varint,
)

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

# Columns of a row of `scan_packets`; published as names of the module.
cdef enum:
    cSTART = 0
    cSIZE = 1
    cTIMESTAMP = 2
    cCLOCK = 3
    cSEQUENCE = 4
    cFLAGS = 5
    cDATA = 6
    cDATA_START = 7
    cDATA_SIZE = 8
    cINTERNED_START = 9
    cINTERNED_SIZE = 10
    cDEFAULTS_START = 11
    cDEFAULTS_SIZE = 12
    cCOLUMNS = 13
    # Flags: the two of TracePacket.SequenceFlags, then what is present.
    cCLEARED = 1
    cNEEDS_STATE = 2
    cTIMED = 4
    cINTERNED = 8
    cDEFAULTS = 16
    cDROPPED = 32
    cFIRST = 64
    cMACHINE = 128
    # It may have fields that have no rule.
    cFURTHER = 256

START, SIZE, TIMESTAMP, CLOCK, SEQUENCE, FLAGS = cSTART, cSIZE, cTIMESTAMP, cCLOCK, cSEQUENCE, cFLAGS
DATA, DATA_START, DATA_SIZE, COLUMNS = cDATA, cDATA_START, cDATA_SIZE, cCOLUMNS
INTERNED_START, INTERNED_SIZE = cINTERNED_START, cINTERNED_SIZE
DEFAULTS_START, DEFAULTS_SIZE = cDEFAULTS_START, cDEFAULTS_SIZE
CLEARED, NEEDS_STATE, TIMED, INTERNED, DEFAULTS, DROPPED, FIRST, MACHINE, FURTHER = (
    cCLEARED, cNEEDS_STATE, cTIMED, cINTERNED, cDEFAULTS, cDROPPED, cFIRST, cMACHINE, cFURTHER
)
DAMAGED = -1


cdef inline bint is_header(uint64_t number) noexcept nogil:
    # TracePacket fields that say something about the packet; every other field is its data.
    return (
        number == PACKET_TRUSTED_UID or number == PACKET_TIMESTAMP
        or number == PACKET_TRUSTED_PACKET_SEQUENCE_ID or number == PACKET_INTERNED_DATA
        or number == PACKET_SEQUENCE_FLAGS or number == PACKET_INCREMENTAL_STATE_CLEARED
        or number == PACKET_PREVIOUS_PACKET_DROPPED or number == PACKET_TIMESTAMP_CLOCK_ID
        or number == PACKET_TRACE_PACKET_DEFAULTS or number == PACKET_TRUSTED_PID
        or number == PACKET_FIRST_PACKET_ON_SEQUENCE or number == PACKET_MACHINE_ID
    )


cdef inline bint is_taken_apart(int64_t number) noexcept nogil:
    # The data that events are read of; another field beside it, which no message has, takes nothing of that.
    return (
        number == PACKET_FTRACE_EVENTS or number == PACKET_TRACK_EVENT or number == PACKET_ANDROID_LOG
        or number == PACKET_PERF_SAMPLE or number == PACKET_GENERIC_KERNEL_TASK_STATE_EVENT
    )


cdef inline bint is_scanned(int64_t number) noexcept nogil:
    # The data that further fields are looked for in where events are read of it.
    return number == PACKET_FTRACE_EVENTS or number == PACKET_TRACK_EVENT


cdef inline void note_data(int64_t* row, int64_t number) noexcept nogil:
    # Data that is no message.
    row[cFLAGS] |= cFURTHER
    if row[cDATA] == 0:
        row[cDATA] = number


cdef void scan_packet(const uint8_t* data, int64_t at, int64_t end, int64_t* row) noexcept nogil:
    cdef WireField field
    row[cSTART] = at
    row[cSIZE] = end - at
    row[cTIMESTAMP] = 0
    row[cCLOCK] = -1
    row[cSEQUENCE] = 0
    row[cFLAGS] = 0
    row[cDATA] = 0
    row[cDATA_START] = at
    row[cDATA_SIZE] = 0
    row[cINTERNED_START] = at
    row[cINTERNED_SIZE] = 0
    row[cDEFAULTS_START] = at
    row[cDEFAULTS_SIZE] = 0
    while at < end:
        at = next_field(data, at, end, &field)
        if at < 0:
            row[cDATA] = -1
            return
        if field.wire == WIRE_VARINT:
            if field.number == PACKET_TIMESTAMP:
                row[cTIMESTAMP] = <int64_t>field.value
                row[cFLAGS] |= cTIMED
            elif field.number == PACKET_TRUSTED_PACKET_SEQUENCE_ID:
                row[cSEQUENCE] = <int64_t>(<uint32_t>field.value)
            elif field.number == PACKET_SEQUENCE_FLAGS:
                row[cFLAGS] |= <int64_t>(field.value & 3)
            elif field.number == PACKET_TIMESTAMP_CLOCK_ID:
                row[cCLOCK] = <int64_t>(<uint32_t>field.value)
            elif field.number == PACKET_INCREMENTAL_STATE_CLEARED:
                row[cFLAGS] |= cCLEARED if field.value else 0
            elif field.number == PACKET_PREVIOUS_PACKET_DROPPED:
                row[cFLAGS] |= cDROPPED if field.value else 0
            elif field.number == PACKET_FIRST_PACKET_ON_SEQUENCE:
                row[cFLAGS] |= cFIRST if field.value else 0
            elif field.number == PACKET_MACHINE_ID:
                row[cFLAGS] |= cMACHINE if field.value else 0
            elif not is_header(field.number):
                note_data(row, field.number)
        elif field.wire == WIRE_BYTES:
            if field.number == PACKET_INTERNED_DATA:
                if row[cFLAGS] & cINTERNED:
                    row[cFLAGS] |= cFURTHER
                row[cINTERNED_START] = field.start
                row[cINTERNED_SIZE] = field.size
                row[cFLAGS] |= cINTERNED
            elif field.number == PACKET_TRACE_PACKET_DEFAULTS:
                if row[cFLAGS] & cDEFAULTS:
                    row[cFLAGS] |= cFURTHER
                row[cDEFAULTS_START] = field.start
                row[cDEFAULTS_SIZE] = field.size
                row[cFLAGS] |= cDEFAULTS
            elif not is_header(field.number):
                if row[cDATA] or not is_scanned(field.number):
                    row[cFLAGS] |= cFURTHER
                if not is_taken_apart(row[cDATA]) or is_taken_apart(field.number):
                    row[cDATA] = field.number
                    row[cDATA_START] = field.start
                    row[cDATA_SIZE] = field.size
        elif not is_header(field.number):
            note_data(row, field.number)


def scan_packets(const uint8_t[::1] data, int64_t begin, int64_t[:, ::1] rows) -> tuple[int, int, int]:
    """Walk the fields of a Trace message (trace.proto), a row per TracePacket into `rows` (shape (n, COLUMNS)).

    Returns the number of rows, the offset of the first byte not walked, and what stopped there: 0 the end of the data
    or of the rows, 1 a field that the data cuts off, 2 bytes that are no field. Releases the GIL.
    """
    cdef int64_t end = data.shape[0]
    cdef int64_t capacity = rows.shape[0]
    cdef int64_t count = 0
    cdef int64_t at = begin
    cdef int64_t next_at = begin
    cdef uint64_t tag = 0
    cdef uint64_t size = 0
    cdef const uint8_t* bytes
    cdef WireField field
    # The reason why the scan stopped: 0 the end of the data or of the rows, 1 a field that is cut off, 2 damage.
    cdef int stopped = 0
    if rows.shape[1] != cCOLUMNS or not 0 <= begin <= end:
        raise ValueError("rows or begin do not fit")
    if begin == end:
        return 0, begin, 0
    bytes = &data[0]
    with nogil:
        while at < end and count < capacity:
            next_at = read_varint(bytes, at, end, &tag)
            if next_at < 0:
                stopped = 1 if end - at < 10 else 2
                break
            if tag == 0x0A:
                next_at = read_varint(bytes, next_at, end, &size)
                if next_at < 0:
                    stopped = 1 if end - at < 11 else 2
                    break
                if size > <uint64_t>(end - next_at):
                    stopped = 1
                    break
                scan_packet(bytes, next_at, next_at + <int64_t>size, &rows[count, 0])
                count += 1
                at = next_at + <int64_t>size
                continue
            # Other fields of Trace: importers pass over them.
            next_at = next_field(bytes, at, end, &field)
            if next_at < 0:
                stopped = 1 if (tag & 7) in (0, 1, 2, 5) and tag >> 3 else 2
                break
            at = next_at
    return count, at, stopped


def split_fields(const uint8_t[::1] data, int64_t start, int64_t size) -> list[tuple[int, int, int, int]]:
    """The fields of one message: (number, wire type, value or start, size).

    Raises ValueError when the message is damaged.
    """
    cdef WireField field
    cdef int64_t at = start
    cdef int64_t end = start + size
    if start < 0 or size < 0 or end > data.shape[0]:
        raise ValueError("the message lies outside the data")
    result = []
    while at < end:
        at = next_field(&data[0], at, end, &field)
        if at < 0:
            raise ValueError("damaged message")
        if field.wire == WIRE_BYTES:
            result.append((field.number, field.wire, field.start, field.size))
        else:
            result.append((field.number, field.wire, field.value, 0))
    return result
