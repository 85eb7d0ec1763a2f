# Operations, input and results of emitting CTF.

cpdef enum:
    # Operations, and what they write.
    OP_SCALAR = 0  # the first `width` bytes of an element
    OP_STRING = 1  # the bytes of a string and a null character
    OP_BYTES = 2  # the number of bytes (32 bits), the bytes
    OP_LIST = 3  # the number of elements (32 bits; not if `width` is 1: another field has it), the elements
    OP_ARRAY = 4  # `width` elements
    OP_UNION = 5  # the number of the option (`width` bytes), its value; a group an option
    OP_OPTIONAL = 6  # 1 and the value, or 0
    OP_GROUP = 7  # the operations of an option
    OP_THREAD = 8  # of its thread, by the bits of `width`: the process (2), the ID (1), the name (4)

    # The loss that a program counts instead of writing events.
    DISCARDS_EVENTS = 1
    DISCARDS_PACKETS = 2

    DONE = 0
    FULL = 1
    OUT_OF_RANGE = 2
    BACKWARDS = 3
    OUT_OF_MEMORY = 4
    WRONG_LENGTH = 5
