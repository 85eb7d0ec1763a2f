# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The depths of function calls: a stack of names for each CPU, on which a caller is looked for."""

import numpy as np

from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, realloc

#: That of a function without a name, as which a callee counts.
cdef int32_t NAMELESS = 0


cdef struct Stack:
    int32_t cpu
    int32_t* names
    int64_t count
    int64_t room


cdef class CallDepths:
    """The depth of nested calls on each CPU, as far as names of functions show it, as trace-cmd computes it."""

    cdef Stack* _stacks
    cdef int64_t _count

    def __dealloc__(self):
        cdef int64_t i
        for i in range(self._count):
            free(self._stacks[i].names)
        free(self._stacks)

    def follow(self, const int32_t[:] cpu, const int32_t[:] caller, const int32_t[:] callee) -> NDArray[int64]:
        """The depth of each call, in their order; names are numbers, -1 those that are not known."""
        cdef int64_t count = cpu.shape[0]
        cdef int64_t i
        cdef bint good = True
        found = np.zeros(count, np.int64)
        cdef int64_t[::1] depths = found
        if caller.shape[0] != count or callee.shape[0] != count:
            raise ValueError("a call has a CPU, a caller and a callee")
        with nogil:
            for i in range(count):
                if caller[i] < 0:
                    continue
                depths[i] = self._depth(cpu[i], caller[i], callee[i] if callee[i] >= 0 else NAMELESS)
                if depths[i] < 0:
                    good = False
                    break
        if not good:
            raise MemoryError
        return found

    # The depth of a call, which is on its CPU's stack from now on; -1 without memory.
    cdef int64_t _depth(self, int32_t cpu, int32_t caller, int32_t callee) noexcept nogil:
        cdef Stack* stack = self._of(cpu)
        cdef int32_t* moved
        cdef int64_t depth = 0
        if stack is NULL:
            return -1
        if stack.count + 2 > stack.room:
            moved = <int32_t*>realloc(stack.names, 2 * (stack.room + 8) * sizeof(int32_t))
            if moved is NULL:
                return -1
            stack.names = moved
            stack.room = 2 * (stack.room + 8)
        while depth < stack.count and stack.names[depth] != caller:
            depth += 1
        if depth == stack.count:
            depth = 0
            stack.names[0] = caller
            if stack.count == 0:
                stack.count = 1
        stack.names[depth + 1] = callee
        if stack.count < depth + 2:
            stack.count = depth + 2
        return depth

    cdef Stack* _of(self, int32_t cpu) noexcept nogil:
        cdef int64_t i
        cdef Stack* moved
        for i in range(self._count):
            if self._stacks[i].cpu == cpu:
                return &self._stacks[i]
        moved = <Stack*>realloc(self._stacks, (self._count + 1) * sizeof(Stack))
        if moved is NULL:
            return NULL
        self._stacks = moved
        moved[self._count] = Stack(cpu, NULL, 0, 0)
        self._count += 1
        return &moved[self._count - 1]
