# The machine that walks over the fields of CTF records, as the operations of a program say.
from libc.stdint cimport int64_t, uint8_t, uint64_t

from converter.kernels.tables.strings cimport StringTable


cdef enum:
    # The operations. Each aligns the position to `align` bits first.
    END = 0
    # Go on by `width` bits.
    SKIP = 1
    # An integer of `width` bits.
    INTEGER = 2
    # LEB128.
    VARIABLE = 3
    # Text up to its first null character of `width` bits.
    ENDED = 4
    # `target` bytes, or as many as register `aux` says.
    BYTES = 5
    # `target` integers of `width` bits, or as many as register `aux` says; each aligned to `stride` bits.
    INTEGERS = 6
    # The operations up to LOOP_END, `target` times or as often as register `aux` says.
    LOOP = 7
    LOOP_END = 8
    # Go to the operation that the ranges from `target` on, `width` of them, give for the value in register `aux`.
    SELECT = 9
    JUMP = 10
    # Copy register `aux` to `reg`.
    COPY = 11
    # The position must be that of a byte: the byte order changes.
    WHOLE = 13
    # SKIPs and INTEGERs of whole bytes, one after the other, which a program has joined: `width` bits, of which the
    # fields from `target` on are read, `aux` of them, and those of column group `slot` are for later; the program goes
    # on `reg` operations from here, where a JUMP after them would lead.
    FIXED = 14

cdef enum:
    # Flags of integers; CLOCK: the value updates the clock. TEXT: bytes after the first null are no content. BYTEWISE:
    # an integer of 8, 16, 32 or 64 bits that lies at a whole byte, with a slot for values of its size.
    SIGNED = 1
    BIG = 2
    REVERSED = 4
    CLOCK = 8
    TEXT = 16
    INTERNED = 32
    BYTEWISE = 64

cdef enum:
    # Results of `run` in place of a position.
    OUT_OF_BOUNDS = -1
    NO_OPTION = -2
    BAD_LENGTH = -3
    TOO_WIDE = -4
    NO_MEMORY = -5
    MIXED_ORDERS = -8

cdef enum:
    # Nested loops.
    DEPTH = 32
    # Records whose fields of a group are gathered at once.
    GATHERED = 256


cdef struct Operation:
    int64_t code
    int64_t align
    int64_t width
    int64_t flags
    # The destination of the value: slot (a column's buffer) and register; -1: none. For bytes and lists, the slot
    # receives the end of each and the next slot the contents; for text and bytes, registers receive position and size.
    int64_t slot
    int64_t reg
    int64_t target
    int64_t aux
    int64_t stride


cdef struct Range:
    int64_t low
    int64_t high
    # For a SELECT: the number of the option, and the position of its operations.
    int64_t option
    int64_t target


cdef enum:
    # Loads of an integer: its width; signed; of the other byte order than the machine's.
    U8 = 0
    I8 = 1
    U16 = 4
    I16 = 5
    U16_SWAPPED = 6
    I16_SWAPPED = 7
    U32 = 8
    I32 = 9
    U32_SWAPPED = 10
    I32_SWAPPED = 11
    U64 = 12
    U64_SWAPPED = 14


# A field of a FIXED operation: its offset in bytes from the start, and its size in bits.
cdef struct Field:
    int64_t offset
    int64_t load
    int64_t width
    bint clock
    int64_t slot
    int64_t reg


# The fields of a FIXED operation that go to slots: `count` from `first` on.
cdef struct Group:
    int64_t first
    int64_t count


# The positions of a group's fields in the records whose values are still to be gathered.
cdef struct Pending:
    int64_t count
    const uint8_t* at[GATHERED]


# The input of `run`.
cdef struct Code:
    const Operation* operations
    const Range* ranges
    const Field* fields
    const Group* groups


cdef struct Slot:
    uint8_t* data
    # Bytes of a value; values that there are, and for which there is room.
    int64_t item
    int64_t count
    int64_t room
    # True if the memory is another's, and cannot grow.
    bint lent


cdef struct Machine:
    const uint8_t* data
    # Bits of the data.
    int64_t end
    uint64_t* registers
    Slot* slots
    # By group; a program without slots has none.
    Pending* pending
    uint64_t clock
    # The number of further elements without any bits that are accepted: elements without data must not take time or
    # memory.
    int64_t idle


cdef class Program:
    cdef Operation* operations
    cdef Range* ranges
    cdef Field* fields
    cdef Group* groups
    cdef Code code
    cdef int64_t group_count
    cdef readonly int64_t size
    cdef readonly int64_t register_count
    cdef readonly int64_t slot_count

    # Return True if its bytes alone say what it reads, where it begins at the same alignment.
    cdef bint stands_alone(self) noexcept
    # Return True if it sets one of these registers.
    cdef bint sets(self, int64_t first, int64_t last) noexcept
    # Return the number of bits that it skips, from a whole byte on, if it does nothing but gather columns of them; -1
    # if it does more.
    cdef int64_t only_passes(self) noexcept


# Walk from bit `at` on; where the record ends, or one of the codes above. `strings` must be locked.
cdef int64_t run(Machine* machine, const Code* code, StringTable strings, int64_t at) noexcept nogil
