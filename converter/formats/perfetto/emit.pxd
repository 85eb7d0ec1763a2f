# What becomes of an event that is to be written.

cpdef enum:
    OK = 0
    NO_MEMORY = -1
    BAD_COLUMN = -2
    BAD_CPU = -3
    TOO_LARGE = -4
