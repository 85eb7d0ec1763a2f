# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The kernel's symbol list (/proc/kallsyms): ``address type name[\\t[module]]`` lines into columns."""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t


def scan_symbols(
    const uint8_t[::1] text, uint64_t[::1] address, uint32_t[::1] name_start, uint32_t[::1] name_size
):
    cdef int64_t total = text.shape[0]
    cdef int64_t room = address.shape[0]
    cdef int64_t at = 0
    cdef int64_t count = 0
    cdef int64_t digits, start
    cdef uint64_t value
    cdef uint8_t byte, kind
    if name_start.shape[0] != room or name_size.shape[0] != room:
        raise ValueError("the columns differ in length")
    if total > 0xffffffff:
        raise ValueError("more than 4 GiB of symbols")
    with nogil:
        while at < total and count < room:
            value = 0
            digits = 0
            while at < total:
                byte = text[at]
                if c'0' <= byte <= c'9':
                    byte -= c'0'
                elif c'a' <= byte <= c'f':
                    byte -= c'a' - 10
                elif c'A' <= byte <= c'F':
                    byte -= c'A' - 10
                else:
                    break
                value = value << 4 | byte
                digits += 1
                at += 1
            if 0 < digits <= 16 and at + 3 < total and text[at] == c' ' and text[at + 2] == c' ':
                kind = text[at + 1]
                at += 3
                start = at
                while at < total and text[at] != c'\n' and text[at] != c'\t' and text[at] != c' ':
                    at += 1
                # Absolute symbols are no code, and "$a" and the like mark kinds of ARM code.
                if kind != c'a' and kind != c'A' and at > start and text[start] != c'$':
                    address[count] = value
                    name_start[count] = <uint32_t>start
                    name_size[count] = <uint32_t>(at - start)
                    count += 1
            while at < total and text[at] != c'\n':
                at += 1
            at += 1
    return count
