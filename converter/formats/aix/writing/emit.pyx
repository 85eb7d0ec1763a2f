# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Columns to raw AIX trace streams: the events of a class as generic entries of a user hook.

An event whose data exceed what an entry holds goes on in entries of the metadata hook. Events that AIX has a hook for
are followed by it, as its kernel would write it.
"""

# Stub:
# from converter.kernels.batches.programs import ProgramSet
# from collections.abc import Sequence
# from converter.kernels.batches.event_arrays import EventArrays
# from converter.kernels.tables.strings import StringTable

from cpython.bytes cimport PyBytes_FromStringAndSize

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memset

from converter.formats.aix.entries.nodes cimport MAX_NODES, NODE_BYTES, NODE_LAST, NODE_NUMBER, NODE_STRING
from converter.formats.aix.entries.own_hooks cimport (
    FOLLOWED, MAX_REST, METADATA_HOOK, OWN_CONTINUATION, OWN_TIME, REST_PLACE,
)
from converter.formats.aix.writing.emit_entries cimport BLOCK, FRAME, MAX_DATA, Stream, begin_generic, end_generic
from converter.formats.aix.writing.emit_programs cimport MAX_WORDS, Following, Node, Program, put_following, put_value
from converter.kernels.batches.column_view cimport (
    Takes, TAKES_BYTES, TAKES_LIST, TAKES_NOTHING, TAKES_SCALAR, TAKES_TEXT, TAKES_UNION, TAKES_VALIDITY,
)
from converter.kernels.batches.columns cimport BoundColumns
from converter.kernels.batches.event_arrays cimport (
    EventArrays, Events, WITH_CLASS, WITH_CPU, WITH_ROW, WITH_THREAD, WITH_TRACK,
)
from converter.kernels.io.byte_order cimport HOST_IS_LITTLE
from converter.kernels.io.output cimport Output, ensure, put32, put64, put_bytes
from converter.kernels.batches.programs cimport ProgramSet
from converter.kernels.tables.strings cimport StringTable

# The input that each node takes.
cdef Takes[NODE_LAST + 1] TAKES
TAKES[:] = [
    TAKES_SCALAR, TAKES_VALIDITY, TAKES_NOTHING, TAKES_TEXT, TAKES_BYTES, TAKES_LIST, TAKES_NOTHING, TAKES_VALIDITY,
    TAKES_UNION,
]


cdef class Emitter(ProgramSet):
    """Makes the entries of one stream, of a kernel of 64 or 32 bits.

    What `bind` takes for a node: of numbers, booleans, flags of optionals and ids of texts an array, of lists of bytes
    (values, offsets), of arrays their offsets, of variants (tags, rows), of others None.
    """

    cdef Program* _programs
    cdef Stream _to
    # The data of an event that does not fit an entry.
    cdef Output _scratch
    # The upper bits of the time, which 32-bit entries do not have.
    cdef uint32_t _high

    def __cinit__(self, StringTable strings not None, *, int bits):
        if bits != 32 and bits != 64:
            raise ValueError(f"a stream of {bits} bits")
        self._to.bits = bits

    def __dealloc__(self):
        free(self._to.out.data)
        free(self._scratch.data)

    @property
    def size(self) -> int:
        """Bytes emitted and not taken yet."""
        return self._to.out.used

    def take(self) -> bytes:
        """Return the output since the last call."""
        data = PyBytes_FromStringAndSize(<const char*>self._to.out.data, self._to.out.used)
        self._to.out.used = 0
        return data

    def add_program(
        self,
        uint32_t hook,
        uint32_t sub,
        bint timed,
        nodes: Sequence[tuple[int, int, bool, int, int, int]],
        fields: int,
        following: tuple[Any, ...] | None,
    ) -> int:
        """Add the program of a class; return its number.

        Nodes are (operation, width, signed, first child, children, extent); the first `fields` are those of the fields.
        `following` is the documented hook after each event: (hook, generic, nodes of words, node of the subhook, of the
        text, of the thread id), -1 for zero. Raises ValueError for nodes that form no tree.
        """
        cdef Program program
        cdef Program* added
        cdef BoundColumns columns
        cdef int i
        cdef Node* node
        memset(&program, 0, sizeof(Program))
        program.hook = hook
        program.sub = sub
        program.timed = timed
        program.node_count = len(nodes)
        if program.node_count > MAX_NODES or not 0 <= fields <= program.node_count:
            raise ValueError("too many fields for a class")
        program.field_count = fields
        if following is not None:
            hook_id, generic, words, sub_node, text, tid = following
            program.followed = True
            program.following = Following(hook_id, generic, len(words), [0, 0, 0, 0, 0], sub_node, text, tid)
            good = len(words) <= MAX_WORDS
            for i in range(len(words) if good else 0):
                program.following.word[i] = words[i]
            for which in (*words, sub_node, tid):
                good = good and (which < 0 or which < len(nodes) and nodes[which][0] == NODE_NUMBER)
            good = good and (text < 0 or text < fields and nodes[text][0] in (NODE_STRING, NODE_BYTES))
            # A generic hook has a word and a text.
            if not good or generic and (text < 0 or not words):
                raise ValueError("the hook that follows has other words than the class")
        for i, (op, width, _, first, count, _) in enumerate(nodes):
            good = 0 <= op <= NODE_LAST and width in (1, 2, 4, 8)
            # Children are stored after it.
            if not good or count < 0 or (count and not i < first <= program.node_count - count):
                raise ValueError(f"no node {nodes[i]}")
        columns = BoundColumns(program.node_count)
        added = <Program*>self.add(sizeof(Program), columns, program.node_count * sizeof(Node))
        self._programs = <Program*>self._programs_memory
        program.views, program.nodes = added.views, added.nodes
        added[0] = program
        for i in range(program.node_count):
            node = &program.nodes[i]
            node.op, node.width, node.signed, node.first, node.count, node.extent = nodes[i]
            columns.need(i, TAKES[node.op], node.width if node.op == NODE_NUMBER else 1)
        return self._program_count - 1

    # How many rows the columns of nested nodes have only their rows can tell.
    cdef int64_t _bound(self, int64_t number, int64_t rows, BoundColumns columns) except -1:
        return rows

    def metadata(self, uint32_t kind, const uint8_t[::1] data, int64_t ts) -> None:
        """An entry of the metadata hook; ValueError for data that do not fit."""
        self.generic(METADATA_HOOK, kind, data, ts)

    def generic(self, uint32_t hook, uint32_t word, const uint8_t[::1] data, int64_t ts) -> None:
        """A generic entry whose data word, and subhook, is `word`; ValueError for data that do not fit."""
        cdef int64_t size = data.shape[0]
        if size > MAX_DATA:
            raise ValueError(f"{size} bytes in an entry")
        if not ensure(&self._to.out, size + FRAME):
            raise MemoryError
        begin_generic(&self._to, hook, word, word)
        put_bytes(&self._to.out, &data[0] if size else NULL, size)
        end_generic(&self._to, hook, size, 0, ts, True)

    def put(self, const uint8_t[::1] data) -> None:
        """Bytes as they are."""
        if data.shape[0]:
            if not ensure(&self._to.out, data.shape[0]):
                raise MemoryError
            put_bytes(&self._to.out, &data[0], data.shape[0])

    def emit(self, EventArrays columns not None, const uint64_t[:] tids, int64_t start) -> tuple[int, int]:
        """Emit events from number `start` on until a block is full: (status, number of the next event).

        `class_id` are the programs, `tids` those of the threads. With a status other than OK the next event is the one
        that failed. Releases the GIL.
        """
        cdef Events events = columns.common(WITH_CLASS | WITH_ROW | WITH_THREAD | WITH_CPU | WITH_TRACK)
        cdef int64_t at = start
        cdef int status = OK
        cdef int32_t thread
        cdef uint64_t tid
        if not 0 <= start <= events.count:
            raise ValueError(f"event {start} of {events.count}")
        with nogil:
            while at < events.count and self._to.out.used < BLOCK:
                thread = events.thread[at]
                tid = tids[thread] if 0 <= thread < tids.shape[0] else 0
                status = self._emit(
                    events.ts[at], events.class_id[at], events.row[at], thread, events.cpu[at], events.track[at], tid
                )
                if status != OK:
                    break
                at += 1
        if status == NO_MEMORY:
            raise MemoryError
        return status, at

    cdef int _emit(
        self, int64_t ts, int64_t number, int64_t row, int32_t thread, int32_t cpu, int32_t track, uint64_t tid
    ) noexcept nogil:
        cdef Output* out = &self._to.out
        cdef const Program* program
        cdef int64_t first = out.used
        cdef int64_t start, size, i
        cdef int status = OK
        if number < 0 or number >= self._program_count:
            return BAD_COLUMN
        program = &self._programs[number]
        if row < 0 or row >= program.rows:
            return BAD_COLUMN
        if not ensure(out, 2 * FRAME + MAX_DATA, BLOCK):
            return NO_MEMORY
        if self._to.bits == 32 and program.timed and <uint32_t>(<uint64_t>ts >> 32) != self._high:
            self._high = <uint32_t>(<uint64_t>ts >> 32)
            begin_generic(&self._to, METADATA_HOOK, OWN_TIME, OWN_TIME)
            put64(out, <uint64_t>ts, HOST_IS_LITTLE)
            end_generic(&self._to, METADATA_HOOK, 8, 0, ts, True)
        begin_generic(&self._to, program.hook, program.sub, program.sub)
        start = out.used
        put32(out, <uint32_t>number | (<uint32_t>FOLLOWED if program.followed else 0), HOST_IS_LITTLE)
        put32(out, <uint32_t>cpu + 1 if cpu >= 0 else 0, HOST_IS_LITTLE)
        put32(out, <uint32_t>thread + 1 if thread >= 0 else 0, HOST_IS_LITTLE)
        put32(out, <uint32_t>track + 1 if track >= 0 else 0, HOST_IS_LITTLE)
        put32(out, 0, HOST_IS_LITTLE)
        for i in range(program.field_count):
            status = put_value(out, self._strings, program, i, row)
            if status != OK:
                break
        size = out.used - start
        if status == OK and size > MAX_DATA:
            status = self._split(program, start, size, tid, ts)
        elif status == OK:
            end_generic(&self._to, program.hook, size, tid, ts, program.timed)
        if status == OK and program.followed:
            status = put_following(&self._to, self._strings, program, row, tid, ts)
        if status != OK:
            out.used = first
        return status

    cdef int _split(self, const Program* program, int64_t start, int64_t size, uint64_t tid, int64_t ts) noexcept nogil:
        # The first part ends its entry, the rest comes in entries of the metadata hook.
        cdef Output* out = &self._to.out
        cdef int64_t at = MAX_DATA
        cdef int64_t part
        if size - MAX_DATA > MAX_REST:
            return TOO_LARGE
        self._scratch.used = 0
        if not ensure(&self._scratch, size) or not ensure(out, size + (size // MAX_DATA + 2) * FRAME):
            return NO_MEMORY
        put_bytes(&self._scratch, out.data + start, size)
        out.used = start + REST_PLACE
        put32(out, <uint32_t>(size - MAX_DATA), HOST_IS_LITTLE)
        out.used = start + MAX_DATA
        end_generic(&self._to, program.hook, MAX_DATA, tid, ts, program.timed)
        while at < size:
            part = size - at if size - at < MAX_DATA else MAX_DATA
            begin_generic(&self._to, METADATA_HOOK, OWN_CONTINUATION, OWN_CONTINUATION)
            put_bytes(out, self._scratch.data + at, part)
            end_generic(&self._to, METADATA_HOOK, part, tid, ts, program.timed)
            at += part
        return OK
