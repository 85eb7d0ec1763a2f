# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The mappings of processes, which records change in the order of time, and the call stacks of samples in them."""

# Stub:
# from converter.formats.perf.data.reading.samples import SampledEvents
# from converter.kernels.batches.gather import Segments
# from converter.kernels.tables.strings import StringTable

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdio cimport snprintf
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memchr, memcmp, memcpy, memmove, memset

from converter.formats.perf.data.reading.chains cimport Chains, Key, clear_chains, find_or_add_chain
from converter.formats.perf.data.reading.samples cimport (
    CALLCHAIN, HEADER, PARTS, SampledEvents, Shape, find_parts,
)
from converter.kernels.batches.gather cimport Segments
from converter.kernels.io.byte_order cimport load16, load32, load64
from converter.kernels.tables.numbers cimport (
    FAILED, Numbers, find_key, find_or_add_key, find_or_add_pair, free_numbers,
)
from converter.kernels.tables.strings cimport StringTable

cdef enum:
    SAMPLES = 768
    NATIVES = 256
    WITH_BUILD_ID = 2
    R_MMAP = 1
    R_FORK = 7
    R_MMAP2 = 10
    # The values of constant place of a mapping's record, of each type, with the header.
    MMAP_NAME = 40
    MMAP2_NAME = 72
    PROTECTION = 64
    EXECUTE = 4
    MADE_NAME = 32
    MISC_MODE = 7
    KERNEL_MODE = 1
    USER_MODE = 2
    MISC_EXEC = 1 << 13
    MISC_DATA = 1 << 13
    # The size of a chain made of a sample's address and mode.
    SINGLE = 9
    # The space of the kernel.
    KERNEL = 0
    # The stack without frames.
    EMPTY = 0
    # More frames than this, and more of all stacks together, are forgotten at the end of a batch.
    KEPT_FRAMES = 1 << 20
    KEPT_IN_STACKS = 1 << 19
    # Addresses whose frames are remembered: 2 to the power of this.
    RECENT_BITS = 14

# PERF_CONTEXT_*
cdef uint64_t FIRST_MARK = <uint64_t>-4095
cdef uint64_t KERNEL_MARK = <uint64_t>-128
cdef uint64_t USER_MARK = <uint64_t>-512


# An address in it is, with `delta`, an offset in the file of its name.
cdef struct Range:
    uint64_t start
    uint64_t end
    uint64_t delta
    int32_t name


# Ascending ranges, which do not overlap. Processes share one until it changes.
cdef struct Space:
    Range* ranges
    int64_t count
    int64_t room
    # Another one after each change.
    uint64_t stamp
    int32_t users


# The number of a frame that was looked up, and 1. Without a space, the stamp is 0.
cdef struct Recent:
    uint64_t address
    uint64_t stamp
    int32_t frame


# Where stacks are put: see `AddressSpaces.resolve`.
cdef struct Filling:
    int64_t* ends
    int32_t* frames
    int64_t room


cdef inline bint has_start(const uint8_t* text, int64_t size, const char* start, int64_t length) noexcept nogil:
    return size >= length and memcmp(text, start, length) == 0


# The number of ranges that end at or before an address: the next one is the first that may hold it.
cdef inline int64_t ended_by(const Space* space, uint64_t address) noexcept nogil:
    cdef int64_t low = 0
    cdef int64_t high = space.count
    cdef int64_t middle
    while low < high:
        middle = (low + high) // 2
        if space.ranges[middle].end <= address:
            low = middle + 1
        else:
            high = middle
    return low


cdef class AddressSpaces:
    """The mappings of all processes at a time of the recording; for one thread at a time.

    Args:
        events: the sampled events.
        strings: of the trace; names of mappings are added.
        most: the most ranges of all processes together.
        zero_is_none: a frame at offset 0 is left out of stacks.
    """

    # Stub:
    # #: Mappings for which there was no room.
    # refused: int
    # #: The number of stacks since the last `forget`, and that of their frames together.
    # stack_count: int
    # filled: int

    cdef SampledEvents _events
    cdef StringTable _strings
    cdef int64_t _most
    cdef int64_t _ranges
    cdef readonly int64_t refused
    cdef Space* _spaces
    cdef int64_t _space_count
    cdef int64_t _space_room
    # By pid: the number of its space, and 1.
    cdef Numbers _of_pid
    # By mapping's name and offset.
    cdef Numbers _frames
    # Those that were looked up last: as many lookups as there are distinct addresses, not frames.
    cdef Recent[1 << RECENT_BITS] _recent
    cdef uint64_t _stamps
    cdef bint _zero_is_none
    cdef Chains _chains
    cdef readonly int64_t stack_count
    cdef readonly int64_t filled

    def __cinit__(
        self,
        SampledEvents events not None,
        StringTable strings not None,
        int64_t most,
        *,
        bint zero_is_none=False,
    ):
        self._events = events
        self._strings = strings
        self._most = most
        self._zero_is_none = zero_is_none
        memset(&self._of_pid, 0, sizeof(self._of_pid))
        memset(&self._frames, 0, sizeof(self._frames))
        memset(&self._chains, 0, sizeof(self._chains))
        self._of_pid.item_size = sizeof(int32_t)
        self._of_pid.seed = <uint64_t>np.random.default_rng().integers(1 << 62)
        self._frames.seed = <uint64_t>np.random.default_rng().integers(1 << 62)
        self._chains.seed = <uint64_t>np.random.default_rng().integers(1 << 62)
        self.stack_count = EMPTY + 1
        if self._new_space() != KERNEL:
            raise MemoryError

    def __dealloc__(self):
        cdef int64_t i
        for i in range(self._space_count):
            free(self._spaces[i].ranges)
        free(self._spaces)
        free_numbers(&self._of_pid)
        free_numbers(&self._frames)
        clear_chains(&self._chains)

    def frames(self, int64_t known) -> tuple[NDArray[int32], NDArray[uint64]]:
        """Return the mapping's name and the offset in it of frames, from the number `known` on."""
        cdef int64_t count = max(self._frames.count - known, 0)
        cdef int64_t i
        cdef int32_t[::1] name
        cdef uint64_t[::1] offset
        names, offsets = np.empty(count, np.int32), np.empty(count, np.uint64)
        name, offset = names, offsets
        for i in range(count):
            name[i] = <int32_t>self._frames.keys[2 * (known + i)]
            offset[i] = self._frames.keys[2 * (known + i) + 1]
        return names, offsets

    def forget(self) -> bool:
        """Forget the frames and stacks if there are very many; True if so: their numbers start again."""
        cdef int64_t item_size = self._frames.item_size
        cdef uint64_t seed = self._frames.seed
        if self._frames.count <= KEPT_FRAMES and self.filled <= KEPT_IN_STACKS:
            return False
        free_numbers(&self._frames)
        memset(self._recent, 0, sizeof(self._recent))
        memset(&self._frames, 0, sizeof(self._frames))
        self._frames.item_size = item_size
        self._frames.seed = seed
        clear_chains(&self._chains)
        self.stack_count = EMPTY + 1
        self.filled = 0
        return True

    def resolve(
        self,
        const int32_t[::1] code,
        Segments segments not None,
        const int64_t[::1] location,
        const uint32_t[::1] size,
        int32_t[::1] stacks,
        int64_t[::1] ends,
        int32_t[::1] frames,
    ) -> None:
        """Follow records in the order of time, and number the call stacks of samples. Each distinct one is looked at once.

        Args:
            code: of each record, as the scanner has it.
            segments: what the records are in.
            location: of each record.
            size: of each record.
            stacks: filled with the number of each record's stack; 0 is the empty one.
            ends: where the frames of stack i end is at i + 1. Has room for two more stacks per record.
            frames: the numbers of the frames of all stacks, innermost first. Has room for one more per 8 bytes of records.

        """
        cdef int64_t count = code.shape[0]
        cdef int64_t i
        cdef const uint8_t* record
        cdef Filling filling
        cdef bint done = True
        if location.shape[0] != count or size.shape[0] != count or stacks.shape[0] != count:
            raise ValueError("columns differ in length")
        if ends.shape[0] <= self.stack_count + 2 * count or frames.shape[0] < self.filled:
            raise ValueError("there is no room for the stacks")
        ends[0] = ends[EMPTY + 1] = 0
        filling.ends = &ends[0]
        filling.frames = NULL if not frames.shape[0] else &frames[0]
        filling.room = frames.shape[0]
        with nogil:
            self._strings.lock()
            for i in range(count):
                stacks[i] = EMPTY
                record = segments._at(location[i], size[i])
                if record is NULL or NATIVES <= code[i] < SAMPLES:
                    continue
                if code[i] >= SAMPLES:
                    stacks[i] = self._sample((code[i] - SAMPLES) // 2, record, size[i], &filling)
                    done = stacks[i] >= 0
                elif code[i] // 4 == R_MMAP or code[i] // 4 == R_MMAP2:
                    done = self._map(code[i] // 4, record, size[i])
                elif code[i] // 4 == R_FORK:
                    done = self._fork(record)
                if not done:
                    break
            self._strings.unlock()
        if not done:
            raise MemoryError

    # A new space's number, with one user; -1 without memory.
    cdef int64_t _new_space(self) noexcept nogil:
        cdef void* moved
        cdef int64_t i
        self._stamps += 1
        # One that nobody uses any more is the last, mostly.
        i = self._space_count - 1
        if i > KERNEL and not self._spaces[i].users:
            self._spaces[i].users = 1
            self._spaces[i].stamp = self._stamps
            return i
        if self._space_count == self._space_room:
            self._space_room = 2 * self._space_room + 16
            moved = realloc(self._spaces, self._space_room * sizeof(Space))
            if moved is NULL:
                return -1
            self._spaces = <Space*>moved
        memset(&self._spaces[self._space_count], 0, sizeof(Space))
        self._spaces[self._space_count].users = 1
        self._spaces[self._space_count].stamp = self._stamps
        self._space_count += 1
        return self._space_count - 1

    cdef void _leave(self, int64_t number) noexcept nogil:
        cdef Space* space = &self._spaces[number]
        space.users -= 1
        if space.users == 0:
            self._ranges -= space.count
            free(space.ranges)
            space.ranges = NULL
            space.count = space.room = 0

    # Where the number of a process's space is; NULL without memory. Good until the next process.
    cdef int32_t* _number_of(self, uint32_t pid) noexcept nogil:
        cdef int32_t number = find_or_add_key(&self._of_pid, pid)
        return NULL if number < 0 else <int32_t*>self._of_pid.items + number

    # The space of a process, to be changed; -1 without memory.
    cdef int64_t _own_space(self, uint32_t pid) noexcept nogil:
        cdef int32_t* place = self._number_of(pid)
        cdef int64_t own, old
        cdef Space* space
        if place is NULL:
            return -1
        old = place[0] - 1
        if old >= 0 and self._spaces[old].users == 1:
            return old
        own = self._new_space()
        if own < 0:
            return -1
        place[0] = <int32_t>own + 1
        if old < 0:
            return own
        space = &self._spaces[own]
        if self._ranges + self._spaces[old].count > self._most:
            self.refused += self._spaces[old].count
        elif self._spaces[old].count:
            space.ranges = <Range*>malloc(self._spaces[old].count * sizeof(Range))
            if space.ranges is NULL:
                return -1
            space.count = space.room = self._spaces[old].count
            memcpy(space.ranges, self._spaces[old].ranges, space.count * sizeof(Range))
            self._ranges += space.count
        self._leave(old)
        return own

    # False without memory.
    cdef bint _map(self, int type, const uint8_t* record, int64_t size) noexcept nogil:
        cdef bint swap = self._events.swap
        cdef int mode = load16(record + 4, swap) & MISC_MODE
        cdef uint32_t pid = load32(record + 8, swap)
        cdef int64_t at = MMAP_NAME if type == R_MMAP else MMAP2_NAME
        cdef const uint8_t* name = record + at
        cdef const void* nul = memchr(name, 0, size - at)
        cdef int64_t length = size - at if nul is NULL else <const uint8_t*>nul - name
        cdef Range new
        cdef int64_t number
        cdef char[MADE_NAME] made
        cdef bint is_code
        if type == R_MMAP:
            is_code = not load16(record + 4, swap) & MISC_DATA
        else:
            is_code = load32(record + PROTECTION, swap) & EXECUTE != 0
        new.start = load64(record + 16, swap)
        new.end = new.start + load64(record + 24, swap)
        if new.end < new.start:
            new.end = <uint64_t>-1
        if new.end == new.start:
            return True
        new.delta = load64(record + 32, swap) - new.start
        if mode == KERNEL_MODE:
            number = KERNEL
            if has_start(name, length, b"[kernel.kallsyms]", 17):
                length = 17
        elif mode == USER_MODE or mode == 0:
            number = self._own_space(pid)
            # perf has no offsets in what is no file: addresses stay. Code in it was made by a program, which may name
            # its functions in a file of this name.
            if (
                has_start(name, length, b"//anon", 6) or has_start(name, length, b"/anon_hugepage", 14)
                or has_start(name, length, b"/dev/zero", 9)
            ):
                new.delta = 0
                if is_code:
                    length = snprintf(made, MADE_NAME, b"/tmp/perf-%d.map", <int>pid)
                    name = <const uint8_t*>made
            elif (
                has_start(name, length, b"[heap]", 6) or has_start(name, length, b"[stack", 6)
                or has_start(name, length, b"/SYSV", 5)
            ):
                new.delta = 0
        else:
            return True
        new.name = self._strings.find_or_add(name, <uint32_t>length)
        if number < 0 or new.name < 0:
            return False
        return self._insert(&self._spaces[number], &new)

    # Put a range in place of what is there, or of parts of it.
    cdef bint _insert(self, Space* space, const Range* new) noexcept nogil:
        cdef int64_t first = ended_by(space, new.start)
        cdef int64_t last = first
        cdef int64_t pieces = 1
        cdef Range before, after
        cdef bint has_before, has_after
        cdef void* moved
        while last < space.count and space.ranges[last].start < new.end:
            last += 1
        has_before = first < last and space.ranges[first].start < new.start
        has_after = first < last and space.ranges[last - 1].end > new.end
        if has_before:
            before = space.ranges[first]
            before.end = new.start
        if has_after:
            after = space.ranges[last - 1]
            after.start = new.end
        pieces += has_before + has_after
        if self._ranges + pieces > self._most:
            self.refused += 1
            return True
        if space.count + pieces > space.room:
            space.room = 2 * space.room + pieces
            moved = realloc(space.ranges, space.room * sizeof(Range))
            if moved is NULL:
                return False
            space.ranges = <Range*>moved
        self._stamps += 1
        space.stamp = self._stamps
        memmove(&space.ranges[first + pieces], &space.ranges[last], (space.count - last) * sizeof(Range))
        space.count += pieces - (last - first)
        self._ranges += pieces - (last - first)
        if has_before:
            space.ranges[first] = before
            first += 1
        space.ranges[first] = new[0]
        if has_after:
            space.ranges[first + 1] = after
        return True

    cdef bint _fork(self, const uint8_t* record) noexcept nogil:
        cdef bint swap = self._events.swap
        cdef uint32_t pid = load32(record + 8, swap)
        cdef uint32_t parent = load32(record + 12, swap)
        cdef int32_t* place
        cdef int32_t shared
        # One that perf itself makes of a process that was running copies nothing.
        if pid == parent or load16(record + 4, swap) & MISC_EXEC:
            return True
        place = self._number_of(parent)
        if place is NULL:
            return False
        shared = place[0]
        place = self._number_of(pid)
        if place is NULL:
            return False
        if place[0]:
            self._leave(place[0] - 1)
        place[0] = shared
        if shared:
            self._spaces[shared - 1].users += 1
        return True

    # The stack of a sample; below 0 without memory.
    cdef int32_t _sample(
        self, int64_t event, const uint8_t* record, int64_t size, const Filling* filling
    ) noexcept nogil:
        cdef bint swap = self._events.swap
        cdef const Shape* shape = &self._events.shapes[event]
        cdef uint32_t[PARTS] parts
        cdef uint8_t[SINGLE] single
        cdef int64_t stack = EMPTY
        cdef const uint8_t* chain
        cdef const Space* user
        if event >= self._events.count or not find_parts(shape, record, size, swap, &parts[0]):
            return EMPTY
        user = self._user_space(0xffffffff if shape.tid < 0 else load32(record + shape.tid, swap))
        if parts[CALLCHAIN]:
            chain = record + parts[CALLCHAIN] + 8
            stack = self._stack(chain, 8 * load64(chain - 8, swap), user, filling)
        if stack >= 0 and shape.ip >= 0 and filling.ends[stack] == filling.ends[stack + 1]:
            # Its own address, and the mode, which no chain ends with: the sizes of chains are multiples of 8.
            memcpy(single, record + shape.ip, 8)
            single[8] = load16(record + 4, swap) & MISC_MODE
            stack = self._stack(single, SINGLE, user, filling)
        return <int32_t>stack

    # The stack of a chain of a process; below 0 without memory.
    cdef int64_t _stack(
        self, const uint8_t* chain, int64_t size, const Space* user, const Filling* filling
    ) noexcept nogil:
        cdef bint swap = self._events.swap
        cdef const Space* kernel = &self._spaces[KERNEL]
        cdef const Space* space = user
        cdef const uint8_t* end = chain + size
        cdef uint64_t address
        cdef Key key
        cdef int32_t stack
        key.process = 0 if user is NULL else user.stamp
        key.kernel = kernel.stamp
        key.size = <uint32_t>size
        key.stack = <int32_t>self.stack_count
        stack = find_or_add_chain(&self._chains, &key, chain)
        if stack < self.stack_count:
            return stack
        if size == SINGLE:
            space = kernel if chain[8] == KERNEL_MODE else user if chain[8] == USER_MODE else NULL
            if not self._add_frame(space, load64(chain, swap), filling):
                return FAILED
            chain = end
        while chain < end:
            address = load64(chain, swap)
            chain += 8
            if address >= FIRST_MARK:
                space = kernel if address == KERNEL_MARK else user if address == USER_MARK else NULL
            elif not self._add_frame(space, address, filling):
                return FAILED
        self.stack_count += 1
        filling.ends[self.stack_count] = self.filled
        return stack

    # Add a frame to the stack being made; false without memory.
    cdef bint _add_frame(self, const Space* space, uint64_t address, const Filling* filling) noexcept nogil:
        cdef int32_t frame = self._frame(space, address)
        if frame < 0 or self.filled >= filling.room:
            return False
        if not self._zero_is_none or self._frames.keys[2 * frame + 1]:
            filling.frames[self.filled] = frame
            self.filled += 1
        return True

    cdef const Space* _user_space(self, uint32_t pid) noexcept nogil:
        cdef int32_t number = find_key(&self._of_pid, pid)
        if number >= 0:
            number = (<int32_t*>self._of_pid.items)[number]
        return &self._spaces[number - 1] if number > 0 else NULL

    # The number of a frame; below 0 without memory.
    cdef int32_t _frame(self, const Space* space, uint64_t address) noexcept nogil:
        cdef uint64_t stamp = 0 if space is NULL else space.stamp
        cdef uint64_t place = (address ^ stamp << 48) * <uint64_t>0x9E3779B97F4A7C15 >> (64 - RECENT_BITS)
        cdef Recent* recent = &self._recent[place]
        if not recent.frame or recent.address != address or recent.stamp != stamp:
            recent.address = address
            recent.stamp = stamp
            # 0 where there is no memory: nothing is remembered.
            recent.frame = max(self._look_up(space, address) + 1, 0)
        return recent.frame - 1

    cdef int32_t _look_up(self, const Space* space, uint64_t address) noexcept nogil:
        cdef int64_t i
        cdef const Range* range
        if space is not NULL:
            i = ended_by(space, address)
            if i < space.count and space.ranges[i].start <= address:
                range = &space.ranges[i]
                return find_or_add_pair(&self._frames, <uint64_t>range.name, address + range.delta)
        return find_or_add_pair(&self._frames, 0, address)
