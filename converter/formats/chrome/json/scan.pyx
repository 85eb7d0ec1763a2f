# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Scanning the events of a Chrome JSON trace: text to columns.

Every event becomes a row of 64-bit slots: its standard members in a fixed order, then the leaves of its arguments in
the order of the text. What kind of slots these are is the event's class key, 16 bytes that are interned like a string:
phase, which standard members there are and of which type, and the number of the shape of the arguments. So the
reader decides once a class, never once an event. `EventScanner` describes both encodings.
"""

# Stub:
# from converter.formats.chrome.json.scan_values import ValueScanner
# from converter.kernels.tables.strings import StringTable

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcmp, memcpy, memset

from converter.formats.chrome.json.members cimport (
    HAS_DURATION, HAS_FLOW_IN, HAS_FLOW_OUT, HAS_ID_SCOPE, HAS_MEMBERS, HAS_SCOPE, HAS_THREAD_DURATION,
    HAS_THREAD_TIME, HAS_TS, OPTIONAL,
)
from converter.formats.chrome.json.scan_members cimport Clock, Members, Place, add_member, scan_members
from converter.formats.chrome.json.scan_values cimport Ends, ValueScanner, ends_of
from converter.formats.json_values.text cimport (
    FINE, MALFORMED, NO_MEMORY, Scanned, UNFINISHED, compact, skip_space,
)
from converter.kernels.io.output cimport Output, append, ensure, put64
from converter.kernels.tables.strings cimport StringTable

cdef enum:
    # Shapes of arguments beyond this many become JSON text: each costs the reader an event class.
    MAX_SHAPES = 8192
    # The same limit for each class key: events with more keys than this become NATIVE.
    MAX_KEYS = 1 << 16
    MAX_TEXT = 1 << 26
    # The thread of the last task is kept if its ids are not longer: first and last 8 bytes are compared, which are all.
    LONGEST_TASK = 16

# Requirements of a phase, as the reader's table has them.
cdef enum:
    NATIVE_PHASE = 0
    TIMED_PHASE = 1
    METADATA_PHASE = 2
    IDENTIFIED_PHASE = 3
    STEP_OR_STATE_PHASE = 4
    COMPLETE_PHASE = 5

cdef class EventScanner(ValueScanner):
    """Scans the elements of an array of event objects into columns (Trace Event Format, "JSON Array Format").

    Names of arguments, shapes of arguments, class keys and thread keys are interned into tables of the caller's, who
    works out what is new in them; the first shape must be ``{}``. `phases` has an entry for each byte: 0 the event
    stays text, 1 it needs a time, 2 it is metadata, 3 it needs a time and an id, 4 a time and an id or a duration.
    Times are in units of 10**-digits microseconds.

    A class key is 16 bytes: phase, place of the id (0 none, 1 id, 2 id2.local, 3 id2.global), type of the id and of
    bind_id (i number, x hexadecimal text, s text, 0 none), then in the host's order int32 optional members (`HAS_*`),
    name id of ``arg_types``, shape id. All zero is an event that stays text.

    A shape is ``{`` (``,`` name id (int32) shape)* ``}``, ``[`` shape of each element ``]``, or a letter: n null,
    b boolean, i int64, u uint64, x hexadecimal text as uint64, d double, s string id, j JSON text.

    The slots of an event are those that it has of: name, category, id, dur, tts, tdur, s, scope, bind_id, flow_in,
    flow_out, other members (offset and size of text); then of its arguments: nothing for null, offset and size for
    JSON text, length and elements for an array, else one. Of one that stays text: offset and size.

    A thread key is the texts of pid and tid with a NUL between them.
    """

    cdef StringTable _shapes
    cdef StringTable _keys
    cdef StringTable _threads
    cdef uint8_t[256] _phases
    cdef Clock _clock
    # One entry an event.
    cdef Output _ts
    cdef Output _key
    cdef Output _thread
    cdef Output _cpu
    cdef Output _start
    cdef int64_t _count
    # Slots of all events, and metadata events, a line each.
    cdef Output _slots
    cdef Output _metadata
    # Members of the event being scanned that are not standard.
    cdef Output _others
    cdef int64_t _last_ts
    cdef uint8_t[16] _last_key
    cdef int32_t _last_key_id
    # Sizes of the texts of pid and tid of the last thread, the texts, and its id.
    cdef int64_t[2] _last_task
    cdef Ends _last_pid
    cdef Ends _last_tid
    cdef int32_t _last_thread

    def __cinit__(self, StringTable strings, StringTable names, StringTable shapes, StringTable keys,
                  StringTable threads, bytes phases, int digits, bint records=False):
        """With `records`, the text is this project's own: events that begin as `layout.SWITCH_RECORD` and
        `layout.NATIVE_RECORD` are not metadata.
        """
        cdef int i
        if len(phases) != 256:
            raise ValueError("a phase table has 256 entries")
        if not 0 <= digits <= 9:
            raise ValueError("ticks are 0 to 9 decimals of a microsecond")
        self._strings = strings
        self._names = names
        self._shapes = shapes
        self._keys = keys
        self._threads = threads
        self._clock.digits = digits
        self._records = records
        for i in range(256):
            self._phases[i] = phases[i]
        self._last_key_id = -1
        self._last_task[0] = -1

    def __dealloc__(self):
        free(self._ts.data)
        free(self._key.data)
        free(self._thread.data)
        free(self._cpu.data)
        free(self._start.data)
        free(self._slots.data)
        free(self._metadata.data)
        free(self._others.data)

    def __len__(self) -> int:
        """The number of events scanned and not yet taken."""
        return self._count

    @property
    def rounded(self) -> int:
        """The number of times that were rounded to the unit."""
        return self._clock.rounded

    @property
    def beyond(self) -> int:
        """The number of times that 64 bits do not hold, whose events are kept as they are."""
        return self._clock.beyond

    @property
    def places(self) -> int:
        """The most decimals that a time had."""
        return self._clock.places

    @property
    def largest(self) -> int:
        """The greatest magnitude of a time."""
        return self._clock.largest

    def scan(self, const uint8_t[::1] data, int64_t at, int64_t limit) -> tuple[int, int]:
        """Scan from `at` until there are `limit` events: (where the next element begins, why it stopped).

        0: the data end, 1: the array is closed, 2: there are `limit` events or too much text, -1: this is no event
        object. Releases the GIL.
        """
        cdef int64_t after = at
        cdef Scanned result = UNFINISHED
        cdef int status = 0
        if not 0 <= at <= data.shape[0]:
            raise ValueError("the place lies outside the data")
        self._end = data.shape[0]
        if self._end == 0:
            return 0, 0
        self._data = &data[0]
        with nogil:
            self._strings.lock()
            while True:
                if (self._count >= limit or self._text.used > MAX_TEXT or self._slots.used > MAX_TEXT
                        or self._metadata.used > MAX_TEXT):
                    status = 2
                    break
                while at < self._end and (self._data[at] == c',' or self._data[at] == c' ' or self._data[at] == c'\n'
                                          or self._data[at] == c'\r' or self._data[at] == c'\t'):
                    at += 1
                if at >= self._end:
                    break
                if self._data[at] == c']':
                    at += 1
                    status = 1
                    break
                if self._data[at] != c'{':
                    status = -1
                    break
                # TensorFlow and others end their lists with an object that says nothing.
                after = skip_space(self._data, at + 1, self._end)
                if after < self._end and self._data[after] == c'}':
                    at = after + 1
                    continue
                result = self._event(at, &after)
                if result != FINE:
                    status = -1 if result == MALFORMED else 0
                    break
                at = after
            self._strings.unlock()
        self._data = NULL
        if result == NO_MEMORY:
            raise MemoryError
        return at, status

    def take(
        self
    ) -> tuple[
        NDArray[int64], NDArray[int32], NDArray[int32], NDArray[int32], NDArray[int64], NDArray[int64], NDArray[uint8]
    ]:
        """Give away what was scanned: times, class keys, thread keys (-1 none), CPUs (-1 none), first slot of each
        event; the slots; the text.
        """
        result = (
            _taken(&self._ts, np.int64), _taken(&self._key, np.int32), _taken(&self._thread, np.int32),
            _taken(&self._cpu, np.int32), _taken(&self._start, np.int64), _taken(&self._slots, np.int64),
            _taken(&self._text, np.uint8),
        )
        self._count = 0
        return result

    def take_metadata(self) -> bytes:
        """Give away the metadata events, each as compact text and a newline."""
        return _taken(&self._metadata, np.uint8).tobytes()

    # One event object. Nothing of it stays unless it is FINE.
    cdef Scanned _event(self, int64_t at, int64_t* after) noexcept nogil:
        cdef int64_t text = self._text.used
        cdef int64_t slots = self._slots.used
        cdef int64_t metadata = self._metadata.used
        cdef Scanned result = self._event_row(at, after)
        if result != FINE:
            self._text.used = text
            self._slots.used = slots
            self._metadata.used = metadata
        return result

    cdef Scanned _event_row(self, int64_t start, int64_t* after) noexcept nogil:
        cdef int64_t at
        cdef int64_t text = self._text.used
        cdef uint8_t needs
        cdef int32_t shape, key, thread
        cdef Members members
        cdef Scanned result = scan_members(self, &self._clock, start, after, &members, &self._others)
        if result != FINE:
            return result
        if members.arguments_as_text:
            # Arguments that are no object, or too many of them, stay JSON text.
            self._signature.used = 0
            self._arguments.used = 0
            if not members.odd:
                # Objects are nested more deeply than text is allowed to be.
                result = add_member(self, &self._others, -1, -1, members.arguments, &at)
                if result != FINE:
                    return result
        needs = self._phases[members.phase]
        if members.is_record and (not members.is_switch or members.arguments < 0):
            return self._native(start, text)
        if needs == METADATA_PHASE and not members.no_number and not members.is_record:
            self._text.used = text
            result = compact(self._data, start, self._end, &self._metadata, &at)
            if result != FINE:
                return result
            return FINE if append(&self._metadata, b"\n", 1) else NO_MEMORY
        if (
            members.odd or needs == NATIVE_PHASE or not members.present & HAS_TS
            or (needs == IDENTIFIED_PHASE and not members.id_kind)
            or (needs == STEP_OR_STATE_PHASE and not members.id_kind and not members.present & HAS_DURATION)
            or (needs == COMPLETE_PHASE and not members.present & HAS_DURATION)
        ):
            return self._native(start, text)
        if self._signature.used == 0 and not append(&self._signature, b"{}", 2):
            return NO_MEMORY
        shape = self._intern(self._shapes, self._signature.data, self._signature.used)
        if shape >= MAX_SHAPES:
            self._text.used = text
            self._arguments.used = 0
            shape = self._intern(self._shapes, b"{}", 2)
            result = add_member(self, &self._others, -1, -1, members.arguments, &at)
            if result != FINE:
                return result
        if shape < 0:
            return NO_MEMORY
        if self._others.used:
            members.present |= HAS_MEMBERS
            if not append(&self._others, b"}", 1):
                return NO_MEMORY
        thread = self._thread_of(
            &members.event_pid if members.event_pid.start else &members.pid,
            &members.event_tid if members.event_tid.start else &members.tid,
        )
        key = self._key_of(&members, shape)
        if thread < 0 or key < 0:
            return NO_MEMORY
        if key >= MAX_KEYS:
            return self._native(start, text)
        if not self._row(key, thread, <int32_t>members.cpu, members.ts):
            return NO_MEMORY
        if not self._fill(&members):
            return NO_MEMORY
        self._last_ts = members.ts
        return FINE

    # The slots of the event; false without memory.
    cdef bint _fill(self, const Members* members) noexcept nogil:
        cdef int32_t present = members.present
        if not ensure(&self._slots, 8 * 16 + self._arguments.used):
            return False
        self._slot(members.name)
        self._slot(members.category)
        if members.id_kind:
            self._slot(members.id)
        if present & HAS_DURATION:
            self._slot(members.duration)
        if present & HAS_THREAD_TIME:
            self._slot(members.thread_time)
        if present & HAS_THREAD_DURATION:
            self._slot(members.thread_duration)
        if present & HAS_SCOPE:
            self._slot(members.scope)
        if present & HAS_ID_SCOPE:
            self._slot(members.id_scope)
        if members.bind_kind:
            self._slot(members.bind_id)
        if present & HAS_FLOW_IN:
            self._slot(members.flow_in)
        if present & HAS_FLOW_OUT:
            self._slot(members.flow_out)
        if present & HAS_MEMBERS:
            self._slot(self._text.used)
            self._slot(self._others.used)
            if not append(&self._text, self._others.data, self._others.used):
                return False
        return append(&self._slots, self._arguments.data, self._arguments.used)

    # The caller has made room.
    cdef inline void _slot(self, int64_t value) noexcept nogil:
        put64(&self._slots, <uint64_t>value, False)

    cdef bint _row(self, int32_t key, int32_t thread, int32_t cpu, int64_t ts) noexcept nogil:
        cdef int64_t start = self._slots.used >> 3
        if not (
            append(&self._ts, <uint8_t*>&ts, 8) and append(&self._key, <uint8_t*>&key, 4)
            and append(&self._thread, <uint8_t*>&thread, 4) and append(&self._cpu, <uint8_t*>&cpu, 4)
            and append(&self._start, <uint8_t*>&start, 8)
        ):
            return False
        self._count += 1
        return True

    # The whole object as its text, at the time of the event before.
    cdef Scanned _native(self, int64_t start, int64_t text) noexcept nogil:
        cdef int64_t stop = 0
        cdef int64_t size
        cdef int32_t key_id
        cdef uint8_t[16] key
        cdef Scanned result
        memset(&key[0], 0, 16)
        self._text.used = text
        result = compact(self._data, start, self._end, &self._text, &stop)
        if result != FINE:
            return NO_MEMORY if result == NO_MEMORY else MALFORMED
        size = self._text.used - text
        if size == 2:
            self._text.used = text
            size = 0
        key_id = self._key_id(&key[0])
        if key_id < 0 or not self._row(key_id, -1, -1, self._last_ts) or not ensure(&self._slots, 16):
            return NO_MEMORY
        self._slot(text)
        self._slot(size)
        return FINE

    # The id of an event's class key.
    cdef int32_t _key_of(self, const Members* members, int32_t shape) noexcept nogil:
        cdef uint8_t[16] key
        cdef int32_t present = members.present & OPTIONAL
        cdef int32_t types = <int32_t>members.types
        key[0] = members.phase
        key[1] = members.id_place
        key[2] = members.id_kind
        key[3] = members.bind_kind
        memcpy(&key[4], &present, 4)
        memcpy(&key[8], &types, 4)
        memcpy(&key[12], &shape, 4)
        return self._key_id(&key[0])

    cdef int32_t _key_id(self, const uint8_t* key) noexcept nogil:
        if self._last_key_id < 0 or memcmp(key, &self._last_key[0], 16) != 0:
            self._last_key_id = self._intern(self._keys, key, 16)
            memcpy(&self._last_key[0], key, 16)
        return self._last_key_id

    # The texts of pid and tid, a NUL between them, as an id. Missing ones are empty.
    cdef int32_t _thread_of(self, const Place* pid, const Place* tid) noexcept nogil:
        cdef int64_t pid_size = pid.end - pid.start
        cdef int64_t tid_size = tid.end - tid.start
        cdef Ends pid_ends = ends_of(self._data + pid.start, pid_size)
        cdef Ends tid_ends = ends_of(self._data + tid.start, tid_size)
        if (
            pid_size == self._last_task[0] and tid_size == self._last_task[1]
            and pid_ends.first == self._last_pid.first and pid_ends.last == self._last_pid.last
            and tid_ends.first == self._last_tid.first and tid_ends.last == self._last_tid.last
        ):
            return self._last_thread
        self._scratch.used = 0
        if not (
            append(&self._scratch, self._data + pid.start, pid_size) and append(&self._scratch, b"\0", 1)
            and append(&self._scratch, self._data + tid.start, tid_size)
        ):
            return -1
        self._last_thread = self._intern(self._threads, self._scratch.data, self._scratch.used)
        self._last_task[0] = -1
        if pid_size <= LONGEST_TASK and tid_size <= LONGEST_TASK and self._last_thread >= 0:
            self._last_task[0], self._last_task[1] = pid_size, tid_size
            self._last_pid, self._last_tid = pid_ends, tid_ends
        return self._last_thread


cdef object _taken(Output* out, dtype):
    cdef int64_t size = out.used
    result = np.empty(size, np.uint8)
    cdef uint8_t[::1] view = result
    if size:
        memcpy(&view[0], out.data, <size_t>size)
    out.used = 0
    return result.view(dtype)
