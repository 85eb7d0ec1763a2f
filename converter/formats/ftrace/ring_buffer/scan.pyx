# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Pages of the kernel's ring buffer: walking their records into columns.

Source: the kernel's kernel/trace/ring_buffer.c, and libtraceevent's kbuffer-parse.c, which the files' own tool reads
with. A page is a time (u64), a commit word (a long: length and flags) and records; a record is a word of type_len and
time delta (5 and 27 bits), followed by its payload.

The kernel's symbol list (/proc/kallsyms): ``address type name[\\t[module]]`` lines into columns.
"""

# Stub:
# from converter.kernels.batches.event_arrays import OutputArrays
# from converter.kernels.tables.tasks import TaskTable

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t, uint8_t
from libc.string cimport memcmp

from converter.kernels.batches.event_arrays cimport Events, OutputArrays, WITH_CLASS, WITH_THREAD
from converter.kernels.io.byte_order cimport HOST_IS_BIG, load16, load32, load64
from converter.kernels.tables.tasks cimport TaskTable

cdef enum:
    # Between the flags and the length of a commit word.
    UNUSED_FLAGS = 7 << 27


cdef inline uint64_t scaled(uint64_t ts, uint64_t multiplier, uint32_t shift) noexcept nogil:
    # The kernel's mul_u64_u32_shr, for shift <= 32.
    cdef uint64_t low = ((ts & <uint64_t>0xffffffff) * multiplier) >> shift
    cdef uint64_t high = ts >> 32
    if high:
        low += (high * multiplier) << (32 - shift)
    return low


def scan_pages(
    const uint8_t[::1] data,
    geometry: tuple[int, int, bool],
    classes: tuple[NDArray[int32], int],
    TaskTable tasks not None,
    common_fields: tuple[int, int],
    scale: tuple[int, int, int],
    OutputArrays events not None,
) -> tuple[int, int, int]:
    """Walk whole pages into columns: (records, damaged pages, where the first damage is or -1).

    `geometry` is the size of pages and of longs, and whether the kernel is big-endian; `classes` are `class_of_type`
    and `class_of_missed`; `common_fields` are the offsets of type and pid in a record; `scale` is multiplier, shift and
    time offset. The columns are ts, class_id, thread, and start and size (uint32).

    `class_of_type` has 65,536 entries; records whose entry is -1 are left out. Record i's payload is
    ``data[start[i]:start[i] + size[i]]``. A page with the missed-events flag first gives a record of
    `class_of_missed` (unless -1) at the page's time, whose payload is the count, or empty if it is not known.
    Times are ``(raw * multiplier >> shift) + time_offset``; a multiplier of 0 means raw. The columns must have room
    for `most_records_in` records. A page is left at its first record that makes no sense; the last page may be cut.
    Raises ValueError for columns that are too short and impossible geometry. Releases the GIL.
    """
    cdef int64_t page_size, long_size, type_offset, pid_offset
    cdef bint big_endian
    cdef const int32_t[::1] class_of_type
    cdef int32_t class_of_missed
    cdef uint64_t multiplier, time_offset
    cdef uint32_t shift
    cdef Events columns = events.common(WITH_CLASS | WITH_THREAD)
    cdef int64_t* ts = columns.ts
    cdef int32_t* class_id = columns.class_id
    cdef int32_t* thread = columns.thread
    cdef uint32_t* start = <uint32_t*>events.own("start", 4)
    cdef uint32_t* size = <uint32_t*>events.own("size", 4)
    cdef int64_t total = data.shape[0]
    cdef int64_t room = columns.count
    cdef int64_t page, available
    cdef int64_t count = 0
    cdef int64_t first_of_page
    cdef PageDamage damage = PageDamage(0, -1)
    cdef int found
    cdef int32_t last_pid = -1
    cdef int32_t last_thread = -1
    cdef int32_t pid
    cdef int64_t index
    cdef int32_t kind
    cdef uint64_t time
    cdef PageCursor cursor
    page_size, long_size, big_endian = geometry
    class_of_type, class_of_missed = classes
    type_offset, pid_offset = common_fields
    multiplier, shift, time_offset = scale
    check_geometry(total, page_size, long_size, shift)
    if class_of_type.shape[0] != 65536:
        raise ValueError("class_of_type has not an entry for each of the 65,536 types")
    if room < most_records(total, page_size):
        raise ValueError("the columns have not room for the records of the pages")
    if type_offset < 0 or pid_offset < 0 or type_offset > 4096 or pid_offset > 4096:
        raise ValueError("common fields lie outside a record")
    cursor.big_endian = big_endian
    cursor.swap = big_endian != HOST_IS_BIG
    with nogil:
        page = 0
        while page < total:
            available = total - page if total - page < page_size else page_size
            if not open_page(&cursor, &data[page], available, long_size):
                note_damage(&damage, page)
                break
            if no_header(&cursor, page_size):
                note_damage(&damage, page)
                page += page_size
                continue
            first_of_page = count
            if cursor.flags & <uint32_t>MISSED_EVENTS and class_of_missed >= 0:
                time = scaled(cursor.ts, multiplier, shift) if multiplier else cursor.ts
                ts[count] = <int64_t>(time + time_offset)
                class_id[count] = class_of_missed
                thread[count] = -1
                # The count, where stored, is a long right after the records.
                start[count] = <uint32_t>(page + cursor.end)
                size[count] = 0
                if cursor.flags & <uint32_t>MISSED_STORED and cursor.end + long_size <= available:
                    size[count] = <uint32_t>long_size
                count += 1
            while True:
                found = next_record(&cursor)
                if found != RECORD:
                    break
                if type_offset + 2 > cursor.size:
                    found = DAMAGED
                    break
                pid = -1
                if pid_offset + 4 <= cursor.size:
                    pid = <int32_t>load32(cursor.page + cursor.start + pid_offset, cursor.swap)
                if pid != last_pid:
                    last_pid = pid
                    index = tasks.find(pid) if pid >= 0 else -1
                    last_thread = tasks.task_at(index).thread if index >= 0 else -1
                time = scaled(cursor.ts, multiplier, shift) if multiplier else cursor.ts
                kind = class_of_type[load16(cursor.page + cursor.start + type_offset, cursor.swap)]
                ts[count] = <int64_t>(time + time_offset)
                class_id[count] = kind
                thread[count] = last_thread
                start[count] = <uint32_t>(page + cursor.start)
                size[count] = <uint32_t>cursor.size
                # Records of types that are not to be delivered have class -1: the next one takes their place.
                count += kind >= 0
            if found == DAMAGED or cursor.clipped or cut_by_zeros(cursor):
                note_damage(&damage, page + cursor.at)
                if page + 2 * page_size <= total:
                    # Events read after the damage may be later than any that the page can hold.
                    open_page(&cursor, &data[page + page_size], page_size, long_size)
                    time = scaled(cursor.ts, multiplier, shift) if multiplier else cursor.ts
                    if not no_header(&cursor, page_size):
                        while count > first_of_page and <uint64_t>ts[count - 1] - time_offset > time:
                            count -= 1
            page += page_size
    return count, damage.count, damage.first


# Return True if a page begins here: with a header that has no other flags than the kernel's, and a record.
cdef bint first_record(PageCursor* cursor, const uint8_t* page, int64_t page_size, int64_t long_size) noexcept nogil:
    cdef uint32_t above
    if not open_page(cursor, page, page_size, long_size) or no_header(cursor, page_size):
        return False
    if long_size == 8:
        # The kernel extends the sign of the flags, and has no others.
        above = <uint32_t>(load64(page + 8, cursor.swap) >> 32)
        if above != 0 and above != <uint32_t>0xffffffff:
            return False
    if load32(page + (12 if long_size == 8 and cursor.big_endian else 8), cursor.swap) & UNUSED_FLAGS:
        return False
    return next_record(cursor) == RECORD


# Return True if a page is stored here as a recorder writes it: its records fill it up to where it says that they end.
cdef bint whole_page(PageCursor* cursor, const uint8_t* page, int64_t page_size, int64_t long_size) noexcept nogil:
    cdef int found = RECORD
    if not first_record(cursor, page, page_size, long_size):
        return False
    while found == RECORD:
        found = next_record(cursor)
    return found == PAGE_END and not cut_by_zeros(cursor[0])


# A cursor for walking over pages from `at` on.
cdef PageCursor cursor_at(int64_t at, int64_t total, int64_t page_size, int64_t long_size, bint big_endian) except *:
    cdef PageCursor cursor
    check_geometry(total, page_size, long_size, 0)
    if at < 0:
        raise ValueError("a place in front of the pages")
    cursor.big_endian = big_endian
    cursor.swap = big_endian != HOST_IS_BIG
    return cursor


def page_begins(const uint8_t[::1] data, int64_t long_size, bint big_endian) -> bool:
    """Return True if data of the size of a page begin as a page does; data after the first record may be damaged."""
    cdef PageCursor cursor = cursor_at(0, data.shape[0], data.shape[0], long_size, big_endian)
    return first_record(&cursor, &data[0], data.shape[0], long_size)


def follow_pages(
    const uint8_t[::1] data, int64_t page_size, int64_t long_size, bint big_endian, int64_t at, uint64_t after
) -> tuple[int, int]:
    """Find whole pages, one after the other, from `at` on: (where they end, the time of the last of them).

    Their times rise, from `after` on.
    """
    cdef int64_t total = data.shape[0]
    cdef uint64_t time
    cdef PageCursor cursor = cursor_at(at, total, page_size, long_size, big_endian)
    with nogil:
        while at + page_size <= total:
            time = load64(&data[at], cursor.swap)
            if time < after or not whole_page(&cursor, &data[at], page_size, long_size):
                break
            after = time
            at += page_size
    return at, after


def find_page(
    const uint8_t[::1] data, int64_t page_size, int64_t long_size, bint big_endian, int64_t at, uint64_t after
) -> int:
    """Return the first offset from `at` on of a whole page of a time from `after` on; -1 if there is none.

    Another page that is not earlier follows it, or the end of the data.
    """
    cdef int64_t total = data.shape[0]
    cdef int64_t end = -1
    cdef uint64_t time
    cdef PageCursor cursor = cursor_at(at, total, page_size, long_size, big_endian)
    with nogil:
        while at + page_size <= total:
            time = load64(&data[at], cursor.swap)
            if time >= after and whole_page(&cursor, &data[at], page_size, long_size):
                end = at + page_size
                if end == total:
                    break
                if end + page_size <= total and load64(&data[end], cursor.swap) >= time:
                    if whole_page(&cursor, &data[end], page_size, long_size):
                        break
            at += 1
    return at if at + page_size <= total else -1


def find_chunks(
    const uint8_t[::1] block,
    int64_t limit,
    bint big_endian,
    int64_t page_size,
    wanted: tuple[int, int, int],
    const uint8_t[::1] magic,
    int64_t[:, ::1] chunks,
) -> tuple[int, int, int]:
    """Find the compressed chunks at the start of a block, each after its two sizes: (how many, where they end, need).

    `wanted` are `most`, `target` and `most_odd`. At least `target` bytes of whole pages are found, or `most_odd` more
    of data that are no whole pages, but at most `most` chunks. A row of `chunks` (int64, n x 3) is the offset of a
    chunk's data, its size there, and decompressed. `need` says what more would take: a block of that many bytes, or
    room for more chunks (-2); the next chunk does not end before `limit`, or begin with `magic` (-1); or nothing (0).
    Releases the GIL.
    """
    cdef int64_t most, target, most_odd
    cdef int64_t total = block.shape[0]
    cdef int64_t count = 0
    cdef int64_t unpacked = 0
    cdef int64_t at = 0
    cdef int64_t needed = 0
    cdef int64_t packed, size
    cdef int64_t begins = magic.shape[0]
    cdef bint swap = big_endian != HOST_IS_BIG
    most, target, most_odd = wanted
    if chunks.shape[1] != 3 or page_size < 1:
        raise ValueError("a chunk has a place and two sizes")
    with nogil:
        while count < most:
            if at + 8 > limit:
                needed = -1
                break
            if at + 8 > total:
                needed = at + 8
                break
            packed = load32(&block[at], swap)
            size = load32(&block[at + 4], swap)
            if packed == 0 or packed > limit - at - 8:
                needed = -1
                break
            if at + 8 + packed > total:
                needed = at + 8 + packed
                break
            if packed < begins or (begins and memcmp(&block[at + 8], &magic[0], begins) != 0):
                needed = -1
                break
            if count == chunks.shape[0]:
                needed = -2
                break
            chunks[count, 0] = at + 8
            chunks[count, 1] = packed
            chunks[count, 2] = size
            count += 1
            unpacked += size
            at += 8 + packed
            # A window ends where a page does; chunks that never do would all be one.
            if unpacked >= target and (unpacked % page_size == 0 or unpacked >= target + most_odd):
                break
    return count, at, needed


def most_records_in(int64_t total, int64_t page_size) -> int:
    """Entries that the columns of `scan_pages` must have for `total` bytes of pages."""
    check_geometry(total, page_size, 8, 0)
    return most_records(total, page_size)


cdef inline int64_t most_records(int64_t total, int64_t page_size) noexcept nogil:
    # A record takes 8 bytes or more; each page may add one for missed events, and one slot is written ahead.
    return total // 8 + total // page_size + 2


def scan_symbols(
    const uint8_t[::1] text, uint64_t[::1] address, uint32_t[::1] name_start, uint32_t[::1] name_size
) -> int:
    """The symbols of a kallsyms text, in its order, into the columns: how many (no more than there is room for).

    Left out are lines that are no symbol, absolute symbols (type a or A) and ARM's mapping symbols ("$...").
    Releases the GIL.
    """
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
