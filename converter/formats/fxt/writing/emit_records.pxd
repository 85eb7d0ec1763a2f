# Records that are made one by one: of events that have no arguments, or are few.
#
# Each function returns OK or why the event cannot be written; its caller then removes what it has put into the output.
# Words go where RESERVE has room for them, texts and bytes where `reserve` made some.

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from converter.formats.fxt.words cimport (
    BLOB, INLINE, KERNEL_OBJECT, LARGE, LOG, MAX_RECORD, MAX_TEXT, METADATA, PROFILER, SCHEDULING, SHAPE_BLOB,
    SHAPE_DISCARDED, SHAPE_KERNEL_OBJECT, SHAPE_LARGE, SHAPE_LARGE_TIMED, SHAPE_LEGACY_SWITCH, SHAPE_LOG, SHAPE_MAPPING,
    SHAPE_MODULE, SHAPE_SAMPLE, SHAPE_USERSPACE_OBJECT, USERSPACE_OBJECT, padded,
)
from converter.formats.fxt.writing.emit cimport (
    BAD_COLUMN, BAD_RECORD, NO_MEMORY, OK, RECORD_TOO_LARGE, TEXT_TOO_LONG,
)
from converter.formats.fxt.writing.emit_arguments cimport One, Rows, listed_size, put_arguments
from converter.formats.fxt.writing.emit_output cimport (
    Records, begin_record, put_stream, put_word, record_size, reserve, set_size,
)
from converter.formats.fxt.writing.emit_programs cimport Program, first_argument, number_of
from converter.formats.fxt.writing.emit_references cimport Emission, reference
from converter.kernels.batches.column_view cimport span_of, text_of
from converter.kernels.io.byte_order cimport HOST_IS_BIG, load64
from converter.kernels.tables.strings cimport StringTable

cdef enum:
    # Payload bytes of the records that a blob is divided into.
    CHUNK = 32000


# A text as a record has it: a reference and, if that is inline, the bytes.
cdef struct Text:
    uint32_t reference
    const uint8_t* data
    int64_t length


cdef inline void put_text(Records* out, Text* text) noexcept nogil:
    if text.reference & INLINE:
        put_stream(out, text.data, text.length)


cdef inline int find_text(const Emission* to, const Program* program, int column, int64_t row, Text* text) noexcept nogil:
    cdef int64_t found = reference(to, program, column, row, &text.data, &text.length)
    text.reference = <uint32_t>found
    return <int>found if found < 0 else OK


# A header, a time and, without a slot, the koids of no thread.
cdef inline void put_time(Records* out, uint64_t header, int64_t ts, int slot) noexcept nogil:
    put_word(out, header)
    put_word(out, <uint64_t>ts)
    if slot == 0:
        put_word(out, 0)
        put_word(out, 0)


# Write the record's size, which must not be larger than a record's.
cdef inline int finish(Records* out, uint64_t header) noexcept nogil:
    if record_size(out) > MAX_RECORD:
        return RECORD_TOO_LARGE
    set_size(out, header)
    return OK


# Add the extension, if there is one, and the record's size.
cdef inline int finish_extended(Records* out, Program* program, uint64_t header, int64_t row) noexcept nogil:
    cdef int status = put_extension(out, program, row)
    return finish(out, header) if status == OK else status


cdef inline int put_extension(Records* out, Program* program, int64_t row) noexcept nogil:
    cdef const uint8_t* data
    cdef int64_t length
    if not program.extended:
        return OK
    if not span_of(&program.views[program.fields - 1], row, 1, &data, &length):
        return BAD_COLUMN
    if length > MAX_RECORD:
        return RECORD_TOO_LARGE
    if not reserve(out, length):
        return NO_MEMORY
    put_stream(out, data, length)
    return OK


# The arguments of the record under construction, which is that of the only one of the rows.
cdef inline int emit_arguments(Emission* to, Program* program, Rows* row) noexcept nogil:
    cdef Records* out = &to.records
    cdef int first = first_argument(program)
    cdef int64_t listed = listed_size(to, program, first, first + program.arguments, row.row[0])
    cdef int64_t size
    if listed < 0:
        return <int>listed
    if not reserve(out, listed):
        return NO_MEMORY
    row.at[0] = out.out.data + out.out.used
    size = put_arguments(to, program, row, 0)
    # Lists have moved the beginning.
    out.out.used = row.at[0] + size - out.out.data
    return row.status


cdef inline int emit_legacy_switch(
    Emission* to, Program* program, int64_t ts, int64_t row, int32_t cpu
) noexcept nogil:
    cdef Records* out = &to.records
    cdef uint64_t header = (
        SCHEDULING | <uint64_t>(cpu & 0xff) << 16 | (number_of(program, 2, row, 1) & 15) << 24
        | number_of(program, 5, row, 1) << 44 | number_of(program, 6, row, 1) << 52
    )
    put_word(out, header)
    put_word(out, <uint64_t>ts)
    put_word(out, number_of(program, 3, row, 8))
    put_word(out, number_of(program, 0, row, 8))
    put_word(out, number_of(program, 4, row, 8))
    put_word(out, number_of(program, 1, row, 8))
    return finish_extended(out, program, header, row)


cdef inline int emit_log(
    Emission* to, StringTable table, Program* program, int64_t ts, int64_t row, int slot
) noexcept nogil:
    cdef Records* out = &to.records
    cdef const uint8_t* data
    cdef int64_t length
    cdef uint64_t header
    if not text_of(&program.views[0], table, to.strings.known, row, &data, &length):
        return BAD_COLUMN
    if length > MAX_TEXT:
        return TEXT_TOO_LONG
    if not reserve(out, length):
        return NO_MEMORY
    header = LOG | <uint64_t>length << 16 | <uint64_t>slot << 32
    put_time(out, header, ts, slot)
    put_stream(out, data, length)
    return finish_extended(out, program, header, row)


cdef inline int emit_blob(Emission* to, Program* program, int64_t row) noexcept nogil:
    cdef Records* out = &to.records
    cdef Text name
    cdef const uint8_t* data
    cdef const uint8_t* extension
    cdef int64_t length, part
    cdef int64_t extension_length = 0
    cdef int64_t room = MAX_RECORD - 8
    cdef uint64_t header
    cdef bint is_last = False
    cdef int status
    if not span_of(&program.views[2], row, 1, &data, &length):
        return BAD_COLUMN
    if program.extended and not span_of(&program.views[program.fields - 1], row, 1, &extension, &extension_length):
        return BAD_COLUMN
    status = find_text(to, program, 0, row, &name)
    if status != OK:
        return status
    room -= padded(extension_length) + padded(name.length)
    if room < 0:
        return RECORD_TOO_LARGE
    while not is_last:
        # Bytes beyond one record go on in further ones of the same name ("BLOB record").
        is_last = padded(length) <= room
        part = length if is_last or length < CHUNK else CHUNK
        if not reserve(out, name.length + part):
            return NO_MEMORY
        header = BLOB | <uint64_t>name.reference << 16 | <uint64_t>part << 32 | number_of(program, 1, row, 1) << 48
        begin_record(out)
        put_word(out, header)
        put_text(out, &name)
        put_stream(out, data, part)
        status = finish_extended(out, program, header, row) if is_last else finish(out, header)
        if status != OK:
            return status
        data += part
        length -= part
    return OK


cdef inline int emit_object(Emission* to, Program* program, Rows* rows) noexcept nogil:
    cdef Records* out = &to.records
    cdef bint userspace = program.shape == SHAPE_USERSPACE_OBJECT
    cdef Text name
    cdef uint64_t header
    cdef int64_t row = rows.row[0]
    cdef int status = find_text(to, program, 1 if userspace else 2, row, &name)
    if status != OK:
        return status
    header = (
        (USERSPACE_OBJECT if userspace else KERNEL_OBJECT) | <uint64_t>name.reference << 24
        | <uint64_t>program.arguments << 40
    )
    if userspace:
        put_word(out, header)
        put_word(out, number_of(program, 0, row, 8))
        put_word(out, number_of(program, 2, row, 8))
    else:
        header |= number_of(program, 0, row, 1) << 16
        put_word(out, header)
        put_word(out, number_of(program, 1, row, 8))
    if not reserve(out, name.length):
        return NO_MEMORY
    put_text(out, &name)
    status = emit_arguments(to, program, rows)
    if status != OK:
        return status
    return finish_extended(out, program, header, row)


cdef inline int emit_profiler(
    Emission* to, StringTable table, Program* program, int64_t ts, int64_t row, int slot
) noexcept nogil:
    cdef Records* out = &to.records
    cdef uint64_t header = PROFILER | <uint64_t>(program.shape & 15) << 16
    cdef const uint8_t* data
    cdef const uint8_t* name
    cdef int64_t length, name_length, at
    cdef uint64_t frame
    header |= <uint64_t>slot << 20
    if program.shape == SHAPE_SAMPLE:
        if not span_of(&program.views[0], row, 8, &data, &length):
            return BAD_COLUMN
        if length > 255 * 8:
            return RECORD_TOO_LARGE
        header |= <uint64_t>(length >> 3) << 28
        put_time(out, header, ts, slot)
        for at in range(0, length, 8):
            memcpy(&frame, data + at, 8)
            put_word(out, frame)
        return finish_extended(out, program, header, row)
    header |= number_of(program, 0, row, 2) << 28
    if program.shape == SHAPE_MAPPING:
        header |= (number_of(program, 1, row, 1) & 7) << 44
        put_time(out, header, ts, slot)
        put_word(out, number_of(program, 2, row, 8))
        put_word(out, number_of(program, 3, row, 8))
        put_word(out, number_of(program, 4, row, 8))
        return finish_extended(out, program, header, row)
    if not text_of(&program.views[1], table, to.strings.known, row, &name, &name_length):
        return BAD_COLUMN
    if not span_of(&program.views[2], row, 1, &data, &length):
        return BAD_COLUMN
    if name_length > 255 or length > 255:
        return TEXT_TOO_LONG
    header |= <uint64_t>name_length << 44 | <uint64_t>length << 52
    put_time(out, header, ts, slot)
    put_stream(out, name, name_length)
    put_stream(out, data, length)
    return finish_extended(out, program, header, row)


cdef inline int emit_large(Emission* to, Program* program, int64_t ts, Rows* rows, int slot) noexcept nogil:
    cdef Records* out = &to.records
    cdef bint timed = program.shape == SHAPE_LARGE_TIMED
    cdef Text name, category
    cdef const uint8_t* data
    cdef int64_t length
    cdef int64_t row = rows.row[0]
    cdef int status
    cdef uint64_t word
    cdef uint64_t header = LARGE | <uint64_t>(0 if timed else 1) << 40
    status = find_text(to, program, 0, row, &name)
    if status != OK:
        return status
    status = find_text(to, program, 1, row, &category)
    if status != OK:
        return status
    put_word(out, header)
    word = (
        <uint64_t>category.reference | <uint64_t>name.reference << 16
        | <uint64_t>(program.arguments if timed else 0) << 32 | <uint64_t>(slot if timed else 0) << 36
    )
    if timed:
        put_time(out, word, ts, slot)
        status = emit_arguments(to, program, rows)
        if status != OK:
            return status
    else:
        put_word(out, word)
    if not span_of(&program.views[2], row, 1, &data, &length):
        return BAD_COLUMN
    if length >> 34:
        return RECORD_TOO_LARGE
    if not reserve(out, length):
        return NO_MEMORY
    put_word(out, <uint64_t>length)
    put_stream(out, data, length)
    status = put_extension(out, program, row)
    if status != OK:
        return status
    set_size(out, header)
    return OK


cdef inline int emit_discarded(Emission* to, Program* program, int64_t row) noexcept nogil:
    cdef Records* out = &to.records
    cdef uint64_t header = METADATA | <uint64_t>3 << 16 | number_of(program, 0, row, 4) << 20
    put_word(out, header)
    return finish_extended(out, program, header, row)


# A whole record, whose header is little-endian here.
cdef inline int emit_native(Emission* to, Program* program, int64_t row) noexcept nogil:
    cdef Records* out = &to.records
    cdef const uint8_t* data
    cdef int64_t length
    cdef uint64_t header
    cdef uint64_t words
    if not span_of(&program.views[1], row, 1, &data, &length):
        return BAD_COLUMN
    if length < 8 or length & 7:
        return BAD_RECORD
    header = load64(data, HOST_IS_BIG)
    words = <uint32_t>(header >> 4) if header & 15 == LARGE else (header >> 4) & 0xfff
    if words != <uint64_t>(length >> 3) or header & 15 != number_of(program, 0, row, 1):
        return BAD_RECORD
    if not reserve(out, length):
        return NO_MEMORY
    put_word(out, header)
    put_stream(out, data + 8, length - 8)
    return OK


# The record of an event that is not regular, from what it refers to being registered on.
cdef inline int emit_record(
    Emission* to, StringTable table, Program* program, const One* one, Rows* rows
) noexcept nogil:
    cdef int shape = program.shape
    cdef int64_t row = rows.row[0]
    if shape == SHAPE_LEGACY_SWITCH:
        return emit_legacy_switch(to, program, one.ts, row, one.cpu)
    if shape == SHAPE_LOG:
        return emit_log(to, table, program, one.ts, row, one.slot)
    if shape == SHAPE_BLOB:
        return emit_blob(to, program, row)
    if shape == SHAPE_USERSPACE_OBJECT or shape == SHAPE_KERNEL_OBJECT:
        return emit_object(to, program, rows)
    if shape == SHAPE_MODULE or shape == SHAPE_MAPPING or shape == SHAPE_SAMPLE:
        return emit_profiler(to, table, program, one.ts, row, one.slot)
    if shape == SHAPE_LARGE or shape == SHAPE_LARGE_TIMED:
        return emit_large(to, program, one.ts, rows, one.slot)
    if shape == SHAPE_DISCARDED:
        return emit_discarded(to, program, row)
    return emit_native(to, program, row)
