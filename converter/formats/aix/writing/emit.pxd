# Results of writing an event.

cpdef enum:
    OK = 0
    TOO_LARGE = 1
    BAD_COLUMN = 2
    NO_MEMORY = 3
    # A list of more values without bytes than its length can express.
    TOO_MANY_EMPTY = 4
