# cython: language_level=3, boundscheck=False, wraparound=False
"""Decompression of many chunks in one call, straight to where their pages are to be, by the system's libzstd.

The zstandard package has a libzstd of its own, which none but its own module can call: a chunk by it is a call of the
interpreter or more, new memory, and a copy. The system's is asked for by the name that its binary interface has had
since zstd 1.0.
"""

from sys import platform

from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcmp


cdef extern from "<dlfcn.h>" nogil:
    void* dlopen(const char* name, int flags)
    void* dlsym(void* library, const char* name)
    int RTLD_LAZY
    int RTLD_LOCAL


ctypedef void* (*Create)() noexcept nogil
ctypedef size_t (*Free)(void* context) noexcept nogil
ctypedef size_t (*Extent)(const void* data, size_t size) noexcept nogil
ctypedef size_t (*Decompress)(void* context, void* to, size_t room, const void* data, size_t size) noexcept nogil

cdef enum:
    # The bytes of a frame's header: its magic number, the descriptor of what follows, and the size of its window.
    HEADER = 6
    SINGLE_SEGMENT = 1 << 5
    # Windows of 128 MiB; the zstandard package refuses larger ones.
    LARGEST_WINDOW = (27 - 10) << 3

cdef Create create = NULL
cdef Free free_context = NULL
cdef Extent frame_extent = NULL
cdef Decompress decompress = NULL


# Find the functions: all or none exist.
cdef bint load_library():
    global create, free_context, frame_extent, decompress
    cdef void* library = dlopen(b"libzstd.1.dylib" if platform == "darwin" else b"libzstd.so.1", RTLD_LAZY | RTLD_LOCAL)
    cdef void* found[4]
    cdef int i
    if library is NULL:
        return False
    for i, name in enumerate(
        (b"ZSTD_createDCtx", b"ZSTD_freeDCtx", b"ZSTD_findFrameCompressedSize", b"ZSTD_decompressDCtx")
    ):
        found[i] = dlsym(library, name)
        if found[i] is NULL:
            return False
    create = <Create>found[0]
    free_context = <Free>found[1]
    frame_extent = <Extent>found[2]
    decompress = <Decompress>found[3]
    return True


cdef bint is_loaded = load_library()


def has_library() -> bool:
    """Return True if the system has the library."""
    return is_loaded


# Return True if data begins with a frame whose window the zstandard package would not refuse.
cdef inline bint is_usual(const uint8_t* data, int64_t size) noexcept nogil:
    if size < HEADER or memcmp(data, b"\x28\xb5\x2f\xfd", 4) != 0:
        return False
    return data[4] & SINGLE_SEGMENT or data[5] <= LARGEST_WINDOW


cdef class ChunkDecompressor:
    """Decompresses chunks; by one thread at a time. RuntimeError where there is no library."""

    cdef void* _context

    def __cinit__(self):
        if not is_loaded:
            raise RuntimeError("there is no library")
        self._context = create()
        if self._context is NULL:
            raise MemoryError

    def __dealloc__(self):
        if self._context is not NULL:
            free_context(self._context)

    def fill(
        self, const uint8_t[::1] data, const int64_t[:, ::1] chunks, int64_t first, uint8_t[::1] room
    ) -> tuple[int, int]:
        """Decompress chunks one after the other, from `first` on: (the next chunk, how many bytes of the output are
        filled).

        A row of `chunks` (int64, n x 3) is the offset of a chunk in `data`, its size there, and decompressed. The next
        chunk is the first that is damaged in any way, not of its size, of an unusual kind, or for which there is no
        room left; or it is the one after the last. Releases the GIL.
        """
        cdef int64_t total = data.shape[0]
        cdef int64_t count = chunks.shape[0]
        cdef int64_t filled = 0
        cdef int64_t at, packed, size
        cdef size_t extent
        if chunks.shape[1] != 3 or first < 0:
            raise ValueError("a chunk has a place and two sizes")
        with nogil:
            while first < count:
                at, packed, size = chunks[first, 0], chunks[first, 1], chunks[first, 2]
                if at < 0 or packed < 0 or packed > total or at > total - packed:
                    break
                if size < 1 or size > room.shape[0] - filled or not is_usual(&data[at], packed):
                    break
                # Data after the first frame are not part of the chunk.
                extent = frame_extent(&data[at], packed)
                if extent > <size_t>packed:
                    break
                if decompress(self._context, &room[filled], size, &data[at], extent) != <size_t>size:
                    break
                filled += size
                first += 1
        return first, filled
