# Operations of programs on the stack of numbers. `top` is the stack's next free entry.

from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memchr, memset

from converter.kernels.io.output cimport Output, append, ensure
from converter.kernels.tables.strings cimport PADDING
from converter.printing.arithmetic cimport combined, resolve, split_time
from converter.printing.forms cimport (
    Form, extended, lowest, put_decimal, put_hexadecimal, put_number, put_seconds,
)
from converter.printing.program cimport *
from converter.printing.record_bytes cimport (
    Record, bits_at, clip, extent, number_at, plain, put_array, read, scaled_place,
)
from converter.printing.values cimport put_octets, put_padded


# CONSTANT to NOT, COPY, BITS and PLAIN: they write nothing. Returns by how much the stack grows.
cdef inline int calculate(
    void* program, const Operation* operation, const Record* record, uint64_t* top
) noexcept nogil:
    cdef int64_t code = operation.code
    if code == CONSTANT:
        top[0] = <uint64_t>operation.a
        return 1
    elif code == LOAD:
        top[0] = read(record, operation.a, operation.b, (<Program>program)._swap)
        return 1
    elif code == RECORD_SIZE:
        top[0] = record.size
        return 1
    elif code == DYNAMIC:
        extent(record, operation.a, operation.b, operation.c, (<Program>program)._swap, top)
        return 2
    elif code == REST:
        top[0] = record.size - top[-1] if top[-1] <= <uint64_t>record.size else 0
        return 1
    elif code == READ:
        top[-2] = number_at(
            record, top[-2], top[-1], (<Program>program)._big_endian and not operation.a, operation.a
        )
        return -1
    elif code == ELEMENT:
        top[-2] = scaled_place(top[-2], top[-1], operation.a)
        return -1
    elif code == DROP:
        return -1
    elif code == COPY:
        top[0] = top[-1]
        return 1
    elif code == LENGTH:
        top[-2] = top[-1]
        return -1
    elif code == KEEP:
        top[-1] &= <uint64_t>operation.a
        return 0
    elif code == NEGATE:
        top[-1] = <uint64_t>0 - top[-1]
        return 0
    elif code == INVERT:
        top[-1] = ~top[-1]
        return 0
    elif code == NOT:
        top[-1] = top[-1] == 0
        return 0
    elif code == BITS:
        top[-1] = bits_at(record, top[-1], operation.a)
        return 0
    elif code == PLAIN:
        top[-2] = plain(record, top[-2], top[-1], operation.a)
        return -1
    # MULTIPLY to EITHER.
    top[-2] = combined(code, top[-2], top[-1])
    return -1


# DECIMAL to ARRAY: text of numbers, or of bytes that they point to. Returns how many the stack loses; -1 without memory.
cdef inline int64_t put_numbers(
    Output* out, void* program, const Operation* operation, const Record* record, uint64_t* top
) noexcept nogil:
    cdef int64_t code = operation.code
    cdef int64_t size, end
    cdef int64_t taken = 1
    cdef const uint8_t* data = NULL
    cdef uint64_t value, other
    cdef Form form
    cdef bint good = True
    if code == DECIMAL:
        value = top[-1]
        good = put_decimal(
            out, extended(value, operation.a) if operation.b else lowest(value, operation.a), operation.b
        )
    elif code == HEXADECIMAL:
        good = put_hexadecimal(out, lowest(top[-1], operation.a))
    elif code == NUMBER:
        form = (<Program>program)._forms[operation.a]
        if operation.b:
            taken += operation.b
            resolve(&form, operation.c, &top[-taken])
        good = put_number(out, top[-1], &form)
    elif code == TIME:
        value = top[-1]
        good = not operation.c & 1 and value >> 63
        split_time(<uint64_t>0 - value if good else value, operation.a, operation.b, &value, &other)
        good = put_seconds(out, value, other, good, operation.c >> 1)
    elif code == LETTERS:
        size = operation.b
        good = ensure(out, size + PADDING)
        if good:
            put_padded(
                out, (<Program>program)._literals + operation.a + size * (top[-1] & <uint64_t>operation.c), size
            )
    elif code == BLANKS:
        size = top[-1] * operation.a if top[-1] < <uint64_t>operation.b else 0
        good = ensure(out, size)
        if good:
            memset(out.data + out.used, c' ', size)
            out.used += size
    elif code == STRING:
        taken = 2
        size = clip(record, top[-2], top[-1], &data)
        if size:
            end = <int64_t>memchr(data, 0, size)
            good = append(out, data, end - <int64_t>data if end else size)
    elif code == OCTETS:
        taken = 3
        # A length of 2^31 and more is below 0.
        value = top[-1] & <uint64_t>0xFFFFFFFF
        if not value >> 31:
            size = clip(record, top[-3], value, &data)
            good = put_octets(out, data, size, <int>operation.a)
    else:
        # ARRAY.
        taken = 4 - operation.a
        good = put_array(out, record, &top[-taken], operation.a, (<Program>program)._swap)
    return taken if good else -1
