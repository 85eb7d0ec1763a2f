# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Values found in texts: the texts of the events of a trcrpt report, given as spans of what was read."""

from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcpy

from converter.kernels.aix_text cimport blanks_end, find, is_blank, number_at


def numbers(
    const uint8_t[::1] data,
    const int64_t[:] starts,
    const int64_t[:] sizes,
    bytes key,
    int base,
    int64_t[::1] out,
    *,
    bint before=False,
):
    cdef int64_t total = data.shape[0]
    cdef int64_t i, at, end, number, stop
    cdef const uint8_t* wanted = key
    cdef int64_t size = len(key)
    cdef const uint8_t* bytes_of
    if sizes.shape[0] != starts.shape[0] or out.shape[0] != starts.shape[0]:
        raise ValueError("starts, sizes and out differ in length")
    if base != 10 and base != 16:
        raise ValueError(f"base {base}")
    out[:] = -1
    if total == 0:
        return
    bytes_of = &data[0]
    with nogil:
        for i in range(starts.shape[0]):
            if not span_fits(starts[i], sizes[i], total):
                continue
            end = starts[i] + sizes[i]
            at = find(bytes_of, starts[i], end, wanted, size)
            if at < 0:
                continue
            if before:
                end = at
                while end > starts[i] and is_blank(bytes_of[end - 1]):
                    end -= 1
                at = end
                while at > starts[i] and not is_blank(bytes_of[at - 1]):
                    at -= 1
            else:
                at = blanks_end(bytes_of, at + size, end)
            if number_at(bytes_of, at, end, base, &number, &stop) and number >= 0:
                out[i] = number


def words(
    const uint8_t[::1] data,
    const int64_t[:] starts,
    const int64_t[:] sizes,
    bytes key,
    bytes until,
    int64_t[::1] found_starts,
    int64_t[::1] found_sizes,
):
    cdef int64_t total = data.shape[0]
    cdef int64_t i, at, end, stop
    cdef const uint8_t* wanted = key
    cdef const uint8_t* closing = until
    cdef int64_t size = len(key)
    cdef int64_t closing_size = len(until)
    cdef const uint8_t* bytes_of
    if not starts.shape[0] == sizes.shape[0] == found_starts.shape[0] == found_sizes.shape[0]:
        raise ValueError("the columns differ in length")
    found_starts[:] = 0
    found_sizes[:] = 0
    if total == 0:
        return
    bytes_of = &data[0]
    with nogil:
        for i in range(starts.shape[0]):
            if not span_fits(starts[i], sizes[i], total):
                continue
            end = starts[i] + sizes[i]
            at = find(bytes_of, starts[i], end, wanted, size)
            if at < 0:
                continue
            at = blanks_end(bytes_of, at + size, end)
            stop = find(bytes_of, at, end, closing, closing_size) if closing_size else -1
            if stop < 0:
                stop = at
                while stop < end and not is_blank(bytes_of[stop]) and bytes_of[stop] != c'\n':
                    stop += 1
            while stop > at and (is_blank(bytes_of[stop - 1]) or bytes_of[stop - 1] == c'.'):
                stop -= 1
            found_starts[i] = at
            found_sizes[i] = stop - at


def copy_spans(
    const uint8_t[::1] data, const int64_t[:] starts, const int64_t[:] sizes, int64_t[::1] offsets, uint8_t[::1] out
):
    cdef int64_t total = data.shape[0]
    cdef int64_t at = 0
    cdef int64_t i
    cdef bint fits = True
    if sizes.shape[0] != starts.shape[0] or offsets.shape[0] != starts.shape[0] + 1:
        raise ValueError("starts, sizes and offsets differ in length")
    with nogil:
        offsets[0] = 0
        for i in range(starts.shape[0]):
            if not span_fits(starts[i], sizes[i], total) or sizes[i] > out.shape[0] - at:
                fits = False
                break
            if sizes[i]:
                memcpy(&out[at], &data[starts[i]], sizes[i])
            at += sizes[i]
            offsets[i + 1] = at
    if not fits:
        raise ValueError("a span lies outside the data")


cdef inline bint span_fits(int64_t start, int64_t size, int64_t total) noexcept nogil:
    return start >= 0 and size >= 0 and start <= total and size <= total - start
