# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Messages of one type from columns: a tag, a size and the fields of each row, one row after the other."""

# Stub:
# from collections.abc import Sequence
#
# #: A column with a number per row. Zero, the default value, is not written.
# NUMBER: int
# #: A list of numbers per row, packed. An empty list is not written.
# PACKED: int
# #: Fields that are encoded already, as bytes per row.
# ENCODED: int

import numpy as np

from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcpy

cdef enum:
    wNUMBER = 0
    wPACKED = 1
    wENCODED = 2
    MAX_FIELDS = 64
    WIRE_BYTES = 2
    MAX_NUMBER = (1 << 29) - 1

NUMBER, PACKED, ENCODED = wNUMBER, wPACKED, wENCODED


cdef struct Column:
    uint64_t tag
    int way
    const uint64_t* values
    const int64_t* offsets
    const uint8_t* data


cdef inline int64_t varint_size(uint64_t value) noexcept nogil:
    cdef int64_t size = 1
    while value >= 0x80:
        value >>= 7
        size += 1
    return size


cdef inline uint8_t* put_varint(uint8_t* at, uint64_t value) noexcept nogil:
    while value >= 0x80:
        at[0] = <uint8_t>(value | 0x80)
        value >>= 7
        at += 1
    at[0] = <uint8_t>value
    return at + 1


cdef inline int64_t packed_size(const Column* column, int64_t row) noexcept nogil:
    cdef int64_t size = 0
    cdef int64_t i
    for i in range(column.offsets[row], column.offsets[row + 1]):
        size += varint_size(column.values[i])
    return size


cdef int64_t field_size(const Column* column, int64_t row) noexcept nogil:
    cdef int64_t size
    if column.way == wNUMBER:
        return varint_size(column.tag) + varint_size(column.values[row]) if column.values[row] else 0
    size = column.offsets[row + 1] - column.offsets[row]
    if column.way == wENCODED or size == 0:
        return size
    size = packed_size(column, row)
    return varint_size(column.tag) + varint_size(<uint64_t>size) + size


cdef uint8_t* put_field(const Column* column, int64_t row, uint8_t* at) noexcept nogil:
    cdef int64_t i
    cdef int64_t first, last
    if column.way == wNUMBER:
        if column.values[row]:
            at = put_varint(put_varint(at, column.tag), column.values[row])
        return at
    first = column.offsets[row]
    last = column.offsets[row + 1]
    if first == last:
        return at
    if column.way == wENCODED:
        memcpy(at, column.data + first, last - first)
        return at + (last - first)
    at = put_varint(at, column.tag)
    at = put_varint(at, <uint64_t>packed_size(column, row))
    for i in range(first, last):
        at = put_varint(at, column.values[i])
    return at


cdef int check_offsets(const int64_t[::1] offsets, int64_t count, int64_t total) except -1:
    cdef int64_t i
    if offsets.shape[0] != count + 1 or offsets[0] < 0 or offsets[count] > total:
        raise ValueError("offsets do not fit")
    for i in range(count):
        if offsets[i] > offsets[i + 1]:
            raise ValueError("offsets decrease")
    return 0


def varint(uint64_t value) -> bytes:
    """Return a number as a varint."""
    cdef uint8_t data[10]
    cdef uint8_t* end = put_varint(&data[0], value)
    return data[:end - &data[0]]


def encode_messages(
    int64_t number, int64_t count, fields: Sequence[tuple[int, int, NDArray[Any], NDArray[int64] | None]]
) -> tuple[NDArray[uint8], NDArray[int64]]:
    """Return messages as fields `number` of another, and the offsets of the rows in these bytes (count + 1).

    Args:
        number: the number of the field that the messages are; each begins with its tag and its size.
        count: the number of messages.
        fields: number, way (`NUMBER`, `PACKED`, `ENCODED`), values (uint64, or bytes) and the offsets of the rows in
            them (None: a value per row) of each field, in the order in which they are written.

    Raises ValueError when columns do not fit. Releases the GIL.
    """
    cdef Column columns[MAX_FIELDS]
    cdef int total = len(fields)
    cdef int k
    cdef int64_t i, size
    cdef int64_t used = 0
    cdef uint64_t tag = <uint64_t>number << 3 | WIRE_BYTES
    cdef const uint64_t[::1] values
    cdef const int64_t[::1] spans
    cdef const uint8_t[::1] data
    cdef int64_t[::1] sizes
    cdef int64_t[::1] offsets
    cdef uint8_t[::1] result
    cdef uint8_t* at
    if total > MAX_FIELDS or count < 0 or not 0 < number <= MAX_NUMBER:
        raise ValueError("too many fields, or no number of a field")
    # Views keep the memory of the columns until the end.
    views = []
    for k in range(total):
        one, way, column, starts = fields[k]
        if not 0 < one <= MAX_NUMBER or way not in (NUMBER, PACKED, ENCODED):
            raise ValueError("no number or way of a field")
        columns[k].way = way
        columns[k].tag = <uint64_t>one << 3 | (0 if way == wNUMBER else WIRE_BYTES)
        columns[k].values = NULL
        columns[k].offsets = NULL
        columns[k].data = NULL
        views.append((column, starts))
        if way == wENCODED:
            data = column
            if data.shape[0]:
                columns[k].data = &data[0]
            size = data.shape[0]
        else:
            values = column
            if values.shape[0]:
                columns[k].values = &values[0]
            size = values.shape[0]
        if way == wNUMBER:
            if size != count:
                raise ValueError("a column does not fit")
            continue
        spans = starts
        check_offsets(spans, count, size)
        columns[k].offsets = &spans[0]
    sizes = np.zeros(count, np.int64)
    offsets = np.zeros(count + 1, np.int64)
    with nogil:
        for i in range(count):
            size = 0
            for k in range(total):
                size += field_size(&columns[k], i)
            sizes[i] = size
            used += varint_size(tag) + varint_size(<uint64_t>size) + size
            offsets[i + 1] = used
    result = np.empty(used, np.uint8)
    if used:
        at = &result[0]
        with nogil:
            for i in range(count):
                at = put_varint(put_varint(at, tag), <uint64_t>sizes[i])
                for k in range(total):
                    at = put_field(&columns[k], i, at)
    return np.asarray(result), np.asarray(offsets)
