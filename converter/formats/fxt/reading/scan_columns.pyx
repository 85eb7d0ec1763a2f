# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Columns of a scanned window of an FXT file: values sorted by class, texts and bytes gathered."""

# Stub:
# from converter.kernels.tables.strings import StringTable

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from converter.formats.fxt.words cimport INLINE, SPAN, load, padded
from converter.kernels.io.byte_order cimport HOST_IS_BIG, store32
from converter.kernels.tables.strings cimport StringTable


def scatter(
    const uint64_t[::1] values,
    const int64_t[::1] first,
    const int32_t[::1] class_id,
    const int32_t[::1] row,
    const int64_t[::1] bases,
    const int32_t[::1] widths,
    uint64_t[::1] out,
) -> None:
    """Sort values into rows of their classes: event i's to ``out[bases[c] + row[i] * widths[c]]``.

    Raises ValueError for an event outside the arrays. Releases the GIL.
    """
    cdef int64_t i, source, target
    cdef int32_t id, width
    cdef int64_t failed = -1
    if first.shape[0] != class_id.shape[0] or row.shape[0] != class_id.shape[0] or bases.shape[0] != widths.shape[0]:
        raise ValueError("arrays differ in length")
    with nogil:
        for i in range(class_id.shape[0]):
            id = class_id[i]
            if id < 0 or id >= bases.shape[0]:
                failed = i
                break
            width = widths[id]
            source = first[i]
            target = bases[id] + <int64_t>row[i] * width
            if (
                width < 0 or source < 0 or source > values.shape[0] - width or target < 0
                or target > out.shape[0] - width
            ):
                failed = i
                break
            if width:
                memcpy(&out[target], &values[source], width * 8)
    if failed >= 0:
        raise ValueError(f"event {failed} lies outside the arrays")


def gather_texts(
    const uint8_t[::1] data, const uint64_t[:] values, StringTable strings
) -> tuple[NDArray[uint8], NDArray[int64]]:
    """Texts or bytes that are spans of the window or string ids: (bytes, offsets).

    Raises ValueError for a span outside the window.
    """
    cdef int64_t count = values.shape[0]
    cdef int64_t known = len(strings)
    offsets = np.empty(count + 1, np.int64)
    cdef int64_t[::1] ends = offsets
    cdef int64_t i, total = 0, failed = -1
    cdef uint64_t word
    cdef int64_t length
    with nogil:
        ends[0] = 0
        for i in range(count):
            word = values[i]
            if word & SPAN:
                length = word & 0x7fff
                if <int64_t>((word ^ SPAN) >> 15) > data.shape[0] - length:
                    failed = i
                    break
            elif word < <uint64_t>known:
                length = strings.entry(<int32_t>word).size
            else:
                failed = i
                break
            total += length
            ends[i + 1] = total
    if failed >= 0:
        raise ValueError(f"value {failed} lies outside the window")
    out = np.empty(total, np.uint8)
    cdef uint8_t[::1] bytes_out = out
    with nogil:
        for i in range(count):
            length = ends[i + 1] - ends[i]
            if length == 0:
                continue
            word = values[i]
            if word & SPAN:
                memcpy(&bytes_out[ends[i]], &data[<int64_t>((word ^ SPAN) >> 15)], length)
            else:
                memcpy(&bytes_out[ends[i]], strings.entry(<int32_t>word).data, length)
    return out, offsets


def gather_payloads(
    const uint8_t[::1] data, const uint64_t[:] starts, const uint64_t[:] lengths
) -> tuple[NDArray[uint8], NDArray[int64]]:
    """Copy segments of the window: (bytes, offsets). Raises ValueError for one outside it."""
    cdef int64_t count = starts.shape[0]
    cdef uint64_t size = data.shape[0]
    if lengths.shape[0] != count:
        raise ValueError("starts and lengths differ in length")
    offsets = np.empty(count + 1, np.int64)
    cdef int64_t[::1] ends = offsets
    cdef int64_t i
    ends[0] = 0
    for i in range(count):
        if starts[i] > size or lengths[i] > size - starts[i]:
            raise ValueError(f"value {i} lies outside the window")
        ends[i + 1] = ends[i] + <int64_t>lengths[i]
    out = np.empty(ends[count], np.uint8)
    cdef uint8_t[::1] bytes_out = out
    for i in range(count):
        if lengths[i]:
            memcpy(&bytes_out[ends[i]], &data[<int64_t>starts[i]], lengths[i])
    return out, offsets


def gather_arguments(
    const uint8_t[::1] data, const uint64_t[:] places, bint big_endian
) -> tuple[NDArray[uint8], NDArray[int64]]:
    """Copy the contents of arguments of unknown types, at these offsets of the window: (bytes, offsets).

    Each is the header's upper half, little-endian, and what follows the name. Raises ValueError for one outside.
    """
    cdef int64_t count = places.shape[0]
    cdef uint64_t size = data.shape[0]
    offsets = np.empty(count + 1, np.int64)
    cdef int64_t[::1] ends = offsets
    cdef uint64_t[::1] bodies = np.empty(count, np.uint64)
    cdef int64_t i, words, name
    cdef uint64_t header
    cdef uint32_t upper
    ends[0] = 0
    for i in range(count):
        if places[i] > size or size - places[i] < 8:
            raise ValueError(f"argument {i} lies outside the window")
        header = load(&data[<int64_t>places[i]], big_endian != HOST_IS_BIG)
        words = (header >> 4) & 0xfff
        name = padded((header >> 16) & 0x7fff) if (header >> 16) & INLINE else 0
        if <uint64_t>words * 8 > size - places[i] or name > words * 8 - 8:
            raise ValueError(f"argument {i} lies outside the window")
        bodies[i] = places[i] + 8 + <uint64_t>name
        ends[i + 1] = ends[i] + 4 + words * 8 - 8 - name
    out = np.empty(ends[count], np.uint8)
    cdef uint8_t[::1] bytes_out = out
    for i in range(count):
        upper = <uint32_t>(load(&data[<int64_t>places[i]], big_endian != HOST_IS_BIG) >> 32)
        store32(&bytes_out[ends[i]], upper, HOST_IS_BIG)
        if ends[i + 1] - ends[i] > 4:
            memcpy(&bytes_out[ends[i] + 4], &data[<int64_t>bodies[i]], ends[i + 1] - ends[i] - 4)
    return out, offsets
