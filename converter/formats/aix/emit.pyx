# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Columns to raw AIX trace streams: the events of a class as generic entries of a user hook.

An event whose data exceed what an entry holds goes on in entries of the metadata hook. Events that AIX has a hook for
are followed by it, as its kernel would write it.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memcpy, memset

from converter.formats.aix.emit_entries cimport (
    BLOCK, FRAME, MAX_DATA, Output, begin_generic, end_generic, ensure, put32, put64, put_bytes,
)
from converter.formats.aix.emit_programs cimport MAX_WORDS, Following, Node, Program, put_following, put_value
from converter.formats.aix.nodes cimport (
    MAX_NODES, NODE_ARRAY, NODE_BOOLEAN, NODE_BYTES, NODE_LAST, NODE_NUMBER, NODE_OPTIONAL, NODE_STRING, NODE_VARIANT,
)
from converter.formats.aix.own_hooks cimport (
    FOLLOWED, MAX_REST, METADATA_HOOK, OWN_CONTINUATION, OWN_TIME, REST_PLACE,
)
from converter.kernels.buffers cimport HeldColumn
from converter.kernels.strings cimport StringTable


cdef class Emitter:
    """Makes entries of one stream."""

    cdef StringTable _strings
    cdef Program* _programs
    cdef int64_t _program_count
    cdef Output _out
    # The data of an event that does not fit an entry.
    cdef uint8_t* _scratch
    cdef int64_t _scratch_room
    # What of the time 32-bit entries do not have.
    cdef uint32_t _high
    cdef list _buffers

    def __cinit__(self, StringTable strings not None, *, int bits):
        if bits != 32 and bits != 64:
            raise ValueError(f"a stream of {bits} bits")
        self._strings = strings
        self._out.bits = bits
        self._buffers = []

    def __dealloc__(self):
        cdef int64_t i
        for i in range(self._program_count):
            free(self._programs[i].nodes)
        free(self._programs)
        free(self._out.data)
        free(self._scratch)

    @property
    def size(self):
        return self._out.used

    def take(self):
        """What was emitted since the last time."""
        data = PyBytes_FromStringAndSize(<const char*>self._out.data, self._out.used)
        self._out.used = 0
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
            if generic and (text < 0 or not words):
                raise ValueError("a generic hook has a word and a text")
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
        cdef HeldColumn held = HeldColumn(array, width, count)
        self._buffers.append(held)
        stride[0] = held.stride
        return held.data

    cdef const uint8_t* _contiguous(self, array, int width, int64_t count) except? NULL:
        cdef HeldColumn held = HeldColumn(array, width, count)
        held.adjoin()
        self._buffers.append(held)
        return held.data

    def metadata(self, uint32_t kind, const uint8_t[::1] data, int64_t ts):
        """An entry of the metadata hook; ValueError for data that do not fit."""
        self.generic(METADATA_HOOK, kind, data, ts)

    def generic(self, uint32_t hook, uint32_t word, const uint8_t[::1] data, int64_t ts):
        """A generic entry whose data word, and subhook, is `word`; ValueError for data that do not fit."""
        cdef int64_t size = data.shape[0]
        if size > MAX_DATA:
            raise ValueError(f"{size} bytes in an entry")
        if not ensure(&self._out, size + FRAME):
            raise MemoryError
        begin_generic(&self._out, hook, word, word)
        put_bytes(&self._out, &data[0] if size else NULL, size)
        end_generic(&self._out, hook, size, 0, ts, True)

    def put(self, const uint8_t[::1] data):
        """Bytes as they are."""
        if data.shape[0]:
            if not ensure(&self._out, data.shape[0]):
                raise MemoryError
            put_bytes(&self._out, &data[0], data.shape[0])

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
        cdef int status = OK
        cdef uint64_t tid
        if (
            program.shape[0] != count or row.shape[0] != count or thread.shape[0] != count or cpu.shape[0] != count
            or track.shape[0] != count or not 0 <= start <= count
        ):
            raise ValueError("columns differ in length")
        with nogil:
            while at < count and self._out.used < BLOCK:
                tid = tids[thread[at]] if 0 <= thread[at] < tids.shape[0] else 0
                status = self._emit(ts[at], program[at], row[at], thread[at], cpu[at], track[at], tid)
                if status != OK:
                    break
                at += 1
        if status == NO_MEMORY:
            raise MemoryError
        return status, at

    cdef int _emit(
        self, int64_t ts, int64_t number, int64_t row, int32_t thread, int32_t cpu, int32_t track, uint64_t tid
    ) noexcept nogil:
        cdef Output* out = &self._out
        cdef const Program* program
        cdef int64_t first = out.used
        cdef int64_t start, size, i
        cdef int status = OK
        if number < 0 or number >= self._program_count:
            return BAD_COLUMN
        program = &self._programs[number]
        if row < 0 or row >= program.rows:
            return BAD_COLUMN
        if not ensure(out, 2 * FRAME + MAX_DATA):
            return NO_MEMORY
        if out.bits == 32 and program.timed and <uint32_t>(<uint64_t>ts >> 32) != self._high:
            self._high = <uint32_t>(<uint64_t>ts >> 32)
            begin_generic(out, METADATA_HOOK, OWN_TIME, OWN_TIME)
            put64(out, <uint64_t>ts)
            end_generic(out, METADATA_HOOK, 8, 0, ts, True)
        begin_generic(out, program.hook, program.sub, program.sub)
        start = out.used
        put32(out, <uint32_t>number | (<uint32_t>FOLLOWED if program.followed else 0))
        put32(out, <uint32_t>(cpu + 1) if cpu >= 0 else 0)
        put32(out, <uint32_t>(thread + 1) if thread >= 0 else 0)
        put32(out, <uint32_t>(track + 1) if track >= 0 else 0)
        put32(out, 0)
        for i in range(program.nodes[program.node_count].count):
            status = put_value(out, self._strings, program, &program.nodes[i], row)
            if status != OK:
                break
        size = out.used - start
        if status == OK and size > MAX_DATA:
            status = self._split(program, start, size, tid, ts)
        elif status == OK:
            end_generic(out, program.hook, size, tid, ts, program.timed)
        if status == OK and program.followed:
            status = put_following(out, self._strings, program, row, tid, ts)
        if status != OK:
            out.used = first
        return status

    cdef int _split(self, const Program* program, int64_t start, int64_t size, uint64_t tid, int64_t ts) noexcept nogil:
        # The first part ends its entry, the rest comes in entries of the metadata hook.
        cdef Output* out = &self._out
        cdef int64_t at = MAX_DATA
        cdef int64_t part
        cdef uint8_t* moved
        if size - MAX_DATA > MAX_REST:
            return TOO_LARGE
        if size > self._scratch_room:
            moved = <uint8_t*>realloc(self._scratch, size)
            if moved is NULL:
                return NO_MEMORY
            self._scratch = moved
            self._scratch_room = size
        memcpy(self._scratch, out.data + start, size)
        if not ensure(out, size + (size // MAX_DATA + 2) * FRAME):
            return NO_MEMORY
        out.used = start + REST_PLACE
        put32(out, <uint32_t>(size - MAX_DATA))
        out.used = start + MAX_DATA
        end_generic(out, program.hook, MAX_DATA, tid, ts, program.timed)
        while at < size:
            part = size - at if size - at < MAX_DATA else MAX_DATA
            begin_generic(out, METADATA_HOOK, OWN_CONTINUATION, OWN_CONTINUATION)
            put_bytes(out, self._scratch + at, part)
            end_generic(out, METADATA_HOOK, part, tid, ts, program.timed)
            at += part
        return OK
