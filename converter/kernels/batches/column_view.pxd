# A column as an emitter sees it: Arrow's layout, with a stride, so that a column of equal values costs nothing. The
# operations of programs that all formats have in common: a number, the id of a text, the elements of a list, whether a
# value is there, which option of a union was chosen. What they write is each format's own.

from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

from converter.kernels.io.output cimport Output, put8, put16, put32, put64
from converter.kernels.tables.strings cimport Entry, StringTable

cdef extern from *:
    void __builtin_prefetch(const void*) noexcept nogil

cdef enum:
    # The number of rows ahead for which a column is prefetched: a batch has more columns than the processor keeps track
    # of by itself.
    AHEAD = 32
    # And how many bytes of texts.
    BYTES_AHEAD = 512


# The input that an operation takes of its column (see `columns.BoundColumns.bind`).
cdef enum Takes:
    TAKES_NOTHING = 0
    # Elements of one width.
    TAKES_SCALAR = 1
    # Ids of strings, or lists of bytes.
    TAKES_TEXT = 2
    # Lists of elements of one width.
    TAKES_BYTES = 3
    # The bounds of lists, whose elements are rows of the operations inside.
    TAKES_LIST = 4
    # True if there is a value.
    TAKES_VALIDITY = 5
    # Which option has the value, and in which of its rows.
    TAKES_UNION = 6


cdef struct ColumnView:
    # The first value; of lists of elements the first element, of unions the first type id (16 bits).
    const uint8_t* data
    # Bytes from one value to the next: 0 where all are the same.
    int64_t stride
    # Rows there are.
    int64_t length
    # Bytes of a value or element.
    int64_t width
    # For lists: row i begins at `offsets[i]` and ends at `offsets[i + 1]`; otherwise NULL.
    const int64_t* offsets
    # The number of elements that the lists have room for.
    int64_t extent
    # For unions: the row of the option's column, 32 bits each.
    const uint8_t* rows
    int64_t rows_stride


cdef inline const uint8_t* value_at(const ColumnView* view, int64_t row) noexcept nogil:
    return view.data + row * view.stride


# A row to come is fetched, while this one is read.
cdef inline void fetch_ahead(const ColumnView* view, int64_t row) noexcept nogil:
    __builtin_prefetch(view.data + row * view.stride + AHEAD * view.stride)


# The same for a list: prefetch the start of a list further ahead, and the elements some way after this one.
cdef inline void fetch_list_ahead(const ColumnView* view, int64_t row) noexcept nogil:
    __builtin_prefetch(view.offsets + row + AHEAD)
    __builtin_prefetch(view.data + view.offsets[row] + BYTES_AHEAD)


# The bits of a number of `width` bytes, zeros above them. Rows are in range from here on.
cdef inline uint64_t bits_of(const ColumnView* view, int64_t row, int width) noexcept nogil:
    cdef const uint8_t* at = view.data + row * view.stride
    cdef uint64_t double_word
    cdef uint32_t word
    cdef uint16_t half
    if width == 8:
        memcpy(&double_word, at, 8)
        return double_word
    if width == 4:
        memcpy(&word, at, 4)
        return word
    if width == 2:
        memcpy(&half, at, 2)
        return half
    return at[0]


# The same, with the sign above them where the number has one.
cdef inline uint64_t integer_of(const ColumnView* view, int64_t row, int width, bint signed) noexcept nogil:
    cdef uint64_t bits = bits_of(view, row, width)
    if not signed or width == 8:
        return bits
    if width == 4:
        return <uint64_t><int64_t><int32_t>bits
    if width == 2:
        return <uint64_t><int64_t><int16_t>bits
    return <uint64_t><int64_t><int8_t>bits


# Put a number as it is, in either byte order; the caller has ensured room.
cdef inline void put_number(Output* out, const ColumnView* view, int64_t row, int width, bint swap) noexcept nogil:
    if width == 4:
        put32(out, <uint32_t>bits_of(view, row, 4), swap)
    elif width == 8:
        put64(out, bits_of(view, row, 8), swap)
    elif width == 2:
        put16(out, <uint16_t>bits_of(view, row, 2), swap)
    else:
        put8(out, value_at(view, row)[0])


cdef inline int32_t id_of(const ColumnView* view, int64_t row) noexcept nogil:
    cdef int32_t id
    memcpy(&id, view.data + row * view.stride, 4)
    return id


# Which elements a list has; false where its offsets descend or begin below 0.
cdef inline bint elements_of(const ColumnView* view, int64_t row, int64_t* first, int64_t* last) noexcept nogil:
    __builtin_prefetch(view.offsets + row + AHEAD)
    first[0] = view.offsets[row]
    last[0] = view.offsets[row + 1]
    return 0 <= first[0] <= last[0]


# The bytes of a list of elements that are `width` bytes wide; false where its offsets lie outside its values.
cdef inline bint span_of(
    const ColumnView* view, int64_t row, int64_t width, const uint8_t** data, int64_t* size
) noexcept nogil:
    cdef int64_t first = view.offsets[row]
    cdef int64_t last = view.offsets[row + 1]
    if first < 0 or last < first or last > view.extent:
        return False
    data[0] = view.data + first * width
    size[0] = (last - first) * width
    return True


# The bytes of a text, by its id of `known` strings or as a list of elements; false where there is none such.
cdef inline bint text_of(
    const ColumnView* view, StringTable strings, int64_t known, int64_t row, const uint8_t** data, int64_t* size
) noexcept nogil:
    cdef Entry* entry
    cdef int32_t id
    if view.offsets is not NULL:
        return span_of(view, row, view.width, data, size)
    id = id_of(view, row)
    if id < 0 or id >= known:
        return False
    entry = strings.entry(id)
    data[0] = entry.data
    size[0] = entry.size
    return True


# Which option of a union a row has, and that option's row; false where either is below 0.
cdef inline bint option_of(const ColumnView* view, int64_t row, int16_t* option, int32_t* chosen) noexcept nogil:
    memcpy(option, view.data + row * view.stride, 2)
    memcpy(chosen, view.rows + row * view.rows_stride, 4)
    return option[0] >= 0 and chosen[0] >= 0
