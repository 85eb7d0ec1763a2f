# References of records: slots of strings and of threads, or texts in the records themselves.
#
# Before an emitter that follows all events before emits an event, everything that its record will refer to is
# registered. An emitter that runs ahead finds it registered, or leaves the event to the former.

from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t

from converter.formats.fxt.words cimport (
    EVENT, INLINE, MAX_TEXT, SHAPE_BLOB, SHAPE_KERNEL_OBJECT, SHAPE_LARGE, SHAPE_LARGE_TIMED, SHAPE_USERSPACE_OBJECT,
    rarely,
)
from converter.formats.fxt.writing.emit cimport BAD_COLUMN, MUST_FOLLOW, NO_MEMORY, OK, TEXT_TOO_LONG
from converter.formats.fxt.writing.emit_output cimport Records, reserve
from converter.formats.fxt.writing.emit_programs cimport CODEC_STRING, MAX_COLUMNS, Program, first_argument
from converter.formats.fxt.writing.emit_slots cimport (
    NEWLY, StringSlots, THREAD_BYTES, ThreadSlots, put_thread, register_string, string_slot,
)
from converter.kernels.batches.column_view cimport ColumnView, fetch_ahead, id_of, span_of
from converter.kernels.tables.strings cimport StringTable


cdef struct Emission:
    Records records
    # The provider's, of all its emitters.
    StringSlots* strings
    ThreadSlots* threads
    # True if texts in lists have slots, too: `listed` has them for the event under way, by column.
    bint all_registered
    uint32_t[MAX_COLUMNS] listed


# Return the reference of a record to the text of a column: its slot, or inline if it is a list of bytes, which are
# `data`. Or why there is none.
cdef inline int64_t reference(
    const Emission* to, const Program* program, int column, int64_t row, const uint8_t** data, int64_t* length
) noexcept nogil:
    cdef const ColumnView* view = &program.views[column]
    cdef uint32_t slot
    cdef int32_t id
    length[0] = 0
    if rarely(view.offsets is not NULL):
        if to.all_registered:
            return to.listed[column]
        if not span_of(view, row, 1, data, length):
            return BAD_COLUMN
        if length[0] > MAX_TEXT:
            return TEXT_TOO_LONG
        return INLINE | length[0] if length[0] else 0
    fetch_ahead(view, row)
    id = id_of(view, row)
    if rarely(id < 0 or id >= to.strings.known):
        return BAD_COLUMN
    slot = to.strings.slots[id]
    return MUST_FOLLOW if rarely(slot == 0 and id) else <int64_t>slot


# Register what the text of a column needs.
cdef inline int register_text(
    Emission* to, StringTable table, const Program* program, int column, int64_t row
) noexcept nogil:
    cdef const ColumnView* view = &program.views[column]
    cdef const uint8_t* data
    cdef int64_t length
    cdef int64_t slot = 0
    if view.offsets is NULL:
        slot = string_slot(to.strings, &to.records, table, id_of(view, row))
    elif to.all_registered:
        if not span_of(view, row, 1, &data, &length):
            return BAD_COLUMN
        if length:
            slot = register_string(to.strings, &to.records, data, length, -1)
        to.listed[column] = <uint32_t>slot
    return <int>slot if slot < 0 else OK


# Register all that the record of an event refers to, in the order in which it does. The slot is no longer new then.
cdef inline int register_all(
    Emission* to, StringTable table, Program* program, int64_t row, int32_t thread, int16_t* slot
) noexcept nogil:
    cdef int shape = program.shape
    cdef int first = 0
    cdef int texts = 0
    cdef int i, status
    cdef int64_t name
    if shape >> 4 == EVENT or shape == SHAPE_LARGE or shape == SHAPE_LARGE_TIMED:
        texts = 2
    elif shape == SHAPE_BLOB:
        texts = 1
    elif shape == SHAPE_USERSPACE_OBJECT or shape == SHAPE_KERNEL_OBJECT:
        first, texts = 1 if shape == SHAPE_USERSPACE_OBJECT else 2, 1
    for i in range(first, first + texts):
        status = register_text(to, table, program, i, row)
        if status != OK:
            return status
    if not register_thread(to, thread, slot):
        return NO_MEMORY
    first = first_argument(program)
    for i in range(program.arguments):
        if to.strings.scarce or program.names[i].header == 0:
            name = string_slot(to.strings, &to.records, table, program.names[i].name)
            if name < 0:
                return <int>name
            program.names[i].header = <uint64_t>program.names[i].kind | <uint64_t>name << 16
        if program.codecs[first + i] == CODEC_STRING:
            status = register_text(to, table, program, first + i, row)
            if status != OK:
                return status
    program.named = True
    return OK


# Put the record of a thread that is new in its slot; false without memory.
cdef inline bint register_thread(Emission* to, int32_t thread, int16_t* slot) noexcept nogil:
    cdef Records* out = &to.records
    if rarely(slot[0] > 0 and slot[0] & NEWLY):
        if not reserve(out, THREAD_BYTES):
            return False
        slot[0] &= ~NEWLY
        put_thread(out.out.data + out.out.used, to.threads, thread, slot[0], out.swap)
        out.out.used += THREAD_BYTES
    return True
