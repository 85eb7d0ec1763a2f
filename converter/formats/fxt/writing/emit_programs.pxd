# Programs: what an event class is written as, and the columns that its records are filled from.

from libc.stdint cimport int32_t, int64_t, uint64_t

from converter.formats.fxt.words cimport (
    EVENT, SHAPE_BLOB, SHAPE_DISCARDED, SHAPE_KERNEL_OBJECT, SHAPE_LARGE, SHAPE_LARGE_TIMED, SHAPE_LEGACY_SWITCH,
    SHAPE_LOG, SHAPE_MAPPING, SHAPE_MODULE, SHAPE_NATIVE, SHAPE_SAMPLE, SHAPE_SWITCH, SHAPE_USERSPACE_OBJECT,
    SHAPE_WAKEUP,
)
from converter.kernels.batches.column_view cimport ColumnView, bits_of, fetch_ahead

cdef enum:
    MAX_ARGUMENTS = 15
    MAX_COLUMNS = 24

    # `mapping.Codec`.
    CODEC_NULL = 0
    CODEC_STRING = 1
    CODEC_BYTES = 2
    CODEC_U8 = 3
    CODEC_U16 = 4
    CODEC_U32 = 5
    CODEC_I32 = 6
    CODEC_U64 = 7
    CODEC_I64 = 8
    CODEC_F64 = 9
    CODEC_BOOLEAN = 10
    CODEC_FRAMES = 11
    CODEC_PAYLOAD = 12
    CODEC_UNKNOWN = 13


cdef struct Argument:
    int32_t kind
    int32_t name
    # With the slot of the name, once that is registered; 0 before.
    uint64_t header


# Begins as all programs do: see `programs.ProgramHead`.
cdef struct Program:
    int64_t rows
    const ColumnView* views
    # None: what there is of arguments is in place.
    void* operations
    int32_t shape
    int32_t fields
    int32_t arguments
    bint extended
    # True if its records refer to threads.
    bint threaded
    # True if records are made column by column (`emit_arguments`), of `size` bytes and the contents of lists.
    bint regular
    int64_t size
    # True if the headers of its arguments have slots, which they keep for as long as slots are plenty.
    bint named
    # True if a column that is bound has lists, which add to the bytes of a record.
    bint has_lists
    int32_t codecs[MAX_COLUMNS]
    Argument names[MAX_ARGUMENTS]


# The bits of a number, whose codec's width the caller knows.
cdef inline uint64_t number_of(const Program* program, int index, int64_t row, int width) noexcept nogil:
    fetch_ahead(&program.views[index], row)
    return bits_of(&program.views[index], row, width)


# Return True if a record of a shape refers to a thread.
cdef inline bint has_thread(int shape) noexcept nogil:
    return (
        shape >> 4 == EVENT or shape == SHAPE_LOG or shape == SHAPE_LARGE_TIMED or shape == SHAPE_MODULE
        or shape == SHAPE_MAPPING or shape == SHAPE_SAMPLE
    )


# The column of the first argument.
cdef inline int first_argument(const Program* program) noexcept nogil:
    return program.fields - program.arguments - (1 if program.extended else 0)


# Return True if a program has the fixed fields that its shape's code reads, and one for each argument.
cdef inline bint shape_fits(Program* program) noexcept nogil:
    cdef int shape = program.shape
    cdef int tail = shape & 15
    cdef int fixed
    cdef int* wanted
    cdef int[7] event_fields = [CODEC_STRING, CODEC_STRING, CODEC_U64, 0, 0, 0, 0]
    cdef int[7] blob = [CODEC_STRING, CODEC_U8, CODEC_PAYLOAD, 0, 0, 0, 0]
    cdef int[7] userspace = [CODEC_U64, CODEC_STRING, CODEC_U64, 0, 0, 0, 0]
    cdef int[7] kernel = [CODEC_U8, CODEC_U64, CODEC_STRING, 0, 0, 0, 0]
    cdef int[7] switch = [CODEC_U64, CODEC_U64, CODEC_U8, CODEC_U64, CODEC_U64, CODEC_U8, CODEC_U8]
    cdef int[7] message = [CODEC_STRING, 0, 0, 0, 0, 0, 0]
    cdef int[7] module = [CODEC_U16, CODEC_STRING, CODEC_BYTES, 0, 0, 0, 0]
    cdef int[7] mapping = [CODEC_U16, CODEC_U8, CODEC_U64, CODEC_U64, CODEC_U64, 0, 0]
    cdef int[7] sample = [CODEC_FRAMES, 0, 0, 0, 0, 0, 0]
    cdef int[7] large = [CODEC_STRING, CODEC_STRING, CODEC_PAYLOAD, 0, 0, 0, 0]
    cdef int[7] provider = [CODEC_U32, 0, 0, 0, 0, 0, 0]
    cdef int[7] native = [CODEC_U8, CODEC_PAYLOAD, 0, 0, 0, 0, 0]
    cdef int i
    if shape >> 4 == EVENT and tail <= 10:
        wanted, fixed = event_fields, 3 if tail == 1 or tail >= 4 else 2
        if tail == 4:
            event_fields[2] = CODEC_I64
    elif shape == SHAPE_BLOB:
        wanted, fixed = blob, 3
    elif shape == SHAPE_USERSPACE_OBJECT:
        wanted, fixed = userspace, 3
    elif shape == SHAPE_KERNEL_OBJECT:
        wanted, fixed = kernel, 3
    elif shape == SHAPE_LEGACY_SWITCH:
        wanted, fixed = switch, 7
    elif shape == SHAPE_SWITCH:
        wanted, fixed = switch, 3
    elif shape == SHAPE_WAKEUP:
        wanted, fixed = switch, 1
    elif shape == SHAPE_LOG:
        wanted, fixed = message, 1
    elif shape == SHAPE_MODULE:
        wanted, fixed = module, 3
    elif shape == SHAPE_MAPPING:
        wanted, fixed = mapping, 5
    elif shape == SHAPE_SAMPLE:
        wanted, fixed = sample, 1
    elif shape == SHAPE_LARGE or shape == SHAPE_LARGE_TIMED:
        wanted, fixed = large, 3
    elif shape == SHAPE_DISCARDED:
        wanted, fixed = provider, 1
    elif shape == SHAPE_NATIVE:
        wanted, fixed = native, 2
    else:
        return False
    if program.fields != fixed + program.arguments + (1 if program.extended else 0):
        return False
    for i in range(fixed):
        if program.codecs[i] != wanted[i]:
            return False
    for i in range(fixed, program.fields):
        if program.codecs[i] in (CODEC_U8, CODEC_U16, CODEC_FRAMES, CODEC_PAYLOAD):
            return False
    return not program.extended or program.codecs[program.fields - 1] == CODEC_BYTES
