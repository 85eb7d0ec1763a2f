# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Fields of messages that have no rule in a table."""

# Stub:
# #: The number of field numbers, from 0 on, that have an entry each in a table; the number of higher ones that a
# #: message may name.
# NUMBERS: int
# HIGH_NUMBERS: int
# #: Entries of a table for a field, where they are not 0: it is read, or only if it is length-delimited, or it is a
# #: message of the table, counted from here.
# READ: int
# READ_AS_BYTES: int
# MESSAGE: int

import numpy as np

from converter.formats.perfetto.protobuf.scan_vectors cimport Vector, push_word
from converter.kernels.protobuf.wire cimport WIRE_BYTES, WIRE_VARINT, WireField, skip_varint, next_field

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcpy

cdef enum:
    cNUMBERS = 256
    cHIGH_NUMBERS = 8
    cNONE = 0
    cREAD = 1
    # Read if it is length-delimited.
    cREAD_AS_BYTES = 2
    # From here on: a message of the table, which is looked into.
    cMESSAGE = 3
    MAX_MESSAGES = 253
    MAX_DEPTH = 32

NUMBERS, HIGH_NUMBERS, MESSAGE = cNUMBERS, cHIGH_NUMBERS, cMESSAGE
READ, READ_AS_BYTES = cREAD, cREAD_AS_BYTES


# The rules of all messages: by message and number, and (number, rule) of those with higher numbers.
cdef struct Rules:
    const uint8_t* low
    const int32_t* high


cdef inline uint8_t rule_of(const Rules* rules, int message, uint32_t number) noexcept nogil:
    cdef const int32_t* high
    cdef int k
    if number < cNUMBERS:
        return rules.low[message * cNUMBERS + number]
    high = rules.high + message * 2 * cHIGH_NUMBERS
    for k in range(cHIGH_NUMBERS):
        if high[2 * k] == <int32_t>number:
            return <uint8_t>high[2 * k + 1]
    # The entry of number 0, which no field has, holds for all others.
    return rules.low[message * cNUMBERS]


# Notes message << 32 | number of each field without a rule; -1 when memory runs out. Damage ends a message.
cdef int walk(
    const uint8_t* data, int64_t at, int64_t end, int message, const Rules* rules, Vector* found, int depth
) noexcept nogil:
    cdef WireField field
    cdef uint8_t rule
    cdef const uint8_t* low = rules.low + message * cNUMBERS
    field.start = 0
    field.size = 0
    while at < end:
        # The usual case: a tag of one byte before a varint that is read.
        if data[at] & 0x87 == WIRE_VARINT and data[at] > 7 and low[data[at] >> 3] == cREAD:
            at = skip_varint(data, at + 1, end)
            if at < 0:
                break
            continue
        at = next_field(data, at, end, &field)
        if at < 0:
            break
        rule = rule_of(rules, message, field.number)
        if rule == cNONE or (rule == cREAD_AS_BYTES and field.wire != WIRE_BYTES):
            if push_word(found, <uint64_t>message << 32 | field.number) < 0:
                return -1
        elif rule >= cMESSAGE and field.wire == WIRE_BYTES and depth < MAX_DEPTH:
            if walk(data, field.start, field.start + field.size, rule - cMESSAGE, rules, found, depth + 1) < 0:
                return -1
    return 0


def fields_without_rule(
    const uint8_t[::1] data,
    const int64_t[:] starts,
    const int64_t[:] sizes,
    const uint8_t[:] messages,
    const uint8_t[:, ::1] low,
    const int32_t[:, :, ::1] high,
) -> NDArray[uint64]:
    """``message << 32 | number`` of each field of some messages, and of those in them, that the table has no rule for.

    `low` has a row a message, of what is said of each number below ``NUMBERS``; that of number 0, which no field has,
    is said of all higher ones that `high` does not name, as (number, what is said). Damage ends a message. Raises
    ValueError when a message lies outside the data or the table is none. Releases the GIL.
    """
    cdef int64_t count = starts.shape[0]
    cdef int64_t total = data.shape[0]
    cdef int64_t i
    cdef int failed = 0
    cdef Rules rules
    cdef Vector found
    cdef uint64_t[::1] view
    if sizes.shape[0] != count or messages.shape[0] != count:
        raise ValueError("starts, sizes and messages differ in length")
    if not 0 < low.shape[0] <= MAX_MESSAGES or low.shape[1] != cNUMBERS:
        raise ValueError("the rules do not fit")
    if high.shape[0] != low.shape[0] or high.shape[1] != cHIGH_NUMBERS or high.shape[2] != 2:
        raise ValueError("the rules do not fit")
    if max(np.max(low), np.max(high[:, :, 1])) >= cMESSAGE + low.shape[0]:
        raise ValueError("a rule names no message")
    for i in range(count):
        if starts[i] < 0 or sizes[i] < 0 or starts[i] > total or sizes[i] > total - starts[i]:
            raise ValueError(f"message {i} lies outside the data")
        if messages[i] >= low.shape[0]:
            raise ValueError(f"message {i} has no rules")
    if count == 0 or total == 0:
        return np.zeros(0, np.uint64)
    rules.low = &low[0, 0]
    rules.high = &high[0, 0, 0]
    found.data = NULL
    found.size = 0
    found.room = 0
    with nogil:
        for i in range(count):
            failed = walk(&data[0], starts[i], starts[i] + sizes[i], messages[i], &rules, &found, 0)
            if failed:
                break
    if failed:
        free(found.data)
        raise MemoryError("no room for what was found")
    result = np.empty(found.size // 8, np.uint64)
    if found.size:
        view = result
        memcpy(&view[0], found.data, found.size)
    free(found.data)
    return result
