# Names of numbers and of their bits. False is always: no memory.

from libc.stdint cimport int64_t, uint8_t, uint64_t

from converter.kernels.io.output cimport Output, append
from converter.printing.forms cimport Form, fit, lowest, put_hexadecimal
from converter.printing.program cimport Names


# One of the names, in a form unless that is NULL.
cdef inline bint put_name(
    Output* out, const uint8_t* literals, const Names* names, int64_t i, const Form* form
) noexcept nogil:
    cdef int64_t start = out.used
    if not append(out, literals + names.start[i], names.size[i]):
        return False
    return form is NULL or fit(out, start, form)


# The name of a number; each number has one, in ascending order.
cdef inline bint put_choice(
    Output* out, const uint8_t* literals, const Names* names, uint64_t value, const Form* form
) noexcept nogil:
    cdef int64_t low = 0
    cdef int64_t high = names.count
    cdef int64_t middle
    while low < high:
        middle = (low + high) // 2
        if names.low[middle] < value:
            low = middle + 1
        else:
            high = middle
    if low < names.count and names.low[low] == value:
        return put_name(out, literals, names, low, form)
    return append(out, b"0x", 2) and put_hexadecimal(out, value)


# The names of the bits that are set, and what is left of the number.
cdef inline bint put_flags(
    Output* out, const uint8_t* literals, const Names* names, uint64_t value, const Form* form
) noexcept nogil:
    cdef const uint8_t* separator = literals + names.separator
    cdef bint begun = False
    cdef int64_t i
    if value == 0:
        return names.unset < 0 or put_name(out, literals, names, names.unset, form)
    for i in range(names.count):
        if names.low[i] and value & names.low[i] == names.low[i]:
            if begun and not append(out, separator, names.separator_size):
                return False
            begun = True
            value &= ~names.low[i]
            if not put_name(out, literals, names, i, form):
                return False
    if value == 0:
        return True
    if begun and not append(out, separator, names.separator_size):
        return False
    return append(out, b"0x", 2) and put_hexadecimal(out, value)


# The label of a number, or those of its bits; nothing where it has none.
cdef inline bint put_label(
    Output* out, const uint8_t* literals, const Names* names, uint64_t value
) noexcept nogil:
    cdef int64_t bits = names.bits if names.bits > 0 else -names.bits
    cdef bint is_signed = names.bits < 0
    cdef uint64_t rest = value
    cdef bint begun = False
    cdef int64_t i
    if names.separator_size == 0:
        for i in range(names.count):
            if <int64_t>names.low[i] <= <int64_t>value <= <int64_t>names.high[i] if is_signed else (
                names.low[i] <= value <= names.high[i]
            ):
                return append(out, literals + names.start[i], names.size[i])
        return True
    for i in range(names.count):
        if value == 0 and names.low[i] == 0:
            return append(out, literals + names.start[i], names.size[i])
        if names.low[i] and rest & names.low[i] == names.low[i]:
            if begun and not append(out, literals + names.separator, names.separator_size):
                return False
            if not append(out, literals + names.start[i], names.size[i]):
                return False
            begun = True
            rest &= ~names.low[i]
    if not begun or rest == 0:
        return True
    return append(out, b"|0x", 3) and put_hexadecimal(out, lowest(rest, bits))
