# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Blocks of output: handed over to their consumers without a copy, and reused when these have released them.

Getting new memory takes the system longer than filling it with text.
"""

cimport cython
from cpython.buffer cimport PyBuffer_FillInfo
from libc.stdlib cimport free
from libc.string cimport memset


cdef class Blocks:
    """The blocks of an emitter; other kernels use them."""

    def __dealloc__(self):
        cdef int i
        for i in range(self._spares):
            free(self._spare[i].data)

    cdef Output take(self) noexcept:
        cdef Output memory
        memset(&memory, 0, sizeof(Output))
        # Other threads release blocks, and interpreters without a lock do not serialise that.
        with cython.critical_section(self):
            if self._spares:
                self._spares -= 1
                memory = self._spare[self._spares]
                memory.used = 0
        return memory

    cdef object hand_over(self, Output* out):
        cdef Block block = Block.__new__(Block)
        block._memory = out[0]
        block._home = self
        try:
            view = memoryview(block)
        except BaseException:
            # It stays with the caller.
            memset(&block._memory, 0, sizeof(Output))
            raise
        out[0] = self.take()
        return view

    cdef bint _take_back(self, Output memory) noexcept:
        cdef bint taken = False
        if memory.data is NULL or memory.room > MOST_ROOM:
            return False
        with cython.critical_section(self):
            if self._spares < SPARE_BLOCKS:
                self._spare[self._spares] = memory
                self._spares += 1
                taken = True
        return taken


cdef class Block:
    """A block of output: a buffer that nobody writes to, whose memory is used again when the last reference goes."""

    # Stub:
    # def __buffer__(self, flags: int, /) -> memoryview: ...

    def __getbuffer__(self, Py_buffer* view, int flags):
        PyBuffer_FillInfo(view, self, self._memory.data, self._memory.used, True, flags)

    def __dealloc__(self):
        if self._home is None or not self._home._take_back(self._memory):
            free(self._memory.data)
