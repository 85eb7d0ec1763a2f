# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Columns of CTF fields, decoded from the records of one event record class; and events placed on threads by CPU."""

# Stub:
# from collections.abc import Sequence
# from converter.formats.ctf.streams.scan_programs import Program
# from converter.kernels.tables.strings import StringTable

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t, uint8_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset
import numpy as np

from converter.formats.ctf.streams.scan_fields cimport gather
from converter.formats.ctf.streams.scan_programs cimport (
    Code, Field, GATHERED, INTERNED, LOOP, Machine, NO_MEMORY, Operation, Pending, Program, run, Slot,
)
from converter.kernels.batches.columns cimport HeldBuffers
from converter.kernels.tables.strings cimport StringTable

cdef extern from *:
    void __builtin_prefetch(const void*) noexcept nogil

cdef enum:
    # The number of records ahead for which memory is prefetched: the records of one class lie far apart.
    AHEAD = 8


# Raise ValueError unless the values of all slots have the sizes that the program needs.
cdef int check_items(Program program, const int64_t[::1] item_sizes, const int64_t[::1] expected) except -1:
    cdef const Operation* operations = program.operations
    cdef const Code* code = &program.code
    cdef const Field* field
    cdef int64_t i, k
    for k in range(item_sizes.shape[0]):
        if item_sizes[k] not in (1, 2, 4, 8) or expected[k] < 0:
            raise ValueError(f"slot {k} has values of {item_sizes[k]} bytes")
    for k in range(program.size):
        if operations[k].code == LOOP and operations[k].slot >= 0 and item_sizes[operations[k].slot] != 8:
            raise ValueError(f"slot {operations[k].slot} has ends of lists of another size")
    for k in range(program.group_count):
        for i in range(code.groups[k].first, code.groups[k].first + code.groups[k].count):
            field = &code.fields[i]
            if field.width != 8 * item_sizes[field.slot]:
                raise ValueError(f"slot {field.slot} has values of another size than its fields")
    return 0


def decode(
    Program program,
    windows: Sequence[memoryview | NDArray[uint8]],
    const uint64_t[:, ::1] packet_registers,
    const int64_t[::1] location,
    const uint32_t[::1] size,
    const int64_t[::1] item_sizes,
    const int64_t[::1] expected,
    StringTable strings,
) -> list[NDArray[uint8]]:
    """The contents of each slot of a program that runs over records, as bytes.

    A location is ``window << 32 | bit``, size counts bits; slots have items of `item_sizes` (1, 2, 4, 8) bytes and room
    for `expected` of them at first. `packet_registers` (windows, n) are the first registers in each window; n may be 0.
    Raises ValueError for a record that is not whole. Releases the GIL.
    """
    cdef int64_t rows = location.shape[0]
    cdef int64_t slots = item_sizes.shape[0]
    cdef int64_t count = len(windows)
    cdef int64_t i, k, at, window, later
    cdef int64_t failed = -1
    cdef int64_t shared = packet_registers.shape[1]
    cdef int64_t current = -1
    cdef int64_t done = 0
    cdef int64_t width = program.only_passes()
    cdef Pending* pending = NULL
    cdef HeldBuffers held = HeldBuffers(windows)
    cdef Machine machine
    cdef const Operation* operations = program.operations
    cdef const Code* code = &program.code
    cdef uint8_t[::1] memory
    cdef bint interns = False
    for k in range(program.size):
        interns = interns or operations[k].flags & INTERNED
    if size.shape[0] != rows or expected.shape[0] != slots or slots < program.slot_count:
        raise ValueError("the columns differ in length")
    if shared and (packet_registers.shape[0] != count or shared > program.register_count):
        raise ValueError("each window has the registers of its packet")
    check_items(program, item_sizes, expected)
    memset(&machine, 0, sizeof(machine))
    machine.slots = <Slot*>calloc(slots + 1, sizeof(Slot))
    machine.registers = <uint64_t*>calloc(program.register_count + 1, sizeof(uint64_t))
    machine.pending = <Pending*>calloc(program.group_count + 1, sizeof(Pending))
    machine.idle = <int64_t>1 << 62
    try:
        if machine.slots is NULL or machine.registers is NULL or machine.pending is NULL:
            raise MemoryError
        if width > 0 and program.group_count:
            # Its only group, of records without anything else.
            pending = machine.pending
        columns = []
        for k in range(slots):
            machine.slots[k].item = item_sizes[k]
            # A slot of one value a row is the column; the others get memory as they need it.
            machine.slots[k].lent = expected[k] == rows > 0
            if machine.slots[k].lent:
                machine.slots[k].room = rows
                column = np.empty(rows * item_sizes[k], np.uint8)
                memory = column
                machine.slots[k].data = &memory[0]
                columns.append(column)
            else:
                columns.append(None)
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
                if pending is not NULL and at & 7 == 0 and width <= size[i]:
                    pending.at[pending.count] = machine.data + (at >> 3)
                    pending.count += 1
                    if pending.count < GATHERED:
                        continue
                    done = 0 if gather(machine.slots, code.fields, code.groups, pending) else NO_MEMORY
                else:
                    machine.end = at + size[i]
                    done = run(&machine, code, strings, at)
                if done < 0:
                    failed = i
                    break
            for k in range(program.group_count):
                if done >= 0 and not gather(machine.slots, code.fields, &code.groups[k], &machine.pending[k]):
                    done = NO_MEMORY
            if interns:
                strings.unlock()
        if done == NO_MEMORY:
            raise MemoryError
        if failed >= 0:
            raise ValueError(f"record {failed} lies outside its window, or is of another class")
        for k in range(slots):
            if machine.slots[k].lent:
                # Fewer rows than were promised have the rest of their memory unused.
                columns[k] = columns[k][: machine.slots[k].count * item_sizes[k]]
                continue
            columns[k] = column = np.empty(machine.slots[k].count * item_sizes[k], np.uint8)
            if column.shape[0]:
                memory = column
                memcpy(&memory[0], machine.slots[k].data, column.shape[0])
        return columns
    finally:
        if machine.slots is not NULL:
            for k in range(slots):
                if not machine.slots[k].lent:
                    free(machine.slots[k].data)
        free(machine.slots)
        free(machine.registers)
        free(machine.pending)


def follow_switches(
    const int32_t[:] cpu,
    const int32_t[::1] before,
    const int32_t[::1] after,
    int32_t[::1] current,
    int32_t[::1] thread,
) -> None:
    """Place events without a thread on the one that runs on their CPU.

    `before` and `after` are the threads of each event that switches, `after` is -2 of others; `current` is the thread
    that runs on each CPU, and goes on from what it holds. Releases the GIL.
    """
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
