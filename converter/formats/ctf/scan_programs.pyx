# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The machine that walks over the fields of CTF records, as the operations of a program say.

Positions are bits of a window whose start is aligned as the packet's. A program is checked when it is made: every
register, slot, range and target that it names exists. Data are checked while they are read: no operation reads beyond
the machine's end.

Columns of CTF fields, decoded from the records of one event record class; and events placed on threads by CPU.
"""

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t, uint8_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset
import numpy as np

from converter.formats.ctf.scan_fields cimport (
    before_null, integer, integers, MANY, put, put_text, update_clock, variable,
)
from converter.kernels.columns cimport HeldBuffers
from converter.kernels.strings cimport StringTable


OPERATIONS = {
    "END": END, "SKIP": SKIP, "INTEGER": INTEGER, "VARIABLE": VARIABLE, "ENDED": ENDED, "BYTES": BYTES,
    "INTEGERS": INTEGERS, "LOOP": LOOP, "LOOP_END": LOOP_END, "SELECT": SELECT, "JUMP": JUMP, "COPY": COPY,
    "STORE": STORE, "WHOLE": WHOLE,
}
FLAGS = {"SIGNED": SIGNED, "BIG": BIG, "REVERSED": REVERSED, "CLOCK": CLOCK, "TEXT": TEXT, "INTERNED": INTERNED}
MAX_DEPTH = DEPTH

cdef enum:
    WORDS = 9


cdef class Program:
    def __init__(self, const int64_t[:, ::1] operations, const int64_t[:, ::1] ranges, int64_t registers, int64_t slots):
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
        if self.operations is NULL or self.ranges is NULL:
            raise MemoryError
        for i in range(self.size):
            memcpy(&self.operations[i], &operations[i, 0], sizeof(Operation))
        for i in range(ranges.shape[0]):
            memcpy(&self.ranges[i], &ranges[i, 0], sizeof(Range))
        self._check(ranges.shape[0])

    def __dealloc__(self):
        free(self.operations)
        free(self.ranges)

    def _check(self, int64_t range_count):
        cdef int64_t i, j
        cdef Operation* op
        if self.size == 0 or self.operations[self.size - 1].code != END:
            raise ValueError("a program ends with END")
        # How deeply each operation is nested; nothing leads from one level to another.
        levels = []
        level = 0
        for i in range(self.size):
            op = &self.operations[i]
            level -= op.code == LOOP_END
            if level < 0:
                raise ValueError("a loop has no beginning")
            levels.append(level + (op.code == LOOP_END))
            level += op.code == LOOP
            if level > DEPTH:
                raise ValueError("loops are nested too deeply")
        if level:
            raise ValueError("a loop has no end")

        def check_target(int64_t target):
            if not i < target < self.size or levels[target] != levels[i]:
                raise ValueError(f"operation {i} goes nowhere")

        for i in range(self.size):
            op = &self.operations[i]
            if op.align < 1 or op.align & (op.align - 1) or op.align > 1 << 31:
                raise ValueError(f"operation {i} aligns to {op.align} bits")
            if not -1 <= op.slot < self.slot_count or not -1 <= op.reg < self.register_count:
                raise ValueError(f"operation {i} has a slot or register that does not exist")
            if not -1 <= op.aux < self.register_count:
                raise ValueError(f"operation {i} takes a register that does not exist")
            if op.code == SKIP:
                if not 0 <= op.width < MANY:
                    raise ValueError(f"operation {i} skips {op.width} bits")
            elif op.code == INTEGER or op.code == INTEGERS:
                if not 1 <= op.width <= 64:
                    raise ValueError(f"operation {i} reads an integer of {op.width} bits")
            elif op.code == ENDED or op.code == BYTES:
                if op.align < 8 or op.width not in (8, 16, 32):
                    raise ValueError(f"operation {i} reads text or bytes at any bit")
                if op.reg >= 0 and op.reg + 1 >= self.register_count:
                    raise ValueError(f"operation {i} has a register that does not exist")
            elif op.code == VARIABLE:
                if op.align < 8:
                    raise ValueError(f"operation {i} reads bytes at any bit")
            elif op.code == COPY:
                if op.aux < 0 or op.reg < 0:
                    raise ValueError(f"operation {i} copies no register")
            elif op.code == STORE:
                if op.aux < 0 or op.slot < 0:
                    raise ValueError(f"operation {i} stores no register")
            elif op.code == JUMP:
                check_target(op.target)
            elif op.code == LOOP:
                check_target(op.stride)
            elif op.code == SELECT:
                if op.aux < 0 or op.target < 0 or op.width < 0 or op.target + op.width > range_count:
                    raise ValueError(f"operation {i} has ranges that do not exist")
                for j in range(op.target, op.target + op.width):
                    check_target(self.ranges[j].target)
                    if not 0 <= self.ranges[j].option < 1 << 15:
                        raise ValueError(f"range {j} has no option")
                if op.stride:
                    check_target(op.stride)
            elif op.code != END and op.code != LOOP_END and op.code != WHOLE:
                raise ValueError(f"operation {i} is unknown")
            if op.code == BYTES or op.code == INTEGERS or op.code == LOOP:
                if op.target < 0:
                    raise ValueError(f"operation {i} has no length")
            if op.code == INTEGERS and (op.stride < 1 or op.stride & (op.stride - 1) or op.stride > 1 << 31):
                raise ValueError(f"operation {i} aligns elements to {op.stride} bits")
            if op.slot >= 0 and (
                op.code == INTEGERS or (op.code in (ENDED, BYTES) and not op.flags & INTERNED)
            ):
                if op.slot + 1 >= self.slot_count:
                    raise ValueError(f"operation {i} has no slot for the contents")


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


cdef int64_t run(
    Machine* machine, const Operation* operations, const Range* ranges, StringTable strings, int64_t at
) noexcept nogil:
    cdef const Operation* op = operations
    cdef const Range* chosen
    cdef int64_t end = machine.end
    cdef uint64_t value, count
    cdef int64_t size, status, code
    cdef int64_t depth = -1
    cdef int64_t[DEPTH] bodies
    cdef int64_t[DEPTH] starts
    cdef uint64_t[DEPTH] left
    while True:
        if op.align > 1:
            at = (at + op.align - 1) & -op.align
        code = op.code
        if code == INTEGER:
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
        elif code == SKIP:
            if op.width > end - at:
                return OUT_OF_BOUNDS
            at += op.width
        elif code == END:
            return at
        elif code == ENDED:
            if at >= end:
                return OUT_OF_BOUNDS
            size = (end - at) >> 3
            size -= size % (op.width >> 3)
            count = before_null(machine.data + (at >> 3), size, op.width >> 3)
            if <int64_t>count == size:
                return OUT_OF_BOUNDS
            status = put_text(machine, op, strings, machine.data + (at >> 3), <int64_t>count)
            if status < 0:
                return status
            at += (<int64_t>count << 3) + op.width
        elif code == BYTES:
            count = machine.registers[op.aux] if op.aux >= 0 else <uint64_t>op.target
            if at > end or count > <uint64_t>((end - at) >> 3):
                return OUT_OF_BOUNDS
            size = <int64_t>count
            if op.flags & TEXT:
                size = before_null(machine.data + (at >> 3), size, op.width >> 3)
            status = put_text(machine, op, strings, machine.data + (at >> 3), size)
            if status < 0:
                return status
            at += <int64_t>count << 3
        elif code == INTEGERS:
            if at > end:
                return OUT_OF_BOUNDS
            at = integers(
                machine, op, at, machine.registers[op.aux] if op.aux >= 0 else <uint64_t>op.target
            )
            if at < 0:
                return at
        elif code == SELECT:
            value = machine.registers[op.aux]
            chosen = selected(ranges, op, value)
            if chosen is NULL:
                # Without a range, an optional field is absent and a variant is an error.
                if op.stride == 0:
                    return NO_OPTION
                if op.slot >= 0 and not put(&machine.slots[op.slot], 0):
                    return NO_MEMORY
                op = operations + op.stride
            else:
                if op.slot >= 0 and not put(&machine.slots[op.slot], chosen.option):
                    return NO_MEMORY
                op = operations + chosen.target
            continue
        elif code == JUMP:
            op = operations + op.target
            continue
        elif code == VARIABLE:
            at = variable(machine, op, at)
            if at < 0:
                return at
        elif code == COPY:
            machine.registers[op.reg] = machine.registers[op.aux]
        elif code == STORE:
            if not put(&machine.slots[op.slot], machine.registers[op.aux]):
                return NO_MEMORY
        elif code == WHOLE:
            if at & 7:
                return MIXED_ORDERS
        elif code == LOOP:
            if at > end:
                return OUT_OF_BOUNDS
            count = machine.registers[op.aux] if op.aux >= 0 else <uint64_t>op.target
            if op.slot >= 0:
                # The end of this list among all elements: those before it, and these.
                if count > <uint64_t>MANY:
                    return OUT_OF_BOUNDS
                size = 0
                if machine.slots[op.slot].count:
                    size = (<int64_t*>machine.slots[op.slot].data)[machine.slots[op.slot].count - 1]
                if not put(&machine.slots[op.slot], <uint64_t>(size + <int64_t>count)):
                    return NO_MEMORY
            if count == 0:
                op = operations + op.stride
                continue
            depth += 1
            left[depth] = count
            bodies[depth] = (op - operations) + 1
            starts[depth] = at
        elif code == LOOP_END:
            if at == starts[depth]:
                machine.idle -= 1
                if machine.idle < 0:
                    return BAD_LENGTH
            starts[depth] = at
            left[depth] -= 1
            if left[depth]:
                op = operations + bodies[depth]
                continue
            depth -= 1
        op += 1


cdef extern from *:
    void __builtin_prefetch(const void*) noexcept nogil

cdef enum:
    # How many records ahead memory is fetched: the records of one class lie far apart.
    AHEAD = 8


def decode(
    Program program,
    windows,
    const uint64_t[:, ::1] packet_registers,
    const int64_t[::1] location,
    const uint32_t[::1] size,
    const int64_t[::1] item_sizes,
    const int64_t[::1] expected,
    StringTable strings,
):
    cdef int64_t rows = location.shape[0]
    cdef int64_t slots = item_sizes.shape[0]
    cdef int64_t count = len(windows)
    cdef int64_t i, k, at, window, later
    cdef int64_t failed = -1
    cdef int64_t shared = packet_registers.shape[1]
    cdef int64_t current = -1
    cdef int64_t done = 0
    cdef HeldBuffers held = HeldBuffers(windows)
    cdef Machine machine
    cdef const Operation* operations = program.operations
    cdef const Range* ranges = program.ranges
    cdef uint8_t[::1] copied
    cdef bint interns = False
    for k in range(program.size):
        interns = interns or operations[k].flags & INTERNED
    if size.shape[0] != rows or expected.shape[0] != slots or slots < program.slot_count:
        raise ValueError("the columns differ in length")
    if shared and (packet_registers.shape[0] != count or shared > program.register_count):
        raise ValueError("each window has the registers of its packet")
    for k in range(slots):
        if item_sizes[k] not in (1, 2, 4, 8) or expected[k] < 0:
            raise ValueError(f"slot {k} has values of {item_sizes[k]} bytes")
    memset(&machine, 0, sizeof(machine))
    machine.slots = <Slot*>calloc(slots + 1, sizeof(Slot))
    machine.registers = <uint64_t*>calloc(program.register_count + 1, sizeof(uint64_t))
    machine.idle = <int64_t>1 << 62
    try:
        if machine.slots is NULL or machine.registers is NULL:
            raise MemoryError
        for k in range(slots):
            machine.slots[k].item = item_sizes[k]
            machine.slots[k].room = expected[k]
            machine.slots[k].data = <uint8_t*>malloc(expected[k] * item_sizes[k] + 8)
            if machine.slots[k].data is NULL:
                raise MemoryError
        with nogil:
            # Other threads need the strings too: they wait only for programs that intern.
            if interns:
                strings.lock()
            for i in range(rows):
                if i + AHEAD < rows:
                    later = location[i + AHEAD]
                    if 0 <= later >> 32 < count:
                        __builtin_prefetch(held.data[later >> 32] + ((later & <int64_t>0xffffffff) >> 3))
                window = location[i] >> 32
                at = location[i] & <int64_t>0xffffffff
                if window < 0 or window >= count or at + size[i] > held.sizes[window] * 8:
                    failed = i
                    break
                if window != current:
                    current = window
                    machine.data = held.data[window]
                    if shared:
                        memcpy(machine.registers, &packet_registers[window, 0], shared * sizeof(uint64_t))
                machine.end = at + size[i]
                done = run(&machine, operations, ranges, strings, at)
                if done < 0:
                    failed = i
                    break
            if interns:
                strings.unlock()
        if done == NO_MEMORY:
            raise MemoryError
        if failed >= 0:
            raise ValueError(f"record {failed} lies outside its window, or is of another class")
        columns = []
        for k in range(slots):
            column = np.empty(machine.slots[k].count * item_sizes[k], np.uint8)
            if column.shape[0]:
                copied = column
                memcpy(&copied[0], machine.slots[k].data, column.shape[0])
            columns.append(column)
        return columns
    finally:
        if machine.slots is not NULL:
            for k in range(slots):
                free(machine.slots[k].data)
        free(machine.slots)
        free(machine.registers)


def follow_switches(
    const int32_t[:] cpu,
    const int32_t[::1] before,
    const int32_t[::1] after,
    int32_t[::1] current,
    int32_t[::1] thread,
):
    cdef int64_t count = cpu.shape[0]
    cdef int64_t i
    if before.shape[0] != count or after.shape[0] != count or thread.shape[0] != count:
        raise ValueError("the columns differ in length")
    with nogil:
        for i in range(count):
            if cpu[i] < 0 or cpu[i] >= current.shape[0]:
                continue
            # -2: no switch.
            if after[i] != -2:
                thread[i] = before[i]
                current[cpu[i]] = after[i]
            elif thread[i] < 0:
                thread[i] = current[cpu[i]]
