# Results of writing an event.

cpdef enum:
    OK = 0
    NO_MEMORY = -1
    BAD_COLUMN = -2
    BAD_CPU = -3
    TOO_LARGE = -4
    # No failure: it is the first to use a text, which only events that follow all others may do.
    NEW_TEXT = 1
