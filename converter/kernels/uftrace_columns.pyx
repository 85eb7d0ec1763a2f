# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Columns of scanned uftrace records: names and values sorted by class."""

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memcpy


def group_names(
    const int32_t[::1] class_id,
    const int32_t[::1] row,
    const int64_t[::1] first,
    const int32_t[::1] name,
    const int32_t[::1] category,
    int32_t[::1] grouped_name,
    int32_t[::1] grouped_category,
):
    cdef int64_t count = class_id.shape[0]
    cdef int64_t i, at
    cdef int64_t failed = -1
    if row.shape[0] != count or name.shape[0] != count or category.shape[0] != count:
        raise ValueError("the columns differ in length")
    if grouped_name.shape[0] != count or grouped_category.shape[0] != count:
        raise ValueError("the columns differ in length")
    with nogil:
        for i in range(count):
            if class_id[i] < 0 or class_id[i] >= first.shape[0]:
                failed = i
                break
            at = first[class_id[i]] + row[i]
            if at < 0 or at >= count:
                failed = i
                break
            grouped_name[at] = name[i]
            grouped_category[at] = category[i]
    if failed >= 0:
        raise ValueError(f"event {failed} has no place")


def gather_words(const uint64_t[::1] values, const int64_t[::1] first, uint64_t[:, ::1] rows):
    cdef int64_t count = first.shape[0]
    cdef int64_t words = rows.shape[1]
    cdef int64_t i
    cdef int64_t failed = -1
    if rows.shape[0] != count:
        raise ValueError("first and rows differ in length")
    if words == 0:
        return
    with nogil:
        for i in range(count):
            if first[i] < 0 or first[i] > values.shape[0] - words:
                failed = i
                break
            memcpy(&rows[i, 0], &values[first[i]], words * 8)
    if failed >= 0:
        raise ValueError(f"event {failed} lies outside the values")
