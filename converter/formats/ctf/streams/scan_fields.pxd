# Reading the fields of CTF records, and putting their values into slots; inline, so that the machine compiles around it.
#
# `variable` and `integers` check the machine's end before they read; callers of the others have done so.
# What a row stores at once and what is gathered of many rows goes to slots of its own each.
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport realloc
from libc.string cimport memchr, memcpy

from converter.formats.ctf.streams.scan_programs cimport (
    BAD_LENGTH, BIG, CLOCK, Field, Group, I16, I32, I32_SWAPPED, I8, INTERNED, Machine, NO_MEMORY, Operation,
    OUT_OF_BOUNDS, Pending, REVERSED, SIGNED, Slot, TOO_WIDE, U16, U16_SWAPPED, U32, U32_SWAPPED, U64, U64_SWAPPED, U8,
)
from converter.kernels.io.byte_order cimport HOST_IS_BIG, load16, load32, load64
from converter.kernels.tables.strings cimport StringTable

cdef extern from *:
    """
    #include <stdint.h>
    /* More bits than any window has: no longer length is multiplied. */
    #define CTF_MANY ((int64_t)1 << 40)
    /* `width` bits from bit `at` on, counted from each byte's least (LE) or most (BE) significant bit. */
    static inline uint64_t bits_le(const uint8_t* data, int64_t at, int width) {
        int64_t first = at >> 3;
        int shift = (int)(at & 7), bytes = (shift + width + 7) >> 3, k;
        unsigned __int128 value = 0;
        for (k = 0; k < bytes; k++) value |= (unsigned __int128)data[first + k] << (8 * k);
        value >>= shift;
        return (uint64_t)value & (width == 64 ? ~(uint64_t)0 : ((uint64_t)1 << width) - 1);
    }
    static inline uint64_t bits_be(const uint8_t* data, int64_t at, int width) {
        int64_t first = at >> 3;
        int shift = (int)(at & 7), bytes = (shift + width + 7) >> 3, k;
        unsigned __int128 value = 0;
        for (k = 0; k < bytes; k++) value = value << 8 | data[first + k];
        value >>= 8 * bytes - shift - width;
        return (uint64_t)value & (width == 64 ? ~(uint64_t)0 : ((uint64_t)1 << width) - 1);
    }
    static inline uint64_t bits_reversed(uint64_t value, int width) {
        uint64_t result = 0;
        int k;
        for (k = 0; k < width; k++) result |= (value >> k & 1) << (width - 1 - k);
        return result;
    }
    """
    const int64_t MANY "CTF_MANY"
    uint64_t bits_le(const uint8_t*, int64_t, int) noexcept nogil
    uint64_t bits_be(const uint8_t*, int64_t, int) noexcept nogil
    uint64_t bits_reversed(uint64_t, int) noexcept nogil


cdef inline uint64_t integer(const uint8_t* data, int64_t at, int64_t width, int64_t flags) noexcept nogil:
    cdef uint64_t value
    cdef bint big = flags & BIG
    if at & 7 == 0 and width == 32:
        value = load32(data + (at >> 3), big != HOST_IS_BIG)
    elif at & 7 == 0 and width == 64:
        value = load64(data + (at >> 3), big != HOST_IS_BIG)
    elif at & 7 == 0 and width == 8:
        value = data[at >> 3]
    elif at & 7 == 0 and width == 16:
        value = load16(data + (at >> 3), big != HOST_IS_BIG)
    elif big:
        value = bits_be(data, at, <int>width)
    else:
        value = bits_le(data, at, <int>width)
    if flags & (REVERSED | SIGNED):
        if flags & REVERSED:
            value = bits_reversed(value, <int>width)
        if flags & SIGNED and width < 64 and value >> (width - 1):
            value |= ~<uint64_t>0 << width
    return value


cdef inline bint has_room(Slot* slot, int64_t more) noexcept nogil:
    cdef int64_t room
    cdef uint8_t* moved
    if more <= slot.room - slot.count:
        return True
    if slot.lent:
        return False
    room = slot.room * 2 if slot.room * 2 > slot.count + more else slot.count + more
    if room < 64:
        room = 64
    moved = <uint8_t*>realloc(slot.data, room * slot.item)
    if moved is NULL:
        return False
    slot.data = moved
    slot.room = room
    return True


cdef inline bint put(Slot* slot, uint64_t value) noexcept nogil:
    if slot.count == slot.room and not has_room(slot, 1):
        return False
    if slot.item == 8:
        (<uint64_t*>slot.data)[slot.count] = value
    elif slot.item == 4:
        (<uint32_t*>slot.data)[slot.count] = <uint32_t>value
    elif slot.item == 2:
        (<uint16_t*>slot.data)[slot.count] = <uint16_t>value
    else:
        slot.data[slot.count] = <uint8_t>value
    slot.count += 1
    return True


# The integer of a field that lies here.
cdef inline uint64_t fixed_integer(const uint8_t* at, int64_t load) noexcept nogil:
    if load == U64:
        return load64(at, False)
    elif load == U32:
        return load32(at, False)
    elif load == U16:
        return load16(at, False)
    elif load == U8:
        return at[0]
    elif load == I32:
        return <uint64_t><int64_t><int32_t>load32(at, False)
    elif load == I16:
        return <uint64_t><int64_t><int16_t>load16(at, False)
    elif load == I8:
        return <uint64_t><int64_t><int8_t>at[0]
    elif load == U64_SWAPPED:
        return load64(at, True)
    elif load == U32_SWAPPED:
        return load32(at, True)
    elif load == U16_SWAPPED:
        return load16(at, True)
    elif load == I32_SWAPPED:
        return <uint64_t><int64_t><int32_t>load32(at, True)
    return <uint64_t><int64_t><int16_t>load16(at, True)


# Move one field of pending records into its slot, whose values are of its size.
cdef inline bint gather_field(Slot* slot, const Field* field, const Pending* pending) noexcept nogil:
    cdef int64_t count = pending.count
    cdef int64_t offset = field.offset
    cdef uint8_t* values
    cdef int64_t i
    if not has_room(slot, count):
        return False
    values = slot.data + slot.count * slot.item
    if field.load == U32 or field.load == I32:
        for i in range(count):
            (<uint32_t*>values)[i] = load32(pending.at[i] + offset, False)
    elif field.load == U64:
        for i in range(count):
            (<uint64_t*>values)[i] = load64(pending.at[i] + offset, False)
    elif field.load == U8 or field.load == I8:
        for i in range(count):
            values[i] = pending.at[i][offset]
    elif field.load == U16 or field.load == I16:
        for i in range(count):
            (<uint16_t*>values)[i] = load16(pending.at[i] + offset, False)
    elif field.load == U64_SWAPPED:
        for i in range(count):
            (<uint64_t*>values)[i] = load64(pending.at[i] + offset, True)
    elif field.load == U32_SWAPPED or field.load == I32_SWAPPED:
        for i in range(count):
            (<uint32_t*>values)[i] = load32(pending.at[i] + offset, True)
    else:
        for i in range(count):
            (<uint16_t*>values)[i] = load16(pending.at[i] + offset, True)
    slot.count += count
    return True


# Move the fields of a group in pending records into their slots: a column at a time, while the records are in the cache.
cdef inline bint gather(Slot* slots, const Field* fields, const Group* group, Pending* pending) noexcept nogil:
    cdef int64_t i
    for i in range(group.first, group.first + group.count):
        if not gather_field(&slots[fields[i].slot], &fields[i], pending):
            return False
    pending.count = 0
    return True


# The bytes of text before its null character of `unit` bytes.
cdef inline int64_t before_null(const uint8_t* text, int64_t size, int64_t unit) noexcept nogil:
    cdef const void* null
    cdef int64_t at = 0
    cdef int64_t k
    cdef uint8_t any
    if unit == 1:
        null = memchr(text, 0, size)
        return size if null is NULL else <const uint8_t*>null - text
    while at + unit <= size:
        any = 0
        for k in range(unit):
            any |= text[at + k]
        if not any:
            return at
        at += unit
    return size


cdef inline int64_t put_text(
    Machine* machine, const Operation* op, StringTable strings, const uint8_t* text, int64_t size
) noexcept nogil:
    cdef Slot* slot
    cdef Slot* contents
    cdef int32_t id
    if op.reg >= 0:
        machine.registers[op.reg] = <uint64_t>(text - machine.data)
        machine.registers[op.reg + 1] = <uint64_t>size
    if op.slot < 0:
        return 0
    slot = &machine.slots[op.slot]
    if op.flags & INTERNED:
        if size > 0x7fffffff:
            return BAD_LENGTH
        id = strings.find_or_add(text, <uint32_t>size) if size else 0
        if id < 0:
            return NO_MEMORY
        return 0 if put(slot, <uint64_t>id) else NO_MEMORY
    contents = &machine.slots[op.slot + 1]
    if not has_room(contents, size):
        return NO_MEMORY
    if size:
        memcpy(contents.data + contents.count, text, size)
    contents.count += size
    return 0 if put(slot, contents.count) else NO_MEMORY


# The clock's value when its lower bits are these (CTF2-SPEC-2.0, 6.3): when they fall, they have wrapped around once.
cdef inline void update_clock(Machine* machine, uint64_t value, int64_t bits) noexcept nogil:
    cdef uint64_t mask
    if bits >= 64:
        machine.clock = value
        return
    mask = (<uint64_t>1 << bits) - 1
    if value < machine.clock & mask:
        machine.clock += mask + 1
    machine.clock = (machine.clock & ~mask) | value


# LEB128 (CTF2-SPEC-2.0, 6.4.4): return the position after it; the value goes to register and slot.
cdef inline int64_t variable(Machine* machine, const Operation* op, int64_t at) noexcept nogil:
    cdef uint64_t value = 0
    cdef int64_t shift = 0
    cdef uint8_t byte
    while True:
        if at + 8 > machine.end:
            return OUT_OF_BOUNDS
        byte = machine.data[at >> 3]
        at += 8
        if shift < 63:
            value |= <uint64_t>(byte & 0x7f) << shift
        elif shift == 63:
            value |= <uint64_t>(byte & 1) << 63
            # The bits above bit 63 may only repeat the sign.
            if byte & 0x7f != (0x7f if op.flags & SIGNED and byte & 1 else byte & 1):
                return TOO_WIDE
        elif byte & 0x7f != (0x7f if op.flags & SIGNED and value >> 63 else 0):
            return TOO_WIDE
        shift += 7
        if not byte & 0x80:
            break
    if op.flags & SIGNED and shift < 64 and byte & 0x40:
        value |= ~<uint64_t>0 << shift
    if op.flags & CLOCK:
        update_clock(machine, value, shift)
    if op.reg >= 0:
        machine.registers[op.reg] = value
    if op.slot >= 0 and not put(&machine.slots[op.slot], value):
        return NO_MEMORY
    return at


# Read a run of integers; return the position after it.
cdef inline int64_t integers(Machine* machine, const Operation* op, int64_t at, uint64_t count) noexcept nogil:
    cdef int64_t stride = (op.width + op.stride - 1) & -op.stride
    cdef int64_t left, k
    cdef Slot* values
    if count == 0:
        left = 0
    else:
        # Each takes a bit at least; a window has less than 2**32, and so has a stride.
        if count > <uint64_t>(machine.end - at):
            return OUT_OF_BOUNDS
        left = <int64_t>count
        # There is no padding after the last element.
        if (left - 1) * stride + op.width > machine.end - at:
            return OUT_OF_BOUNDS
    if op.slot >= 0:
        values = &machine.slots[op.slot + 1]
        if not has_room(values, left):
            return NO_MEMORY
        if left and at & 7 == 0 and stride == op.width == 8 * values.item and not op.flags & REVERSED and (
            op.width == 8 or (op.flags & BIG != 0) == HOST_IS_BIG
        ):
            memcpy(values.data + values.count * values.item, machine.data + (at >> 3), left * values.item)
            values.count += left
        else:
            for k in range(left):
                put(values, integer(machine.data, at + k * stride, op.width, op.flags))
        if not put(&machine.slots[op.slot], values.count):
            return NO_MEMORY
    return at + (left - 1) * stride + op.width if left else at
