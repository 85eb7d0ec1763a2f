# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""What the addresses of uftrace's records are: address spaces of sessions, symbols of files, and what is known of each
function: its names, and the programs that decode its arguments and return value.

Symbols and functions are told to the table when a record first has an address of theirs.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdio cimport snprintf
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy, memset

from converter.kernels.strings cimport StringTable
from converter.formats.uftrace.scan_addresses cimport CACHE_SIZE, UNLOADED, Cached, Module, Site, Space, locate
from converter.formats.uftrace.values cimport (
    MOST_VALUES, O_BYTES, O_FLOAT80, O_SIGNED, O_TEXT, O_UNSIGNED, Program,
)

UNSIGNED = O_UNSIGNED
SIGNED = O_SIGNED
FLOAT80 = O_FLOAT80
TEXT = O_TEXT
BYTES = O_BYTES

cdef enum:
    # Numbers of a site.
    PARTS = 5


cdef class FunctionTable:
    def __cinit__(self, StringTable strings not None):
        cdef int64_t i
        self._strings = strings
        self._kept = []
        self.highest_class = -1
        self.cache = <Cached*>malloc(CACHE_SIZE * sizeof(Cached))
        if self.cache is NULL:
            raise MemoryError
        for i in range(CACHE_SIZE):
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

    def add_module(self):
        self._modules = <Module*>grown(self._modules, self._module_count, sizeof(Module))
        memset(&self._modules[self._module_count], 0, sizeof(Module))
        self._modules[self._module_count].count = UNLOADED
        self._module_count += 1
        return self._module_count - 1

    def load_module(self, int32_t number, const uint64_t[::1] starts, const uint64_t[::1] ends):
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
    ):
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

    def add_program(self, const int32_t[:, ::1] operations, int32_t class_id, int32_t unmatched_class):
        cdef int64_t count = operations.shape[0]
        cdef int64_t i
        cdef Program* program
        if count > MOST_VALUES or (count and operations.shape[1] != 2):
            raise ValueError(f"{count} values")
        for i in range(count):
            if not O_UNSIGNED <= operations[i, 0] <= O_BYTES or operations[i, 1] < 0:
                raise ValueError(f"operation {operations[i, 0]} of {operations[i, 1]} bytes")
            if operations[i, 0] <= O_SIGNED and operations[i, 1] not in (1, 2, 4, 8):
                raise ValueError(f"an integer of {operations[i, 1]} bytes")
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
    ):
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
