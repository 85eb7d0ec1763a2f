# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Records of simpleperf: where they are and which kind they have; and sizes before records that are written."""

# Stub:
# #: Columns of `scan_records`: the offset of a record and its size, with its size field, its kind, the offset and the
# #: size of its content.
# AT: int
# SIZE: int
# KIND: int
# CONTENT: int
# CONTENT_SIZE: int

import numpy as np

from converter.kernels.io.byte_order cimport HOST_IS_BIG, load32, store32
from converter.kernels.protobuf.wire cimport WIRE_BYTES, WireField, check_spans, next_field

from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.string cimport memcpy

AT, SIZE, KIND, CONTENT, CONTENT_SIZE = range(5)

cdef enum:
    SIZE_BYTES = 4
    LAST_KIND = 6
    # Our own.
    FIRST_OWN = 2000
    LAST_OWN = 2001
    DAMAGED = -1


# The kind of a message and its content: of several fields of which a record has one, the last counts.
cdef inline int64_t kind_of(
    const uint8_t* data, int64_t at, int64_t end, int64_t* content, int64_t* size
) noexcept nogil:
    cdef WireField field
    cdef int64_t kind = 0
    content[0] = at
    size[0] = end - at
    while at < end:
        at = next_field(data, at, end, &field)
        if at < 0:
            return DAMAGED
        if field.wire == WIRE_BYTES and (field.number <= LAST_KIND or FIRST_OWN <= field.number <= LAST_OWN):
            kind = field.number
            content[0] = field.start
            size[0] = field.size
    return kind


def scan_records(const uint8_t[::1] data, int64_t start, int64_t most) -> tuple[NDArray[int64], int, bool]:
    """Return `most` records at most from an offset on, the offset after them, and True if the size 0 ends them.

    A row has the columns `AT` to `CONTENT_SIZE`. Kind 0 is a record of none of the known kinds; kind -1 one that is no
    message. Both have the whole record as their content.
    """
    cdef int64_t total = data.shape[0]
    cdef int64_t at = start
    cdef int64_t count = 0
    cdef int64_t size
    cdef int64_t i
    cdef bint is_ended = False
    cdef int64_t[:, ::1] rows
    if start < 0 or start > total:
        raise ValueError("the start lies outside the data")
    with nogil:
        while total - at >= SIZE_BYTES and count < most:
            size = load32(&data[at], HOST_IS_BIG)
            if size == 0:
                is_ended = True
                break
            if size > total - at - SIZE_BYTES:
                break
            at += SIZE_BYTES + size
            count += 1
    found = np.empty((count, 5), np.int64)
    rows = found
    at = start
    with nogil:
        for i in range(count):
            size = load32(&data[at], HOST_IS_BIG)
            rows[i, 0] = at
            rows[i, 1] = SIZE_BYTES + size
            rows[i, 2] = kind_of(&data[0], at + SIZE_BYTES, at + SIZE_BYTES + size, &rows[i, 3], &rows[i, 4])
            if rows[i, 2] <= 0:
                rows[i, 3] = at + SIZE_BYTES
                rows[i, 4] = size
            at += SIZE_BYTES + size
    return found, at, is_ended


def with_sizes(const uint8_t[::1] data, const int64_t[:] starts, const int64_t[:] sizes) -> NDArray[uint8]:
    """Return messages one after the other, each with its size of 32 bits before it."""
    cdef int64_t count = starts.shape[0]
    cdef int64_t total = 0
    cdef int64_t i
    cdef uint8_t[::1] result
    cdef uint8_t* at
    check_spans(data.shape[0], starts, sizes)
    for i in range(count):
        if sizes[i] >> 32:
            raise ValueError(f"message {i} is too large")
        total += SIZE_BYTES + sizes[i]
    found = np.empty(total, np.uint8)
    if total == 0:
        return found
    result = found
    at = &result[0]
    with nogil:
        for i in range(count):
            store32(at, <uint32_t>sizes[i], HOST_IS_BIG)
            if sizes[i]:
                memcpy(at + SIZE_BYTES, &data[starts[i]], sizes[i])
            at += SIZE_BYTES + sizes[i]
    return found
