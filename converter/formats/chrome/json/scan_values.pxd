from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcpy

from converter.formats.chrome.json.members cimport STANDARD_MEMBERS
from converter.formats.json_values.text cimport Scanned
from converter.kernels.io.output cimport Output
from converter.kernels.tables.strings cimport StringTable


cdef enum:
    # Texts that are found again without a look into their table.
    RECENT = 256
    # Declarations of types that are, by the shape of the arguments.
    RECENT_TYPES = 64

# Tags in the shape of a value, each with one slot except LEAF_NULL (none) and LEAF_JSON (two). Objects are "{" members "}"
# without a slot, arrays LEAF_ARRAY, the shape of all elements (LEAF_NULL if there is none), "]".
cdef enum:
    LEAF_SIGNED = <int>c'i'
    # Too large for LEAF_SIGNED.
    LEAF_UNSIGNED = <int>c'u'
    LEAF_DOUBLE = <int>c'd'
    LEAF_BOOLEAN = <int>c'b'
    LEAF_NULL = <int>c'n'
    # The id of a string.
    LEAF_STRING = <int>c's'
    # The value of a text "0x...".
    LEAF_HEXADECIMAL = <int>c'x'
    # Compact JSON text: position and size.
    LEAF_JSON = <int>c'j'
    # The number of elements.
    LEAF_ARRAY = <int>c'['


# The first and last bytes of a text, up to eight of each; together with its size they are all of up to 16 bytes.
cdef struct Ends:
    uint64_t first
    uint64_t last


cdef inline Ends ends_of(const uint8_t* data, int64_t size) noexcept nogil:
    cdef Ends ends = Ends(0, 0)
    if size >= 8:
        memcpy(&ends.first, data, 8)
        memcpy(&ends.last, data + size - 8, 8)
    elif size >= 4:
        memcpy(&ends.first, data, 4)
        memcpy(&ends.last, data + size - 4, 4)
    elif size:
        ends.first = data[0] | <uint64_t>data[size >> 1] << 8 | <uint64_t>data[size - 1] << 16
    return ends


# Return the index of a text among the recent ones: its size and its ends distinguish most texts.
cdef inline int64_t place_of(const Ends* ends, int64_t size) noexcept nogil:
    cdef uint64_t mixed = (ends.first ^ <uint64_t>size) * <uint64_t>0x9E3779B97F4A7C15 + ends.last
    return <int64_t>((mixed * <uint64_t>0x9E3779B97F4A7C15) >> 56)


# A declaration of types, which is an array or an object; none of no bytes.
cdef struct Types:
    const uint8_t* data
    int64_t size
    int32_t id


# A text of a table; NULL: none.
cdef struct Recent:
    void* table
    const uint8_t* data
    int64_t size
    Ends ends
    int32_t id


# The strings' lock must be held while it scans; it is released where a number needs the GIL.
cdef class ValueScanner:
    cdef StringTable _strings
    cdef StringTable _names
    # True if the text is this project's own, with its records.
    cdef bint _records
    # The window.
    cdef const uint8_t* _data
    cdef int64_t _end
    # Text that slots refer to.
    cdef Output _text
    # The value being scanned: its shape and its slots.
    cdef Output _signature
    cdef Output _arguments
    cdef Output _scratch
    cdef bint _with_array
    cdef Recent[RECENT] _recent
    cdef Types[RECENT_TYPES] _types
    # Positions of the keys of members that are of a wrong type.
    cdef int64_t[STANDARD_MEMBERS] _unfit_keys

    # The id of a text in a table.
    cdef int32_t _intern(self, StringTable table, const uint8_t* data, int64_t size) noexcept nogil
    cdef Scanned _unescape(self, const uint8_t* data, int64_t size) noexcept nogil
    cdef Scanned _string(self, StringTable table, int64_t at, int64_t* after, int64_t* id) noexcept nogil
    cdef Scanned _skip(self, int64_t at, int64_t* after) noexcept nogil
    cdef Scanned _push(self, uint8_t tag, int64_t slot) noexcept nogil
    cdef Scanned _leaf(self, int64_t at, int64_t* after) noexcept nogil
    cdef Scanned _value(self, int64_t at, int depth, int64_t* after) noexcept nogil
    cdef Scanned _push_special(self, const uint8_t* text, int special) noexcept nogil
    cdef Scanned _number(self, int64_t at, int64_t* after) noexcept nogil
    cdef Scanned _bare(self, int64_t at, int64_t* after) noexcept nogil
    cdef bint _float(self, int64_t at, int64_t stop, double* number) noexcept nogil
    cdef Scanned _object(self, int64_t at, int depth, int64_t* after) noexcept nogil
    cdef Scanned _array(self, int64_t at, int depth, int64_t* after) noexcept nogil
    cdef Scanned _identity(self, int64_t at, int64_t* after, int64_t* slot, uint8_t* kind) noexcept nogil
