# Samples of one event: where their values are. Every size is checked against the record's before it is used.

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from converter.kernels.io.byte_order cimport load32, load64
from converter.kernels.tables.numbers cimport Numbers

cdef enum:
    # PERF_SAMPLE_*
    HAS_IP = 1 << 0
    HAS_TID = 1 << 1
    HAS_TIME = 1 << 2
    HAS_ADDR = 1 << 3
    HAS_READ = 1 << 4
    HAS_CALLCHAIN = 1 << 5
    HAS_ID = 1 << 6
    HAS_CPU = 1 << 7
    HAS_PERIOD = 1 << 8
    HAS_STREAM_ID = 1 << 9
    HAS_RAW = 1 << 10
    HAS_BRANCH_STACK = 1 << 11
    HAS_REGS_USER = 1 << 12
    HAS_STACK_USER = 1 << 13
    HAS_WEIGHT = 1 << 14
    HAS_DATA_SRC = 1 << 15
    HAS_IDENTIFIER = 1 << 16
    HAS_TRANSACTION = 1 << 17
    HAS_REGS_INTR = 1 << 18
    HAS_PHYS_ADDR = 1 << 19
    HAS_AUX = 1 << 20
    HAS_CGROUP = 1 << 21
    HAS_DATA_PAGE_SIZE = 1 << 22
    HAS_CODE_PAGE_SIZE = 1 << 23
    HAS_WEIGHT_STRUCT = 1 << 24
    KNOWN = (1 << 25) - 1
    # PERF_FORMAT_*
    TIME_ENABLED = 1 << 0
    TIME_RUNNING = 1 << 1
    FORMAT_ID = 1 << 2
    FORMAT_GROUP = 1 << 3
    FORMAT_LOST = 1 << 4
    # PERF_SAMPLE_BRANCH_*
    BRANCH_INDEX = 1 << 17
    BRANCH_COUNTERS = 1 << 19
    HEADER = 8
    # The parts of variable place, in the order of a sample.
    READ = 0
    CALLCHAIN = 1
    RAW = 2
    BRANCH_STACK = 3
    REGS_USER = 4
    STACK_USER = 5
    WEIGHT = 6
    DATA_SRC = 7
    TRANSACTION = 8
    REGS_INTR = 9
    PHYS_ADDR = 10
    CGROUP = 11
    DATA_PAGE_SIZE = 12
    CODE_PAGE_SIZE = 13
    AUX = 14
    END = 15
    PARTS = 16


# Offsets in a sample, with its header, and those in other records, from their end; -1 for what there is not.
cdef struct Shape:
    uint64_t sample_type
    uint64_t read_format
    uint64_t branch_type
    int64_t user_registers
    int64_t other_registers
    int64_t identifier
    int64_t ip
    int64_t tid
    int64_t time
    int64_t addr
    int64_t id
    int64_t stream_id
    int64_t cpu
    int64_t period
    int64_t fixed_end
    int64_t trailer
    int64_t trailer_tid
    int64_t trailer_time
    int64_t trailer_cpu
    int64_t trailer_identifier


cdef inline int64_t placed(uint64_t sample_type, uint64_t bit, int64_t* at) noexcept nogil:
    if not sample_type & bit:
        return -1
    at[0] += 8
    return at[0] - 8


cdef inline void set_shape(
    Shape* shape, uint64_t sample_type, uint64_t read_format, uint64_t branch_type, uint64_t user_mask,
    uint64_t other_mask, bint has_trailer
) noexcept nogil:
    cdef int64_t at = HEADER
    shape.sample_type = sample_type
    shape.read_format = read_format
    shape.branch_type = branch_type
    shape.user_registers = 0
    shape.other_registers = 0
    while user_mask:
        shape.user_registers += user_mask & 1
        user_mask >>= 1
    while other_mask:
        shape.other_registers += other_mask & 1
        other_mask >>= 1
    shape.identifier = placed(sample_type, HAS_IDENTIFIER, &at)
    shape.ip = placed(sample_type, HAS_IP, &at)
    shape.tid = placed(sample_type, HAS_TID, &at)
    shape.time = placed(sample_type, HAS_TIME, &at)
    shape.addr = placed(sample_type, HAS_ADDR, &at)
    shape.id = placed(sample_type, HAS_ID, &at)
    shape.stream_id = placed(sample_type, HAS_STREAM_ID, &at)
    shape.cpu = placed(sample_type, HAS_CPU, &at)
    shape.period = placed(sample_type, HAS_PERIOD, &at)
    shape.fixed_end = at
    at = 0
    if has_trailer:
        # From the end, so in the other order; each is the distance of its start from the record's end.
        shape.trailer_identifier = placed(sample_type, HAS_IDENTIFIER, &at) + 8
        shape.trailer_cpu = placed(sample_type, HAS_CPU, &at) + 8
        placed(sample_type, HAS_STREAM_ID, &at)
        placed(sample_type, HAS_ID, &at)
        shape.trailer_time = placed(sample_type, HAS_TIME, &at) + 8
        shape.trailer_tid = placed(sample_type, HAS_TID, &at) + 8
    if not has_trailer or not sample_type & HAS_IDENTIFIER:
        shape.trailer_identifier = -1
    if not has_trailer or not sample_type & HAS_CPU:
        shape.trailer_cpu = -1
    if not has_trailer or not sample_type & HAS_TIME:
        shape.trailer_time = -1
    if not has_trailer or not sample_type & HAS_TID:
        shape.trailer_tid = -1
    shape.trailer = at


# Place `count` items of `width` bytes at `at`: false where the record ends before.
cdef inline bint skip(int64_t* at, int64_t size, uint64_t count, int64_t width) noexcept nogil:
    if at[0] > size or count > <uint64_t>(size - at[0]) // width:
        return False
    at[0] += <int64_t>count * width
    return True


# Skip a number of 64 bits, and return it in `value`.
cdef inline bint take_word(const uint8_t* record, int64_t* at, int64_t size, bint swap, uint64_t* value) noexcept nogil:
    if not skip(at, size, 1, 8):
        return False
    value[0] = load64(record + at[0] - 8, swap)
    return True


# Note that a word is next, if it is.
cdef inline void place_word(uint32_t* parts, int part, uint64_t is_there, int64_t* at) noexcept nogil:
    if is_there:
        parts[part] = <uint32_t>at[0]
        at[0] += 8


# Skip an ABI, and registers unless it is 0.
cdef inline bint skip_registers(
    const uint8_t* record, int64_t* at, int64_t size, bint swap, int64_t registers
) noexcept nogil:
    cdef uint64_t abi = 0
    return take_word(record, at, size, swap, &abi) and (not abi or skip(at, size, <uint64_t>registers, 8))


# The offset of every part (0 for one that there is not), and where the last one ends; false for a sample that ends
# before, or has parts that are unknown.
cdef inline bint find_parts(
    const Shape* shape, const uint8_t* record, int64_t size, bint swap, uint32_t* parts
) noexcept nogil:
    cdef uint64_t sample_type = shape.sample_type
    cdef int64_t at = shape.fixed_end
    cdef int64_t words
    cdef uint64_t count = 0
    cdef int i
    for i in range(PARTS):
        parts[i] = 0
    if at > size or sample_type & ~<uint64_t>KNOWN:
        return False
    if sample_type & HAS_READ:
        parts[READ] = <uint32_t>at
        words = 1 + (shape.read_format & FORMAT_ID != 0) + (shape.read_format & FORMAT_LOST != 0)
        count = 1
        if shape.read_format & FORMAT_GROUP and not take_word(record, &at, size, swap, &count):
            return False
        if not skip(&at, size, (shape.read_format & TIME_ENABLED != 0) + (shape.read_format & TIME_RUNNING != 0), 8):
            return False
        if not skip(&at, size, count, 8 * words):
            return False
    if sample_type & HAS_CALLCHAIN:
        parts[CALLCHAIN] = <uint32_t>at
        if not take_word(record, &at, size, swap, &count) or not skip(&at, size, count, 8):
            return False
    if sample_type & HAS_RAW:
        parts[RAW] = <uint32_t>at
        if not skip(&at, size, 4, 1) or not skip(&at, size, load32(record + at - 4, swap), 1):
            return False
    if sample_type & HAS_BRANCH_STACK:
        parts[BRANCH_STACK] = <uint32_t>at
        if not take_word(record, &at, size, swap, &count):
            return False
        if shape.branch_type & BRANCH_INDEX and not skip(&at, size, 1, 8):
            return False
        if not skip(&at, size, count, 32 if shape.branch_type & BRANCH_COUNTERS else 24):
            return False
    if sample_type & HAS_REGS_USER:
        parts[REGS_USER] = <uint32_t>at
        if not skip_registers(record, &at, size, swap, shape.user_registers):
            return False
    if sample_type & HAS_STACK_USER:
        parts[STACK_USER] = <uint32_t>at
        if not take_word(record, &at, size, swap, &count):
            return False
        if count and (not skip(&at, size, count, 1) or not skip(&at, size, 1, 8)):
            return False
    place_word(parts, WEIGHT, sample_type & (HAS_WEIGHT | HAS_WEIGHT_STRUCT), &at)
    place_word(parts, DATA_SRC, sample_type & HAS_DATA_SRC, &at)
    place_word(parts, TRANSACTION, sample_type & HAS_TRANSACTION, &at)
    if sample_type & HAS_REGS_INTR:
        parts[REGS_INTR] = <uint32_t>at
        if not skip_registers(record, &at, size, swap, shape.other_registers):
            return False
    place_word(parts, PHYS_ADDR, sample_type & HAS_PHYS_ADDR, &at)
    place_word(parts, CGROUP, sample_type & HAS_CGROUP, &at)
    place_word(parts, DATA_PAGE_SIZE, sample_type & HAS_DATA_PAGE_SIZE, &at)
    place_word(parts, CODE_PAGE_SIZE, sample_type & HAS_CODE_PAGE_SIZE, &at)
    if sample_type & HAS_AUX:
        parts[AUX] = <uint32_t>at
        if not take_word(record, &at, size, swap, &count) or not skip(&at, size, count, 1):
            return False
    parts[END] = <uint32_t>at
    return at <= size


cdef class SampledEvents:
    # The shapes of all events, `count` of them.
    cdef Shape* shapes
    cdef readonly int64_t count
    cdef readonly bint big_endian
    cdef bint swap
    cdef int64_t _room
    # By id: the event, and 1.
    cdef Numbers _ids

    # The event of an id, -1 where there is none.
    cdef int64_t event_of(self, uint64_t id) noexcept nogil
    # The event of a sample, -1 for an unknown id.
    cdef int64_t event_of_sample(self, const uint8_t* record, int64_t size) noexcept nogil
    # The shape of the end of another record; NULL where there are no events.
    cdef const Shape* shape_of_record(self, const uint8_t* record, int64_t size) noexcept nogil
