# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Functions at the addresses of uftrace's records: address spaces of sessions, symbols of files, and the data of each
function: its names, and the programs that decode its arguments and return value.

Symbols and functions are passed to the table when a record first has an address of theirs.

Streams of records and of events that are decoded elsewhere: their windows, and which of them is next.
"""

# Stub:
# from converter.kernels.batches.event_arrays import EventArrays
# from converter.kernels.tables.strings import StringTable
#
# #: Operations of a program (operation, size in bytes): integers and floats take a word, as do whole registers, which
# #: int arguments fill by half, and 80-bit floats, which become doubles; texts (a length of 16 bits before them) and
# #: bytes take two, location and length.
# UNSIGNED: int
# SIGNED: int
# REGISTER: int
# FLOAT80: int
# TEXT: int
# BYTES: int

from libc.stdint cimport int32_t, INT64_MAX, int64_t, uint32_t, uint64_t, uint8_t
from libc.stdio cimport snprintf
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy, memset

from converter.formats.uftrace.arguments.values cimport (
    MOST_VALUES, O_BYTES, O_FLOAT80, O_REGISTER, O_SIGNED, O_TEXT, O_UNSIGNED, Program,
)
from converter.formats.uftrace.reading.kernels.scan_addresses cimport (
    CACHE_SIZE, Cached, locate, Module, Site, Space, UNLOADED,
)
from converter.formats.uftrace.reading.kernels.scan_streams cimport clipped, push, RECORD_SIZE, Stream
from converter.kernels.batches.event_arrays cimport EventArrays, Events, WITH_CLASS, WITH_THREAD
from converter.kernels.io.byte_order cimport HOST_IS_BIG, load64
from converter.kernels.tables.strings cimport StringTable


UNSIGNED = O_UNSIGNED
SIGNED = O_SIGNED
REGISTER = O_REGISTER
FLOAT80 = O_FLOAT80
TEXT = O_TEXT
BYTES = O_BYTES

cdef enum:
    # Numbers of a site.
    PARTS = 5


cdef class FunctionTable:
    """The functions at the addresses of records, for one `Scanner`; its arrays are kept.

    `module` and `symbol` are those that the scanner lacks (`NEED_SYMBOL`): with symbol -1 the module's symbols.
    """

    # Stub:
    # module: int
    # symbol: int

    def __cinit__(self, StringTable strings not None):
        cdef int64_t i
        self._strings = strings
        self._kept = []
        self.highest_class = -1
        self.cache = <Cached*>malloc(CACHE_SIZE * sizeof(Cached))
        if self.cache is NULL:
            raise MemoryError
        for i in range(CACHE_SIZE):
            self.cache[i].address = 0
            self.cache[i].space = -1

    def __dealloc__(self):
        cdef int64_t i
        for i in range(self._module_count):
            free(self._modules[i].sites)
        for i in range(self._program_count):
            free(self.programs[i].operations)
        free(self._modules)
        free(self._spaces)
        free(self.programs)
        free(self.cache)

    def add_module(self) -> int:
        """A file with symbols, which `load_module` returns when an address is in it; return its number."""
        self._modules = <Module*>grown(self._modules, self._module_count, sizeof(Module))
        memset(&self._modules[self._module_count], 0, sizeof(Module))
        self._modules[self._module_count].count = UNLOADED
        self._module_count += 1
        return self._module_count - 1

    def load_module(self, int32_t number, const uint64_t[::1] starts, const uint64_t[::1] ends) -> None:
        """The symbols of a module, ascending."""
        cdef int64_t count = starts.shape[0]
        cdef Module* module
        if ends.shape[0] != count:
            raise ValueError("starts and ends differ in length")
        if not 0 <= number < self._module_count or self._modules[number].count != UNLOADED:
            raise ValueError(f"module {number} of {self._module_count}")
        module = &self._modules[number]
        module.sites = <int32_t*>malloc((PARTS * count + 1) * sizeof(int32_t))
        if module.sites is NULL:
            raise MemoryError
        memset(module.sites, 0xff, (PARTS * count + 1) * sizeof(int32_t))
        module.starts = &starts[0] if count else NULL
        module.ends = &ends[0] if count else NULL
        module.count = count
        self._kept.append((starts, ends))

    def add_space(
        self,
        const uint64_t[::1] starts,
        const uint64_t[::1] ends,
        const uint64_t[::1] bases,
        const int32_t[::1] modules,
    ) -> int:
        """Mappings, ascending, of modules (-1: of no symbols); its number."""
        cdef int64_t count = starts.shape[0]
        cdef int64_t i
        cdef Space* space
        if ends.shape[0] != count or bases.shape[0] != count or modules.shape[0] != count:
            raise ValueError("the columns differ in length")
        for i in range(count):
            if modules[i] >= self._module_count:
                raise ValueError(f"module {modules[i]} of {self._module_count}")
        self._spaces = <Space*>grown(self._spaces, self.space_count, sizeof(Space))
        space = &self._spaces[self.space_count]
        space.count = count
        space.starts = &starts[0] if count else NULL
        space.ends = &ends[0] if count else NULL
        space.bases = &bases[0] if count else NULL
        space.modules = &modules[0] if count else NULL
        self._kept.append((starts, ends, bases, modules))
        self.space_count += 1
        return self.space_count - 1

    def add_program(self, const int32_t[:, ::1] operations, int32_t class_id, int32_t unmatched_class) -> int:
        """Add the program that decodes an argument record (n x 2), and the class of its events (-1: left out); return
        its number.
        """
        cdef int64_t count = operations.shape[0]
        cdef int64_t i
        cdef Program* program
        if count > MOST_VALUES or (count and operations.shape[1] != 2):
            raise ValueError(f"{count} values")
        for i in range(count):
            if not O_UNSIGNED <= operations[i, 0] <= O_REGISTER or operations[i, 1] < 0:
                raise ValueError(f"operation {operations[i, 0]} of {operations[i, 1]} bytes")
            if operations[i, 0] <= O_SIGNED and operations[i, 1] not in (1, 2, 4, 8):
                raise ValueError(f"an integer of {operations[i, 1]} bytes")
            if operations[i, 0] == O_REGISTER and operations[i, 1] != 8:
                raise ValueError(f"a register of {operations[i, 1]} bytes")
            if operations[i, 0] == O_FLOAT80 and operations[i, 1] != 10:
                raise ValueError(f"an 80-bit float of {operations[i, 1]} bytes")
        if class_id >= 0 and unmatched_class < 0:
            raise ValueError(f"class {unmatched_class}")
        self.programs = <Program*>grown(self.programs, self._program_count, sizeof(Program))
        program = &self.programs[self._program_count]
        program.operations = <int32_t*>malloc((2 * count + 1) * sizeof(int32_t))
        if program.operations is NULL:
            raise MemoryError
        if count:
            memcpy(program.operations, &operations[0, 0], 2 * count * sizeof(int32_t))
        program.count = <int32_t>count
        program.class_id = class_id
        program.unmatched = unmatched_class
        self._program_count += 1
        self.highest_class = max(self.highest_class, class_id, unmatched_class)
        return self._program_count - 1

    def set_site(
        self, int32_t module, int64_t symbol, int32_t name, int32_t category, int32_t entry, int32_t leave,
        int32_t source,
    ) -> None:
        """The names (ids) of a symbol, its programs (-1: none), and its place in the source (an id; -1: unknown)."""
        cdef int32_t* site
        if not 0 <= module < self._module_count or not 0 <= symbol < self._modules[module].count:
            raise ValueError(f"symbol {symbol} of module {module}")
        if name < 0 or category < 0 or source < -1:
            raise ValueError("no such string")
        if not -1 <= entry < self._program_count or not -1 <= leave < self._program_count:
            raise ValueError("no such program")
        site = &self._modules[module].sites[PARTS * symbol]
        site[0] = name
        site[1] = category
        site[2] = entry
        site[3] = leave
        site[4] = source

    cdef int resolve(self, Cached* cached, uint64_t address, int32_t space) noexcept nogil:
        cdef int32_t module = -1
        cdef int64_t symbol = -1
        cdef int32_t* site
        cdef char[24] text
        cdef int length
        cdef int32_t name
        if locate(&self._spaces[space], self._modules, address, &module, &symbol):
            self.module = module
            self.symbol = symbol
            if symbol == UNLOADED:
                return SITE_MISSING
            site = &self._modules[module].sites[PARTS * symbol]
            if site[0] < 0:
                return SITE_MISSING
            memcpy(&cached.site, site, sizeof(Site))
        else:
            length = snprintf(text, sizeof(text), "<%lx>", <unsigned long>address)
            name = self._strings.find_or_add(<const uint8_t*>text, <uint32_t>length)
            if name < 0:
                return OUT_OF_MEMORY
            cached.site.name = name
            cached.site.category = 0
            cached.site.entry = -1
            cached.site.exit = -1
            cached.site.source = -1
        cached.address = address
        cached.space = space
        return RESOLVED


cdef void* grown(void* array, int64_t count, size_t size) except NULL:
    cdef void* moved
    if array is not NULL and count & (count - 1):
        return array
    moved = realloc(array, (2 * count if count else 1) * size)
    if moved is NULL:
        raise MemoryError
    return moved


cdef class Streams:
    """Streams by number, as they are added; at equal times the lower number goes first. What `Scanner` is based on."""

    def __cinit__(
        self, object strings, FunctionTable functions not None, *, bint big_endian, bint close_abandoned, object classes
    ):
        self._functions = functions
        self._close = close_abandoned
        self._swap = big_endian != HOST_IS_BIG
        self._kept = []
        self._windows = []

    def __dealloc__(self):
        cdef int64_t i
        for i in range(self._stream_count):
            free(self._streams[i].frames)
            if self._streams[i].estimates is not NULL:
                free(self._streams[i].estimates.frames)
                free(self._streams[i].estimates)
        free(self._streams)
        free(self._heap.items)

    cdef Stream* _add_stream(self) except NULL:
        cdef Stream* stream
        cdef int32_t* items
        self._streams = <Stream*>grown(self._streams, self._stream_count, sizeof(Stream))
        self._heap.streams = self._streams
        items = <int32_t*>realloc(self._heap.items, (self._stream_count + 1) * sizeof(int32_t))
        if items is NULL:
            raise MemoryError
        self._heap.items = items
        stream = &self._streams[self._stream_count]
        memset(stream, 0, sizeof(Stream))
        self._windows.append(None)
        self._stream_count += 1
        return stream

    cdef Stream* _empty(self, int32_t number, bint is_ready, int64_t segment) except NULL:
        cdef int32_t i
        if not 0 <= number < self._stream_count or self._streams[number].is_ready != is_ready:
            raise ValueError(f"stream {number} of {self._stream_count}")
        for i in range(self._heap.waiting):
            if self._heap.items[i] == number:
                raise ValueError(f"stream {number} still has events")
        if not 0 <= segment < 1 << 31:
            raise ValueError(f"segment {segment}")
        return &self._streams[number]

    def add_tasks(self, int32_t thread, const int64_t[::1] times, const int32_t[::1] spaces) -> int:
        """A stream of a task file's records; from times[i] on its addresses are those of spaces[i]."""
        cdef Stream* stream
        cdef int64_t i
        if times.shape[0] != spaces.shape[0] or times.shape[0] == 0:
            raise ValueError("times and spaces differ in length")
        for i in range(spaces.shape[0]):
            if not 0 <= spaces[i] < self._functions.space_count:
                raise ValueError(f"space {spaces[i]} of {self._functions.space_count}")
        stream = self._add_stream()
        stream.thread = thread
        stream.cpu = -1
        stream.times = &times[0]
        stream.spaces = &spaces[0]
        stream.space_count = spaces.shape[0]
        stream.next_space = times[1] if times.shape[0] > 1 else INT64_MAX
        stream.tracked = self._close
        stream.adrift = True
        stream.time = 0
        self._kept.append((times, spaces))
        return self._stream_count - 1

    def untracked(self) -> int:
        """Streams whose depth is no longer followed since it exceeds what memory allows."""
        cdef int32_t i
        if not self._close:
            return 0
        return sum([1 for i in range(self._stream_count) if not self._streams[i].is_ready and not self._streams[i].tracked])

    def add_ready(self, int32_t cpu) -> int:
        """A stream of events that are decoded elsewhere; its number."""
        cdef Stream* stream = self._add_stream()
        stream.is_ready = True
        stream.cpu = cpu
        return self._stream_count - 1

    def feed(self, int32_t number, const uint8_t[::1] window, int64_t segment, bint final) -> None:
        """Give a stream of records its next window, which starts where `consumed` said; it is kept."""
        cdef Stream* stream = self._empty(number, False, segment)
        if window.shape[0] > 0x7fffffff:
            raise ValueError("a window of 2 GiB and more")
        self._windows[number] = window
        stream.data = &window[0] if window.shape[0] else NULL
        stream.at = 0
        stream.end = window.shape[0]
        stream.segment = segment
        stream.final = final
        if stream.end >= RECORD_SIZE:
            stream.next_ts = clipped(load64(stream.data, self._swap))
        else:
            # The run over it finds that there is no whole record.
            stream.next_ts = 0
        push(&self._heap, number)

    def resume(self, int32_t number, const uint8_t[::1] window, int64_t segment, bint final) -> None:
        """Give a stream its next window, before which records of unknown depth are lost."""
        self.feed(number, window, segment, final)
        self._streams[number].adrift = True

    def feed_ready(
        self,
        int32_t number,
        EventArrays events not None,
        int64_t count,
        const uint8_t[::1] data,
        int64_t segment,
    ) -> None:
        """Give an empty stream its next events, whose payloads lie in `data`, the segment. The arrays are kept."""
        cdef Events columns = events.common(WITH_CLASS | WITH_THREAD)
        cdef Stream* stream = self._empty(number, True, segment)
        if not 0 <= count <= columns.count:
            raise ValueError("the columns are shorter than the count")
        if count == 0:
            return
        self._windows[number] = (events, data)
        stream.ts = columns.ts
        stream.class_id = columns.class_id
        stream.threads = columns.thread
        stream.start = <const uint32_t*>events.own("start", 4)
        stream.size = <const uint32_t*>events.own("size", 4)
        stream.at = 0
        stream.end = count
        stream.data_size = data.shape[0]
        stream.data = &data[0] if data.shape[0] else NULL
        stream.segment = segment
        stream.next_ts = columns.ts[0]
        push(&self._heap, number)

    def consumed(self, int32_t number) -> int:
        """Bytes of the stream's window that have become events."""
        if not 0 <= number < self._stream_count:
            raise ValueError(f"stream {number} of {self._stream_count}")
        return self._streams[number].at

    def renumber(self, int32_t number, int64_t segment) -> None:
        """From now on the stream's window is `segment`."""
        if not 0 <= number < self._stream_count or not 0 <= segment < 1 << 31:
            raise ValueError(f"stream {number}, segment {segment}")
        self._streams[number].segment = segment
