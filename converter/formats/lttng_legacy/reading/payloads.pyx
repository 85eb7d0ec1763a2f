# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Positions of a field in the payloads of a marker, when strings come before it."""

# Stub:
# from converter.kernels.batches.columns import HeldBuffers

from libc.stdint cimport int32_t, int64_t, uint32_t

from converter.formats.lttng_legacy.payload cimport STEP_ALIGN, walk
from converter.kernels.batches.columns cimport HeldBuffers


cdef class Payloads(HeldBuffers):
    """The windows in which a batch's payloads lie, kept alive; a location is ``segment << 32 | offset``."""

    def locate(
        self,
        const int64_t[::1] location,
        const uint32_t[::1] size,
        const int32_t[:, ::1] steps,
        int64_t[::1] place,
        int64_t[::1] left,
    ) -> None:
        """Find the position of each payload after `steps` (code, argument), and how many bytes of it are left.

        Nothing is left where the payload ends before. Releases the GIL.
        """
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
                if segment < 0 or segment >= self.count or offset + size[i] > self.sizes[segment]:
                    continue
                at = walk(program, steps.shape[0], self.data[segment] + offset, size[i])
                if at >= 0:
                    place[i] = location[i] + at
                    left[i] = size[i] - at
