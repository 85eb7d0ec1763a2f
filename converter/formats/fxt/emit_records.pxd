# The records of FXT made of events, each by the program of its class.
#
# Each function gives OK or why the event cannot be written; what it has put into the output by then is taken back by
# its caller. Words go where RESERVE has room for them, texts and bytes where `reserve` made some.

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from converter.formats.fxt.emit cimport (
    BAD_COLUMN, BAD_RECORD, MUST_FOLLOW, NO_MEMORY, OK, RECORD_TOO_LARGE, TEXT_TOO_LONG,
)
from converter.formats.fxt.emit_output cimport (
    Records, begin_record, put_stream, put_word, record_size, reserve, set_size,
)
from converter.formats.fxt.emit_programs cimport (
    Argument, CODEC_BOOLEAN, CODEC_F64, CODEC_I32, CODEC_NULL, CODEC_STRING, CODEC_U32, CODEC_U64, CODEC_UNKNOWN,
    Program, number_of,
)
from converter.formats.fxt.emit_slots cimport (
    NEWLY, StringSlots, ThreadSlots, register_string, register_thread, string_slot,
)
from converter.formats.fxt.words cimport (
    BLOB, EVENT, INLINE, KERNEL_OBJECT, LARGE, LOG, MAX_RECORD, MAX_TEXT, METADATA, PROFILER, SCHEDULING,
    SHAPE_LARGE_TIMED, SHAPE_MAPPING, SHAPE_SAMPLE, SHAPE_SWITCH, SHAPE_USERSPACE_OBJECT, USERSPACE_OBJECT, padded,
    rarely,
)
from converter.kernels.byte_order cimport store64
from converter.kernels.column_view cimport ColumnView, bits_of, fetch_ahead, id_of, span_of, text_of
from converter.kernels.output cimport Output
from converter.kernels.strings cimport StringTable

cdef enum:
    # Payload bytes of the records that a blob is divided into.
    CHUNK = 32000


cdef struct Emission:
    Records records
    # The provider's, of all its emitters.
    StringSlots* strings
    ThreadSlots* threads
    # Whether this follows all records in front, so that it may register strings.
    bint follows
    # The event's thread, and that one's slot.
    int32_t thread
    int slot
    # Whether texts in lists get slots, too.
    bint all_registered


# A text as a record has it: a reference and, if that is inline, the bytes.
cdef struct Text:
    uint32_t reference
    const uint8_t* data
    int64_t length


cdef inline void put_text(Records* out, Text* text) noexcept nogil:
    if text.reference & INLINE:
        put_stream(out, text.data, text.length)


# The slot of the event's thread, which is registered in front of the record under construction where it must be.
cdef inline int thread_slot(Emission* to) noexcept nogil:
    if rarely(to.slot < 0):
        return BAD_COLUMN
    if rarely(to.slot & NEWLY):
        to.slot &= ~NEWLY
        if not register_thread(to.threads, &to.records, to.thread, to.slot):
            return NO_MEMORY
    return to.slot


# The text of a string column as a record has it: by its slot, or inline if it is a list of bytes.
cdef inline int reference_of(
    Emission* to, StringTable table, const ColumnView* column, int64_t row, Text* text
) noexcept nogil:
    cdef int64_t reference
    if rarely(column.offsets is not NULL):
        return listed_text_of(to, column, row, text)
    fetch_ahead(column, row)
    reference = string_slot(to.strings, &to.records, table, id_of(column, row), to.follows)
    text.reference = <uint32_t>reference
    text.data = NULL
    text.length = 0
    return OK if reference >= 0 else <int>reference


cdef inline int listed_text_of(Emission* to, const ColumnView* column, int64_t row, Text* text) noexcept nogil:
    cdef Records* out = &to.records
    cdef int64_t reference = 0
    if not span_of(column, row, 1, &text.data, &text.length):
        return BAD_COLUMN
    if text.length > MAX_TEXT:
        return TEXT_TOO_LONG
    if text.length and to.all_registered:
        if not to.follows:
            return MUST_FOLLOW
        reference = register_string(to.strings, out, text.data, text.length, -1)
        if reference < 0:
            return <int>reference
        text.length = 0
    elif text.length:
        if not reserve(out, text.length):
            return NO_MEMORY
        reference = INLINE | text.length
    text.reference = <uint32_t>reference
    return OK


cdef inline int emit_event(
    Emission* to, StringTable table, Program* program, int64_t ts, int64_t row
) noexcept nogil:
    cdef Records* out = &to.records
    cdef Text name, category
    cdef uint64_t kind = program.shape & 15
    cdef bint tailed = kind == 1 or kind >= 4
    cdef uint64_t header
    cdef int slot
    cdef int status = reference_of(to, table, &program.views[0], row, &name)
    if status != OK:
        return status
    status = reference_of(to, table, &program.views[1], row, &category)
    if status != OK:
        return status
    slot = thread_slot(to)
    if slot < 0:
        return slot
    header = (
        EVENT | kind << 16 | <uint64_t>program.arguments << 20 | <uint64_t>slot << 24
        | <uint64_t>category.reference << 32 | <uint64_t>name.reference << 48
    )
    put_time(out, header, ts, slot)
    if category.reference & INLINE:
        if not reserve(out, category.length):
            return NO_MEMORY
        put_stream(out, category.data, category.length)
    if name.reference & INLINE:
        if not reserve(out, name.length):
            return NO_MEMORY
        put_stream(out, name.data, name.length)
    status = emit_arguments(to, table, program, 3 if tailed else 2, row)
    if status != OK:
        return status
    if tailed:
        if kind == 4:
            put_word(out, <uint64_t>ts + number_of(program, 2, row, 8))
        else:
            put_word(out, number_of(program, 2, row, 8))
    return finish_extended(out, program, header, row)


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


# An argument for each field from column `index` on. Where the next word goes is kept apart from the output while no
# other function writes: the compiler takes it that any word may be written over what it knows of the output.
cdef inline int emit_arguments(
    Emission* to, StringTable table, Program* program, int index, int64_t row
) noexcept nogil:
    cdef Records* out = &to.records
    cdef Output* output = &out.out
    cdef uint8_t* at = output.data + output.used
    cdef bint swap = out.swap
    cdef Argument* argument = &program.names[0]
    cdef const ColumnView* column = &program.views[index]
    cdef const int32_t* codecs = &program.codecs[index]
    cdef int i, status, codec
    cdef int64_t name
    cdef uint64_t header
    cdef uint32_t upper
    cdef Text text
    cdef const uint8_t* data
    cdef int64_t length
    for i in range(program.arguments):
        header = argument.header
        if rarely(to.strings.scarce or header == 0):
            output.used = at - output.data
            name = string_slot(to.strings, out, table, argument.name, to.follows)
            if name < 0:
                return <int>name
            header = <uint64_t>argument.kind | <uint64_t>name << 16
            if to.follows:
                argument.header = header
            at = output.data + output.used
        codec = codecs[i]
        if codec == CODEC_U32 or codec == CODEC_I32 or codec == CODEC_BOOLEAN:
            fetch_ahead(column, row)
            store64(at, header | <uint64_t>1 << 4 | bits_of(column, row, 1 if codec == CODEC_BOOLEAN else 4) << 32, swap)
            at += 8
        elif CODEC_U64 <= codec <= CODEC_F64:
            fetch_ahead(column, row)
            store64(at, header | <uint64_t>2 << 4, swap)
            store64(at + 8, bits_of(column, row, 8), swap)
            at += 16
        elif codec == CODEC_NULL:
            store64(at, header | <uint64_t>1 << 4, swap)
            at += 8
        elif codec == CODEC_STRING:
            output.used = at - output.data
            status = reference_of(to, table, column, row, &text)
            if status != OK:
                return status
            length = 0
            if text.reference & INLINE:
                if not reserve(out, text.length):
                    return NO_MEMORY
                length = padded(text.length)
            put_word(out, header | <uint64_t>(1 + (length >> 3)) << 4 | <uint64_t>text.reference << 32)
            put_text(out, &text)
            at = output.data + output.used
        else:
            if not span_of(column, row, 1, &data, &length):
                return BAD_COLUMN
            upper = <uint32_t>length
            if codec == CODEC_UNKNOWN:
                upper = 0
                memcpy(&upper, data, 4 if length > 4 else length)
                data += 4
                length = length - 4 if length > 4 else 0
            # An argument's size has 12 bits, as a record's, which not only large records are checked for.
            if length > MAX_RECORD - 8:
                return RECORD_TOO_LARGE
            output.used = at - output.data
            if not reserve(out, length):
                return NO_MEMORY
            put_word(out, header | <uint64_t>(1 + (padded(length) >> 3)) << 4 | <uint64_t>upper << 32)
            put_stream(out, data, length)
            at = output.data + output.used
        argument += 1
        column += 1
    output.used = at - output.data
    return OK


cdef inline int emit_scheduling(
    Emission* to, StringTable table, Program* program, int64_t ts, int64_t row, int32_t cpu
) noexcept nogil:
    cdef Records* out = &to.records
    cdef uint64_t header = (
        SCHEDULING | <uint64_t>program.arguments << 16 | <uint64_t>(cpu & 0xffff) << 20
        | <uint64_t>(program.shape & 15) << 60
    )
    cdef int first = 1
    cdef int status
    if program.shape == SHAPE_SWITCH:
        header |= (number_of(program, 2, row, 1) & 15) << 36
        first = 3
    put_word(out, header)
    put_word(out, <uint64_t>ts)
    put_word(out, number_of(program, 0, row, 8))
    if program.shape == SHAPE_SWITCH:
        put_word(out, number_of(program, 1, row, 8))
    status = emit_arguments(to, table, program, first, row)
    if status != OK:
        return status
    return finish_extended(out, program, header, row)


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
    Emission* to, StringTable table, Program* program, int64_t ts, int64_t row
) noexcept nogil:
    cdef Records* out = &to.records
    cdef const uint8_t* data
    cdef int64_t length
    cdef uint64_t header
    cdef int slot = thread_slot(to)
    if slot < 0:
        return slot
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


cdef inline int emit_blob(Emission* to, StringTable table, Program* program, int64_t row) noexcept nogil:
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
    status = reference_of(to, table, &program.views[0], row, &name)
    if status != OK:
        return status
    room -= padded(extension_length) + padded(name.length)
    if room < 0:
        return RECORD_TOO_LARGE
    while not is_last:
        # What one record does not hold goes on in further ones of the same name ("BLOB record").
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


cdef inline int emit_object(Emission* to, StringTable table, Program* program, int64_t row) noexcept nogil:
    cdef Records* out = &to.records
    cdef bint userspace = program.shape == SHAPE_USERSPACE_OBJECT
    cdef Text name
    cdef uint64_t header
    cdef int status = reference_of(to, table, &program.views[1 if userspace else 2], row, &name)
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
    put_text(out, &name)
    status = emit_arguments(to, table, program, 3, row)
    if status != OK:
        return status
    return finish_extended(out, program, header, row)


cdef inline int emit_profiler(
    Emission* to, StringTable table, Program* program, int64_t ts, int64_t row
) noexcept nogil:
    cdef Records* out = &to.records
    cdef uint64_t header = PROFILER | <uint64_t>(program.shape & 15) << 16
    cdef const uint8_t* data
    cdef const uint8_t* name
    cdef int64_t length, name_length, at
    cdef uint64_t frame
    cdef int slot = thread_slot(to)
    if slot < 0:
        return slot
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


cdef inline int emit_large(
    Emission* to, StringTable table, Program* program, int64_t ts, int64_t row
) noexcept nogil:
    cdef Records* out = &to.records
    cdef bint timed = program.shape == SHAPE_LARGE_TIMED
    cdef Text name, category
    cdef const uint8_t* data
    cdef int64_t length
    cdef int slot = 0
    cdef int status
    cdef uint64_t word
    cdef uint64_t header = LARGE | <uint64_t>(0 if timed else 1) << 40
    # Texts in slots: their inline form gains nothing in a record of this size.
    to.all_registered = True
    status = reference_of(to, table, &program.views[0], row, &name)
    if status == OK:
        status = reference_of(to, table, &program.views[1], row, &category)
    if status == OK and timed:
        slot = thread_slot(to)
        status = slot if slot < 0 else OK
    if status == OK:
        put_word(out, header)
        word = (
            <uint64_t>category.reference | <uint64_t>name.reference << 16
            | <uint64_t>(program.arguments if timed else 0) << 32 | <uint64_t>slot << 36
        )
        if timed:
            put_time(out, word, ts, slot)
            status = emit_arguments(to, table, program, 3, row)
        else:
            put_word(out, word)
    to.all_registered = False
    if status != OK:
        return status
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
    memcpy(&header, data, 8)
    words = <uint32_t>(header >> 4) if header & 15 == LARGE else (header >> 4) & 0xfff
    if words != <uint64_t>(length >> 3) or header & 15 != number_of(program, 0, row, 1):
        return BAD_RECORD
    if not reserve(out, length):
        return NO_MEMORY
    put_word(out, header)
    put_stream(out, data + 8, length - 8)
    return OK
