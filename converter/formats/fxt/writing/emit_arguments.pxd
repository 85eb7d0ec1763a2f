# Records that have arguments, made of the rows of one program at a time, column by column: what a column needs is
# decided once, and no decision is left to each of its values.
#
# The size of a record is known before it is made, so that records of different programs fill each other's gaps.

from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

from converter.formats.fxt.words cimport (
    EVENT, INLINE, MAX_RECORD, MAX_TEXT, SCHEDULING, SHAPE_SWITCH, SHAPE_WAKEUP, padded, rarely,
)
from converter.formats.fxt.writing.emit cimport BAD_COLUMN, MUST_FOLLOW, RECORD_TOO_LARGE, TEXT_TOO_LONG
from converter.formats.fxt.writing.emit_output cimport store_stream
from converter.formats.fxt.writing.emit_programs cimport (
    CODEC_BOOLEAN, CODEC_F64, CODEC_I32, CODEC_NULL, CODEC_STRING, CODEC_U32, CODEC_U64, CODEC_UNKNOWN, Program,
    first_argument,
)
from converter.formats.fxt.writing.emit_references cimport Emission, reference
from converter.formats.fxt.writing.emit_slots cimport NEWLY, THREAD_BYTES, put_thread
from converter.kernels.batches.column_view cimport ColumnView, bits_of, fetch_ahead, id_of, span_of
from converter.kernels.io.byte_order cimport HOST_IS_BIG, load32, store64

cdef enum:
    # Events that are looked at together: their records stay in the processor's cache.
    GROUP = 256
    DURATION_COMPLETE = 4


# Columns of the events of a batch.
cdef enum:
    TS = 0
    PROGRAM = 1
    ROW = 2
    THREAD = 3
    CPU = 4
    SLOT = 5
    COLUMNS = 6


# An event that is emitted by itself, whose thread may be registered already.
cdef struct One:
    int64_t ts
    int32_t thread
    int32_t cpu
    int16_t slot


# Rows of one program, and where their records begin; what lists take is added, so that an offset says where to go on.
cdef struct Rows:
    int64_t count
    # The columns of events, and the index, from the first event of a group, of the event that has the row.
    const ColumnView* events
    int64_t start
    int32_t[GROUP] event
    int32_t[GROUP] row
    uint32_t[GROUP] size
    uint8_t* at[GROUP]
    # The first event of the group that cannot be made, and why.
    int32_t failed
    int status


cdef inline bint is_tailed(int shape) noexcept nogil:
    return shape >> 4 == EVENT and (shape & 15 == 1 or shape & 15 >= DURATION_COMPLETE)


# The bytes of a program's records without what is in lists; 0 where they are not made here.
cdef inline int64_t regular_size(const Program* program) noexcept nogil:
    cdef int64_t size = 24 if is_tailed(program.shape) else 16
    cdef int first = first_argument(program)
    cdef int i
    if program.shape == SHAPE_SWITCH:
        size = 32
    elif program.shape == SHAPE_WAKEUP:
        size = 24
    elif program.shape >> 4 != EVENT:
        return 0
    for i in range(first, first + program.arguments):
        size += 16 if CODEC_U64 <= program.codecs[i] <= CODEC_F64 else 8
    return size


cdef inline void fail(Rows* rows, int64_t k, int status) noexcept nogil:
    if rows.event[k] < rows.failed:
        rows.failed = rows.event[k]
        rows.status = status


# Return the bytes of a row's record with the records before it; or why there is none.
cdef inline int64_t size_of(const Emission* to, const Program* program, int64_t row, int slot) noexcept nogil:
    cdef int64_t size = program.size
    cdef int64_t front = 0
    cdef int64_t listed
    if program.threaded:
        if slot <= 0:
            if slot < 0:
                return BAD_COLUMN
            # The koids of no thread.
            size += 16
        elif rarely(slot & NEWLY):
            front = THREAD_BYTES
    if rarely(program.has_lists):
        listed = listed_size(to, program, 0, program.fields, row)
        if listed < 0:
            return listed
        size += listed
    return RECORD_TOO_LARGE if rarely(size > MAX_RECORD) else front + size


# The bytes of what a row has in lists, in columns from `first` on up to `end`.
cdef inline int64_t listed_size(
    const Emission* to, const Program* program, int first, int end, int64_t row
) noexcept nogil:
    cdef int64_t size = 0
    cdef int64_t length
    cdef const uint8_t* data
    cdef int i
    for i in range(first, end):
        if program.views[i].offsets is NULL:
            continue
        if not span_of(&program.views[i], row, 1, &data, &length):
            return BAD_COLUMN
        if program.codecs[i] == CODEC_STRING:
            if length > MAX_TEXT:
                return TEXT_TOO_LONG
            if to.all_registered:
                continue
        elif program.codecs[i] == CODEC_UNKNOWN:
            length = length - 4 if length > 4 else 0
        # An argument's size has 12 bits, as a record's, which not only large records are checked for.
        if length > MAX_RECORD - 8:
            return RECORD_TOO_LARGE
        size += padded(length)
    return size


# All records of rows whose sizes are known, from their beginnings on.
cdef inline void put_records(Emission* to, const Program* program, Rows* rows) noexcept nogil:
    cdef int64_t offset
    if program.shape >> 4 == EVENT:
        put_events(to, program, rows)
        offset = 16
    else:
        put_scheduling(to, program, rows)
        offset = 32 if program.shape == SHAPE_SWITCH else 24
    offset = put_arguments(to, program, rows, offset)
    if is_tailed(program.shape):
        put_tails(to, program, rows, offset)
        offset += 8
    if program.extended:
        put_extensions(to, program, rows, offset)


# Headers and names of events, and their threads where these are new.
cdef inline void put_events(Emission* to, const Program* program, Rows* rows) noexcept nogil:
    cdef bint swap = to.records.swap
    cdef bint named_alike = is_constant(&program.views[0]) and is_constant(&program.views[1])
    cdef uint64_t header = EVENT | <uint64_t>(program.shape & 15) << 16 | <uint64_t>program.arguments << 20
    cdef int64_t name = 0
    cdef int64_t category = 0
    cdef int64_t k, event, name_length, category_length, size
    cdef const uint8_t* name_text = NULL
    cdef const uint8_t* category_text = NULL
    cdef uint8_t* at
    cdef int slot
    for k in range(rows.count):
        event = rows.start + rows.event[k]
        at = rows.at[k]
        if not named_alike or k == 0:
            name = reference(to, program, 0, rows.row[k], &name_text, &name_length)
            category = reference(to, program, 1, rows.row[k], &category_text, &category_length)
        if rarely(name < 0 or category < 0):
            fail(rows, k, <int>(name if name < 0 else category))
            continue
        slot = slot_of(rows, event)
        size = rows.size[k]
        if rarely(slot & NEWLY):
            slot &= ~NEWLY
            put_thread(at, to.threads, id_of(&rows.events[THREAD], event), slot, swap)
            rows.at[k] = at = at + THREAD_BYTES
            size -= THREAD_BYTES
        store64(
            at,
            header | <uint64_t>(size >> 3) << 4 | <uint64_t>slot << 24 | <uint64_t>category << 32 | <uint64_t>name << 48,
            swap,
        )
        store64(at + 8, bits_of(&rows.events[TS], event, 8), swap)
        if rarely(slot == 0):
            store64(at + 16, 0, swap)
            store64(at + 24, 0, swap)
            rows.at[k] += 16
        if rarely(category & INLINE):
            store_stream(rows.at[k] + 16, category_text, category_length)
            rows.at[k] += padded(category_length)
        if rarely(name & INLINE):
            store_stream(rows.at[k] + 16, name_text, name_length)
            rows.at[k] += padded(name_length)


cdef inline int slot_of(const Rows* rows, int64_t event) noexcept nogil:
    return <int16_t>bits_of(&rows.events[SLOT], event, 2)


# Return True if all rows have the same text, in a slot.
cdef inline bint is_constant(const ColumnView* view) noexcept nogil:
    return view.offsets is NULL and view.stride == 0


# Switches and wakeups up to their arguments.
cdef inline void put_scheduling(const Emission* to, const Program* program, Rows* rows) noexcept nogil:
    cdef bint swap = to.records.swap
    cdef bint switches = program.shape == SHAPE_SWITCH
    cdef uint64_t header = SCHEDULING | <uint64_t>program.arguments << 16 | <uint64_t>(program.shape & 15) << 60
    cdef uint64_t word
    cdef int64_t k, row, event
    cdef uint8_t* at
    for k in range(rows.count):
        at = rows.at[k]
        row = rows.row[k]
        event = rows.start + rows.event[k]
        word = header | <uint64_t>(rows.size[k] >> 3) << 4 | <uint64_t>(id_of(&rows.events[CPU], event) & 0xffff) << 20
        if switches:
            word |= (bits_of(&program.views[2], row, 1) & 15) << 36
        store64(at, word, swap)
        store64(at + 8, bits_of(&rows.events[TS], event, 8), swap)
        store64(at + 16, bits_of(&program.views[0], row, 8), swap)
        if switches:
            store64(at + 24, bits_of(&program.views[1], row, 8), swap)


# Put an argument for each field from the first that is one; return the offset after them.
cdef inline int64_t put_arguments(
    const Emission* to, const Program* program, Rows* rows, int64_t offset
) noexcept nogil:
    cdef bint swap = to.records.swap
    cdef int column = first_argument(program)
    cdef int i, codec
    cdef uint64_t header
    for i in range(program.arguments):
        codec = program.codecs[column]
        header = program.names[i].header
        if codec == CODEC_U32 or codec == CODEC_I32:
            put_words(&program.views[column], rows, header | <uint64_t>1 << 4, 4, offset, swap)
        elif codec == CODEC_BOOLEAN:
            put_words(&program.views[column], rows, header | <uint64_t>1 << 4, 1, offset, swap)
        elif CODEC_U64 <= codec <= CODEC_F64:
            put_double_words(&program.views[column], rows, header | <uint64_t>2 << 4, offset, swap)
            offset += 8
        elif codec == CODEC_NULL:
            put_nulls(rows, header | <uint64_t>1 << 4, offset, swap)
        elif codec == CODEC_STRING and program.views[column].offsets is NULL:
            put_slots(to, &program.views[column], rows, header | <uint64_t>1 << 4, offset)
        elif codec == CODEC_STRING:
            put_texts(to, program, column, rows, header, offset)
        else:
            put_bytes(&program.views[column], rows, header, codec == CODEC_UNKNOWN, offset, swap)
        offset += 8
        column += 1
    return offset


cdef inline void put_words(
    const ColumnView* view, Rows* rows, uint64_t header, int width, int64_t offset, bint swap
) noexcept nogil:
    # Apart from the rows: the compiler takes it that any word may be written over what it knows of these.
    cdef ColumnView column = view[0]
    cdef int64_t count = rows.count
    cdef int64_t k
    for k in range(count):
        fetch_ahead(&column, rows.row[k])
        store64(rows.at[k] + offset, header | bits_of(&column, rows.row[k], width) << 32, swap)


cdef inline void put_double_words(
    const ColumnView* view, Rows* rows, uint64_t header, int64_t offset, bint swap
) noexcept nogil:
    cdef ColumnView column = view[0]
    cdef int64_t count = rows.count
    cdef int64_t k
    cdef uint8_t* at
    for k in range(count):
        fetch_ahead(&column, rows.row[k])
        at = rows.at[k] + offset
        store64(at, header, swap)
        store64(at + 8, bits_of(&column, rows.row[k], 8), swap)


cdef inline void put_nulls(Rows* rows, uint64_t header, int64_t offset, bint swap) noexcept nogil:
    cdef int64_t k
    for k in range(rows.count):
        store64(rows.at[k] + offset, header, swap)


cdef inline void put_slots(
    const Emission* to, const ColumnView* view, Rows* rows, uint64_t header, int64_t offset
) noexcept nogil:
    cdef ColumnView column = view[0]
    cdef bint swap = to.records.swap
    cdef const uint16_t* slots = to.strings.slots
    cdef int64_t known = to.strings.known
    cdef int64_t count = rows.count
    cdef int64_t k
    cdef int32_t id
    cdef uint64_t slot
    for k in range(count):
        fetch_ahead(&column, rows.row[k])
        id = id_of(&column, rows.row[k])
        slot = slots[id] if 0 <= id < known else 0
        if rarely(slot == 0 and id):
            fail(rows, k, MUST_FOLLOW if 0 <= id < known else BAD_COLUMN)
        store64(rows.at[k] + offset, header | slot << 32, swap)


# Put texts in lists, which are stored in the records or have slots by now.
cdef inline void put_texts(
    const Emission* to, const Program* program, int column, Rows* rows, uint64_t header, int64_t offset
) noexcept nogil:
    cdef const uint8_t* text = NULL
    cdef uint8_t* at
    cdef int64_t k, length, of
    for k in range(rows.count):
        of = reference(to, program, column, rows.row[k], &text, &length)
        if rarely(of < 0):
            fail(rows, k, <int>of)
            continue
        at = rows.at[k] + offset
        store64(at, header | <uint64_t>(1 + (padded(length) >> 3)) << 4 | <uint64_t>of << 32, to.records.swap)
        if of & INLINE:
            store_stream(at + 8, text, length)
            rows.at[k] += padded(length)


cdef inline void put_bytes(
    const ColumnView* view, Rows* rows, uint64_t header, bint unknown, int64_t offset, bint swap
) noexcept nogil:
    cdef const uint8_t* data = NULL
    cdef uint8_t* at
    cdef int64_t k, length
    cdef uint32_t upper
    for k in range(rows.count):
        if not span_of(view, rows.row[k], 1, &data, &length):
            fail(rows, k, BAD_COLUMN)
            continue
        upper = <uint32_t>length
        if unknown:
            upper = 0
            memcpy(&upper, data, 4 if length > 4 else length)
            upper = load32(<const uint8_t*>&upper, HOST_IS_BIG)
            data += 4
            length = length - 4 if length > 4 else 0
        at = rows.at[k] + offset
        store64(at, header | <uint64_t>(1 + (padded(length) >> 3)) << 4 | <uint64_t>upper << 32, swap)
        if length:
            store_stream(at + 8, data, length)
            rows.at[k] += padded(length)


# Put what comes after the arguments of some events: ids, and ends of complete slices.
cdef inline void put_tails(const Emission* to, const Program* program, Rows* rows, int64_t offset) noexcept nogil:
    cdef bint ends = program.shape & 15 == DURATION_COMPLETE
    cdef uint64_t word
    cdef int64_t k
    for k in range(rows.count):
        word = bits_of(&program.views[2], rows.row[k], 8)
        if ends:
            word += bits_of(&rows.events[TS], rows.start + rows.event[k], 8)
        store64(rows.at[k] + offset, word, to.records.swap)


cdef inline void put_extensions(
    const Emission* to, const Program* program, Rows* rows, int64_t offset
) noexcept nogil:
    cdef const uint8_t* data = NULL
    cdef int64_t k, length
    for k in range(rows.count):
        if not span_of(&program.views[program.fields - 1], rows.row[k], 1, &data, &length):
            fail(rows, k, BAD_COLUMN)
        elif length:
            store_stream(rows.at[k] + offset, data, length)
