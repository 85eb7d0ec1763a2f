# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Raw AIX trace streams to columns.

A first pass (`survey`) numbers what occurs: forms of hooks, thread ids, declarations of this converter's own streams. The
second (`scan`) makes the columns. Both go through `_next`, which checks every length before it reads what is behind it.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy, memset

from converter.kernels.aix_words cimport (
    ENTRY_BAD, ENTRY_OK, ENTRY_SHORT, Entry, big16, big32, big64, read_entry,
)

# What stopped a pass over a window.
DONE = 0
INCOMPLETE = 1
FULL = 2
BAD = 3

# Metadata of this converter, by the data word of hook 010.
HEADER = 1
DECLARATION = 2
DECLARATION_PART = 3
CONTINUATION = 4
TIME = 5

#: Bits of a form's number, below the hook id.
GENERIC = 1
WIDE = 2
DOCUMENTED = 4
RAGGED = 8
FORM_BITS = 4

cdef enum:
    _FORMS = 1 << 20
    _HOOKS = 1 << 16
    _OWN_HEADER = 1
    _OWN_DECLARATION = 2
    _OWN_DECLARATION_PART = 3
    _OWN_CONTINUATION = 4
    _OWN_TIME = 5
    METADATA_HOOK = 0x0100
    FIRST_HOOK = 0x0110
    LAST_HOOK = 0x0FF0
    CONTEXT_SIZE = 20
    MAX_REST = 1 << 26
    FOLLOWED = 0x80000000
    HOOK_EXEC = 0x1340
    UTIL_HOOK = 0x00A0
    CONVERSION = 0x025C
    # Requirements of documented hooks.
    NEEDS_GENERIC = 0x80

    RECORD_NATIVE = 0
    RECORD_OWN = 1
    RECORD_METADATA = 2


# An event with all entries that belong to it: continuations of its data, and the documented hook that repeats it.
cdef struct Record:
    Entry entry
    int kind
    int64_t size
    uint64_t word
    int64_t payload
    int64_t payload_size
    uint32_t own_class
    uint32_t cpu
    uint32_t thread
    uint32_t track
    uint32_t rest


cdef struct Task:
    uint64_t tid
    uint64_t pid
    bint has_pid


cdef inline uint64_t mixed(uint64_t key) noexcept nogil:
    return (key * <uint64_t>0x9E3779B97F4A7C15) >> 20


cdef class Forms:
    """What occurs in the streams of a trace: forms of hooks, and threads. Shared by the scanners of its streams."""

    cdef int32_t* _numbers
    cdef uint8_t* _needs
    cdef list _found
    cdef Task* _tasks
    cdef int64_t _task_count
    cdef int64_t _task_room
    cdef int32_t* _slots
    cdef uint64_t _mask
    # By hook id: the word of a process id and 1, where a thread id follows it; else 0.
    cdef uint8_t* _pid_words

    def __cinit__(self, needs, pid_words):
        cdef int64_t i
        self._numbers = <int32_t*>malloc(_FORMS * sizeof(int32_t))
        self._needs = <uint8_t*>calloc(_HOOKS, 1)
        self._pid_words = <uint8_t*>calloc(_HOOKS, 1)
        self._task_room = 256
        self._tasks = <Task*>malloc(self._task_room * sizeof(Task))
        self._mask = 1023
        self._slots = <int32_t*>calloc(self._mask + 1, sizeof(int32_t))
        if (
            self._numbers is NULL or self._needs is NULL or self._pid_words is NULL or self._tasks is NULL
            or self._slots is NULL
        ):
            raise MemoryError
        memset(self._numbers, 0xFF, _FORMS * sizeof(int32_t))
        self._found = []
        for hook, need in needs.items():
            if not 0 <= hook < _HOOKS or not 0 <= need < 256:
                raise ValueError(f"hook {hook:#x} needs {need}")
            self._needs[hook] = need
        for hook, word in pid_words.items():
            if not 0 <= hook < _HOOKS or not 0 <= word < 4:
                raise ValueError(f"hook {hook:#x} has a process id at {word}")
            self._pid_words[hook] = word + 1

    def __dealloc__(self):
        free(self._numbers)
        free(self._needs)
        free(self._pid_words)
        free(self._tasks)
        free(self._slots)

    def found(self, int64_t start):
        """The forms (hook id << FORM_BITS | bits) from number `start` on, in the order of their first entries."""
        return self._found[start:]

    def threads(self, int64_t start):
        """(tid, pid or None) of the threads from number `start` on."""
        return [
            (self._tasks[i].tid, self._tasks[i].pid if self._tasks[i].has_pid else None)
            for i in range(start, self._task_count)
        ]

    cdef int32_t find(self, uint64_t tid) noexcept nogil:
        cdef uint64_t slot = mixed(tid) & self._mask
        cdef int32_t found
        while True:
            found = self._slots[slot]
            if found == 0:
                return -1
            if self._tasks[found - 1].tid == tid:
                return found - 1
            slot = (slot + 1) & self._mask

    cdef int32_t find_or_add(self, uint64_t tid) noexcept nogil:
        cdef int32_t number = self.find(tid)
        cdef Task* moved
        cdef uint64_t slot
        if number >= 0:
            return number
        if self._task_count >= 0x7FFFFFF0:
            return -1
        if self._task_count == self._task_room:
            moved = <Task*>realloc(self._tasks, self._task_room * 2 * sizeof(Task))
            if moved is NULL:
                return -1
            self._tasks = moved
            self._task_room *= 2
        if <uint64_t>self._task_count * 2 > self._mask and self._grow() < 0:
            return -1
        slot = mixed(tid) & self._mask
        while self._slots[slot]:
            slot = (slot + 1) & self._mask
        number = <int32_t>self._task_count
        self._tasks[number].tid = tid
        self._tasks[number].pid = 0
        self._tasks[number].has_pid = False
        self._task_count += 1
        self._slots[slot] = number + 1
        return number

    cdef int32_t _grow(self) noexcept nogil:
        cdef uint64_t mask = (self._mask + 1) * 4 - 1
        cdef int32_t* slots = <int32_t*>calloc(mask + 1, sizeof(int32_t))
        cdef int64_t i
        cdef uint64_t slot
        if slots is NULL:
            return -1
        for i in range(self._task_count):
            slot = mixed(self._tasks[i].tid) & mask
            while slots[slot]:
                slot = (slot + 1) & mask
            slots[slot] = <int32_t>(i + 1)
        free(self._slots)
        self._slots = slots
        self._mask = mask
        return 0

    cdef inline uint32_t form_of(self, const Entry* entry, const uint8_t* data) noexcept nogil:
        # The number of what an entry is an instance of.
        cdef uint32_t form = entry.hook << 4
        cdef uint32_t need = self._needs[entry.hook]
        cdef int64_t width = 8 if entry.wide else 4
        if entry.generic:
            form |= 1
        elif entry.length & (width - 1):
            form |= 8
        if entry.wide:
            form |= 2
        if need:
            if need & NEEDS_GENERIC:
                if entry.generic and entry.length >= need & 0x7F:
                    form |= 4
            elif not entry.generic and entry.length >= width * need and not form & 8:
                form |= 4
        return form

    cdef int learn_pid(self, const Entry* entry, const uint8_t* data) noexcept nogil:
        # From documented hooks that have a process id and, in the word behind it, a thread id.
        cdef int64_t width = 8 if entry.wide else 4
        cdef int64_t at = entry.data + width * (self._pid_words[entry.hook] - 1)
        cdef uint64_t pid, tid
        cdef int32_t number
        if entry.wide:
            pid = big64(data + at)
            tid = big64(data + at + 8)
        else:
            pid = big32(data + at)
            tid = big32(data + at + 4)
        number = self.find_or_add(tid)
        if number < 0:
            return -1
        if not self._tasks[number].has_pid:
            self._tasks[number].pid = pid
            self._tasks[number].has_pid = True
        return 0


cdef class Scanner:
    """One pass over one stream."""

    cdef int _bits
    cdef bint _own
    cdef Forms _forms
    cdef uint64_t _time
    cdef bint _started
    cdef int64_t _last
    cdef readonly int64_t consumed
    #: How many bytes there must be from `consumed` on, when a pass ends with INCOMPLETE.
    cdef readonly int64_t needed
    #: Entries that say nothing that this stream has declared.
    cdef readonly int64_t undeclared
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

    cdef int _next(self, const uint8_t* data, int64_t left, Record* record) noexcept nogil:
        cdef Entry* entry = &record.entry
        cdef Entry more
        cdef int64_t word_size, missing
        cdef const uint8_t* at
        cdef int status = read_entry(self._bits, data, left, entry)
        record.size = entry.size
        record.kind = RECORD_NATIVE
        if status != ENTRY_OK or not self._own or not entry.generic or entry.hook & 15:
            return status
        if entry.hook < METADATA_HOOK or entry.hook > LAST_HOOK:
            if entry.hook == UTIL_HOOK and big32(data + entry.data + (4 if entry.wide else 0)) == CONVERSION:
                record.kind = RECORD_METADATA
                record.word = CONVERSION
                record.payload = entry.data + (8 if entry.wide else 4)
                record.payload_size = entry.length
            return ENTRY_OK
        word_size = 8 if entry.wide else 4
        record.word = big64(data + entry.data) if entry.wide else big32(data + entry.data)
        record.payload = entry.data + word_size
        record.payload_size = entry.length
        if entry.hook == METADATA_HOOK:
            record.kind = RECORD_METADATA
            return ENTRY_OK
        if entry.length < CONTEXT_SIZE:
            return ENTRY_OK
        at = data + record.payload
        record.kind = RECORD_OWN
        record.own_class = big32(at)
        record.cpu = big32(at + 4)
        record.thread = big32(at + 8)
        record.track = big32(at + 12)
        record.rest = big32(at + 16)
        record.payload += CONTEXT_SIZE
        record.payload_size -= CONTEXT_SIZE
        if record.rest > MAX_REST:
            return ENTRY_BAD
        missing = record.rest
        while missing:
            status = read_entry(self._bits, data + record.size, left - record.size, &more)
            if status == ENTRY_OK and (
                more.hook != METADATA_HOOK or not more.generic or not 0 < more.length <= missing
            ):
                return ENTRY_BAD
            record.size += more.size
            if status != ENTRY_OK:
                return status
            missing -= more.length
        if record.own_class & FOLLOWED:
            record.own_class &= ~<uint32_t>FOLLOWED
            status = read_entry(self._bits, data + record.size, left - record.size, &more)
            record.size += more.size
            return status
        return ENTRY_OK

    def survey(self, const uint8_t[::1] data):
        """Number what occurs in a window: (status, metadata [(kind, text)], executions [(pid, path)]).

        `consumed` bytes of it need not be looked at again. Forms of hooks and threads are in the `Forms`.
        """
        cdef int64_t end = data.shape[0]
        cdef int64_t at = 0
        cdef int64_t start, size
        cdef int status = ENTRY_OK
        cdef int result = DONE
        cdef Record record
        cdef uint32_t form
        cdef bint special
        cdef Forms forms = self._forms
        cdef const uint8_t* base
        cdef list metadata = []
        cdef list executions = []
        self.consumed = 0
        if end == 0:
            return DONE, metadata, executions
        base = &data[0]
        memset(&record, 0, sizeof(Record))
        while at < end:
            special = False
            with nogil:
                while at < end:
                    status = self._next(base + at, end - at, &record)
                    if status != ENTRY_OK:
                        break
                    if record.kind == RECORD_METADATA:
                        special = True
                        break
                    if record.kind == RECORD_NATIVE:
                        form = forms.form_of(&record.entry, base + at)
                        if forms.find_or_add(record.entry.tid) < 0:
                            status = -1
                            break
                        if form & 4 and forms._pid_words[record.entry.hook]:
                            if forms.learn_pid(&record.entry, base + at) < 0:
                                status = -1
                                break
                        if forms._numbers[form] < 0 or (form & 5 == 5 and record.entry.hook == HOOK_EXEC):
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
                if form & 5 == 5 and record.entry.hook == HOOK_EXEC:
                    start = at + record.entry.data
                    pid = big64(base + start) if record.entry.wide else big32(base + start)
                    start += 8 if record.entry.wide else 4
                    size = record.entry.length
                    executions.append((pid, PyBytes_FromStringAndSize(<const char*>base + start, size)))
            at += record.size
        self.consumed = at
        if status == ENTRY_SHORT:
            self.needed = record.size
            result = INCOMPLETE
        elif status == ENTRY_BAD:
            result = BAD
        return result, metadata, executions

    def scan(
        self,
        const uint8_t[::1] data,
        const int32_t[::1] class_of_form,
        const int32_t[::1] class_of_own,
        const int32_t[::1] thread_of_task,
        int64_t own_threads,
        int64_t own_tracks,
        int32_t stream_cpu,
        int64_t[::1] ts,
        int32_t[::1] class_id,
        int32_t[::1] row,
        int32_t[::1] thread,
        int32_t[::1] cpu,
        int32_t[::1] track,
        int64_t[::1] start,
        int64_t[::1] size,
        int64_t[::1] location,
        uint32_t[::1] shown,
        int32_t[::1] counts,
    ):
        """The events of a window: (status, number of events).

        A location is that of what an event's columns are read from, ``segment << 32 | offset``: segment 0 is the
        window, segment 1 what `take_side` gives. `counts` numbers the rows of each class.
        """
        cdef int64_t end = data.shape[0]
        cdef int64_t room = ts.shape[0]
        cdef int64_t classes = counts.shape[0]
        cdef int64_t at = 0
        cdef int64_t n = 0
        cdef int status = ENTRY_OK
        cdef int32_t kind, number
        cdef uint64_t last_tid = 0
        cdef int32_t last_thread = -1
        cdef bint has_last = False
        cdef Record record
        cdef Entry* entry = &record.entry
        cdef const uint8_t* base
        cdef Forms forms = self._forms
        cdef int64_t last = self._last
        if (
            class_id.shape[0] != room or row.shape[0] != room or thread.shape[0] != room or cpu.shape[0] != room
            or track.shape[0] != room or start.shape[0] != room or size.shape[0] != room
            or location.shape[0] != room or shown.shape[0] != room
        ):
            raise ValueError("the columns differ in length")
        self.consumed = 0
        self._side_used = 0
        if end == 0:
            return DONE, 0
        base = &data[0]
        memset(&record, 0, sizeof(Record))
        with nogil:
            while at < end and n < room:
                status = self._next(base + at, end - at, &record)
                if status != ENTRY_OK:
                    break
                if record.kind == RECORD_METADATA:
                    if record.word == _OWN_TIME and record.payload_size >= 8:
                        self._time = big64(base + at + record.payload)
                    at += record.size
                    continue
                if record.kind == RECORD_OWN and (
                    record.own_class >= class_of_own.shape[0] or record.thread > own_threads
                    or record.track > own_tracks or record.cpu > <uint32_t>0x80000000
                ):
                    self.undeclared += 1
                    at += record.size
                    continue
                if record.kind == RECORD_OWN:
                    kind = class_of_own[record.own_class]
                else:
                    number = forms._numbers[forms.form_of(entry, base + at)]
                    kind = class_of_form[number] if 0 <= number < class_of_form.shape[0] else -1
                if kind < 0 or kind >= classes:
                    self.undeclared += 1
                    at += record.size
                    continue
                if entry.timed:
                    if self._bits == 64:
                        last = <int64_t>entry.ts
                    elif self._own:
                        last = <int64_t>(self._time & <uint64_t>0xFFFFFFFF00000000 | entry.ts)
                    else:
                        # Wider than what is stored: the nearest time to the one before that ends in these bits.
                        if not self._started:
                            self._time = entry.ts
                            self._started = True
                        last = <int64_t>(self._time + <uint64_t><int64_t><int32_t>(
                            <uint32_t>entry.ts - <uint32_t>self._time
                        ))
                        self._time = <uint64_t>last
                ts[n] = last
                class_id[n] = kind
                row[n] = counts[kind]
                counts[kind] += 1
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
                        number = forms.find(entry.tid)
                        last_thread = thread_of_task[number] if 0 <= number < thread_of_task.shape[0] else -1
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
        # The parts of an event's data one behind the other: its location in the side segment, -1 without memory.
        cdef int64_t whole = record.payload_size + record.rest
        cdef int64_t at = record.entry.size
        cdef int64_t left = record.rest
        cdef int64_t place = self._side_used
        cdef Entry more
        cdef uint8_t* moved
        if place + whole > 0x7FFFFFFF:
            return -1
        if place + whole > self._side_room:
            moved = <uint8_t*>realloc(self._side, 2 * (place + whole))
            if moved is NULL:
                return -1
            self._side = moved
            self._side_room = 2 * (place + whole)
        memcpy(self._side + place, data + record.payload, record.payload_size)
        place += record.payload_size
        while left > 0:
            # All of these were read by `_next`.
            read_entry(self._bits, data + at, record.size - at, &more)
            memcpy(self._side + place, data + at + more.data + (8 if more.wide else 4), more.length)
            place += more.length
            left -= more.length
            at += more.size
        self._side_used = place
        return <int64_t>1 << 32 | (place - whole)

    def take_side(self):
        """The data of events of several entries, as of the last scan."""
        return PyBytes_FromStringAndSize(<const char*>self._side, self._side_used) if self._side_used else b""


def presented(int bits, const uint8_t[::1] data):
    """The entry at the start of `data` as templates see it: (bytes, bits of its data, size in the stream).

    Raises:
        ValueError: it is none, or not whole.

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
