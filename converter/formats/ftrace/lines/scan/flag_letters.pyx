# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The letters of flags of lines, one for each column: d..2. is irqs off, two disabled preemptions."""

# Stub:
# #: The meanings of characters of the flags.
# FLAG_IRQS: int
# FLAG_RESCHED: int
# FLAG_LAZY: int
# FLAG_CONTEXT: int
# FLAG_DEPTH: int
# FLAG_LAZY_DEPTH: int
# FLAG_MIGRATE: int

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memset

from converter.formats.ftrace.lines.scan.words cimport hexadecimal

cdef enum:
    # The meanings of the columns of flags.
    IRQS = 1
    RESCHED = 2
    LAZY = 3
    CONTEXT = 4
    DEPTH = 5
    LAZY_DEPTH = 6
    MIGRATE = 7
    # No letter of a column.
    NONE = 0xff

FLAG_IRQS = IRQS
FLAG_RESCHED = RESCHED
FLAG_LAZY = LAZY
FLAG_CONTEXT = CONTEXT
FLAG_DEPTH = DEPTH
FLAG_LAZY_DEPTH = LAZY_DEPTH
FLAG_MIGRATE = MIGRATE

# By meaning: the flags of each letter.
cdef uint8_t[CONTEXT + 1][256] FLAGS
memset(FLAGS, NONE, sizeof(FLAGS))
for _meaning, _flags in (
    (IRQS, {"d": 0x01, "D": 0x81, "b": 0x80, "X": 0}),
    (RESCHED, {"N": 0x24, "n": 0x04, "p": 0x20, "B": 0x26, "L": 0x22, "b": 0x06, "l": 0x02}),
    (LAZY, {"L": 0x02, "l": 0x02}),
    # The kernel does not say whether there was a softirq in an NMI; this converter does (y, Y).
    (CONTEXT, {"h": 0x08, "s": 0x10, "H": 0x18, "z": 0x40, "Z": 0x48, "y": 0x50, "Y": 0x58}),
):
    for _letter, _value in {".": 0, **_flags}.items():
        FLAGS[<int>_meaning][<int>ord(_letter)] = _value


# The flags of a record, and its depths of disabled preemption and migration; false for other letters.
cdef bint read_letters(
    const Columns* columns, const uint8_t* base, int64_t at, int64_t end, int32_t* flags, int32_t* depths
) noexcept nogil:
    cdef int64_t count = end - at
    cdef int64_t i
    cdef int meaning, depth
    cdef uint8_t letter, found
    if count < 2 or count > MOST_FLAGS:
        return False
    flags[0] = depths[0] = 0
    for i in range(count):
        letter = base[at + i]
        meaning = meaning_of(columns, i, count)
        if meaning > CONTEXT:
            depth = 0 if letter == c"." else hexadecimal(letter)
            if depth < 0:
                return False
            if meaning != LAZY_DEPTH:
                depths[0] |= depth << (4 if meaning == MIGRATE else 0)
            continue
        found = FLAGS[meaning][letter]
        if found == NONE:
            return False
        if meaning == RESCHED and letter == c"L" and columns.of_report:
            found = 0x02
        flags[0] |= found
    return True


# The meaning of a character of the flags.
cdef inline int meaning_of(const Columns* columns, int64_t i, int64_t count) noexcept nogil:
    if columns.count == count:
        return columns.meaning[i]
    if count == 7:
        # Real-time kernels since 5.15.
        return <int>i + IRQS
    if i < 2:
        return IRQS + <int>i
    return CONTEXT if i == 2 else DEPTH if i == 3 else MIGRATE if i == 4 else 0
