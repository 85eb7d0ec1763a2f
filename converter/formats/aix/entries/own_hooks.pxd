# cython: language_level=3
"""Entries of this converter's own hooks, all of them generic: the layout of their data words and data.

The data of an event begin with five numbers of 4 bytes: its class, then CPU, thread and track, each plus 1 and 0 for
none, and the number of bytes of its data that come in continuations. Its fields follow (`nodes`).
"""

cdef enum:
    METADATA_HOOK = 0x0100
    # The hooks of event classes end here; they begin after that of the metadata.
    LAST_HOOK = 0x0FF0
    # Data words of the metadata hook.
    OWN_HEADER = 1
    OWN_DECLARATION = 2
    OWN_DECLARATION_PART = 3
    OWN_CONTINUATION = 4
    OWN_TIME = 5
    # The five numbers of an event: their size, and the offset of the number of bytes in continuations.
    CONTEXT_SIZE = 20
    REST_PLACE = 16
    # The most bytes in continuations.
    MAX_REST = 1 << 26
    # With the number of the class: the hook that AIX has for the event is the next entry.
    FOLLOWED = 0x80000000
