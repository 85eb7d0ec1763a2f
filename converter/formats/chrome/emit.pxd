# The operations of programs: see emit.pyi.

cpdef enum:
    # Those that take a column come first.
    TIME = 0
    DURATION = 1
    SIGNED = 2
    UNSIGNED = 3
    HEXADECIMAL = 4
    FLOAT = 5
    BOOLEAN = 6
    IF_TRUE = 7
    THREAD_OF = 8
    STRING = 9
    STRING_IF = 10
    JSON = 11
    MEMBERS = 12
    BASE64 = 13
    ARRAY = 14

    EVENT_TIME = 15
    EVENT_THREAD = 16
    EVENT_OWNER = 17
    EVENT_CPU = 18
    ARGUMENT_CPU = 19
    LITERAL = 20

cdef enum:
    COLUMN_OPERATIONS = 15
