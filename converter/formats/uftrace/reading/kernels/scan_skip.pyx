# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Records passed over without decoding them, except for the functions that they leave open; and found again after
damage.
"""

from libc.stdint cimport int64_t, uint64_t, uint8_t
from libc.stdlib cimport free, realloc

from converter.formats.uftrace.arguments.values cimport MOST_VALUES
from converter.formats.uftrace.reading.kernels.scan_frames cimport DEPTHS
from converter.formats.uftrace.reading.kernels.scan_streams cimport ENTRY, EXIT, RECORD_SIZE
from converter.kernels.io.byte_order cimport HOST_IS_BIG, load64


cdef enum:
    MAGIC = 5
    HAS_VALUES = 4
    # Deeper than uftrace records.
    MOST_DEPTH = 1 << 16
    # Records that follow each other after damage, and bits of the time from one to the next.
    CHAIN = 4
    LONGEST = 44


cdef struct Frame:
    uint64_t address
    int64_t place


cdef class OpenEntries:
    """The entries of the functions that a task is in, as its records are passed over.

    Only records that nest as calls do are: without values, each exit that of the innermost function.
    """

    cdef Frame* _frames
    cdef int64_t _room
    cdef int64_t _depth
    cdef uint64_t _last
    cdef bint _swap

    def __cinit__(self, *, bint big_endian):
        self._swap = big_endian != HOST_IS_BIG

    def __dealloc__(self):
        free(self._frames)

    def places(self) -> list[int]:
        """Return the offsets of the entries in the file, the outermost first."""
        cdef int64_t i
        return [self._frames[i].place for i in range(self._depth)]

    def follow(self, const uint8_t[::1] window, int64_t start, uint64_t until) -> int:
        """Go on with the whole records of a window, which starts at `start` of the file, that are before a time.

        Returns how many bytes these are, -1 where another record is among them.
        """
        cdef int64_t end = window.shape[0] - window.shape[0] % RECORD_SIZE
        cdef int64_t at = 0
        cdef int64_t number
        cdef uint64_t time, word
        with nogil:
            while at < end:
                time = load64(&window[at], self._swap)
                if time >= until:
                    break
                word = load64(&window[at + 8], self._swap)
                if time < self._last or (word >> 3) & 7 != MAGIC or word & HAS_VALUES:
                    at = -1
                    break
                number = (word >> 6) & (DEPTHS - 1)
                if word & 3 == ENTRY and number == self._depth & (DEPTHS - 1) and self._has_room():
                    self._frames[self._depth].address = word >> 16
                    self._frames[self._depth].place = start + at
                    self._depth += 1
                elif (
                    word & 3 == EXIT and self._depth and number == (self._depth - 1) & (DEPTHS - 1)
                    and self._frames[self._depth - 1].address == word >> 16
                ):
                    self._depth -= 1
                else:
                    at = -1
                    break
                self._last = time
                at += RECORD_SIZE
        return at

    cdef inline bint _has_room(self) noexcept nogil:
        cdef int64_t room
        cdef Frame* frames
        if self._depth < self._room:
            return True
        room = 2 * self._room + 64
        frames = <Frame*>realloc(self._frames, room * sizeof(Frame)) if room <= 2 * MOST_DEPTH else NULL
        if frames is NULL:
            return False
        self._frames = frames
        self._room = room
        return True


# Return True if a record may begin at `at`, where there are 16 bytes: its time must not be much after that of the one
# before.
cdef inline bint _is_record(const uint8_t* data, int64_t at, uint64_t time, bint swap) noexcept nogil:
    cdef uint64_t ts = load64(data + at, swap)
    return time <= ts and ts - time < <uint64_t>1 << LONGEST and (load64(data + at + 8, swap) >> 3) & 7 == MAGIC


def find_record(const uint8_t[::1] data, int64_t at, uint64_t time, *, bint big_endian) -> int:
    """The first place from `at` on, in steps of 8 bytes, where four records follow each other, or fewer up to the end.

    Their times rise, the first from `time` on; -1 without such a place.
    """
    cdef const uint8_t* start = &data[0] if data.shape[0] else NULL
    cdef int64_t end = data.shape[0] - RECORD_SIZE
    cdef bint swap = big_endian != HOST_IS_BIG
    cdef int64_t place, next, count
    cdef uint64_t last
    if at < 0:
        raise ValueError("a place in front of the records")
    with nogil:
        while at <= end:
            if _is_record(start, at, time, swap):
                place = at
                count = 1
                while count < CHAIN:
                    last = load64(start + place, swap)
                    next = place + RECORD_SIZE
                    if load64(start + place + 8, swap) & HAS_VALUES:
                        # After it are values, of a size that is not known.
                        while next <= end and next < place + MOST_VALUES * 8 and not _is_record(start, next, last, swap):
                            next += 8
                        if next == place + MOST_VALUES * 8:
                            break
                    if next > end:
                        count = CHAIN
                    elif not _is_record(start, next, last, swap):
                        break
                    place = next
                    count += 1
                if count >= CHAIN:
                    break
            at += 8
    return at if at <= end else -1
