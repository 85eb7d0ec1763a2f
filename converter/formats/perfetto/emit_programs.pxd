# Programs: the steps that write an event of a class, and the columns that they take their values from.

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

cdef enum:
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
    sCHOICE = 18
    sEACH = 19
    sUNION = 20
    sOPTION = 21
    sOPTIONAL = 22
    sSYMBOL = 23
    STEPS = 24

    fTRACK = 0
    fFTRACE = 1
    fLOST = 2
    fRAW = 3
    fRECORD = 4


cdef struct Step:
    int32_t op
    int32_t tag_size
    int32_t table
    # Steps that belong to this one, and follow it.
    int32_t count
    uint8_t tag[8]
    # The tag of the form that is not interned; of sNAME the id of the name.
    uint64_t inline_tag
    uint8_t* literal
    int64_t literal_size
    const uint8_t* data
    int64_t stride
    const int64_t* offsets
    # Of a list of bytes: how many there are. Of sCHOICE and sUNION: the second column.
    int64_t size
    const uint8_t* second
    int64_t second_stride
    int64_t rows


cdef struct Program:
    int32_t frame
    int32_t steps
    # Of a record that is two packets: the first step of the second. 0: it is one.
    int32_t middle
    int64_t rows
    Step* step


# Whether a step takes a column.
cdef inline bint takes_column(int32_t op) noexcept nogil:
    return op != sLITERAL and op != sOPEN and op != sCLOSE and op != sNAME and op != sPLACE and op != sOPTION


# The bytes of a list at a row; false where its offsets lie outside its values.
cdef inline bint span_of(Step* step, int64_t row, const uint8_t** data, int64_t* size) noexcept nogil:
    cdef int64_t begin = step.offsets[row]
    cdef int64_t end = step.offsets[row + 1]
    if begin < 0 or end < begin or end > step.size:
        return False
    data[0] = step.data + begin
    size[0] = end - begin
    return True
