# The way through a program that goes straight to its end, as the headers of almost all records do: fields at known places,
# and which of them must have which values for it to be the way.
from libc.stdint cimport int64_t, uint64_t

from converter.formats.ctf.streams.scan_fields cimport fixed_integer, integer, update_clock
from converter.formats.ctf.streams.scan_programs cimport (
    CLOCK, END, Field, FIXED, INTEGER, JUMP, Machine, Operation, Program, Range, SELECT, SIGNED, SKIP,
)

cdef enum:
    MOST_STEPS = 8
    # The load of a field that is not of whole bytes.
    OF_BITS = -1


cdef struct PathStep:
    # Bits from where the path begins.
    int64_t offset
    int64_t width
    int64_t load
    int64_t flags
    int64_t reg
    bint clock
    # The range of its values.
    uint64_t low
    uint64_t high


cdef struct Path:
    # Bits of it all, from a multiple of `align` on; below 0: there is none.
    int64_t width
    int64_t align
    int64_t count
    PathStep step[MOST_STEPS]


# Add a field; false where there is no room, or a second clock.
cdef inline bint add_step(
    Path* path, int64_t offset, int64_t width, int64_t load, int64_t flags, int64_t reg, bint clock
) noexcept:
    cdef int64_t k
    for k in range(path.count):
        if clock and path.step[k].clock:
            return False
    if path.count == MOST_STEPS:
        return False
    path.step[path.count] = PathStep(offset, width, load, flags, reg, clock, 0, ~<uint64_t>0)
    path.count += 1
    return True


# Have the last value of a register be one that a selector's first range has; false where nothing says the register.
cdef inline bint select_first(Path* path, const Operation* op, const Range* ranges) noexcept:
    cdef int64_t k
    cdef const Range* first = &ranges[op.target]
    if op.width == 0 or op.slot >= 0 or op.flags & SIGNED:
        return False
    for k in range(path.count - 1, -1, -1):
        if path.step[k].reg == op.aux:
            path.step[k].low = max(path.step[k].low, <uint64_t>first.low)
            path.step[k].high = min(path.step[k].high, <uint64_t>first.high)
            return True
    return False


# The path of a program that takes the first option of each selector.
cdef inline Path path_of(Program program) noexcept:
    cdef Path path
    cdef const Operation* op = program.operations
    cdef const Field* field
    cdef int64_t at = 0
    cdef int64_t k
    path.width = -1
    path.count = 0
    path.align = op.align
    while True:
        if op.align > path.align:
            return path
        at = (at + op.align - 1) & -op.align
        if op.code == END:
            path.width = at
            return path
        if op.code == FIXED and op.slot < 0 and at & 7 == 0 and path.align >= 8:
            for k in range(op.target, op.target + op.aux):
                field = &program.fields[k]
                if not add_step(&path, at + 8 * field.offset, field.width, field.load, 0, field.reg, field.clock):
                    return path
            at += op.width
            op += op.reg
            continue
        if op.code == INTEGER and op.slot < 0:
            if not add_step(&path, at, op.width, OF_BITS, op.flags, op.reg, op.flags & CLOCK != 0):
                return path
            at += op.width
        elif op.code == SKIP:
            at += op.width
        elif op.code == SELECT:
            if not select_first(&path, op, program.ranges):
                return path
            op = &program.operations[program.ranges[op.target].target]
            continue
        elif op.code == JUMP:
            op = &program.operations[op.target]
            continue
        else:
            return path
        op += 1


# Return the end of a record's header whose fields lie on the path; below 0 where they do not, or it is cut.
cdef inline int64_t follow(const Path* path, Machine* machine, int64_t at) noexcept nogil:
    cdef const PathStep* step
    cdef const PathStep* clock = NULL
    cdef uint64_t value
    cdef uint64_t ticks = 0
    cdef int64_t k
    at = (at + path.align - 1) & -path.align
    if path.width < 0 or path.width > machine.end - at:
        return -1
    for k in range(path.count):
        step = &path.step[k]
        if step.load >= 0:
            value = fixed_integer(machine.data + ((at + step.offset) >> 3), step.load)
        else:
            value = integer(machine.data, at + step.offset, step.width, step.flags)
        if value < step.low or value > step.high:
            return -1
        if step.reg >= 0:
            machine.registers[step.reg] = value
        if step.clock:
            clock = step
            ticks = value
    if clock is not NULL:
        update_clock(machine, ticks, clock.width)
    return at + path.width
