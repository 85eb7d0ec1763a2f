# Floating-point numbers as text, where no shorter way is exact.

from libc.stdint cimport int64_t, uint8_t

from converter.kernels.io.output cimport Output, append

cdef extern from "Python.h":
    char* PyOS_double_to_string(double value, char format, int precision, int flags, int* type)
    void PyMem_Free(void* memory)
    int Py_DTSF_ADD_DOT_0


# A number in a format of Python's: 'r' is the shortest that reads as the same, 'f' has `decimals`; false without memory.
cdef inline bint put_formatted(Output* out, double value, char format, int decimals, int flags) noexcept nogil:
    cdef char* text
    cdef int64_t size = 0
    cdef bint good
    with gil:
        text = PyOS_double_to_string(value, format, decimals, flags, NULL)
        if text is NULL:
            return False
        while text[size]:
            size += 1
        good = append(out, <const uint8_t*>text, size)
        PyMem_Free(text)
    return good


# The shortest text that reads as the same number, with a point or an exponent.
cdef inline bint put_shortest(Output* out, double value) noexcept nogil:
    return put_formatted(out, value, c"r", 0, Py_DTSF_ADD_DOT_0)


# With a number of decimals, as printf() has it.
cdef inline bint put_fixed(Output* out, double value, int decimals) noexcept nogil:
    return put_formatted(out, value, c"f", decimals, 0)
