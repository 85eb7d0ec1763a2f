# cython: language_level=3, boundscheck=False, wraparound=False
"""Memory that is set aside for the interpreter's own objects, so that an error can be raised when there is no more.

Python ends the process with SIGABRT if there is no memory for the exception that says so. Objects come from arenas; when
the system refuses one, the reserve is given back to it, the arena is requested again, and the main thread gets a
MemoryError. It then has the rest of the reserve to end in order.
"""

from libc.stddef cimport size_t
from posix.mman cimport MAP_ANONYMOUS, MAP_FAILED, MAP_PRIVATE, PROT_READ, PROT_WRITE, mmap, munmap

cdef extern from "Python.h":
    ctypedef struct PyObjectArenaAllocator:
        void* ctx
        void* (*alloc)(void* ctx, size_t size) noexcept nogil
        void (*free)(void* ctx, void* arena, size_t size) noexcept nogil

    void PyObject_GetArenaAllocator(PyObjectArenaAllocator* allocator)
    void PyObject_SetArenaAllocator(PyObjectArenaAllocator* allocator)
    int Py_AddPendingCall(int (*call)(void*) except -1, void* argument) nogil


cdef PyObjectArenaAllocator system
cdef void* reserved = NULL
cdef size_t reserved_size = 0


cdef int refuse(void* _argument) except -1:
    raise MemoryError


cdef void* arena(void* ctx, size_t size) noexcept nogil:
    global reserved
    cdef void* given = system.alloc(ctx, size)
    if given is not NULL or reserved is NULL:
        return given
    munmap(reserved, reserved_size)
    reserved = NULL
    Py_AddPendingCall(refuse, NULL)
    return system.alloc(ctx, size)


def set_aside(size_t size) -> bool:
    """Set memory aside, of which no page is used, until the system refuses more; return False if there is none."""
    global reserved, reserved_size
    cdef PyObjectArenaAllocator ours
    if reserved is not NULL:
        return True
    reserved = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
    if reserved is <void*>MAP_FAILED:
        reserved = NULL
        return False
    reserved_size = size
    if system.alloc is NULL:
        PyObject_GetArenaAllocator(&system)
        ours.ctx, ours.alloc, ours.free = system.ctx, arena, system.free
        PyObject_SetArenaAllocator(&ours)
    return True


def give_back() -> None:
    """Let everything be used: an error is being reported."""
    global reserved
    if reserved is not NULL:
        munmap(reserved, reserved_size)
        reserved = NULL
