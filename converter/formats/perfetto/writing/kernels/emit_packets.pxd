# Packets of their own (trace_packet.proto): time, sequence, what the event's program writes, and the texts that it interns.

from converter.formats.perfetto.writing.kernels.emit cimport BAD_COLUMN, NO_MEMORY, OK
from converter.formats.perfetto.writing.kernels.emit_instructions cimport Emission, run
from converter.formats.perfetto.writing.kernels.emit_interning cimport begin_interned, put_interned
from converter.formats.perfetto.writing.kernels.emit_output cimport (
    Messages, begin_at, close_message, end_at, open_message, put, put_time,
)
from converter.formats.perfetto.writing.kernels.emit_programs cimport Program, fRAW, fRECORD
from converter.formats.perfetto.writing.kernels.emit_instructions cimport Emission, run
from converter.formats.perfetto.protobuf.fields cimport (
    FLAG_NEEDS_INCREMENTAL_STATE, PACKET_SEQUENCE_FLAGS, PACKET_TIMESTAMP, PACKET_TRACK_EVENT,
    PACKET_TRUSTED_PACKET_SEQUENCE_ID, TRACE_PACKET,
)
from converter.kernels.protobuf.wire cimport WIRE_BYTES
from converter.kernels.tables.strings cimport StringTable

from libc.stdint cimport int64_t, uint8_t, uint64_t


# One packet, of some of the program's steps.
cdef inline int put_packet(
    Emission* to, StringTable strings, Program* one, int first, int last, uint64_t sequence, int64_t ts, int64_t row
) noexcept nogil:
    cdef Messages* messages = &to.messages
    cdef uint8_t* at = begin_at(&messages.out, one.room)
    if at is NULL:
        return NO_MEMORY
    if row < 0 or row >= one.rows:
        return BAD_COLUMN
    to.status = OK
    messages.depth = 0
    begin_interned(&to.interned)
    if one.frame == fRAW:
        at = run(to, strings, one, first, last, row, at)
        if at is NULL:
            return to.status
        end_at(&messages.out, at)
        return OK
    at[0] = TRACE_PACKET << 3 | WIRE_BYTES
    at = open_message(messages, at + 1)
    at[0] = PACKET_TIMESTAMP << 3
    at = put_time(&to.upper, at + 1, <uint64_t>ts)
    at[0] = PACKET_TRUSTED_PACKET_SEQUENCE_ID << 3
    at = put(at + 1, sequence)
    if one.frame == fRECORD:
        at[0] = PACKET_SEQUENCE_FLAGS << 3
        at[1] = FLAG_NEEDS_INCREMENTAL_STATE
        at = run(to, strings, one, first, last, row, at + 2)
        if at is NULL:
            return to.status
    else:
        at[0] = PACKET_TRACK_EVENT << 3 | WIRE_BYTES
        at = run(to, strings, one, first, last, row, open_message(messages, at + 1))
        if at is NULL:
            return to.status
        at = put_interned(&to.interned, &messages.out, close_message(messages, at))
        if at is NULL:
            return NO_MEMORY
        at[0] = PACKET_SEQUENCE_FLAGS << 3
        at[1] = FLAG_NEEDS_INCREMENTAL_STATE
        at += 2
    end_at(&messages.out, close_message(messages, at))
    return OK


# A track event, another record (or two), or a whole packet as it was: OK, or why not. The caller says what its place is.
cdef inline int put_packets(
    Emission* to, StringTable strings, Program* one, uint64_t sequence, int64_t ts, int64_t row
) noexcept nogil:
    cdef int status
    if one.sequence:
        sequence = one.sequence
    if one.middle == 0:
        return put_packet(to, strings, one, 0, one.steps, sequence, ts, row)
    status = put_packet(to, strings, one, 0, one.middle, sequence, ts, row)
    return status if status != OK else put_packet(to, strings, one, one.middle, one.steps, sequence, ts, row)
