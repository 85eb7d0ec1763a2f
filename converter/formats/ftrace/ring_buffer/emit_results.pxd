# Results of writing an event.

cdef enum:
    DONE = 0
    TOO_LARGE = 1
    OUT_OF_MEMORY = 2
    OUT_OF_RANGE = 3
    OUT_OF_REACH = 4
