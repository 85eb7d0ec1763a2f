# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Columns to raw AIX trace streams: the events of a class as generic entries of a user hook.

An event whose data exceed what an entry holds goes on in entries of the metadata hook. Events that AIX has a hook for are
followed by it, as its kernel would write it.
"""

from cpython.buffer cimport Py_buffer, PyBUF_FORMAT, PyBUF_STRIDES, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_FromStringAndSize

from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memcpy, memset

from converter.kernels.aix_nodes cimport (
    MAX_EMPTY_ELEMENTS, MAX_NODES, NODE_ARRAY, NODE_BOOLEAN, NODE_BYTES, NODE_LAST, NODE_NULL, NODE_NUMBER,
    NODE_OPTIONAL, NODE_STRING, NODE_STRUCTURE, NODE_VARIANT,
)
from converter.kernels.aix_words cimport __builtin_bswap16, __builtin_bswap32, __builtin_bswap64
from converter.kernels.strings cimport Entry as StringEntry, StringTable

OK = 0
TOO_LARGE = 1
BAD_COLUMN = 2
NO_MEMORY = 3
#: A list of more values without bytes than can be told.
TOO_MANY_EMPTY = 4

cdef enum:
    _OK = 0
    _TOO_LARGE = 1
    _BAD_COLUMN = 2
    _NO_MEMORY = 3
    _TOO_MANY_EMPTY = 4
    BLOCK = 1 << 20
    MAX_DATA = 4096
    MAX_REST = 1 << 26
    CONTEXT_SIZE = 20
    METADATA_HOOK = 0x0100
    OWN_CONTINUATION = 4
    OWN_TIME = 5
    FOLLOWED = 0x80000000
    MAX_WORDS = 5
    # Hook word, data word, thread id, time stamp and padding of the largest entry.
    FRAME = 48


cdef struct Node:
    int op
    int width
    bint signed
    int32_t first
    int32_t count
    int32_t extent
    const uint8_t* data
    int64_t stride
    int64_t length
    const int64_t* offsets
    const int32_t* rows


# The documented hook behind an event: nodes of the class's top level, -1 for none (zero).
cdef struct Following:
    uint32_t hook
    bint generic
    int32_t words
    int32_t word[MAX_WORDS]
    int32_t sub
    int32_t text
    int32_t tid


cdef struct Program:
    uint32_t hook
    uint32_t sub
    bint timed
    bint followed
    Following following
    int32_t node_count
    int64_t rows
    Node* nodes


cdef class Emitter:
    """Makes entries of one stream."""

    cdef int _bits
    cdef StringTable _strings
    cdef Program* _programs
    cdef int64_t _program_count
    cdef uint8_t* _out
    cdef int64_t _used
    cdef int64_t _room
    cdef uint8_t* _scratch
    cdef int64_t _scratch_room
    cdef uint32_t _high
    cdef list _buffers

    def __cinit__(self, StringTable strings not None, *, int bits):
        if bits != 32 and bits != 64:
            raise ValueError(f"a stream of {bits} bits")
        self._strings = strings
        self._bits = bits
        self._buffers = []

    def __dealloc__(self):
        cdef int64_t i
        for i in range(self._program_count):
            free(self._programs[i].nodes)
        free(self._programs)
        free(self._out)
        free(self._scratch)

    @property
    def size(self):
        return self._used

    def take(self):
        """What was emitted since the last time."""
        data = PyBytes_FromStringAndSize(<const char*>self._out, self._used)
        self._used = 0
        return data

    def add_program(self, uint32_t hook, uint32_t sub, bint timed, nodes, fields, following):
        """A program for a class; its number. Nodes are (op, width, signed, first child, children, extent).

        The first `fields` nodes are those of the fields; one without a parent behind them is only for `following`, which
        is None or (hook, generic, nodes of words, node of the subhook, of the text, of the thread id).
        """
        cdef Program program
        cdef Program* moved
        cdef int i
        cdef Node* node
        memset(&program, 0, sizeof(Program))
        program.hook = hook
        program.sub = sub
        program.timed = timed
        program.node_count = len(nodes)
        if program.node_count > MAX_NODES or not 0 <= fields <= program.node_count:
            raise ValueError("too many fields for a class")
        if following is not None:
            hook_id, generic, words, sub_node, text, tid = following
            program.followed = True
            program.following = Following(hook_id, generic, len(words), [0, 0, 0, 0, 0], sub_node, text, tid)
            if len(words) > MAX_WORDS:
                raise ValueError("too many words for a hook")
            for i in range(len(words)):
                program.following.word[i] = words[i]
            for which in (*words, sub_node, tid):
                if which >= len(nodes) or (which >= 0 and nodes[which][0] != NODE_NUMBER):
                    raise ValueError(f"no number is at {which}")
            if text >= fields or (text >= 0 and nodes[text][0] not in (NODE_STRING, NODE_BYTES)):
                raise ValueError(f"no text is at {text}")
        moved = <Program*>realloc(self._programs, (self._program_count + 1) * sizeof(Program))
        if moved is NULL:
            raise MemoryError
        self._programs = moved
        program.nodes = <Node*>calloc(program.node_count + 1, sizeof(Node))
        if program.nodes is NULL:
            raise MemoryError
        # The node behind them all stands for the event.
        program.nodes[program.node_count].count = fields
        self._programs[self._program_count] = program
        self._program_count += 1
        for i in range(program.node_count):
            node = &program.nodes[i]
            node.op, node.width, node.signed, node.first, node.count, node.extent = nodes[i]
            if not 0 <= node.op <= NODE_LAST or node.width not in (1, 2, 4, 8):
                raise ValueError(f"no node {nodes[i]}")
            if node.count < 0 or (node.count and not i < node.first <= program.node_count - node.count):
                raise ValueError(f"children of node {i} are not behind it")
        return self._program_count - 1

    def bind(self, int64_t number, int64_t rows, columns):
        """Columns for the next `emit`: for each node its data, (values, offsets) or (tags, rows); None where it has none."""
        cdef Program* program
        cdef Node* node
        cdef int i
        if not 0 <= number < self._program_count:
            raise ValueError(f"no program {number}")
        program = &self._programs[number]
        if len(columns) != program.node_count or not 0 <= rows < 1 << 40:
            raise ValueError(f"{len(columns)} columns for {program.node_count} nodes")
        program.rows = 0
        for i in range(program.node_count):
            node = &program.nodes[i]
            length, given = columns[i]
            node.length = length
            node.data = NULL
            node.offsets = NULL
            node.rows = NULL
            if node.op == NODE_NUMBER:
                node.data = self._held(given, node.width, length, &node.stride)
            elif node.op == NODE_BOOLEAN or node.op == NODE_OPTIONAL:
                node.data = self._held(given, 1, length, &node.stride)
            elif node.op == NODE_VARIANT:
                node.data = self._held(given[0], 2, length, &node.stride)
                node.rows = <const int32_t*>self._contiguous(given[1], 4, length)
            elif node.op == NODE_ARRAY:
                node.offsets = <const int64_t*>self._contiguous(given, 8, length + 1)
            elif node.op == NODE_STRING and not isinstance(given, tuple):
                node.data = self._held(given, 4, length, &node.stride)
            elif node.op == NODE_STRING or node.op == NODE_BYTES:
                values, offsets = given
                node.offsets = <const int64_t*>self._contiguous(offsets, 8, length + 1)
                node.data = self._contiguous(values, 1, len(values))
                node.stride = len(values)
        program.rows = rows

    def release(self):
        """Let go of the columns that were bound."""
        cdef int64_t i
        for i in range(self._program_count):
            self._programs[i].rows = 0
        self._buffers.clear()

    cdef const uint8_t* _held(self, array, int width, int64_t count, int64_t* stride) except? NULL:
        cdef Held held = Held(array, width, count)
        self._buffers.append(held)
        stride[0] = held.view.strides[0]
        return <const uint8_t*>held.view.buf

    cdef const uint8_t* _contiguous(self, array, int width, int64_t count) except? NULL:
        cdef int64_t stride
        cdef const uint8_t* data = self._held(array, width, count, &stride)
        if count > 1 and stride != width:
            raise ValueError("a column is not contiguous")
        return data

    def metadata(self, uint32_t kind, const uint8_t[::1] data, int64_t ts):
        """An entry of the metadata hook; ValueError for data that do not fit."""
        self.generic(METADATA_HOOK, kind, data, ts)

    def generic(self, uint32_t hook, uint32_t word, const uint8_t[::1] data, int64_t ts):
        """A generic entry whose data word, and subhook, is `word`; ValueError for data that do not fit."""
        cdef int64_t size = data.shape[0]
        if size > MAX_DATA:
            raise ValueError(f"{size} bytes in an entry")
        if self._room_for(size + FRAME) < 0:
            raise MemoryError
        self._begin(hook, word, word)
        if size:
            memcpy(self._out + self._used, &data[0], size)
        self._used += size
        self._end(hook, word, size, 0, ts, True)

    def put(self, const uint8_t[::1] data):
        """Bytes as they are."""
        if data.shape[0]:
            if self._room_for(data.shape[0]) < 0:
                raise MemoryError
            memcpy(self._out + self._used, &data[0], data.shape[0])
            self._used += data.shape[0]

    def emit(
        self,
        const int64_t[:] ts,
        const int32_t[:] program,
        const int32_t[:] row,
        const int32_t[:] thread,
        const int32_t[:] cpu,
        const int32_t[:] track,
        const uint64_t[:] tids,
        int64_t start,
    ):
        """Emit events from number `start` on until a block is full: (status, number of the next event)."""
        cdef int64_t count = ts.shape[0]
        cdef int64_t at = start
        cdef int status = _OK
        cdef uint64_t tid
        if (
            program.shape[0] != count or row.shape[0] != count or thread.shape[0] != count or cpu.shape[0] != count
            or track.shape[0] != count or not 0 <= start <= count
        ):
            raise ValueError("columns differ in length")
        with nogil:
            while at < count and self._used < BLOCK:
                tid = tids[thread[at]] if 0 <= thread[at] < tids.shape[0] else 0
                status = self._emit(ts[at], program[at], row[at], thread[at], cpu[at], track[at], tid)
                if status != _OK:
                    break
                at += 1
        if status == _NO_MEMORY:
            raise MemoryError
        return status, at

    cdef int _room_for(self, int64_t size) noexcept nogil:
        cdef int64_t room
        cdef uint8_t* moved
        if self._used + size <= self._room:
            return 0
        room = 2 * (self._used + size) + BLOCK
        moved = <uint8_t*>realloc(self._out, room)
        if moved is NULL:
            return -1
        self._out = moved
        self._room = room
        return 0

    cdef inline void _put16(self, uint32_t value) noexcept nogil:
        cdef uint16_t word = __builtin_bswap16(<uint16_t>value)
        memcpy(self._out + self._used, &word, 2)
        self._used += 2

    cdef inline void _put32(self, uint32_t value) noexcept nogil:
        cdef uint32_t word = __builtin_bswap32(value)
        memcpy(self._out + self._used, &word, 4)
        self._used += 4

    cdef inline void _put64(self, uint64_t value) noexcept nogil:
        cdef uint64_t word = __builtin_bswap64(value)
        memcpy(self._out + self._used, &word, 8)
        self._used += 8

    cdef inline void _begin(self, uint32_t hook, uint32_t sub, uint32_t word) noexcept nogil:
        # The hook word, its length still open, and the data word of a generic entry.
        if self._bits == 64:
            self._put16(0)
            self._put16(0)
            self._put16(hook)
            self._put16(sub)
            self._put64(word)
        else:
            self._put32(0)
            self._put32(word)

    cdef inline void _end(
        self, uint32_t hook, uint32_t sub, int64_t size, uint64_t tid, int64_t ts, bint timed
    ) noexcept nogil:
        # Padding, thread id and time stamp behind `size` bytes of data, and the hook word.
        cdef int64_t first
        cdef int64_t after = self._used
        if self._bits == 64:
            first = after - size - 16
            memset(self._out + after, 0, 8)
            after += -size & 7
            self._used = first
            self._put16(0xC000 if timed else 0x4000)
            self._put16(<uint32_t>size)
            self._used = after
            self._put64(tid)
            if timed:
                self._put64(<uint64_t>ts)
        else:
            first = after - size - 8
            memset(self._out + after, 0, 4)
            after += -size & 3
            self._used = first
            self._put32(hook >> 4 << 20 | (0x80000 if timed else 0) | <uint32_t>size)
            self._used = after
            self._put32(<uint32_t>tid)
            if timed:
                self._put32(<uint32_t>ts)

    cdef int _emit(
        self, int64_t ts, int64_t number, int64_t row, int32_t thread, int32_t cpu, int32_t track, uint64_t tid
    ) noexcept nogil:
        cdef Program* program
        cdef int64_t first = self._used
        cdef int64_t start, size, i, part
        cdef int status = _OK
        if number < 0 or number >= self._program_count:
            return _BAD_COLUMN
        program = &self._programs[number]
        if row < 0 or row >= program.rows:
            return _BAD_COLUMN
        if self._room_for(2 * FRAME + MAX_DATA) < 0:
            return _NO_MEMORY
        if self._bits == 32 and program.timed and <uint32_t>(<uint64_t>ts >> 32) != self._high:
            self._high = <uint32_t>(<uint64_t>ts >> 32)
            self._begin(METADATA_HOOK, OWN_TIME, OWN_TIME)
            self._put64(<uint64_t>ts)
            self._end(METADATA_HOOK, OWN_TIME, 8, 0, ts, True)
        self._begin(program.hook, program.sub, program.sub)
        start = self._used
        self._put32(<uint32_t>number | (<uint32_t>FOLLOWED if program.followed else 0))
        self._put32(<uint32_t>(cpu + 1) if cpu >= 0 else 0)
        self._put32(<uint32_t>(thread + 1) if thread >= 0 else 0)
        self._put32(<uint32_t>(track + 1) if track >= 0 else 0)
        self._put32(0)
        for i in range(program.nodes[program.node_count].count):
            status = self._write(program, &program.nodes[i], row)
            if status != _OK:
                break
        size = self._used - start
        if status == _OK and size > MAX_DATA:
            status = self._split(program, start, size, tid, ts)
        elif status == _OK:
            self._end(program.hook, program.sub, size, tid, ts, program.timed)
        if status == _OK and program.followed:
            status = self._follow(program, row, tid, ts)
        if status != _OK:
            self._used = first
        return status

    cdef int _split(self, Program* program, int64_t start, int64_t size, uint64_t tid, int64_t ts) noexcept nogil:
        # The first part ends its entry, the rest comes in entries of the metadata hook.
        cdef int64_t at = MAX_DATA
        cdef int64_t part
        cdef uint8_t* moved
        if size - MAX_DATA > MAX_REST:
            return _TOO_LARGE
        if size > self._scratch_room:
            moved = <uint8_t*>realloc(self._scratch, size)
            if moved is NULL:
                return _NO_MEMORY
            self._scratch = moved
            self._scratch_room = size
        memcpy(self._scratch, self._out + start, size)
        if self._room_for(size + (size // MAX_DATA + 2) * FRAME) < 0:
            return _NO_MEMORY
        self._used = start + 16
        self._put32(<uint32_t>(size - MAX_DATA))
        self._used = start + MAX_DATA
        self._end(program.hook, program.sub, MAX_DATA, tid, ts, program.timed)
        while at < size:
            part = size - at if size - at < MAX_DATA else MAX_DATA
            self._begin(METADATA_HOOK, OWN_CONTINUATION, OWN_CONTINUATION)
            memcpy(self._out + self._used, self._scratch + at, part)
            self._used += part
            self._end(METADATA_HOOK, OWN_CONTINUATION, part, tid, ts, program.timed)
            at += part
        return _OK

    cdef int _write(self, Program* program, const Node* node, int64_t index) noexcept nogil:
        cdef int64_t i, first, last
        cdef int32_t tag, id
        cdef const uint8_t* at
        cdef uint16_t half
        cdef uint32_t word
        cdef uint64_t double_word
        cdef StringEntry* known
        cdef int status = _OK
        if index < 0 or index >= node.length:
            return _BAD_COLUMN
        if self._room_for(64) < 0:
            return _NO_MEMORY
        if node.op == NODE_NUMBER:
            at = node.data + index * node.stride
            if node.width == 8:
                memcpy(&double_word, at, 8)
                self._put64(double_word)
            elif node.width == 4:
                memcpy(&word, at, 4)
                self._put32(word)
            elif node.width == 2:
                memcpy(&half, at, 2)
                self._put16(half)
            else:
                self._put16(<uint32_t><int32_t>(<int8_t>at[0]) if node.signed else at[0])
        elif node.op == NODE_BOOLEAN:
            self._put16(node.data[index * node.stride] != 0)
        elif node.op == NODE_STRING or node.op == NODE_BYTES:
            if node.offsets is NULL:
                memcpy(&id, node.data + index * node.stride, 4)
                if id < 0 or id >= self._strings._count:
                    return _BAD_COLUMN
                known = self._strings.entry(id)
                at = known.data
                last = known.size
            else:
                first = node.offsets[index]
                last = node.offsets[index + 1] - first
                if first < 0 or last < 0 or first > node.stride or last > node.stride - first:
                    return _BAD_COLUMN
                at = node.data + first
            if last > MAX_REST:
                return _TOO_LARGE
            if self._room_for(last + 8) < 0:
                return _NO_MEMORY
            self._put32(<uint32_t>last)
            if last:
                memcpy(self._out + self._used, at, last)
            self._used += last
        elif node.op == NODE_STRUCTURE:
            for i in range(node.count):
                status = self._write(program, &program.nodes[node.first + i], index)
                if status != _OK:
                    break
        elif node.op == NODE_OPTIONAL:
            tag = node.data[index * node.stride] != 0
            self._put16(tag)
            if tag:
                status = self._write(program, &program.nodes[node.first], index)
        elif node.op == NODE_VARIANT:
            memcpy(&half, node.data + index * node.stride, 2)
            if half >= <uint32_t>node.count:
                return _BAD_COLUMN
            self._put16(half)
            status = self._write(program, &program.nodes[node.first + half], node.rows[index])
        elif node.op == NODE_ARRAY:
            first = node.offsets[index]
            last = node.offsets[index + 1]
            if first < 0 or last < first or last - first > MAX_REST:
                return _BAD_COLUMN
            self._put32(<uint32_t>(last - first))
            i = self._used
            while first < last and status == _OK:
                status = self._write(program, &program.nodes[node.first], first)
                first += 1
            if self._used == i and last - node.offsets[index] > MAX_EMPTY_ELEMENTS:
                return _TOO_MANY_EMPTY
        return status

    cdef uint64_t _number(self, const Program* program, int32_t which, int64_t row) noexcept nogil:
        # A number of the event as 64 bits; 0 where the class has none.
        cdef const Node* node
        cdef const uint8_t* at
        cdef int16_t half
        cdef int32_t word
        cdef uint64_t double_word
        if which < 0:
            return 0
        node = &program.nodes[which]
        if row >= node.length:
            return 0
        at = node.data + row * node.stride
        if node.width == 8:
            memcpy(&double_word, at, 8)
            return double_word
        if node.width == 4:
            memcpy(&word, at, 4)
            return <uint64_t><int64_t>word if node.signed else <uint64_t><uint32_t>word
        if node.width == 2:
            memcpy(&half, at, 2)
            return <uint64_t><int64_t>half if node.signed else <uint64_t><uint16_t>half
        return <uint64_t><int64_t><int8_t>at[0] if node.signed else at[0]

    cdef int _follow(self, const Program* program, int64_t row, uint64_t tid, int64_t ts) noexcept nogil:
        cdef const Following* following = &program.following
        cdef uint32_t sub = <uint32_t>self._number(program, following.sub, row) & 0xFFFF
        cdef const Node* node
        cdef int64_t i, first, size
        cdef int32_t id
        cdef int words = following.words
        if following.tid >= 0:
            tid = self._number(program, following.tid, row)
        if self._room_for(MAX_DATA + 2 * FRAME) < 0:
            return _NO_MEMORY
        if following.generic:
            node = &program.nodes[following.text]
            self._begin(following.hook, sub, 0)
            self._used -= 8 if self._bits == 64 else 4
            if self._bits == 64:
                self._put64(self._number(program, following.word[0], row))
            else:
                self._put32(<uint32_t>self._number(program, following.word[0], row))
            if node.offsets is NULL:
                memcpy(&id, node.data + row * node.stride, 4)
                size = self._strings.entry(id).size
                size = size if size < MAX_DATA else MAX_DATA - 1
                if size:
                    memcpy(self._out + self._used, self._strings.entry(id).data, size)
            else:
                first = node.offsets[row]
                size = node.offsets[row + 1] - first
                size = size if size < MAX_DATA else MAX_DATA - 1
                if size:
                    memcpy(self._out + self._used, node.data + first, size)
            self._out[self._used + size] = 0
            self._used += size + 1
            self._end(following.hook, sub, size + 1, tid, ts, program.timed)
            return _OK
        if self._bits == 64:
            self._put16(0x8000 if program.timed else 0)
            self._put16(8 * words)
            self._put16(following.hook)
            self._put16(sub)
            for i in range(words):
                self._put64(self._number(program, following.word[i], row))
            self._put64(tid)
            if program.timed:
                self._put64(<uint64_t>ts)
            return _OK
        self._put32(
            following.hook >> 4 << 20 | (0x80000 if program.timed else 0)
            | (0x10000 if words == 0 else 0x20000 if words == 1 else 0x60000) | sub
        )
        # Hooks of more than one word always have five.
        for i in range(words if words < 2 else MAX_WORDS):
            self._put32(<uint32_t>self._number(program, following.word[i], row) if i < words else 0)
        self._put32(<uint32_t>tid)
        if program.timed:
            self._put32(<uint32_t>ts)
        return _OK


cdef class Held:
    """A buffer of the wanted element size and at least `count` elements, held as long as this is."""
    cdef Py_buffer view
    cdef bint filled

    def __cinit__(self, array, int width, int64_t count):
        PyObject_GetBuffer(array, &self.view, PyBUF_STRIDES | PyBUF_FORMAT)
        self.filled = True
        if self.view.ndim != 1 or self.view.itemsize != width or self.view.shape[0] < count:
            raise ValueError(f"expected {count} elements of {width} bytes")

    def __dealloc__(self):
        if self.filled:
            PyBuffer_Release(&self.view)
