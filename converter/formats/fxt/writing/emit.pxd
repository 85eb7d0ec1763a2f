# Results of writing an event.

cpdef enum:
    OK = 0
    NO_MEMORY = -1
    TEXT_TOO_LONG = -2
    RECORD_TOO_LARGE = -3
    BAD_COLUMN = -4
    BAD_RECORD = -5
    # It refers to something that only an emitter that follows all events before it can register.
    MUST_FOLLOW = -6
