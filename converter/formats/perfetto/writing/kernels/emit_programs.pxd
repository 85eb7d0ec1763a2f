# Programs: the steps that write an event of a class, and the columns that they take their values from.

from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint8_t, uint64_t

from converter.kernels.batches.column_view cimport ColumnView

cdef enum:
    # Bytes of a tag and a number at most, or of what a message takes for its size.
    STEP_ROOM = 18

    sU8 = 0
    sU16 = 1
    sU32 = 2
    sU64 = 3
    sI8 = 4
    sI16 = 5
    sI32 = 6
    sI64 = 7
    sFIXED32 = 8
    sFIXED64 = 9
    sTEXT = 10
    sRAW = 11
    sLITERAL = 12
    sOPEN = 13
    sCLOSE = 14
    sINTERNED = 15
    sNAME = 16
    sPLACE = 17
    sEACH = 18
    sUNION = 19
    sOPTION = 20
    sOPTIONAL = 21
    sSYMBOL = 22
    sFLAGS = 23
    STEPS = 24

    fTRACK = 0
    fFTRACE = 1
    fLOST = 2
    fRAW = 3
    fRECORD = 4
    # Switches and wakings of compact_sched.
    fSWITCH = 5
    fWAKING = 6


cdef struct Step:
    int32_t op
    int32_t tag_size
    int32_t table
    # Steps that belong to this one, and follow it.
    int32_t count
    # The tag, as the bytes of a little-endian number.
    uint64_t tag
    # As it is bound: its first value, the bytes from one to the next, and to one of a row to come, which is fetched.
    const uint8_t* data
    int64_t stride
    int64_t ahead
    # What else it sees; NULL for steps that take no column.
    const ColumnView* view
    # The number of rows of the columns of the steps that belong to it.
    int64_t inner_rows
    # The tag of the form that is not interned; of sNAME the id of the name.
    uint64_t inline_tag
    const uint8_t* literal
    int64_t literal_size


# Begins as all programs do: see `programs.ProgramHead`.
cdef struct Program:
    # How many rows each of its columns has, those apart of steps that belong to others.
    int64_t rows
    ColumnView* views
    Step* step
    int32_t frame
    int32_t steps
    # For a record that is two packets: the first step of the second. 0: it is one.
    int32_t middle
    # The packet sequence of its packets; 0: that of all others.
    uint64_t sequence
    # For a kernel event: true if it is one message, which its first step opens and the last closes.
    bint enclosed
    # The most bytes that its steps write, except texts and lists.
    int64_t room


# True for what bundles of kernel events hold.
cdef inline bint in_bundles(int frame) noexcept nogil:
    return frame == fFTRACE or frame == fLOST or frame >= fSWITCH


# Return the number of rows of all columns of some steps, except of those that belong to others, which keep their own.
cdef inline int64_t count_rows(Step* step, int first, int after) noexcept nogil:
    cdef int64_t rows = INT64_MAX
    cdef int inner
    while first < after:
        if step[first].view is not NULL:
            rows = min(rows, step[first].view.length)
        inner = first + 1
        first = min(inner + step[first].count, after)
        step[inner - 1].inner_rows = count_rows(step, inner, first)
    return rows
