# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The data of this converter's own hooks to columns, for all fields of a class at once.

A row whose data end too early, or contradict the declaration, reads as zero or as nothing from there on.
"""

# Stub:
# from collections.abc import Sequence
# import numpy as np

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memcpy, memset

from converter.formats.aix.entries.nodes cimport (
    MAX_EMPTY_ELEMENTS, MAX_NODES, NODE_ARRAY, NODE_BOOLEAN, NODE_BYTES, NODE_LAST, NODE_NULL, NODE_NUMBER,
    NODE_OPTIONAL, NODE_STRING, NODE_STRUCTURE, NODE_VARIANT,
)
from converter.formats.aix.entries.words cimport big16, big32, big64
from converter.kernels.batches.columns cimport HeldBuffers

# For those who make nodes.
NUMBER = NODE_NUMBER
BOOLEAN = NODE_BOOLEAN
NULL_VALUE = NODE_NULL
STRING = NODE_STRING
BYTES = NODE_BYTES
ARRAY = NODE_ARRAY
STRUCTURE = NODE_STRUCTURE
OPTIONAL = NODE_OPTIONAL
VARIANT = NODE_VARIANT


cdef enum:
    TOO_MANY_DEFAULTS = -2
    # The most values of one decoding that replace absent or damaged ones.
    MAX_DEFAULTS = 1 << 25


# `main` has a number's values, the flags of optionals, the tags of variants, the offsets of lists (int64, from the second
# on); `values` the bytes of texts, the rows of variants.
cdef struct Node:
    int op
    int width
    int32_t first
    int32_t count
    int32_t extent
    int64_t length
    uint8_t* main
    int64_t main_used
    int64_t main_room
    uint8_t* values
    int64_t values_used
    int64_t values_room


cdef class Columns:
    """Decodes the rows of one class: nodes as `aix_emit.Emitter.add_program` takes them.

    Raises ValueError for nodes that form no tree.
    """

    # Stub:
    # #: Rows that read as zero or as nothing somewhere.
    # damaged: int

    cdef Node* _nodes
    cdef int32_t _count
    cdef int32_t _fields
    cdef const uint8_t* _at
    cdef int64_t _left
    cdef bint _failed
    cdef int64_t _filled
    #: Rows that read as zero or as nothing somewhere.
    cdef readonly int64_t damaged

    def __cinit__(self, nodes: Sequence[tuple[int, int, bool, int, int, int]], int32_t fields):
        cdef int32_t i
        cdef Node* node
        if len(nodes) > MAX_NODES or not 0 <= fields <= len(nodes):
            raise ValueError("too many fields for a class")
        self._nodes = <Node*>calloc(len(nodes) + 1, sizeof(Node))
        if self._nodes is NULL:
            raise MemoryError
        self._count = len(nodes)
        self._fields = fields
        for i in range(self._count):
            node = &self._nodes[i]
            node.op, node.width, _, node.first, node.count, node.extent = nodes[i]
            good = 0 <= node.op <= NODE_LAST and node.width in (1, 2, 4, 8)
            # Children are stored after it.
            good = good and (node.count == 0 or node.count > 0 and i < node.first <= self._count - node.count)
            good = good and (node.op not in (NODE_ARRAY, NODE_OPTIONAL) or node.count == 1)
            if not good or node.op == NODE_VARIANT and not node.count:
                raise ValueError(f"no node {nodes[i]}")

    def __dealloc__(self):
        cdef int32_t i
        for i in range(self._count):
            free(self._nodes[i].main)
            free(self._nodes[i].values)
        free(self._nodes)

    def decode(self, buffers: Sequence[Any], const int64_t[::1] location, const uint32_t[::1] size) -> None:
        """Decode the rows at these locations (``segment << 32 | offset`` in one of `buffers`). Releases the GIL.

        Raises ValueError where damage, or values that are absent, would fill memory.
        """
        cdef HeldBuffers held = HeldBuffers(buffers)
        cdef int64_t i, segment, offset
        cdef int32_t k
        cdef int status = 0
        if location.shape[0] != size.shape[0]:
            raise ValueError("locations and sizes differ in length")
        with nogil:
            for i in range(location.shape[0]):
                segment = location[i] >> 32
                offset = location[i] & <int64_t>0xFFFFFFFF
                self._failed = (
                    segment < 0 or segment >= held.count or offset + <int64_t>size[i] > held.sizes[segment]
                )
                self._left = 0
                if not self._failed:
                    self._at = held.data[segment] + offset
                    self._left = size[i]
                for k in range(self._fields):
                    status = self._read(&self._nodes[k])
                    if status < 0:
                        break
                if status < 0:
                    break
                if self._failed or self._left:
                    self.damaged += 1
        if status == TOO_MANY_DEFAULTS:
            raise ValueError("more values that are not there than any trace has")
        if status < 0:
            raise MemoryError

    def length(self, int32_t node) -> int:
        """Return the number of values of a node."""
        return self._checked(node).length

    def main(self, int32_t node, dtype: np.dtype[Any]) -> NDArray[Any]:
        """The values of numbers and booleans, flags of optionals, tags of variants; of lists the end of each."""
        cdef Node* found = self._checked(node)
        return _array(found.main, found.main_used).view(dtype)

    def values(self, int32_t node, dtype: np.dtype[Any]) -> NDArray[Any]:
        """The bytes of texts, the rows of variants."""
        cdef Node* found = self._checked(node)
        return _array(found.values, found.values_used).view(dtype)

    cdef Node* _checked(self, int32_t node) except NULL:
        if not 0 <= node < self._count:
            raise ValueError(f"no node {node}")
        return &self._nodes[node]

    cdef const uint8_t* _take(self, int64_t size) noexcept nogil:
        cdef const uint8_t* at = self._at
        if self._failed or self._left < size:
            self._failed = True
            return NULL
        self._at += size
        self._left -= size
        return at

    cdef inline uint32_t _take16(self) noexcept nogil:
        cdef const uint8_t* at = self._take(2)
        return big16(at) if at is not NULL else 0

    cdef inline uint32_t _take32(self) noexcept nogil:
        cdef const uint8_t* at = self._take(4)
        return big32(at) if at is not NULL else 0

    cdef int _read(self, Node* node) noexcept nogil:
        cdef uint8_t* to
        cdef const uint8_t* at
        cdef uint16_t half
        cdef uint32_t word
        cdef uint64_t double_word
        cdef int64_t count, i, end
        cdef uint32_t tag
        cdef int32_t row
        cdef int status = 0
        if self._failed:
            # A few bytes must not become gigabytes of zeros.
            self._filled += 1
            if self._filled > MAX_DEFAULTS:
                return TOO_MANY_DEFAULTS
        node.length += 1
        if node.op == NODE_NUMBER:
            to = more(&node.main, &node.main_used, &node.main_room, node.width)
            if to is NULL:
                return -1
            at = self._take(node.width if node.width > 1 else 2)
            if at is NULL:
                memset(to, 0, node.width)
            elif node.width == 8:
                double_word = big64(at)
                memcpy(to, &double_word, 8)
            elif node.width == 4:
                word = big32(at)
                memcpy(to, &word, 4)
            elif node.width == 2:
                half = <uint16_t>big16(at)
                memcpy(to, &half, 2)
            else:
                to[0] = at[1]
        elif node.op == NODE_BOOLEAN:
            to = more(&node.main, &node.main_used, &node.main_room, 1)
            if to is NULL:
                return -1
            to[0] = self._take16() != 0
        elif node.op == NODE_STRING or node.op == NODE_BYTES:
            count = self._take32()
            at = self._take(count)
            if at is NULL:
                count = 0
            to = more(&node.values, &node.values_used, &node.values_room, count)
            if to is NULL:
                return -1
            if count:
                memcpy(to, at, count)
            return self._put_end(node, node.values_used)
        elif node.op == NODE_STRUCTURE:
            for i in range(node.count):
                status = self._read(&self._nodes[node.first + i])
                if status < 0:
                    break
        elif node.op == NODE_OPTIONAL:
            to = more(&node.main, &node.main_used, &node.main_room, 1)
            if to is NULL:
                return -1
            to[0] = self._take16() != 0
            if to[0]:
                status = self._read(&self._nodes[node.first])
            else:
                status = self._default(&self._nodes[node.first])
        elif node.op == NODE_VARIANT:
            tag = self._take16()
            if tag >= <uint32_t>node.count:
                self._failed = True
                tag = 0
            status = self._put_option(node, tag)
            if status == 0:
                status = self._read(&self._nodes[node.first + tag])
        elif node.op == NODE_ARRAY:
            count = self._take32()
            if node.extent >= 0 and count != node.extent:
                self._failed = True
            if self._failed:
                count = node.extent if node.extent > 0 else 0
            for i in range(count):
                # Elements that take no bytes would never run out of them.
                end = self._left
                status = self._read(&self._nodes[node.first])
                if status < 0 or (self._failed and node.extent < 0):
                    break
                if i >= MAX_EMPTY_ELEMENTS and end == self._left and node.extent < 0:
                    self._failed = True
                    break
            if status == 0:
                status = self._put_end(node, self._nodes[node.first].length)
        return status

    cdef int _default(self, Node* node) noexcept nogil:
        # The default for an absent value.
        cdef bint failed = self._failed
        cdef int status
        self._failed = True
        status = self._read(node)
        self._failed = failed
        return status

    cdef int _put_end(self, Node* node, int64_t end) noexcept nogil:
        cdef uint8_t* to = more(&node.main, &node.main_used, &node.main_room, 8)
        if to is NULL:
            return -1
        memcpy(to, &end, 8)
        return 0

    cdef int _put_option(self, Node* node, uint32_t tag) noexcept nogil:
        cdef uint16_t half = <uint16_t>tag
        cdef int32_t row = <int32_t>self._nodes[node.first + tag].length
        cdef uint8_t* to = more(&node.main, &node.main_used, &node.main_room, 2)
        if to is NULL:
            return -1
        memcpy(to, &half, 2)
        to = more(&node.values, &node.values_used, &node.values_room, 4)
        if to is NULL:
            return -1
        memcpy(to, &row, 4)
        return 0


cdef uint8_t* more(uint8_t** data, int64_t* used, int64_t* room, int64_t size) noexcept nogil:
    # Place for `size` more bytes, NULL without memory.
    cdef int64_t wanted
    cdef uint8_t* moved
    if used[0] + size > room[0]:
        wanted = 2 * (used[0] + size) + 256
        moved = <uint8_t*>realloc(data[0], wanted)
        if moved is NULL:
            return NULL
        data[0] = moved
        room[0] = wanted
    if data[0] is NULL:
        # For nothing at all any place will do.
        data[0] = <uint8_t*>realloc(NULL, 256)
        room[0] = 256 if data[0] is not NULL else 0
        if data[0] is NULL:
            return NULL
    used[0] += size
    return data[0] + used[0] - size


cdef _array(const uint8_t* data, int64_t size):
    array = np.empty(size, np.uint8)
    cdef uint8_t[::1] view = array
    if size:
        memcpy(&view[0], data, size)
    return array
