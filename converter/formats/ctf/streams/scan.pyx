# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The scan over the packets of a CTF data stream: where its event records are, when, and on which thread or track.

Windows of the stream go through a `Scanner`, which runs the header's program and that of the record's class and notes
where the record lies. All positions are bits of the window. A window starts where a packet starts, or as far from that
as the largest alignment of the stream divides: so a record's fields are aligned as in its packet.
"""

# Stub:
# from converter.formats.ctf.streams.scan_programs import Program
# from converter.kernels.batches.event_arrays import OutputArrays
#
# DONE: int
# """The window ends, and no record is cut by its end."""
# PACKET: int
# """A packet's header and context were read: `Scanner.enter` or `Scanner.leave` it."""
# INCOMPLETE: int
# """A record, or a packet's header, continues after the window."""
# FULL: int
# """There is no room for more events."""
# NEW_CLASS: int
# """The next record is of a class that the scanner does not know; its id is in register "event"."""
# REALIGN: int
# """The next packet is not aligned as the window is."""
# TRUNCATED: int
# """The last window ends within a packet."""
# DAMAGED: int
# """The record, or a packet's header, makes no sense: `Scanner.defect`."""
# DEFECTS: dict[int, str]
# REGISTERS: dict[str, int]
# """The registers of fields that the reader interprets. Place and size (bytes) of name and uuid are two each."""
# FIRST_FREE: int
# """The first register for lengths and selectors."""

from os import urandom

from cpython.bytes cimport PyBytes_FromStringAndSize

from cython cimport final
from libc.stdint cimport INT64_MAX, INT64_MIN, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memset

from converter.formats.ctf.streams.scan_paths cimport Path, follow, path_of
from converter.formats.ctf.streams.scan_positions cimport (
    Context, find_or_add_place, free_places, init_places, is_context, mixed, note_context, Place, Places,
)
from converter.formats.ctf.streams.scan_programs cimport (
    BAD_LENGTH, Code, Machine, MIXED_ORDERS, NO_MEMORY, NO_OPTION, OUT_OF_BOUNDS, Program, run, TOO_WIDE,
)
from converter.formats.ctf.streams.scan_times cimport scaled, shifted
from converter.kernels.batches.event_arrays cimport Events, OutputArrays, WITH_CLASS
from converter.kernels.tables.strings cimport StringTable

# The reason why `Scanner.scan` stopped.
cdef enum:
    #: The window ends; so does the last packet in it.
    S_DONE = 0
    S_PACKET = 1
    S_INCOMPLETE = 2
    S_FULL = 3
    S_NEW_CLASS = 4
    S_REALIGN = 5
    S_TRUNCATED = 6
    S_DAMAGED = 7

DONE = S_DONE
PACKET = S_PACKET
INCOMPLETE = S_INCOMPLETE
FULL = S_FULL
NEW_CLASS = S_NEW_CLASS
REALIGN = S_REALIGN
TRUNCATED = S_TRUNCATED
DAMAGED = S_DAMAGED

cdef enum:
    NO_TIME = -6
    NO_BITS = -7
    ZEROS = -9
    # From this number of zero bytes on, of a time that is not that of their packet's beginning, they are a gap in the
    # file.
    HOLE = 64

#: Defects of a record, by the scanner's `defect`.
DEFECTS = {
    OUT_OF_BOUNDS: "a field that crosses the end of the packet's content",
    NO_OPTION: "a selector that selects no option",
    BAD_LENGTH: "a length of too many elements without content",
    TOO_WIDE: "an integer of more than 64 bits",
    MIXED_ORDERS: "a byte order that changes within a byte",
    NO_TIME: "a time that does not fit 63 bits",
    NO_BITS: "an event record without any bits",
    ZEROS: "zeros where an event record should be",
}

# The registers that have a meaning; those from FIRST_FREE on are of lengths and selectors.
cdef enum:
    R_EVENT = 0
    R_PID = 1
    R_TID = 2
    R_NAME = 3
    R_NAME_SIZE = 4
    R_TRACK = 5
    # Those that a packet sets, as far as it has their fields.
    R_MAGIC = 6
    R_UUID = 16
    R_FREE = 18

REGISTERS = {
    "event": R_EVENT, "pid": R_PID, "tid": R_TID, "name": R_NAME, "track": R_TRACK,
    "magic": R_MAGIC, "stream class": 7, "stream": 8, "begin": 9, "end": 10, "content": 11, "length": 12,
    "sequence": 13, "discarded": 14, "cpu": 15, "uuid": R_UUID,
}
cdef extern from *:
    """
    /* What a register holds whose field a packet does not have, which may depend on what else the packet says: no length,
       count or id that makes sense. */
    #define NOT_SAID 0x9E3779B97F4A7C15ULL
    """
    uint64_t NOT_SAID

#: After "uuid" come its size and the free registers.
FIRST_FREE = R_FREE

cdef enum:
    # Elements without bits that a window may have besides one for each bit.
    IDLE = 1 << 16


cdef struct RecordClass:
    uint64_t id
    const Code* code
    # Bits of a record that says nothing to the scan; -1: its program is run.
    int64_t width
    int32_t number
    bint placed
    bint lasting


# Return True if the bytes from the first whole one at bit `at` on are a hole; -1: that takes more of the file than up
# to `end`.
cdef inline int is_hole(const uint8_t* data, int64_t at, int64_t end, int64_t content_end) noexcept nogil:
    cdef int64_t i
    cdef int64_t first = (at + 7) >> 3
    for i in range(first, first + HOLE):
        if 8 * (i + 1) > content_end:
            return 0
        if 8 * (i + 1) > end:
            return -1
        if data[i]:
            return 0
    return 1


# The fields of a record at bit `at`: where they end, or why they cannot be read.
cdef inline int64_t read_body(
    Machine* machine, const RecordClass* record, StringTable strings, int64_t at
) noexcept nogil:
    if record.width < 0 or at & 7:
        return run(machine, record.code, strings, at)
    return at + record.width if record.width <= machine.end - at else OUT_OF_BOUNDS


# The status of a window in which something cannot be read: `cut` where there is too little of it.
cdef inline int64_t failure(bint cut, bint last) noexcept nogil:
    return S_DAMAGED if not cut else S_TRUNCATED if last else S_INCOMPLETE


@final
cdef class Scanner:
    """The scan of one stream. Positions are bits of the window at hand."""

    # Stub:
    # #: Return the bit at which the packet that was found last starts.
    # packet_start: int
    # #: Return the bit at which its header and context end.
    # header_end: int
    # #: Return the number of the defect that was found, a key of `DEFECTS`.
    # defect: int

    cdef Program _packet
    cdef Program _header
    # The path that almost all headers take.
    cdef Path _path
    cdef Program _common
    cdef list _programs
    cdef RecordClass* _classes
    cdef int64_t _class_count
    cdef int64_t _class_room
    cdef int32_t* _slots
    cdef uint64_t _mask
    cdef uint64_t* _registers
    cdef int64_t _register_count
    cdef int64_t _alignment
    cdef bint _from_header
    cdef int64_t _shift
    cdef int64_t _numerator
    cdef int64_t _denominator
    cdef uint64_t _clock
    # Its value where the packet begins.
    cdef uint64_t _entered
    # The times that are wanted, and whether a later one has come.
    cdef int64_t _first
    cdef int64_t _last
    cdef bint _passed
    cdef bint _inside
    cdef int64_t _content_end
    cdef int64_t _packet_end
    cdef readonly int64_t packet_start
    cdef readonly int64_t header_end
    cdef readonly int64_t defect
    cdef Places _places
    # The context of the event before, and whether it alone says where an event is.
    cdef Context _context
    cdef bint _places_alone

    def __init__(self, Program packet, Program header, Program common, int64_t alignment, bint from_header):
        """Set the programs of a packet's header and context, of a record's header, and of its common context.

        `alignment` is the largest of any field; records start with their header if `from_header`, else after both.
        """
        if self._classes is not NULL:
            raise TypeError("a scanner cannot be set anew")
        if alignment < 8 or alignment & (alignment - 1):
            raise ValueError(f"an alignment of {alignment} bits")
        self._packet = packet
        self._header = header
        self._path = path_of(header)
        self._common = common
        self._places_alone = common.stands_alone() and not header.sets(R_PID, R_TRACK)
        self._programs = []
        self._alignment = alignment
        self._from_header = from_header
        self._class_room = 32
        self._mask = 127
        self._classes = <RecordClass*>malloc(self._class_room * sizeof(RecordClass))
        self._slots = <int32_t*>calloc(self._mask + 1, sizeof(int32_t))
        self._numerator = self._denominator = 1
        self._first, self._last = INT64_MIN, INT64_MAX
        if self._classes is NULL or self._slots is NULL or not init_places(
            &self._places, int.from_bytes(urandom(8), "little")
        ):
            raise MemoryError
        self._need_registers(R_FREE)
        self._registers[R_TRACK] = <uint64_t>-1
        self._need_registers(packet.register_count)
        self._need_registers(header.register_count)
        self._need_registers(common.register_count)

    def __dealloc__(self):
        free(self._classes)
        free(self._slots)
        free(self._registers)
        free_places(&self._places)

    cdef int _need_registers(self, int64_t count) except -1:
        cdef uint64_t* moved
        if count > self._register_count:
            moved = <uint64_t*>realloc(self._registers, count * sizeof(uint64_t))
            if moved is NULL:
                raise MemoryError
            memset(moved + self._register_count, 0, (count - self._register_count) * sizeof(uint64_t))
            self._registers = moved
            self._register_count = count
        return 0

    def set_time(self, int64_t shift, int64_t numerator, int64_t denominator) -> None:
        """Times are ``floor((clock + shift) * numerator / denominator)``."""
        if numerator < 1 or denominator < 1:
            raise ValueError("a rate is positive")
        self._shift = shift
        self._numerator = numerator
        self._denominator = denominator

    def set_window(self, int64_t first, int64_t last) -> None:
        """Before `first`, only records of classes that last become events; after `last`, only one record does."""
        self._first = first
        self._last = last

    def add_class(self, uint64_t id, Program program, bint placed, bint lasting) -> None:
        """Declare the next record class; its events have the number of the call.

        `lasting`: they say what is so from then on. With `placed` the program, or that of the header or of the common
        context, sets the registers "pid", "tid" and perhaps "name" and "track".
        """
        cdef RecordClass* moved
        cdef int32_t* slots
        cdef int64_t i
        cdef uint64_t mask
        self._need_registers(program.register_count)
        if self._class_count == self._class_room:
            moved = <RecordClass*>realloc(self._classes, self._class_room * 2 * sizeof(RecordClass))
            if moved is NULL:
                raise MemoryError
            self._classes = moved
            self._class_room *= 2
        if <uint64_t>self._class_count * 2 + 2 > self._mask:
            mask = (self._mask + 1) * 4 - 1
            slots = <int32_t*>calloc(mask + 1, sizeof(int32_t))
            if slots is NULL:
                raise MemoryError
            free(self._slots)
            self._slots = slots
            self._mask = mask
            for i in range(self._class_count):
                self._enter_class(i)
        self._programs.append(program)
        moved = &self._classes[self._class_count]
        moved.id = id
        moved.code = &program.code
        moved.width = program.only_passes()
        moved.number = <int32_t>self._class_count
        moved.placed = placed
        moved.lasting = lasting
        self._enter_class(self._class_count)
        self._class_count += 1
        if program.sets(R_PID, R_TRACK):
            self._places_alone = False
            self._context.size = 0

    cdef void _enter_class(self, int64_t number) noexcept:
        cdef uint64_t slot = mixed(self._classes[number].id) & self._mask
        while self._slots[slot]:
            slot = (slot + 1) & self._mask
        self._slots[slot] = <int32_t>(number + 1)

    cdef inline RecordClass* _find(self, uint64_t id) noexcept nogil:
        cdef uint64_t slot = mixed(id) & self._mask
        cdef int32_t found
        while True:
            found = self._slots[slot]
            if found == 0:
                return NULL
            if self._classes[found - 1].id == id:
                return &self._classes[found - 1]
            slot = (slot + 1) & self._mask

    @property
    def place_count(self) -> int:
        """The places where events were so far."""
        return self._places.count

    def places(self, int64_t start) -> list[tuple[int, int, int, bytes]]:
        """Those from number `start` on: process id, thread id, track, thread name."""
        cdef int64_t i
        cdef Place* place
        result = []
        for i in range(start if start > 0 else 0, self._places.count):
            place = &self._places.items[i]
            name = PyBytes_FromStringAndSize(<const char*>place.name, place.size)
            result.append((place.pid, place.tid, place.track, name))
        return result

    def register(self, int64_t number) -> int:
        if not 0 <= number < self._register_count:
            raise IndexError(f"register {number}")
        return self._registers[number]

    def registers(self) -> list[int]:
        return [self._registers[i] for i in range(self._register_count)]

    def said(self) -> list[int | None]:
        """The registers that have a meaning, None for those whose fields the packet does not have."""
        return [None if self._registers[i] == NOT_SAID else self._registers[i] for i in range(R_FREE)]

    @property
    def inside(self) -> bool:
        """Return True while a packet's records are being read."""
        return self._inside

    @property
    def clock(self) -> int:
        """The clock's value."""
        return self._clock

    def set_clock(self, uint64_t value) -> None:
        """Start a packet with this value of the clock."""
        self._clock = self._entered = value

    def time(self, uint64_t value) -> int | None:
        """The time of a clock's value, None if it does not fit."""
        cdef int64_t ts = 0
        return ts if self._time(value, &ts) else None

    cdef inline bint _time(self, uint64_t value, int64_t* ts) noexcept nogil:
        if self._numerator == self._denominator:
            return shifted(value, self._shift, ts)
        return scaled(value, self._shift, self._numerator, self._denominator, ts)

    def enter(self, int64_t content, int64_t length) -> None:
        """Read the records of the packet found, `content` bits of which are content."""
        if not 0 <= content <= length < <int64_t>1 << 60:
            raise ValueError("a packet's content is longer than the packet")
        self._content_end = self.packet_start + content
        self._packet_end = self.packet_start + length
        self._entered = self._clock
        self._inside = True

    def leave(self) -> int:
        """Read no more records of the packet; where it ends."""
        self._content_end = self.packet_start
        return self._packet_end

    def move(self, int64_t bits) -> None:
        """Start the next window `bits` bits after this one."""
        self._content_end -= bits
        self._packet_end -= bits
        self.packet_start -= bits
        self.header_end -= bits

    # The header and context of a packet at bit `at`: where they end, or why they cannot be read.
    cdef inline int64_t _read_packet(self, Machine* machine, StringTable strings, int64_t at) noexcept nogil:
        cdef int64_t number, after
        for number in range(R_MAGIC, R_FREE):
            self._registers[number] = NOT_SAID
        after = run(machine, &self._packet.code, strings, at)
        self.packet_start = at
        if after < 0:
            self.defect = after
        else:
            self.header_end = after
        return after

    cdef inline void _start(self, Machine* machine, const uint8_t* data, int64_t end) noexcept nogil:
        machine.data = data
        machine.registers = self._registers
        machine.slots = NULL
        machine.pending = NULL
        machine.clock = self._clock
        machine.idle = end + IDLE

    # Set the time of a record from bit `at` to `after`, which is returned, or why it is none.
    cdef inline int64_t _checked(
        self, const Machine* machine, int64_t at, int64_t after, int64_t end, bint last, int64_t* ts
    ) noexcept nogil:
        cdef int hole
        if after == at:
            return NO_BITS
        if not self._time(machine.clock, ts):
            return NO_TIME
        if machine.clock != self._entered:
            hole = is_hole(machine.data, at, end, self._content_end)
            if hole:
                return ZEROS if hole > 0 or last else OUT_OF_BOUNDS
        return after

    # The number of the place that the registers say, which the context from bit `inside` to `body` may have set.
    cdef inline int64_t _place(self, const uint8_t* data, int64_t inside, int64_t body) noexcept nogil:
        cdef int64_t number = find_or_add_place(
            &self._places,
            <int64_t>self._registers[R_PID],
            <int64_t>self._registers[R_TID],
            <int64_t>self._registers[R_TRACK],
            data + self._registers[R_NAME],
            <int64_t>self._registers[R_NAME_SIZE],
        )
        if number >= 0 and self._places_alone:
            note_context(&self._context, data, inside, body, self._alignment, number)
        return number

    def scan(
        self, const uint8_t[::1] data, int64_t at, bint last, OutputArrays events not None, int64_t filled
    ) -> tuple[int, int, int]:
        """Scan from bit `at` on: (why it stopped, the number of events so far, the bit it stopped at).

        The columns are ts, class_id, place (int32), begin, start and size (uint32).

        `last`: the stream ends with this window. A record's begin is its first bit; start and size are those of the
        data after the common context, or of all of it. Releases the GIL.
        """
        cdef Events columns = events.common(WITH_CLASS)
        cdef int64_t end = data.shape[0] * 8
        cdef int64_t room = columns.count
        cdef int64_t* ts = columns.ts
        cdef int32_t* class_id = columns.class_id
        cdef int32_t* place = <int32_t*>events.own("place", 4)
        cdef uint32_t* begin = <uint32_t*>events.own("begin", 4)
        cdef uint32_t* start = <uint32_t*>events.own("start", 4)
        cdef uint32_t* size = <uint32_t*>events.own("size", 4)
        cdef int64_t after, body, inside
        cdef bint known
        cdef int64_t status = S_DONE
        cdef int64_t number
        cdef Machine machine
        cdef RecordClass* record
        cdef StringTable strings = None
        cdef const Code* header = &self._header.code
        cdef const Code* common = &self._common.code
        if not 0 <= filled <= room:
            raise ValueError("more is filled than there is")
        if at < 0 or data.shape[0] > 1 << 28:
            raise ValueError("a window of at most 256 MiB")
        if end == 0:
            return S_DONE, filled, at
        self._start(&machine, &data[0], end)
        with nogil:
            while True:
                if not self._inside:
                    if at >= end:
                        break
                    if at & (self._alignment - 1):
                        status = S_REALIGN
                        break
                    machine.end = end
                    after = self._read_packet(&machine, strings, at)
                    status = S_PACKET if after >= 0 else failure(after == OUT_OF_BOUNDS, last)
                    at = after if after >= 0 else at
                    break
                if at >= self._content_end:
                    at = self._packet_end
                    self._inside = False
                    continue
                if at >= end:
                    # The packet's content goes on.
                    status = S_TRUNCATED if last else S_DONE
                    break
                if filled == room:
                    status = S_FULL
                    break
                machine.end = end if end < self._content_end else self._content_end
                self._clock = machine.clock
                self._registers[R_NAME_SIZE] = 0
                self._registers[R_EVENT] = 0
                inside = follow(&self._path, &machine, at)
                if inside < 0:
                    inside = run(&machine, header, strings, at)
                known = inside >= 0 and is_context(
                    &self._context, machine.data, inside, machine.end, self._alignment
                )
                body = inside
                if known:
                    body += self._context.size
                elif inside >= 0:
                    # Its registers are no longer those of the one before.
                    self._context.size = 0
                    body = run(&machine, common, strings, inside)
                after = body
                record = NULL
                if body >= 0:
                    record = self._find(self._registers[R_EVENT])
                    if record is NULL:
                        machine.clock = self._clock
                        status = S_NEW_CLASS
                        break
                    after = read_body(&machine, record, strings, body)
                if after >= 0:
                    after = self._checked(&machine, at, after, end, last, &ts[filled])
                if after < 0:
                    # The record is read again, with more of its data.
                    machine.clock = self._clock
                    self.defect = after
                    status = failure(after == OUT_OF_BOUNDS and end < self._content_end, last)
                    break
                if ts[filled] < self._first and not record.lasting or ts[filled] > self._last and self._passed:
                    at = after
                    continue
                self._passed = ts[filled] > self._last
                place[filled] = -1
                if record.placed and known:
                    place[filled] = <int32_t>self._context.place
                elif record.placed:
                    number = self._place(machine.data, inside, body)
                    if number < 0:
                        self.defect = NO_MEMORY
                        status = S_DAMAGED
                        break
                    place[filled] = <int32_t>number
                class_id[filled] = record.number
                if self._from_header:
                    body = at
                begin[filled] = <uint32_t>at
                start[filled] = <uint32_t>body
                size[filled] = <uint32_t>(after - body)
                filled += 1
                at = after
        self._clock = machine.clock
        if self.defect == NO_MEMORY:
            raise MemoryError
        return status, filled, at
