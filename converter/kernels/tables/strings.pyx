# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The interned strings of a trace: bytes to int32 id and back.

Entries live in blocks that never move, so that a kernel can read strings of batches already decoded while another
thread still interns those of the next. Id 0 is the empty string.

Columns of text: checking it and making it from numbers.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.pythread cimport (
    PyThread_acquire_lock, PyThread_allocate_lock, PyThread_free_lock, PyThread_release_lock, WAIT_LOCK,
)
from libc.stdint cimport int64_t, uint64_t, uint8_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcmp, memcpy
import numpy as np
import os
from posix.mman cimport MAP_ANONYMOUS, MAP_FAILED, MAP_PRIVATE, mmap, munmap, PROT_READ, PROT_WRITE

from converter.kernels.io.copying cimport copy_run
from converter.kernels.tables.hashing cimport hash_bytes
from converter.kernels.text.decimal cimport write_integer
from converter.kernels.text.utf8 cimport is_ascii, is_utf8


cdef enum:
    # 2**16 blocks of 2**12 entries: 268 million strings.
    MAX_BLOCKS = 1 << 16
    ARENA_SIZE = 1 << 18


cdef class StringTable:
    """The interned strings of a trace. Safe to intern into from several threads."""

    def __cinit__(self):
        cdef int64_t slots = 1 << 10
        self._seed = int.from_bytes(os.urandom(8), "little")
        # Most tables touch only the first of these pages.
        self._blocks = <Entry**>mmap(
            NULL, MAX_BLOCKS * sizeof(Entry*), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0
        )
        if self._blocks == <Entry**>MAP_FAILED:
            self._blocks = NULL
        self._slots = <int32_t*>calloc(slots, sizeof(int32_t))
        self._arenas = NULL
        self._unfit = {}
        self._arena_left = 0
        self._lock = PyThread_allocate_lock()
        if self._blocks is NULL or self._slots is NULL or self._lock is NULL:
            raise MemoryError
        self._mask = slots - 1
        if self.find_or_add(<const uint8_t*>b"", 0) != 0:
            raise MemoryError

    def __dealloc__(self):
        cdef int64_t i
        cdef void** arena = self._arenas
        cdef void** following
        while arena is not NULL:
            following = <void**>arena[0]
            free(arena)
            arena = following
        if self._blocks is not NULL:
            for i in range(MAX_BLOCKS):
                if self._blocks[i] is NULL:
                    break
                free(self._blocks[i])
            munmap(self._blocks, MAX_BLOCKS * sizeof(Entry*))
        free(self._slots)
        if self._lock is not NULL:
            PyThread_free_lock(self._lock)

    cdef void lock(self) noexcept nogil:
        PyThread_acquire_lock(self._lock, WAIT_LOCK)

    cdef void unlock(self) noexcept nogil:
        PyThread_release_lock(self._lock)

    cdef int32_t find_or_add(self, const uint8_t* data, uint32_t size) noexcept nogil:
        cdef uint64_t hashed = hash_bytes(data, size, self._seed)
        cdef uint32_t tag = <uint32_t>(hashed >> 32)
        cdef uint64_t slot = hashed & self._mask
        cdef int32_t found
        cdef Entry* known
        cdef uint8_t* kept
        cdef void** arena
        cdef int64_t need
        while True:
            found = self._slots[slot]
            if found == 0:
                break
            known = self.entry(found - 1)
            if known.tag == tag and known.size == size and (
                size == 0 or memcmp(known.data, data, size) == 0
            ):
                return found - 1
            slot = (slot + 1) & self._mask
        if self._count >= <int64_t>MAX_BLOCKS * BLOCK_SIZE:
            return -1
        if self._blocks[self._count >> BLOCK_BITS] is NULL:
            self._blocks[self._count >> BLOCK_BITS] = <Entry*>malloc(BLOCK_SIZE * sizeof(Entry))
            if self._blocks[self._count >> BLOCK_BITS] is NULL:
                return -1
        if self._arena_left < size:
            need = size if size > ARENA_SIZE else ARENA_SIZE
            # Each arena starts with the address of the one before it.
            arena = <void**>malloc(need + sizeof(void*) + PADDING)
            if arena is NULL:
                return -1
            arena[0] = <void*>self._arenas
            self._arenas = arena
            self._arena = <uint8_t*>(arena + 1)
            self._arena_left = need
        kept = self._arena
        if size:
            memcpy(kept, data, size)
        self._arena += size
        self._arena_left -= size
        known = self.entry(<int32_t>self._count)
        known.data = kept
        known.size = size
        known.tag = tag
        self._slots[slot] = <int32_t>(self._count + 1)
        self._count += 1
        if <uint64_t>self._count * 2 > self._mask and self._grow() < 0:
            return -1
        return <int32_t>(self._count - 1)

    cdef int32_t _grow(self) noexcept nogil:
        cdef uint64_t mask = (self._mask + 1) * 4 - 1
        cdef int32_t* slots = <int32_t*>calloc(mask + 1, sizeof(int32_t))
        cdef int64_t i
        cdef uint64_t slot
        cdef Entry* known
        if slots is NULL:
            return -1
        for i in range(self._count):
            known = self.entry(<int32_t>i)
            slot = hash_bytes(known.data, known.size, self._seed) & mask
            while slots[slot]:
                slot = (slot + 1) & mask
            slots[slot] = <int32_t>(i + 1)
        free(self._slots)
        self._slots = slots
        self._mask = mask
        return 0

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, int64_t id) -> bytes:
        """The bytes of a string; IndexError when there is no such id."""
        if not 0 <= id < self._count:
            raise IndexError(f"string {id} of {self._count}")
        cdef Entry* known = self.entry(<int32_t>id)
        return PyBytes_FromStringAndSize(<const char*>known.data, known.size)

    def joined(self, int64_t first) -> tuple[NDArray[uint8], NDArray[int64]]:
        """The bytes of the strings from the id `first` on, one after the other, and where each starts, and the end."""
        cdef int64_t count = max(self._count - max(first, 0), 0)
        cdef int64_t i
        cdef int64_t[::1] places
        cdef uint8_t[::1] out
        first = self._count - count
        starts = np.zeros(count + 1, np.int64)
        places = starts
        for i in range(count):
            places[i + 1] = places[i] + self.entry(<int32_t>(first + i)).size
        data = np.empty(places[count], np.uint8)
        out = data
        for i in range(count):
            if places[i + 1] > places[i]:
                memcpy(&out[places[i]], self.entry(<int32_t>(first + i)).data, places[i + 1] - places[i])
        return data, starts

    def text(self, int64_t id) -> str:
        """The string as text, bytes that are not UTF-8 replaced: for messages, not for output."""
        return self[id].decode("utf-8", "replace")

    def intern(self, text: str | bytes) -> int:
        """The id of a string, added when new. A str is encoded as UTF-8 with surrogateescape."""
        cdef bytes data = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else bytes(text)
        self.lock()
        cdef int32_t id = self.find_or_add(<const uint8_t*>PyBytes_AS_STRING(data), <uint32_t>PyBytes_GET_SIZE(data))
        self.unlock()
        if id < 0:
            raise MemoryError("no room for more strings")
        return id

    def intern_spans(
        self,
        const uint8_t[::1] data,
        const int64_t[:] starts,
        const int64_t[:] sizes,
        int32_t[::1] ids,
        *,
        bint until_nul=False,
    ) -> None:
        """Intern ``data[starts[i]:starts[i] + sizes[i]]``, cut at the first NUL when `until_nul`, into ``ids[i]``.

        Raises ValueError when a span lies outside the data. Releases the GIL.
        """
        cdef int64_t count = starts.shape[0]
        cdef int64_t total = data.shape[0]
        cdef int64_t i, start, size, end
        cdef int64_t failed = -1
        cdef int32_t id
        cdef int32_t last = 0
        if sizes.shape[0] != count or ids.shape[0] != count:
            raise ValueError("starts, sizes and ids differ in length")
        with nogil:
            self.lock()
            for i in range(count):
                start = starts[i]
                size = sizes[i]
                if start < 0 or size < 0 or start > total or size > total - start or size > 0x7fffffff:
                    failed = i
                    break
                if until_nul:
                    end = 0
                    while end < size and data[start + end]:
                        end += 1
                    size = end
                if size == 0:
                    ids[i] = 0
                    continue
                id = self.find_or_add(&data[start], <uint32_t>size)
                if id < 0:
                    failed = -2
                    break
                ids[i] = id
            self.unlock()
        if failed == -2:
            raise MemoryError("no room for more strings")
        if failed >= 0:
            raise ValueError(f"span {failed} lies outside the data")

    def unfit(self, const int32_t[:] ids, int64_t limit, bint utf8_only) -> NDArray[int32]:
        """The distinct ids in `ids` of strings over `limit` bytes (-1: no limit) or, if `utf8_only`, not UTF-8.

        What was checked once is remembered, so the usual answer, none, costs nothing per row.
        """
        cdef int64_t checked, i
        cdef int64_t count = self._count
        cdef Entry* known
        cdef bint bad
        with cython.critical_section(self):
            checked, found = self._unfit.get((limit, utf8_only), (0, []))
            for i in range(checked, count):
                known = self.entry(<int32_t>i)
                bad = (limit >= 0 and known.size > limit) or (utf8_only and not is_utf8(known.data, known.size))
                if bad:
                    found.append(i)
            self._unfit[limit, utf8_only] = (count, found)
        if not found:
            return np.zeros(0, np.int32)
        return np.intersect1d(np.asarray(ids), np.array(found, np.int32))


def unfit_texts(
    const uint8_t[:] values: NDArray[Any], const int64_t[::1] offsets, int64_t limit, bint utf8_only
) -> NDArray[int64]:
    """Rows of a text column (uint8 values) that are over `limit` bytes (-1: none is) or, if `utf8_only`, not UTF-8.

    Raises ValueError when a text lies outside the column. Releases the GIL.
    """
    cdef const uint8_t[::1] data = np.ascontiguousarray(values)
    cdef int64_t rows = offsets.shape[0] - 1
    cdef int64_t i, size
    cdef int64_t found = 0
    cdef int64_t failed = -1
    cdef bint can_be_other
    bad = np.empty(rows, np.int64)
    cdef int64_t[::1] places = bad
    with nogil:
        # Most columns are ASCII: then each of their texts is.
        can_be_other = utf8_only and data.shape[0] and not is_ascii(&data[0], data.shape[0])
        for i in range(rows):
            if not 0 <= offsets[i] <= offsets[i + 1] <= data.shape[0]:
                failed = i
                break
            size = offsets[i + 1] - offsets[i]
            if (limit >= 0 and size > limit) or (
                can_be_other and size and not is_utf8(&data[offsets[i]], size)
            ):
                places[found] = i
                found += 1
    if failed >= 0:
        raise ValueError(f"text {failed} lies outside the column")
    return bad[:found]


def taken_lists(
    values: NDArray[Any], const int64_t[:] offsets, const int64_t[::1] rows
) -> tuple[NDArray[int64], NDArray[Any]]:
    """The lists of these rows of a column of lists, in that order: their offsets, and their values, of any one size.

    Raises ValueError for a row that the column does not have, or whose list lies outside of it. Releases the GIL.
    """
    flat = np.ascontiguousarray(values)
    cdef const uint8_t[::1] data = flat.view(np.uint8)
    cdef int64_t width = flat.itemsize
    cdef int64_t held = flat.shape[0]
    cdef int64_t lists = offsets.shape[0] - 1
    cdef int64_t count = rows.shape[0]
    cdef int64_t total = 0
    cdef int64_t failed = -1
    cdef int64_t i, row, size
    taken_offsets = np.empty(count + 1, np.int64)
    cdef int64_t[::1] ends = taken_offsets
    ends[0] = 0
    with nogil:
        for i in range(count):
            row = rows[i]
            if not 0 <= row < lists or not 0 <= offsets[row] <= offsets[row + 1] <= held:
                failed = i
                break
            size = offsets[row + 1] - offsets[row]
            total += size
            ends[i + 1] = total
    if failed >= 0:
        raise ValueError(f"list {rows[failed]} of {lists} lies outside the column")
    taken = np.empty(total, flat.dtype)
    cdef uint8_t[::1] out = taken.view(np.uint8)
    with nogil:
        for i in range(count):
            size = ends[i + 1] - ends[i]
            if size:
                copy_run(&out[ends[i] * width], &data[offsets[rows[i]] * width], size * width)
    return taken_offsets, taken


def format_integers(
    const int64_t[::1] offsets, const uint64_t[::1] values, bint signed
) -> tuple[NDArray[uint8], NDArray[int64]]:
    """Lists of integers as text, ``[1, 2, 3]``: the characters and their offsets.

    Values are int64 viewed as uint64 where `signed`. Raises ValueError when a list lies outside the values.
    """
    cdef int64_t rows = offsets.shape[0] - 1
    cdef int64_t i, k, at = 0
    cdef int64_t failed = -1
    if rows < 0:
        raise ValueError("no offsets")
    for i in range(rows):
        if offsets[i] < 0 or offsets[i] > offsets[i + 1] or offsets[i + 1] > values.shape[0]:
            raise ValueError(f"list {i} lies outside the values")
    # At most 20 characters a number (sign and 19 digits, or 20 digits), 2 for the separator, 2 for the brackets.
    text = np.empty(22 * int(offsets[rows] - offsets[0]) + 2 * rows, np.uint8)
    text_offsets = np.zeros(rows + 1, np.int64)
    cdef uint8_t[::1] out = text
    cdef int64_t[::1] ends = text_offsets
    with nogil:
        for i in range(rows):
            out[at] = c'['
            at += 1
            for k in range(offsets[i], offsets[i + 1]):
                if k > offsets[i]:
                    out[at] = c','
                    out[at + 1] = c' '
                    at += 2
                at += write_integer(&out[at], values[k], signed)
            out[at] = c']'
            at += 1
            ends[i + 1] = at
    return text[:at], text_offsets
