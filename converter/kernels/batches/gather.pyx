# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Fields gathered from records into columns.

A batch's records lie in a few segments (windows of the source); a location is ``segment << 32 | offset``. Every
location is checked against its segment before it is read, every field against its record.
"""

# Stub:
# from numpy import dtype
# from converter.kernels.batches.columns import HeldBuffers
# from converter.kernels.tables.strings import StringTable

import numpy as np

from cpython.buffer cimport PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memchr, memcpy, memset

from converter.kernels.io.byte_order cimport HOST_IS_BIG, load16, load32, load64
from converter.kernels.io.copying cimport copy_run
from converter.kernels.tables.strings cimport StringTable


cdef extern from *:
    void __builtin_prefetch(const void*) noexcept nogil

cdef enum:
    # The number of records ahead for which memory is prefetched: the records of one class lie far apart, in several
    # windows at a time.
    AHEAD = 12
    # For this number of records at a time, integers are taken field by field.
    STRIP = 32
    # Names of tasks have 16 bytes, and there are few of them: a cache before the table of strings.
    NAME_SIZE = 16
    CACHE_SIZE = 512


cdef struct CachedName:
    uint64_t low
    uint64_t high
    # The string's id and 1, 0 for an empty entry.
    int32_t known


ctypedef const uint8_t* Record
ctypedef CachedName* Cached


# An integer of `width` bytes at an offset, of each of `count` records that hold it.
cdef inline void take_integers(
    const Record* records, int64_t count, int64_t offset, int64_t width, bint swap, uint8_t* out
) noexcept nogil:
    cdef int64_t j
    cdef uint16_t half
    cdef uint32_t word
    cdef uint64_t double_word
    if width == 4:
        for j in range(count):
            word = load32(records[j] + offset, swap)
            memcpy(out + 4 * j, &word, 4)
    elif width == 8:
        for j in range(count):
            double_word = load64(records[j] + offset, swap)
            memcpy(out + 8 * j, &double_word, 8)
    elif width == 1:
        for j in range(count):
            out[j] = records[j][offset]
    else:
        for j in range(count):
            half = load16(records[j] + offset, swap)
            memcpy(out + 2 * j, &half, 2)


# The position of a text: `length` bytes (-1: all that follow) at an offset, or, where `width` is not 0, where a data
# location of `width` bytes leads, which may count from its own end.
cdef struct TextPlace:
    int64_t offset
    int64_t length
    int64_t width
    bint relative


# The bytes of a text in a record: NULL for none.
cdef inline Record text_in(
    Record record, int64_t size, const TextPlace* place, bint swap, int64_t* length
) noexcept nogil:
    cdef int64_t start = place.offset
    cdef uint32_t word
    length[0] = 0
    if record is NULL or start + place.width > size:
        return NULL
    if not place.width:
        length[0] = size - start
        if 0 <= place.length < length[0]:
            length[0] = place.length
        return record + start
    if place.width == 4:
        word = load32(record + place.offset, swap)
        start = word & 0xffff
        length[0] = word >> 16
    else:
        # Old kernels: no length, so all bytes that there are.
        start = load16(record + place.offset, swap)
        length[0] = size
    if place.relative:
        start += place.offset + place.width
    if start > size:
        length[0] = 0
        return NULL
    if length[0] > size - start:
        length[0] = size - start
    return record + start


# The ids of the texts of some records, each up to its first NUL; false where there is no room for more. The table is
# locked for those only that have not been met shortly before.
cdef bint take_texts(
    const Record* records,
    const uint32_t* sizes,
    int64_t count,
    const TextPlace* place,
    bint swap,
    StringTable strings,
    CachedName* cache,
    int32_t* ids,
) noexcept nogil:
    cdef Record[STRIP] texts
    cdef int64_t[STRIP] lengths
    cdef Cached[STRIP] entries
    cdef CachedName* cached
    cdef int64_t j, length
    cdef int64_t missing = 0
    cdef bint done = True
    cdef uint64_t low = 0
    cdef uint64_t high = 0
    cdef Record text
    cdef const void* nul
    for j in range(count):
        ids[j] = 0
        entries[j] = NULL
        text = text_in(records[j], sizes[j], place, swap, &length)
        texts[j] = text
        lengths[j] = 0
        if length <= 0:
            continue
        if length == NAME_SIZE:
            cached = cached_name(cache, text, &low, &high)
            if cached.known and cached.low == low and cached.high == high:
                ids[j] = cached.known - 1
                continue
            entries[j] = cached
        nul = memchr(text, 0, length)
        lengths[j] = length if nul is NULL else <const uint8_t*>nul - text
        missing += lengths[j] > 0
    if not missing:
        return True
    strings.lock()
    for j in range(count):
        if not lengths[j]:
            continue
        ids[j] = strings.find_or_add(texts[j], <uint32_t>lengths[j])
        if ids[j] < 0:
            done = False
            break
        if entries[j] is not NULL:
            cached_name(cache, texts[j], &low, &high)
            entries[j].low = low
            entries[j].high = high
            entries[j].known = ids[j] + 1
    strings.unlock()
    return done


# The entry that a name of NAME_SIZE bytes has in the cache, if any, and its two halves.
cdef inline CachedName* cached_name(CachedName* cache, Record text, uint64_t* low, uint64_t* high) noexcept nogil:
    memcpy(low, text, 8)
    memcpy(high, text + 8, 8)
    return &cache[((low[0] ^ (high[0] * 31)) * <uint64_t>0x9E3779B97F4A7C15) >> 55]


# Prefetch the data at `offset` from a location after location i.
cdef inline void fetch(Segments segments, const int64_t[::1] location, int64_t i, int64_t offset) noexcept nogil:
    cdef int64_t later
    if i + AHEAD < location.shape[0]:
        later = location[i + AHEAD]
        if 0 <= later >> 32 < segments.count:
            __builtin_prefetch(segments.data[later >> 32] + (later & <int64_t>0xffffffff) + offset)


cdef class Segments(HeldBuffers):
    """The buffers in which a batch's records lie, kept alive; a location is ``segment << 32 | offset``.

    All methods release the GIL, and raise ValueError when columns differ in length. Locations outside their segment
    and fields outside their record read as zero or as nothing.
    """

    # Stub:
    # def gathered(
    #     self,
    #     location: NDArray[int64],
    #     size: NDArray[uint32],
    #     places: NDArray[int64],
    #     big_endian: bool,
    #     dtypes: list[dtype[Any]],
    # ) -> list[NDArray[Any]]: ...
    # def gathered_with_texts(
    #     self,
    #     location: NDArray[int64],
    #     size: NDArray[uint32],
    #     places: NDArray[int64],
    #     texts: NDArray[int64],
    #     strings: StringTable,
    #     big_endian: bool,
    #     dtypes: list[dtype[Any]],
    # ) -> list[NDArray[Any]]: ...

    def integers(
        self,
        const int64_t[::1] location,
        const uint32_t[::1] size,
        int64_t offset,
        int64_t width,
        bint big_endian,
        uint8_t[::1] out,
    ) -> None:
        """The integers of `width` bytes (1, 2, 4, 8) at `offset` of each record, in the host's order, into `out`."""
        self.all_integers(location, size, np.array([[offset, width]], np.int64), big_endian, [out])

    cpdef list gathered(
        self,
        const int64_t[::1] location,
        const uint32_t[::1] size,
        const int64_t[:, ::1] places,
        bint big_endian,
        list dtypes,
    ):
        """As `all_integers`, in new columns of these types."""
        columns = [np.empty(location.shape[0], dtype) for dtype in dtypes]
        self._gather(location, size, places, None, None, big_endian, columns)
        return columns

    cpdef list gathered_with_texts(
        self,
        const int64_t[::1] location,
        const uint32_t[::1] size,
        const int64_t[:, ::1] places,
        const int64_t[:, ::1] texts,
        StringTable strings,
        bint big_endian,
        list dtypes,
    ):
        """The same as `gathered`, and after these columns the ids of texts, up to their first NUL, in the same pass.

        `texts` (shape (n, 4)) are offset and length of each (-1: to the record's end), how many bytes the data location
        at that offset has that says where the text is (0: it is there; 2, 4), and whether that counts from its own end.
        """
        cdef int64_t i
        columns = [np.empty(location.shape[0], dtype) for dtype in dtypes]
        columns += [np.empty(location.shape[0], np.int32) for i in range(texts.shape[0])]
        self._gather(location, size, places, texts, strings, big_endian, columns)
        return columns

    def all_integers(
        self,
        const int64_t[::1] location,
        const uint32_t[::1] size,
        const int64_t[:, ::1] places,
        bint big_endian,
        list outs: list[NDArray[Any]],
    ) -> None:
        """Several of them at once: `places` (shape (n, 2)) are offset and width of each, `outs` what they go into.

        A record is fetched from memory once for all of its integers.
        """
        self._gather(location, size, places, None, None, big_endian, outs)

    cdef int _gather(
        self,
        const int64_t[::1] location,
        const uint32_t[::1] size,
        const int64_t[:, ::1] places,
        const int64_t[:, ::1] texts,
        StringTable strings,
        bint big_endian,
        list outs,
    ) except -1:
        cdef int64_t count = location.shape[0]
        cdef int64_t integers = places.shape[0]
        cdef int64_t fields = integers
        cdef int64_t i, j, k, offset, width, rows, smallest
        cdef int64_t furthest = 0
        cdef Record record
        cdef Record[STRIP] records
        cdef bint swap = big_endian != HOST_IS_BIG
        cdef bint failed = False
        cdef uint8_t** to
        cdef Py_buffer* held
        cdef int64_t opened = 0
        cdef CachedName[CACHE_SIZE] cache
        cdef TextPlace place
        if texts is not None:
            fields += texts.shape[0]
            if texts.shape[1] != 4 or strings is None:
                raise ValueError("texts have four numbers each")
            memset(cache, 0, sizeof(cache))
        if places.shape[1] != 2 or len(outs) != fields or size.shape[0] != count:
            raise ValueError("the columns differ in number or length")
        if count == 0:
            return 0
        to = <uint8_t**>calloc(fields + 1, sizeof(uint8_t*))
        held = <Py_buffer*>calloc(fields + 1, sizeof(Py_buffer))
        try:
            if to is NULL or held is NULL:
                raise MemoryError
            for k in range(fields):
                offset = places[k, 0] if k < integers else texts[k - integers, 0]
                width = places[k, 1] if k < integers else sizeof(int32_t)
                if width != 1 and width != 2 and width != 4 and width != 8:
                    raise ValueError(f"an integer of {width} bytes")
                PyObject_GetBuffer(outs[k], &held[k], PyBUF_WRITABLE)
                opened += 1
                if held[k].len != count * width or not 0 <= offset < <int64_t>1 << 32:
                    raise ValueError("the columns differ in length")
                if k >= integers and texts[k - integers, 2] and texts[k - integers, 2] not in (2, 4):
                    raise ValueError(f"a data location of {texts[k - integers, 2]} bytes")
                to[k] = <uint8_t*>held[k].buf
                furthest = max(furthest, offset)
            with nogil:
                i = 0
                while i < count and not failed:
                    rows = min(<int64_t>STRIP, count - i)
                    smallest = size[i]
                    for j in range(rows):
                        fetch(self, location, i + j, 0)
                        fetch(self, location, i + j, furthest)
                        record = self._at(location[i + j], size[i + j])
                        records[j] = record
                        smallest = min(smallest, <int64_t>size[i + j] if record is not NULL else 0)
                    for k in range(integers):
                        offset = places[k, 0]
                        width = places[k, 1]
                        if offset + width <= smallest:
                            take_integers(records, rows, offset, width, swap, to[k] + i * width)
                            continue
                        for j in range(rows):
                            if records[j] is NULL or offset + width > size[i + j]:
                                memset(to[k] + (i + j) * width, 0, width)
                            else:
                                take_integers(&records[j], 1, offset, width, swap, to[k] + (i + j) * width)
                    for k in range(integers, fields):
                        place.offset = texts[k - integers, 0]
                        place.length = texts[k - integers, 1]
                        place.width = texts[k - integers, 2]
                        place.relative = texts[k - integers, 3] != 0
                        if not take_texts(
                            records, &size[i], rows, &place, swap, strings, cache, <int32_t*>to[k] + i
                        ):
                            failed = True
                            break
                    i += rows
        finally:
            for k in range(opened):
                PyBuffer_Release(&held[k])
            free(held)
            free(to)
        if failed:
            raise MemoryError("no room for more strings")
        return 0

    def missed_counts(
        self, const int64_t[::1] location, const uint32_t[::1] size, bint big_endian, int64_t[::1] out
    ) -> None:
        """The count that each record of 4 or 8 bytes is; -1 for an empty one."""
        cdef int64_t i
        cdef const uint8_t* record
        cdef bint swap = big_endian != HOST_IS_BIG
        if size.shape[0] != location.shape[0] or out.shape[0] != location.shape[0]:
            raise ValueError("the columns differ in length")
        with nogil:
            for i in range(location.shape[0]):
                record = self._at(location[i], size[i])
                out[i] = -1
                if record is NULL:
                    continue
                if size[i] == 4:
                    out[i] = load32(record, swap)
                elif size[i] == 8:
                    out[i] = <int64_t>load64(record, swap)

    def fixed_spans(
        self,
        const int64_t[::1] location,
        const uint32_t[::1] size,
        int64_t offset,
        int64_t length,
        int64_t[::1] span,
        int64_t[::1] span_size,
    ) -> None:
        """Location and size of the `length` bytes (-1: all that follow) at `offset` of each record."""
        cdef int64_t count = location.shape[0]
        cdef int64_t i, there
        if size.shape[0] != count or span.shape[0] != count or span_size.shape[0] != count or offset < 0:
            raise ValueError("the columns differ in length")
        with nogil:
            for i in range(count):
                there = <int64_t>size[i] - offset
                if there < 0 or self._at(location[i], size[i]) is NULL:
                    span[i] = 0
                    span_size[i] = 0
                    continue
                if 0 <= length < there:
                    there = length
                span[i] = location[i] + offset
                span_size[i] = there

    def dynamic_spans(
        self,
        const int64_t[::1] location,
        const uint32_t[::1] size,
        int64_t offset,
        int64_t width,
        bint relative,
        bint big_endian,
        int64_t[::1] span,
        int64_t[::1] span_size,
    ) -> None:
        """Location and size of what each record's data location at `offset` names.

        Of 4 bytes it is ``length << 16 | place``, of 2 bytes the place alone; the place counts from the record's start
        or, if `relative`, from the data location's end.
        """
        cdef int64_t count = location.shape[0]
        cdef int64_t i, start, length
        cdef const uint8_t* record
        cdef uint32_t word
        cdef bint swap = big_endian != HOST_IS_BIG
        if width != 2 and width != 4:
            raise ValueError(f"a data location of {width} bytes")
        if size.shape[0] != count or span.shape[0] != count or span_size.shape[0] != count or offset < 0:
            raise ValueError("the columns differ in length")
        with nogil:
            for i in range(count):
                span[i] = 0
                span_size[i] = 0
                fetch(self, location, i, offset)
                record = self._at(location[i], size[i])
                if record is NULL or offset + width > size[i]:
                    continue
                if width == 4:
                    word = load32(record + offset, swap)
                    start = word & 0xffff
                    length = word >> 16
                else:
                    # Old kernels: no length, so all bytes that there are.
                    start = load16(record + offset, swap)
                    length = size[i]
                if relative:
                    start += offset + width
                if start > size[i]:
                    continue
                if length > size[i] - start:
                    length = size[i] - start
                span[i] = location[i] + start
                span_size[i] = length

    def intern(
        self, const int64_t[::1] span, const int64_t[::1] span_size, StringTable strings, int32_t[::1] ids
    ) -> None:
        """Intern each span, cut at its first NUL."""
        cdef int64_t count = span.shape[0]
        cdef int64_t i
        cdef int64_t failed = -1
        cdef const uint8_t* text
        cdef const void* nul
        cdef int64_t length
        cdef int32_t id
        cdef uint64_t low = 0
        cdef uint64_t high = 0
        cdef CachedName[CACHE_SIZE] cache
        cdef CachedName* cached
        if span_size.shape[0] != count or ids.shape[0] != count:
            raise ValueError("the columns differ in length")
        memset(cache, 0, sizeof(cache))
        with nogil:
            strings.lock()
            for i in range(count):
                ids[i] = 0
                fetch(self, span, i, 0)
                length = span_size[i]
                if length <= 0:
                    continue
                text = self._at(span[i], length)
                if text is NULL:
                    continue
                cached = NULL
                if length == NAME_SIZE:
                    cached = cached_name(cache, text, &low, &high)
                    if cached.known and cached.low == low and cached.high == high:
                        ids[i] = cached.known - 1
                        continue
                nul = memchr(text, 0, length)
                if nul is not NULL:
                    length = <const uint8_t*>nul - text
                if length:
                    id = strings.find_or_add(text, <uint32_t>length)
                    if id < 0:
                        failed = i
                        break
                    ids[i] = id
                if cached is not NULL:
                    cached.low = low
                    cached.high = high
                    cached.known = ids[i] + 1
            strings.unlock()
        if failed >= 0:
            raise MemoryError("no room for more strings")

    def measure(
        self,
        const int64_t[::1] span,
        const int64_t[::1] span_size,
        bint until_nul,
        int64_t multiple_of,
        int64_t[::1] offsets,
    ) -> None:
        """The offsets (n + 1) of the spans laid end to end, each cut at its first NUL if asked, and to a multiple."""
        cdef int64_t count = span.shape[0]
        cdef int64_t i, length
        cdef int64_t total = 0
        cdef const uint8_t* text
        cdef const void* nul
        if span_size.shape[0] != count or offsets.shape[0] != count + 1 or multiple_of < 1:
            raise ValueError("the columns differ in length")
        with nogil:
            offsets[0] = 0
            for i in range(count):
                fetch(self, span, i, 0)
                length = span_size[i]
                text = self._at(span[i], length) if length > 0 else NULL
                if text is NULL:
                    length = 0
                elif until_nul:
                    nul = memchr(text, 0, length)
                    if nul is not NULL:
                        length = <const uint8_t*>nul - text
                total += length - length % multiple_of
                offsets[i + 1] = total

    def copy(self, const int64_t[::1] span, const int64_t[::1] offsets, uint8_t[::1] out) -> None:
        """Copy span i to ``out[offsets[i]:offsets[i + 1]]``; ValueError for one outside its segment."""
        cdef int64_t count = span.shape[0]
        cdef int64_t i, length
        cdef int64_t failed = -1
        cdef const uint8_t* text
        if offsets.shape[0] != count + 1:
            raise ValueError("the columns differ in length")
        with nogil:
            for i in range(count):
                fetch(self, span, i, 0)
                if not 0 <= offsets[i] <= offsets[i + 1] <= out.shape[0]:
                    failed = i
                    break
                length = offsets[i + 1] - offsets[i]
                if length == 0:
                    continue
                text = self._at(span[i], length)
                if text is NULL:
                    failed = i
                    break
                copy_run(&out[offsets[i]], text, length)
        if failed >= 0:
            raise ValueError(f"span {failed} lies outside its segment")
