# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Raw AIX trace streams to columns.

A first pass (`survey`) numbers what occurs: layouts of hooks, thread ids, declarations of this converter's own streams.
The second (`scan`) makes the columns. Both go through `read_record`, which checks every length before it reads the data
after it.
"""

# Stub:
# from collections.abc import Mapping
# from converter.kernels.batches.event_arrays import OutputArrays

from cpython.bytes cimport PyBytes_FromStringAndSize

from cython cimport final
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memset

from converter.formats.aix.entries.own_hooks cimport (
    OWN_DECLARATION, OWN_DECLARATION_PART, OWN_HEADER, OWN_TIME,
)
from converter.formats.aix.entries.scan_records cimport (
    RECORD_METADATA, RECORD_NATIVE, RECORD_OWN, Record, UNUSED_FLAGS, join_parts, read_record, word_size,
)
from converter.formats.aix.entries.scan_tasks cimport Owner, note_process
from converter.formats.aix.entries.words cimport ENTRY_BAD, ENTRY_OK, ENTRY_SHORT, Entry, big32, big64, read_entry
from converter.kernels.batches.event_arrays cimport (
    Events, OutputArrays, WITH_CLASS, WITH_CPU, WITH_ROW, WITH_THREAD, WITH_TRACK,
)
from converter.kernels.tables.numbers cimport Numbers, find_key, find_or_add_key, free_numbers

# The reason why a pass over a window stopped.
cpdef enum:
    DONE = 0
    INCOMPLETE = 1
    FULL = 2
    BAD = 3

# Metadata of this converter, by the data word of hook 010.
HEADER = OWN_HEADER
DECLARATION = OWN_DECLARATION
DECLARATION_PART = OWN_DECLARATION_PART
TIME = OWN_TIME

# Bits of a form's number, below the hook id.
cpdef enum:
    GENERIC = 1
    WIDE = 2
    DOCUMENTED = 4
    RAGGED = 8
    FORM_BITS = 4

cdef enum:
    FORMS = 1 << 20
    HOOKS = 1 << 16
    HOOK_EXEC = 0x1340
    HOOK_FORK = 0x1390
    # From this number of zero bytes on, they are not entries of hook 000 but a gap in the file.
    HOLE = 64
    # After damage this number of entries that follow each other are accepted as entries, fewer where the stream ends.
    CHAIN = 8
    LEAST_CHAIN = 3
    # Numbers of this converter's own that no stream reaches.
    MOST_NUMBERS = 1 << 24
    # Requirements of documented hooks.
    NEEDS_GENERIC = 0x80


cdef inline bint is_execution(uint32_t form) noexcept nogil:
    return form & ~<uint32_t>WIDE == HOOK_EXEC << FORM_BITS | GENERIC | DOCUMENTED


cdef inline bint is_fork(uint32_t form) noexcept nogil:
    return form & ~<uint32_t>WIDE == HOOK_FORK << FORM_BITS | DOCUMENTED


# Return True if the record read at `data` may be an entry: in one of this converter's own streams (`own`), after damage
# (`resumed`) at an offset that could be any.
cdef inline bint is_plausible(int bits, bint own, bint resumed, const uint8_t* data, const Record* record) noexcept nogil:
    if (own or resumed) and bits == 64 and big32(data) >> 16 & UNUSED_FLAGS:
        return False
    if record.kind == RECORD_NATIVE:
        if resumed and (own or not record.entry.timed or record.entry.hook == 0):
            return False
        if own and not record.entry.timed and record.entry.hook == 0:
            return False
    return not resumed or record.kind != RECORD_OWN or (
        record.own_class < MOST_NUMBERS and record.thread < MOST_NUMBERS and record.track < MOST_NUMBERS
    )


def find_entry(int bits, bint own, const uint8_t[::1] data, int64_t at) -> int:
    """The first place from `at` on, in steps of 4 bytes, where eight entries follow each other; -1 without one.

    Those of this converter's `own` streams are events or metadata of its own; the times of others rise. Where the data
    ends three do, and one that ends with it.
    """
    cdef int64_t end = data.shape[0]
    cdef int64_t place
    cdef int64_t found = -1
    cdef int64_t count
    cdef int status
    cdef uint64_t time
    cdef bint timed
    cdef Record record
    if bits not in (32, 64) or at < 0:
        raise ValueError("no place of a stream")
    if at >= end:
        return -1
    memset(&record, 0, sizeof(Record))
    with nogil:
        while at < end and found < 0:
            place = at
            count = 0
            timed = False
            time = 0
            status = ENTRY_OK
            while count < CHAIN and place < end:
                status = read_record(bits, own, &data[place], end - place, &record)
                if status != ENTRY_OK or not is_plausible(bits, own, True, &data[place], &record):
                    break
                if record.entry.timed and not own:
                    # Times rise, those of 32 bits through their end.
                    if timed and record.entry.ts < time and (bits == 64 or time - record.entry.ts < <uint64_t>1 << 31):
                        break
                    timed = True
                    time = record.entry.ts
                count += 1
                place += record.size
            if count >= CHAIN or (
                (place == end or (status == ENTRY_SHORT and count >= LEAST_CHAIN)) and count and (own or timed)
            ):
                found = at
            at += 4
    return found


cdef class Forms:
    """The layouts of hooks and the threads that occur in the streams of a trace, shared by their scanners."""

    cdef int32_t* _numbers
    cdef uint8_t* _needs
    cdef list _found
    cdef Numbers _tasks
    # By hook id: the word of a process id and 1, where a thread id follows it; else 0.
    cdef uint8_t* _pid_words

    def __cinit__(self, needs: Mapping[int, int], pid_words: Mapping[int, int]):
        """`needs`: data words (0x80: a generic entry) without which an entry of a hook id is not documented.

        `pid_words`: the word of a hook id (from 0) that is a process id, a thread id being the next. A form is
        ``hook id << FORM_BITS`` and the bits GENERIC, WIDE (64-bit data), DOCUMENTED and RAGGED (no whole words).
        """
        self._numbers = <int32_t*>malloc(FORMS * sizeof(int32_t))
        self._needs = <uint8_t*>calloc(HOOKS, 1)
        self._pid_words = <uint8_t*>calloc(HOOKS, 1)
        self._tasks.item_size = sizeof(Owner)
        if self._numbers is NULL or self._needs is NULL or self._pid_words is NULL:
            raise MemoryError
        memset(self._numbers, 0xFF, FORMS * sizeof(int32_t))
        self._found = []
        for hook, need in needs.items():
            if not 0 <= hook < HOOKS or not 0 <= need < 256:
                raise ValueError(f"hook {hook:#x} needs {need}")
            self._needs[hook] = need
        for hook, word in pid_words.items():
            if not 0 <= hook < HOOKS or not 0 <= word < 4:
                raise ValueError(f"hook {hook:#x} has a process id at {word}")
            self._pid_words[hook] = word + 1

    def __dealloc__(self):
        free(self._numbers)
        free(self._needs)
        free(self._pid_words)
        free_numbers(&self._tasks)

    def found(self, int64_t start) -> list[int]:
        """The forms from number `start` on, in the order of their first entries."""
        return self._found[start:]

    def threads(self, int64_t start) -> list[tuple[int, int | None]]:
        """(tid, pid or None) of the threads from number `start` on."""
        tids = self._tasks.keys
        owners = <Owner*>self._tasks.items
        return [(tids[i], owners[i].pid if owners[i].known else None) for i in range(start, self._tasks.count)]

    cdef inline uint32_t form_of(self, const Entry* entry) noexcept nogil:
        # The number of what an entry is an instance of.
        cdef uint32_t form = entry.hook << FORM_BITS
        cdef uint32_t need = self._needs[entry.hook]
        cdef int64_t width = word_size(entry)
        if entry.generic:
            form |= GENERIC
        elif entry.length & (width - 1):
            form |= RAGGED
        if entry.wide:
            form |= WIDE
        if need:
            if need & NEEDS_GENERIC:
                if entry.generic and entry.length >= need & 0x7F:
                    form |= DOCUMENTED
            elif not entry.generic and entry.length >= width * need and not form & RAGGED:
                form |= DOCUMENTED
        return form

    cdef bint learn_pid(self, const Entry* entry, const uint8_t* data) noexcept nogil:
        # From documented hooks that have a process id and, in the word after it, a thread id.
        cdef int64_t at = entry.data + word_size(entry) * (self._pid_words[entry.hook] - 1)
        cdef uint64_t pid, tid
        if entry.wide:
            pid = big64(data + at)
            tid = big64(data + at + 8)
        else:
            pid = big32(data + at)
            tid = big32(data + at + 4)
        return note_process(&self._tasks, tid, pid)


# The entry of a table, -1 where it has none.
cdef inline int32_t numbered(int32_t number, const int32_t[::1] table) noexcept nogil:
    return table[number] if 0 <= number < table.shape[0] else -1


# Return True if an event's thread, track and CPU can exist.
cdef inline bint is_placed(const Record* record, int64_t threads, int64_t tracks) noexcept nogil:
    return record.thread <= threads and record.track <= tracks and record.cpu <= <uint32_t>0x80000000


@final
cdef class Scanner:
    """One pass over one stream. `own` says that this converter wrote it."""

    # Stub:
    # #: Bytes of the last window that need not be looked at again.
    # consumed: int
    # #: The number of bytes there must be from there on, when a pass ends with INCOMPLETE.
    # needed: int
    # #: Entries whose class, thread or track is not declared.
    # undeclared: int
    # #: The offset in the stream at which the next window begins.
    # offset: int
    # #: Holes of zeros, and where in the stream the first one is.
    # holes: int
    # first_hole: int

    cdef int _bits
    cdef bint _own
    cdef Forms _forms
    cdef uint64_t _time
    cdef bint _started
    cdef int64_t _last
    cdef readonly int64_t consumed
    # The number of bytes there must be from `consumed` on, when a pass ends with INCOMPLETE.
    cdef readonly int64_t needed
    #: Entries that say nothing that this stream has declared.
    cdef readonly int64_t undeclared
    #: The offset in the stream at which the next window begins.
    cdef public int64_t offset
    #: Holes of zeros, and where in the stream the first one is.
    cdef readonly int64_t holes
    cdef readonly int64_t first_hole
    cdef bint _in_hole
    cdef uint8_t* _side
    cdef int64_t _side_used
    cdef int64_t _side_room

    def __cinit__(self, Forms forms not None, *, int bits, bint own):
        if bits != 32 and bits != 64:
            raise ValueError(f"a stream of {bits} bits")
        self._forms = forms
        self._bits = bits
        self._own = own

    def __dealloc__(self):
        free(self._side)

    cdef inline bint _is_hole(self, const uint8_t* data, int64_t at, int64_t end) noexcept nogil:
        # Return True if the word at `at` belongs to a long run of zeros.
        cdef int64_t size = self._bits >> 3 if self._in_hole else HOLE
        cdef int64_t i
        if size > end - at:
            return False
        for i in range(at, at + size):
            if data[i]:
                return False
        if not self._in_hole:
            if self.holes == 0:
                self.first_hole = self.offset + at
            self.holes += 1
            self._in_hole = True
        return True

    cdef inline int _read(self, const uint8_t* data, int64_t left, Record* record) noexcept nogil:
        # The record at a word that is no part of a hole; one that is not plausible is damaged.
        cdef bint resumed = self._in_hole
        cdef int status = read_record(self._bits, self._own, data, left, record)
        self._in_hole = False
        if status == ENTRY_OK and not is_plausible(self._bits, self._own, resumed, data, record):
            return ENTRY_BAD
        return status

    def survey(
        self, const uint8_t[::1] data
    ) -> tuple[int, list[tuple[int, bytes]], list[tuple[int, bytes]], list[tuple[int, int]]]:
        """Number what occurs in a window: (status, metadata [(kind, text)], executions [(pid, path)], forks
        [(pid of the child, tid of the thread that makes it)]).
        """
        cdef int64_t end = data.shape[0]
        cdef int64_t at = 0
        cdef int64_t start, size
        cdef int status = ENTRY_OK
        cdef int result = DONE
        cdef Record record
        cdef uint32_t form = 0
        cdef bint special
        cdef Forms forms = self._forms
        cdef const uint8_t* base
        cdef list metadata = []
        cdef list executions = []
        cdef list forks = []
        self.consumed = 0
        if end == 0:
            return DONE, metadata, executions, forks
        base = &data[0]
        memset(&record, 0, sizeof(Record))
        while at < end:
            special = False
            with nogil:
                while at < end:
                    if base[at] == 0 and self._is_hole(base, at, end):
                        at += self._bits >> 3
                        status = ENTRY_OK
                        continue
                    status = self._read(base + at, end - at, &record)
                    if status != ENTRY_OK:
                        break
                    if record.kind == RECORD_METADATA:
                        special = True
                        break
                    if record.kind == RECORD_NATIVE:
                        form = forms.form_of(&record.entry)
                        if find_or_add_key(&forms._tasks, record.entry.tid) < 0:
                            status = -1
                            break
                        if form & DOCUMENTED and forms._pid_words[record.entry.hook]:
                            if not forms.learn_pid(&record.entry, base + at):
                                status = -1
                                break
                        if forms._numbers[form] < 0 or is_execution(form) or is_fork(form):
                            special = True
                            break
                    at += record.size
            if status == -1:
                raise MemoryError
            if status != ENTRY_OK:
                break
            if not special:
                continue
            start = at + record.payload
            if record.kind == RECORD_METADATA:
                metadata.append((
                    record.word, PyBytes_FromStringAndSize(<const char*>base + start, record.payload_size)
                ))
            else:
                if forms._numbers[form] < 0:
                    forms._numbers[form] = <int32_t>len(forms._found)
                    forms._found.append(form)
                if is_fork(form):
                    start = at + record.entry.data
                    pid = big64(base + start) if record.entry.wide else big32(base + start)
                    forks.append((pid, record.entry.tid))
                elif is_execution(form):
                    start = at + record.entry.data
                    pid = big64(base + start) if record.entry.wide else big32(base + start)
                    start += word_size(&record.entry)
                    size = record.entry.length
                    executions.append((pid, PyBytes_FromStringAndSize(<const char*>base + start, size)))
            at += record.size
        self.consumed = at
        if status == ENTRY_SHORT:
            self.needed = record.size
            result = INCOMPLETE
        elif status == ENTRY_BAD:
            result = BAD
        return result, metadata, executions, forks

    # Take the upper bits of the times to come from an entry of metadata that has them.
    cdef inline void _note_time(self, const uint8_t* data, const Record* record) noexcept nogil:
        if record.word == OWN_TIME and record.payload_size >= 8:
            self._time = big64(data + record.payload)

    # The time of an entry that has one.
    cdef inline int64_t _time_of(self, const Entry* entry) noexcept nogil:
        if self._bits == 64:
            return <int64_t>entry.ts
        if self._own:
            return <int64_t>(self._time & <uint64_t>0xFFFFFFFF00000000 | entry.ts)
        # Wider than what is stored: the nearest time to the one before that ends in these bits.
        if not self._started:
            self._time = entry.ts
            self._started = True
        self._time += <uint64_t><int64_t><int32_t>(<uint32_t>entry.ts - <uint32_t>self._time)
        return <int64_t>self._time

    def scan(
        self,
        const uint8_t[::1] data,
        const int32_t[::1] class_of_form,
        const int32_t[::1] class_of_own,
        const int32_t[::1] thread_of_task,
        known: tuple[int, int, int],
        OutputArrays events not None,
        int32_t[::1] counts,
    ) -> tuple[int, int]:
        """The events of a window: (status, number of events). Releases the GIL.

        `known` are the numbers of threads and tracks of this converter's own streams, and the CPU of others. The
        columns are the common ones, and start, size and location (int64) and shown (uint32): `start` and `size` are
        those of an event with all its entries, `location` and `shown` those of the data that its columns are read from:
        ``segment << 32 | offset``, segment 0 being the window, 1 what `take_side` gives. `counts` numbers the rows of
        each class.
        """
        cdef int64_t end = data.shape[0]
        cdef Events columns = events.common(WITH_CLASS | WITH_ROW | WITH_THREAD | WITH_CPU | WITH_TRACK)
        cdef int64_t room = columns.count
        cdef int64_t* ts = columns.ts
        cdef int32_t* class_id = columns.class_id
        cdef int32_t* row = columns.row
        cdef int32_t* thread = columns.thread
        cdef int32_t* cpu = columns.cpu
        cdef int32_t* track = columns.track
        cdef int64_t* start = <int64_t*>events.own("start", 8)
        cdef int64_t* size = <int64_t*>events.own("size", 8)
        cdef int64_t* location = <int64_t*>events.own("location", 8)
        cdef uint32_t* shown = <uint32_t*>events.own("shown", 4)
        cdef int64_t own_threads, own_tracks
        cdef int32_t stream_cpu
        cdef int64_t classes = counts.shape[0]
        cdef int64_t at = 0
        cdef int64_t n = 0
        cdef int status = ENTRY_OK
        cdef int32_t kind
        cdef uint64_t last_tid = 0
        cdef int32_t last_thread = -1
        cdef bint has_last = False
        cdef Record record
        cdef Entry* entry = &record.entry
        cdef const uint8_t* base
        cdef Forms forms = self._forms
        cdef int64_t last = self._last
        own_threads, own_tracks, stream_cpu = known
        self.consumed = 0
        self._side_used = 0
        if end == 0:
            return DONE, 0
        base = &data[0]
        memset(&record, 0, sizeof(Record))
        with nogil:
            while at < end and n < room:
                if base[at] == 0 and self._is_hole(base, at, end):
                    at += self._bits >> 3
                    status = ENTRY_OK
                    continue
                status = self._read(base + at, end - at, &record)
                if status != ENTRY_OK:
                    break
                if record.kind == RECORD_METADATA:
                    self._note_time(base + at, &record)
                    at += record.size
                    continue
                if record.kind == RECORD_OWN:
                    kind = -1
                    if record.own_class < class_of_own.shape[0] and is_placed(&record, own_threads, own_tracks):
                        kind = class_of_own[record.own_class]
                else:
                    kind = numbered(forms._numbers[forms.form_of(entry)], class_of_form)
                if kind < 0 or kind >= classes:
                    self.undeclared += 1
                    at += record.size
                    continue
                if entry.timed:
                    last = self._time_of(entry)
                ts[n] = last
                class_id[n] = kind
                row[n] = counts[kind]
                counts[kind] = <int32_t>(<uint32_t>counts[kind] + 1)
                start[n] = at
                size[n] = record.size
                if record.kind == RECORD_OWN:
                    thread[n] = <int32_t>record.thread - 1
                    cpu[n] = <int32_t>(record.cpu - 1)
                    track[n] = <int32_t>record.track - 1
                    location[n] = at + record.payload
                    shown[n] = <uint32_t>record.payload_size
                    if record.rest:
                        location[n] = self._join(base + at, &record)
                        shown[n] = <uint32_t>(record.payload_size + record.rest)
                        if location[n] < 0:
                            status = -1
                            break
                else:
                    if not has_last or entry.tid != last_tid:
                        last_thread = numbered(find_key(&forms._tasks, entry.tid), thread_of_task)
                        last_tid = entry.tid
                        has_last = True
                    thread[n] = last_thread
                    cpu[n] = stream_cpu
                    track[n] = -1
                    location[n] = at + entry.place
                    shown[n] = <uint32_t>entry.shown
                n += 1
                at += record.size
        if status == -1:
            raise MemoryError
        self._last = last
        self.consumed = at
        if status == ENTRY_SHORT:
            self.needed = record.size
            return INCOMPLETE, n
        if status == ENTRY_BAD:
            return BAD, n
        return (DONE if at == end else FULL), n

    cdef int64_t _join(self, const uint8_t* data, Record* record) noexcept nogil:
        # Join the parts of an event's data; return their location in the side segment, -1 without memory.
        cdef int64_t whole = record.payload_size + record.rest
        cdef int64_t place = self._side_used
        cdef uint8_t* moved
        if place + whole > 0x7FFFFFFF:
            return -1
        if place + whole > self._side_room:
            moved = <uint8_t*>realloc(self._side, 2 * (place + whole))
            if moved is NULL:
                return -1
            self._side = moved
            self._side_room = 2 * (place + whole)
        join_parts(self._bits, data, record, self._side + place)
        self._side_used = place + whole
        return <int64_t>1 << 32 | place

    def take_side(self) -> bytes:
        """The data of events of several entries, as of the last scan."""
        return PyBytes_FromStringAndSize(<const char*>self._side, self._side_used) if self._side_used else b""


def presented(int bits, const uint8_t[::1] data) -> tuple[bytes, int, int]:
    """The entry at the start of `data` as templates see it, the bits of its data, and its size in the stream.

    Without padding, thread id and time stamp; data of the other environment as that environment has them (trcfmt,
    "I.C. Trace environments"). Raises ValueError where there is no whole entry.
    """
    cdef Entry entry
    cdef int64_t left = data.shape[0]
    cdef int64_t kind
    if left == 0 or read_entry(bits, &data[0], left, &entry) != ENTRY_OK:
        raise ValueError("no whole entry")
    shown = PyBytes_FromStringAndSize(<const char*>&data[0] + entry.place, entry.shown)
    if bits == 64 and not entry.wide:
        # As a 32-bit kernel has it: hook id, type, and hookdata or length; five words where there are more than one.
        if entry.generic:
            kind = 0
        elif entry.length == 0:
            kind = 1
        else:
            kind = 2 if entry.length == 4 else 6
            shown = shown.ljust(8 if kind == 2 else 24, b"\0")
        kind |= 8 if entry.timed else 0
        word = entry.hook >> 4 << 20 | kind << 16 | (entry.length if entry.generic else entry.sub)
        shown = word.to_bytes(4, "big") + shown[4:]
    return shown, 64 if entry.wide else 32, entry.size
