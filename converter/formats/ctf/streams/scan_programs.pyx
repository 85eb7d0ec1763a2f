# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The machine that walks over the fields of CTF records, as the operations of a program say.

Positions are bits of a window whose start is aligned as the packet's. A program is checked when it is made: every
register, slot, range and target that it names exists. Data are checked while they are read: no operation reads beyond
the machine's end.
"""

# Stub:
# OPERATIONS: dict[str, int]
# """The codes of operations, by name; `scan_programs.pxd` says what each does."""
# FLAGS: dict[str, int]
# MAX_DEPTH: int
# """The deepest nesting of loops."""

from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy

from converter.formats.ctf.streams.scan_fields cimport (
    before_null, fixed_integer, gather, integer, integers, MANY, put, put_text, update_clock, variable,
)
from converter.kernels.io.byte_order cimport HOST_IS_BIG
from converter.kernels.tables.strings cimport StringTable


OPERATIONS = {
    "END": END, "SKIP": SKIP, "INTEGER": INTEGER, "VARIABLE": VARIABLE, "ENDED": ENDED, "BYTES": BYTES,
    "INTEGERS": INTEGERS, "LOOP": LOOP, "LOOP_END": LOOP_END, "SELECT": SELECT, "JUMP": JUMP, "COPY": COPY,
    "WHOLE": WHOLE,
}
FLAGS = {
    "SIGNED": SIGNED, "BIG": BIG, "REVERSED": REVERSED, "CLOCK": CLOCK, "TEXT": TEXT, "INTERNED": INTERNED,
    "BYTEWISE": BYTEWISE,
}
MAX_DEPTH = DEPTH

cdef enum:
    WORDS = 9


cdef int64_t load_of(const Operation* op):
    """Return the code for loading a BYTEWISE integer."""
    cdef int64_t load = {8: U8, 16: U16, 32: U32, 64: U64}.get(op.width, -1)
    if load < 0:
        raise ValueError(f"an integer of {op.width} bits is no whole bytes")
    if (op.flags & BIG != 0) != HOST_IS_BIG and op.width > 8:
        load += U16_SWAPPED - U16
    if op.flags & SIGNED and op.width < 64:
        load += I16 - U16
    return load


cdef class Program:
    """Operations over the fields of a record, checked once."""

    # Stub:
    # size: int
    # register_count: int
    # slot_count: int

    def __init__(self, const int64_t[:, ::1] operations, const int64_t[:, ::1] ranges, int64_t registers, int64_t slots):
        """Operations of shape (n, 9), ranges of shape (m, 4): the words of the structures in the pxd.

        Raises ValueError for a register, slot, range or target that does not exist.
        """
        cdef int64_t i
        if self.operations is not NULL:
            raise TypeError("a program cannot be set anew")
        if operations.shape[1] != WORDS or ranges.shape[1] != 4 or not 0 <= registers < 1 << 20 or slots < 0:
            raise ValueError("operations of 9 words, ranges of 4")
        self.size = operations.shape[0]
        self.register_count = registers
        self.slot_count = slots
        self.operations = <Operation*>calloc(self.size + 1, sizeof(Operation))
        self.ranges = <Range*>calloc(ranges.shape[0] + 1, sizeof(Range))
        # An operation has at most one field that is read and one that goes to a slot, and is in one group.
        self.fields = <Field*>calloc(2 * self.size + 1, sizeof(Field))
        self.groups = <Group*>calloc(self.size + 1, sizeof(Group))
        if self.operations is NULL or self.ranges is NULL or self.fields is NULL or self.groups is NULL:
            raise MemoryError
        for i in range(self.size):
            memcpy(&self.operations[i], &operations[i, 0], sizeof(Operation))
        for i in range(ranges.shape[0]):
            memcpy(&self.ranges[i], &ranges[i, 0], sizeof(Range))
        self._check(ranges.shape[0])
        self._join(ranges.shape[0])
        self.code.operations, self.code.ranges = self.operations, self.ranges
        self.code.fields, self.code.groups = self.fields, self.groups

    def __dealloc__(self):
        free(self.operations)
        free(self.ranges)
        free(self.fields)
        free(self.groups)

    def _join(self, int64_t range_count):
        """Join what lies at fixed distances: one check of the end, and columns gathered instead of rows stored."""
        cdef int64_t i, first
        cdef int64_t field_count = 0
        cdef Operation* op
        cdef bint bytewise
        # Operations that others lead to; nothing leads into the middle of joined ones.
        targets = {self.ranges[i].target for i in range(range_count)}
        for i in range(self.size):
            op = &self.operations[i]
            if op.code == JUMP:
                targets.add(op.target)
            elif op.code == SELECT:
                targets.add(op.stride)
            elif op.code == LOOP:
                targets |= {i + 1, op.stride}
        i = 0
        while i < self.size:
            first, bytewise = i, False
            while i == first or (self.operations[i].align == 1 and i not in targets):
                op = &self.operations[i]
                if op.code == INTEGER and op.flags & BYTEWISE:
                    bytewise = True
                elif not (op.code == SKIP and op.width % 8 == 0 or i > first and self._repeats(i)):
                    break
                i += 1
            if bytewise:
                field_count = self._fix(first, i, field_count)
            i += i == first

    def _repeats(self, int64_t number):
        """Return True if an operation copies what the one before it reads, to another register."""
        cdef Operation* op = &self.operations[number]
        cdef Operation* before = &self.operations[number - 1]
        return op.code == COPY and before.code == INTEGER and before.reg == op.aux

    def _fix(self, int64_t first, int64_t end, int64_t field_count):
        """Make operations from `first` up to `end` one; how many fields there are then."""
        cdef int64_t reads = field_count
        cdef int64_t next = end
        cdef int64_t columns, i
        cdef int64_t width = 0
        cdef Operation* op
        for i in range(first, end):
            op = &self.operations[i]
            if op.code == COPY:
                self.fields[field_count] = self.fields[field_count - 1]
                self.fields[field_count].reg, self.fields[field_count].clock = op.reg, False
                field_count += 1
            elif op.reg >= 0 or op.flags & CLOCK:
                self.fields[field_count] = Field(
                    width >> 3, load_of(op), op.width, op.flags & CLOCK != 0, -1, op.reg
                )
                field_count += 1
            width += op.width
        columns = field_count
        width = 0
        for i in range(first, end):
            op = &self.operations[i]
            if op.slot >= 0:
                self.fields[field_count] = Field(width >> 3, load_of(op), op.width, False, op.slot, -1)
                field_count += 1
            width += op.width
        while self.operations[next].code == JUMP and self.operations[next].align == 1:
            next = self.operations[next].target
        op = &self.operations[first]
        op.code, op.width, op.flags = FIXED, width, 0
        op.target, op.aux, op.reg = reads, columns - reads, next - first
        op.slot = -1
        if field_count > columns:
            op.slot = self.group_count
            self.groups[self.group_count] = Group(columns, field_count - columns)
            self.group_count += 1
        return field_count

    def _check(self, int64_t range_count):
        cdef int64_t i, j
        cdef Operation* op
        if self.size == 0 or self.operations[self.size - 1].code != END:
            raise ValueError("a program ends with END")
        # The nesting depth of each operation; nothing leads from one level to another.
        levels = []
        level = 0
        for i in range(self.size):
            op = &self.operations[i]
            level -= op.code == LOOP_END
            levels.append(level + (op.code == LOOP_END))
            level += op.code == LOOP
            if not 0 <= level <= DEPTH:
                raise ValueError("a loop has no beginning, or too many are in each other")
        if level:
            raise ValueError("a loop has no end")

        for i in range(self.size):
            op = &self.operations[i]
            good = 1 <= op.align <= 1 << 31 and not op.align & (op.align - 1)
            good = good and -1 <= op.slot < self.slot_count
            good = good and -1 <= op.reg < self.register_count and -1 <= op.aux < self.register_count
            targets = []
            if op.code == SKIP:
                good = good and 0 <= op.width < MANY
            elif op.code == INTEGER or op.code == INTEGERS:
                good = good and 1 <= op.width <= 64
                good = good and not (op.flags & BYTEWISE and (op.width not in (8, 16, 32, 64) or op.flags & REVERSED))
            elif op.code == ENDED or op.code == BYTES:
                good = good and op.align >= 8 and op.width in (8, 16, 32) and op.reg + 1 < self.register_count
            elif op.code == VARIABLE:
                good = good and op.align >= 8
            elif op.code == COPY:
                good = good and op.aux >= 0 and op.reg >= 0
            elif op.code == JUMP:
                targets.append(op.target)
            elif op.code == LOOP:
                targets.append(op.stride)
            elif op.code == SELECT:
                good = good and op.aux >= 0 and 0 <= op.target <= op.target + op.width <= range_count
                targets += [op.stride] if op.stride else []
                for j in range(op.target, op.target + op.width if good else 0):
                    targets.append(self.ranges[j].target)
                    good = good and 0 <= self.ranges[j].option < 1 << 15
            else:
                good = good and op.code in (END, LOOP_END, WHOLE)
            if op.code == BYTES or op.code == INTEGERS or op.code == LOOP:
                good = good and op.target >= 0
            if op.code == INTEGERS:
                good = good and 1 <= op.stride <= 1 << 31 and not op.stride & (op.stride - 1)
            if op.slot >= 0 and (
                op.code == INTEGERS or (op.code in (ENDED, BYTES) and not op.flags & INTERNED)
            ):
                # The contents have a slot of their own.
                good = good and op.slot + 1 < self.slot_count
            for target in targets:
                # Nothing leads back, or to another level.
                good = good and i < target < self.size and levels[target] == levels[i]
            if not good:
                raise ValueError(f"operation {i} of code {op.code} makes no sense")

    cdef bint stands_alone(self) noexcept:
        cdef int64_t i, k
        cdef Operation* op
        for i in range(self.size):
            op = &self.operations[i]
            if op.code == FIXED:
                for k in range(op.target, op.target + op.aux):
                    if self.fields[k].clock:
                        return False
            elif op.aux >= 0 or op.flags & CLOCK:
                return False
        return True

    cdef bint sets(self, int64_t first, int64_t last) noexcept:
        cdef int64_t i, k
        cdef Operation* op
        for i in range(self.size):
            op = &self.operations[i]
            if op.code == FIXED:
                for k in range(op.target, op.target + op.aux):
                    if first <= self.fields[k].reg <= last:
                        return True
            elif first <= op.reg <= last:
                return True
        return False

    cdef int64_t only_passes(self) noexcept:
        cdef Operation* op = self.operations
        if op.code == END:
            return 0
        if op.code == FIXED and op.aux == 0 and op.align <= 8 and op[op.reg].code == END:
            return op.width if op[op.reg].align == 1 else -1
        if op.code == SKIP and op.align <= 8 and op.width & 7 == 0 and op[1].code == END and op[1].align == 1:
            return op.width
        return -1


cdef inline const Range* selected(const Range* ranges, const Operation* op, uint64_t value) noexcept nogil:
    cdef int64_t k
    cdef const Range* item
    for k in range(op.target, op.target + op.width):
        item = &ranges[k]
        if op.flags & SIGNED:
            if item.low <= <int64_t>value <= item.high:
                return item
        elif <uint64_t>item.low <= value <= <uint64_t>item.high:
            return item
    return NULL


# FIXED at bit `at`, a whole byte: 0, or NO_MEMORY.
cdef inline int64_t fixed(Machine* machine, const Code* code, const Operation* op, int64_t at) noexcept nogil:
    cdef const Field* field
    cdef Pending* pending
    cdef uint64_t value
    cdef int64_t k
    for k in range(op.target, op.target + op.aux):
        field = &code.fields[k]
        value = fixed_integer(machine.data + (at >> 3) + field.offset, field.load)
        if field.clock:
            update_clock(machine, value, field.width)
        if field.reg >= 0:
            machine.registers[field.reg] = value
    if op.slot >= 0:
        pending = &machine.pending[op.slot]
        pending.at[pending.count] = machine.data + (at >> 3)
        pending.count += 1
        if pending.count == GATHERED and not gather(machine.slots, code.fields, &code.groups[op.slot], pending):
            return NO_MEMORY
    return 0


# ENDED: a text up to a null character; the position after that, or why there is none.
cdef inline int64_t ended(Machine* machine, const Operation* op, StringTable strings, int64_t at) noexcept nogil:
    cdef const uint8_t* data = machine.data + (at >> 3)
    cdef int64_t size, count, status
    if at >= machine.end:
        return OUT_OF_BOUNDS
    # Whole characters.
    size = (machine.end - at) >> 3 & -(op.width >> 3)
    count = before_null(data, size, op.width >> 3)
    if count == size:
        return OUT_OF_BOUNDS
    status = put_text(machine, op, strings, data, count)
    return status if status < 0 else at + (count << 3) + op.width


# BYTES: their number is in a register or known; the position after them, or why there is none.
cdef inline int64_t sized(Machine* machine, const Operation* op, StringTable strings, int64_t at) noexcept nogil:
    cdef uint64_t count = machine.registers[op.aux] if op.aux >= 0 else <uint64_t>op.target
    cdef int64_t size, status
    if at > machine.end or count > <uint64_t>((machine.end - at) >> 3):
        return OUT_OF_BOUNDS
    size = <int64_t>count
    if op.flags & TEXT:
        size = before_null(machine.data + (at >> 3), size, op.width >> 3)
    status = put_text(machine, op, strings, machine.data + (at >> 3), size)
    return status if status < 0 else at + (<int64_t>count << 3)


# The end of a list among all elements: those before it, and these. 0, or why it cannot be.
cdef inline int64_t put_list_end(Slot* slot, uint64_t count) noexcept nogil:
    cdef int64_t before = 0
    if count > <uint64_t>MANY:
        return OUT_OF_BOUNDS
    if slot.count:
        before = (<int64_t*>slot.data)[slot.count - 1]
    return 0 if put(slot, <uint64_t>(before + <int64_t>count)) else NO_MEMORY


cdef int64_t run(Machine* machine, const Code* code, StringTable strings, int64_t at) noexcept nogil:
    cdef const Operation* op = code.operations
    cdef const Range* chosen
    cdef int64_t end = machine.end
    cdef uint64_t value, count
    cdef int64_t status
    cdef int64_t depth = -1
    cdef int64_t[DEPTH] bodies
    cdef int64_t[DEPTH] starts
    cdef uint64_t[DEPTH] left
    while True:
        if op.align > 1:
            at = (at + op.align - 1) & -op.align
        if op.code == FIXED:
            if op.width > end - at:
                return OUT_OF_BOUNDS
            if fixed(machine, code, op, at):
                return NO_MEMORY
            at += op.width
            op += op.reg
            continue
        elif op.code == INTEGER:
            if op.width > end - at:
                return OUT_OF_BOUNDS
            value = integer(machine.data, at, op.width, op.flags)
            at += op.width
            if op.flags & CLOCK:
                update_clock(machine, value, op.width)
            if op.reg >= 0:
                machine.registers[op.reg] = value
            if op.slot >= 0 and not put(&machine.slots[op.slot], value):
                return NO_MEMORY
        elif op.code == SKIP:
            if op.width > end - at:
                return OUT_OF_BOUNDS
            at += op.width
        elif op.code == END:
            return at
        elif op.code == ENDED:
            at = ended(machine, op, strings, at)
            if at < 0:
                return at
        elif op.code == BYTES:
            at = sized(machine, op, strings, at)
            if at < 0:
                return at
        elif op.code == INTEGERS:
            if at > end:
                return OUT_OF_BOUNDS
            at = integers(
                machine, op, at, machine.registers[op.aux] if op.aux >= 0 else <uint64_t>op.target
            )
            if at < 0:
                return at
        elif op.code == SELECT:
            value = machine.registers[op.aux]
            chosen = selected(code.ranges, op, value)
            if chosen is NULL:
                # Without a range, an optional field is absent and a variant is an error.
                if op.stride == 0:
                    return NO_OPTION
                if op.slot >= 0 and not put(&machine.slots[op.slot], 0):
                    return NO_MEMORY
                op = code.operations + op.stride
            else:
                if op.slot >= 0 and not put(&machine.slots[op.slot], chosen.option):
                    return NO_MEMORY
                op = code.operations + chosen.target
            continue
        elif op.code == JUMP:
            op = code.operations + op.target
            continue
        elif op.code == VARIABLE:
            at = variable(machine, op, at)
            if at < 0:
                return at
        elif op.code == COPY:
            machine.registers[op.reg] = machine.registers[op.aux]
        elif op.code == WHOLE:
            if at & 7:
                return MIXED_ORDERS
        elif op.code == LOOP:
            if at > end:
                return OUT_OF_BOUNDS
            count = machine.registers[op.aux] if op.aux >= 0 else <uint64_t>op.target
            if op.slot >= 0:
                status = put_list_end(&machine.slots[op.slot], count)
                if status < 0:
                    return status
            if count == 0:
                op = code.operations + op.stride
                continue
            depth += 1
            left[depth] = count
            bodies[depth] = (op - code.operations) + 1
            starts[depth] = at
        elif op.code == LOOP_END:
            if at == starts[depth]:
                machine.idle -= 1
                if machine.idle < 0:
                    return BAD_LENGTH
            starts[depth] = at
            left[depth] -= 1
            if left[depth]:
                op = code.operations + bodies[depth]
                continue
            depth -= 1
        op += 1
