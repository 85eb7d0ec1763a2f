# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Where a field is in each payload of a marker, when strings stand in front of it."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.stdlib cimport calloc, free

from converter.kernels.lttng_legacy_payload cimport STEP_ALIGN, walk


cdef class Payloads:
    cdef Py_buffer* _views
    cdef int64_t _count

    def __init__(self, buffers):
        if self._views is not NULL:
            raise TypeError("payloads cannot be set anew")
        self._views = <Py_buffer*>calloc(len(buffers) + 1, sizeof(Py_buffer))
        if self._views is NULL:
            raise MemoryError
        for buffer in buffers:
            PyObject_GetBuffer(buffer, &self._views[self._count], PyBUF_SIMPLE)
            self._count += 1

    def __dealloc__(self):
        cdef int64_t i
        for i in range(self._count):
            PyBuffer_Release(&self._views[i])
        free(self._views)

    def locate(
        self,
        const int64_t[::1] location,
        const uint32_t[::1] size,
        const int32_t[:, ::1] steps,
        int64_t[::1] place,
        int64_t[::1] left,
    ):
        cdef int64_t count = location.shape[0]
        cdef int64_t i, segment, offset, at
        cdef const int32_t* program = NULL
        if size.shape[0] != count or place.shape[0] != count or left.shape[0] != count:
            raise ValueError("the columns differ in length")
        if steps.shape[0]:
            if steps.shape[1] != 2:
                raise ValueError("a step has two numbers")
            program = &steps[0, 0]
        for i in range(steps.shape[0]):
            if steps[i, 1] < 0 or (steps[i, 0] == STEP_ALIGN and (steps[i, 1] == 0 or steps[i, 1] & (steps[i, 1] - 1))):
                raise ValueError("a step goes nowhere")
        with nogil:
            for i in range(count):
                segment = location[i] >> 32
                offset = location[i] & <int64_t>0xffffffff
                place[i] = location[i]
                left[i] = 0
                if segment < 0 or segment >= self._count or offset + size[i] > self._views[segment].len:
                    continue
                at = walk(program, steps.shape[0], <const uint8_t*>self._views[segment].buf + offset, size[i])
                if at >= 0:
                    place[i] = location[i] + at
                    left[i] = size[i] - at
