# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Scanning the events of a Chrome JSON trace: text to columns.

Every event becomes a row of 64-bit slots: its standard members in a fixed order, then the leaves of its arguments in
the order of the text. What kind of slots these are is the event's class key, 16 bytes that are interned like a string:
phase, which standard members there are and of which type, and the number of the shape of the arguments. So the
reader decides once a class, never once an event. `chrome_scan.pyi` describes both encodings.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport free
from libc.string cimport memcmp, memcpy

from converter.kernels.chrome_json cimport (
    Buffer, FINE, MALFORMED, NO_MEMORY, Scanned, UNFINISHED, append, append_cleaned, compact, good_escapes, is_digit,
    number_end, parse_ticks, reserve, skip_space, string_end,
)
from converter.kernels.chrome_members cimport (
    BINDS_ENCLOSING, BIND_ID_MEMBER, HAS_ARGUMENTS, HAS_CATEGORY, HAS_CPU, HAS_DURATION, HAS_EVENT_PID,
    HAS_EVENT_TID, HAS_FLOW_IN, HAS_FLOW_OUT, HAS_ID_SCOPE, HAS_MEMBERS, HAS_NAME, HAS_PHASE, HAS_PID, HAS_SCOPE,
    HAS_THREAD_DURATION, HAS_THREAD_TIME, HAS_TID, HAS_TS, HAS_TYPES, ID2_MEMBER, ID_MEMBER, OPTIONAL, OTHER_MEMBER,
    member_of,
)
from converter.kernels.chrome_values cimport ValueScanner
from converter.kernels.strings cimport StringTable

cdef enum:
    # Shapes of arguments beyond this many become JSON text: each costs the reader an event class.
    MAX_SHAPES = 8192
    # So does each class key: events with others than so many become NATIVE.
    MAX_KEYS = 1 << 16
    MAX_SIGNATURE = 1 << 15
    MAX_TEXT = 1 << 26

# What a phase needs, as the reader's table says.
cdef enum:
    NATIVE_PHASE = 0
    TIMED_PHASE = 1
    METADATA_PHASE = 2
    IDENTIFIED_PHASE = 3
    STEP_OR_STATE_PHASE = 4

cdef class EventScanner(ValueScanner):
    cdef StringTable _shapes
    cdef StringTable _keys
    cdef StringTable _threads
    cdef uint8_t[256] _phases
    cdef int _digits
    # One entry an event.
    cdef Buffer _ts
    cdef Buffer _key
    cdef Buffer _thread
    cdef Buffer _cpu
    cdef Buffer _start
    cdef int64_t _count
    # Slots of all events, and metadata events, a line each.
    cdef Buffer _slots
    cdef Buffer _metadata
    # Of the event being scanned.
    cdef Buffer _members
    cdef int64_t _last_ts
    cdef uint8_t[16] _last_key
    cdef int32_t _last_key_id
    cdef readonly int64_t rounded
    cdef readonly int places
    cdef readonly int64_t largest

    def __cinit__(self, StringTable strings, StringTable names, StringTable shapes, StringTable keys,
                  StringTable threads, bytes phases, int digits):
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
        self._digits = digits
        for i in range(256):
            self._phases[i] = phases[i]
        self._last_key_id = -1

    def __dealloc__(self):
        free(self._ts.data)
        free(self._key.data)
        free(self._thread.data)
        free(self._cpu.data)
        free(self._start.data)
        free(self._slots.data)
        free(self._metadata.data)
        free(self._members.data)

    def __len__(self):
        return self._count

    def scan(self, const uint8_t[::1] data, int64_t at, int64_t limit):
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
                while at < self._end and (self._data[at] == 44 or self._data[at] == 32 or self._data[at] == 10
                                          or self._data[at] == 13 or self._data[at] == 9):
                    at += 1
                if at >= self._end:
                    break
                if self._data[at] == 93:
                    at += 1
                    status = 1
                    break
                if self._data[at] != 123:
                    status = -1
                    break
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

    def take(self):
        result = (
            _taken(&self._ts, np.int64), _taken(&self._key, np.int32), _taken(&self._thread, np.int32),
            _taken(&self._cpu, np.int32), _taken(&self._start, np.int64), _taken(&self._slots, np.int64),
            _taken(&self._text, np.uint8),
        )
        self._count = 0
        return result

    def take_metadata(self):
        return _taken(&self._metadata, np.uint8).tobytes()

    # A time; `odd` becomes true where it is none.
    cdef Scanned _time(self, int64_t at, int64_t* after, int64_t* ticks, bint* odd) noexcept nogil:
        cdef int64_t stop
        cdef bint integer, escaped = False
        cdef bint rounded = False
        cdef int places = 0
        if self._data[at] == 34:
            stop = string_end(self._data, at + 1, self._end, &escaped)
            if stop < 0:
                return UNFINISHED
            after[0] = stop + 1
            at += 1
            if number_end(self._data, at, stop, &integer) != stop:
                odd[0] = True
                return FINE
        else:
            stop = number_end(self._data, at, self._end, &integer)
            if stop < 0:
                odd[0] = True
                return self._skip(at, after)
            if stop == self._end:
                return UNFINISHED
            after[0] = stop
        if not parse_ticks(self._data + at, stop - at, self._digits, ticks, &rounded, &places):
            odd[0] = True
            return FINE
        self.rounded += rounded
        if places > self.places:
            self.places = places
        if ticks[0] > self.largest:
            self.largest = ticks[0]
        elif -ticks[0] > self.largest:
            self.largest = -ticks[0]
        return FINE

    # One event object. Nothing of it stays unless it is FINE.
    cdef Scanned _event(self, int64_t at, int64_t* after) noexcept nogil:
        cdef int64_t text = self._text.used
        cdef int64_t slots = self._slots.used
        cdef int64_t metadata = self._metadata.used
        cdef Scanned result = self._members_of(at, after)
        if result != FINE:
            self._text.used = text
            self._slots.used = slots
            self._metadata.used = metadata
        return result

    cdef Scanned _members_of(self, int64_t start, int64_t* after) noexcept nogil:
        cdef int64_t at = start + 1
        cdef int64_t text = self._text.used
        cdef int64_t key, key_end, value, stop
        cdef bint escaped
        cdef int member
        cdef int32_t present = 0
        cdef bint odd = False
        cdef bint first = True
        cdef uint8_t phase = 0
        cdef Scanned result
        cdef int64_t ts = 0, name = 0, category = 0, duration = 0, thread_time = 0, thread_duration = 0
        cdef int64_t scope = 0, id_scope = 0, id = 0, bind_id = 0, cpu = -1, types = 0
        cdef bint flow_in = False, flow_out = False
        cdef uint8_t id_place = 0, id_kind = 0, bind_kind = 0
        cdef int64_t pid = 0, pid_end = 0, tid = 0, tid_end = 0
        cdef int64_t event_pid = 0, event_pid_end = 0, event_tid = 0, event_tid_end = 0
        cdef int64_t arguments = -1
        cdef int64_t arguments_at = -1
        cdef int64_t scalar = 0
        cdef uint8_t kind = 0
        cdef int32_t shape, key_id, thread
        self._signature.used = 0
        self._arguments.used = 0
        self._members.used = 0
        self._with_array = False
        while True:
            at = skip_space(self._data, at, self._end)
            if at >= self._end:
                return UNFINISHED
            if first and self._data[at] == 125:
                break
            if self._data[at] != 34:
                return MALFORMED
            first = False
            escaped = False
            key = at + 1
            key_end = string_end(self._data, key, self._end, &escaped)
            if key_end < 0:
                return UNFINISHED
            if escaped and not good_escapes(self._data, key, key_end):
                return MALFORMED
            at = skip_space(self._data, key_end + 1, self._end)
            if at >= self._end:
                return UNFINISHED
            if self._data[at] != 58:
                return MALFORMED
            at = skip_space(self._data, at + 1, self._end)
            if at >= self._end:
                return UNFINISHED
            value = at
            member = OTHER_MEMBER if escaped else member_of(self._data + key, key_end - key)
            if member == BINDS_ENCLOSING:
                if self._end - at < 3:
                    return UNFINISHED
                if memcmp(self._data + at, b'"e"', 3) != 0:
                    member = OTHER_MEMBER
            if member > 0:
                # Twice the same: an event that only its text can tell.
                if present & member:
                    odd = True
                present |= member
            if member == HAS_NAME or member == HAS_CATEGORY or member == HAS_SCOPE or member == HAS_ID_SCOPE:
                if self._data[at] != 34:
                    odd = True
                    result = self._skip(at, &at)
                else:
                    result = self._string(self._strings, at, &at, &scalar)
                    if member == HAS_NAME:
                        name = scalar
                    elif member == HAS_CATEGORY:
                        category = scalar
                    elif member == HAS_SCOPE:
                        scope = scalar
                    else:
                        id_scope = scalar
            elif member == HAS_PHASE:
                if (
                    self._end - at >= 3 and self._data[at] == 34 and self._data[at + 2] == 34
                    and self._data[at + 1] != 92
                ):
                    phase = self._data[at + 1]
                    at += 3
                    result = FINE
                else:
                    odd = True
                    result = self._skip(at, &at)
            elif member == BINDS_ENCLOSING:
                at += 3
                result = FINE
            elif member == HAS_TS:
                result = self._time(at, &at, &ts, &odd)
            elif member == HAS_DURATION:
                result = self._time(at, &at, &duration, &odd)
            elif member == HAS_THREAD_TIME:
                result = self._time(at, &at, &thread_time, &odd)
            elif member == HAS_THREAD_DURATION:
                result = self._time(at, &at, &thread_duration, &odd)
            elif member == HAS_PID or member == HAS_TID or member == HAS_EVENT_PID or member == HAS_EVENT_TID:
                if is_digit(self._data[at]):
                    # The usual case without the grammar of numbers.
                    while at < self._end and is_digit(self._data[at]):
                        at += 1
                    if at < self._end and self._data[at] != 46 and self._data[at] | 32 != 101:
                        result = FINE
                    else:
                        result = self._skip(value, &at)
                else:
                    if self._data[at] == 123 or self._data[at] == 91 or (
                        self._data[at] > 57 and (member == HAS_PID or member == HAS_TID)
                    ):
                        odd = True
                    result = self._skip(at, &at)
                if member == HAS_PID:
                    pid = value
                    pid_end = at
                elif member == HAS_TID:
                    tid = value
                    tid_end = at
                elif member == HAS_EVENT_PID:
                    event_pid = value
                    event_pid_end = at
                else:
                    event_tid = value
                    event_tid_end = at
            elif member == HAS_ARGUMENTS:
                arguments = arguments_at = at
                if odd or self._data[at] != 123:
                    result = self._skip(at, &at)
                else:
                    result = self._object(at, 0, &at)
                    arguments = -1 if self._signature.used <= MAX_SIGNATURE else arguments
            elif member == ID_MEMBER or member == BIND_ID_MEMBER:
                result = self._identity(at, &at, &scalar, &kind)
                if kind == 0:
                    odd = True
                if member == BIND_ID_MEMBER:
                    if bind_kind:
                        odd = True
                    bind_id = scalar
                    bind_kind = kind
                else:
                    if id_kind:
                        odd = True
                    id = scalar
                    id_kind = kind
                    id_place = 1
            elif member == ID2_MEMBER:
                if id_kind:
                    odd = True
                result = self._id2(at, &at, &id, &id_kind, &id_place)
                if id_kind == 0:
                    odd = True
            elif member == HAS_FLOW_IN or member == HAS_FLOW_OUT or member == HAS_CPU or member == HAS_TYPES:
                result = self._skip(at, &at)
                if result == FINE:
                    if member == HAS_CPU:
                        cpu = 0
                        for stop in range(value, at if at - value <= 10 else value + 10):
                            odd = odd or not is_digit(self._data[stop])
                            cpu = cpu * 10 + (self._data[stop] - 48)
                        odd = odd or at - value > 10 or cpu > 0x7fffffff
                    elif member == HAS_TYPES:
                        types = self._intern(self._names, self._data + value, at - value)
                        if types < 0:
                            return NO_MEMORY
                    else:
                        if self._data[value] != 116 and self._data[value] != 102:
                            odd = True
                        if member == HAS_FLOW_IN:
                            flow_in = self._data[value] == 116
                        else:
                            flow_out = self._data[value] == 116
            else:
                result = self._member(key, key_end, value, &at)
            if result != FINE:
                return result
            at = skip_space(self._data, at, self._end)
            if at >= self._end:
                return UNFINISHED
            if self._data[at] == 125:
                break
            if self._data[at] != 44:
                return MALFORMED
            at += 1
        after[0] = at + 1
        if arguments >= 0:
            # Arguments that are no object, or too many of them, stay JSON text.
            self._signature.used = 0
            self._arguments.used = 0
            if not odd:
                # Objects are nested more deeply than text is allowed to be.
                result = self._member(-1, -1, arguments, &at)
                if result != FINE:
                    return result
        member = self._phases[phase]
        if member == METADATA_PHASE:
            self._text.used = text
            result = compact(self._data, start, self._end, &self._metadata, &at)
            if result != FINE:
                return result
            return FINE if append(&self._metadata, b"\n", 1) else NO_MEMORY
        if (
            odd or member == NATIVE_PHASE or not present & HAS_TS
            or (member == IDENTIFIED_PHASE and not id_kind)
            or (member == STEP_OR_STATE_PHASE and not id_kind and not present & HAS_DURATION)
        ):
            return self._native(start, text)
        if phase == 88 and not present & HAS_DURATION:
            # What speedscope does with complete events that have only a thread duration.
            duration = thread_duration
            present |= HAS_DURATION
        if self._signature.used == 0 and not append(&self._signature, b"{}", 2):
            return NO_MEMORY
        shape = self._intern(self._shapes, self._signature.data, self._signature.used)
        if shape >= MAX_SHAPES:
            self._text.used = text
            self._arguments.used = 0
            shape = self._intern(self._shapes, b"{}", 2)
            result = self._member(-1, -1, arguments_at, &at)
            if result != FINE:
                return result
        if shape < 0:
            return NO_MEMORY
        if self._members.used:
            present |= HAS_MEMBERS
            if not append(&self._members, b"}", 1):
                return NO_MEMORY
        present &= OPTIONAL
        thread = self._thread_of(
            event_pid if event_pid else pid, event_pid_end if event_pid else pid_end,
            event_tid if event_tid else tid, event_tid_end if event_tid else tid_end,
        )
        key_id = self._key_of(phase, id_place, id_kind, bind_kind, present, <int32_t>types, shape)
        if thread < 0 or key_id < 0:
            return NO_MEMORY
        if key_id >= MAX_KEYS:
            return self._native(start, text)
        if not self._row(key_id, thread, <int32_t>cpu, ts):
            return NO_MEMORY
        if not reserve(&self._slots, 8 * 16 + self._arguments.used):
            return NO_MEMORY
        self._slot(name)
        self._slot(category)
        if id_kind:
            self._slot(id)
        if present & HAS_DURATION:
            self._slot(duration)
        if present & HAS_THREAD_TIME:
            self._slot(thread_time)
        if present & HAS_THREAD_DURATION:
            self._slot(thread_duration)
        if present & HAS_SCOPE:
            self._slot(scope)
        if present & HAS_ID_SCOPE:
            self._slot(id_scope)
        if bind_kind:
            self._slot(bind_id)
        if present & HAS_FLOW_IN:
            self._slot(flow_in)
        if present & HAS_FLOW_OUT:
            self._slot(flow_out)
        if present & HAS_MEMBERS:
            self._slot(self._text.used)
            self._slot(self._members.used)
            if not append(&self._text, self._members.data, self._members.used):
                return NO_MEMORY
        append(&self._slots, self._arguments.data, self._arguments.used)
        self._last_ts = ts
        return FINE

    # The caller has made room.
    cdef inline void _slot(self, int64_t value) noexcept nogil:
        memcpy(self._slots.data + self._slots.used, &value, 8)
        self._slots.used += 8

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
        cdef int32_t key
        self._text.used = text
        if compact(self._data, start, self._end, &self._text, &stop) != FINE:
            return MALFORMED
        size = self._text.used - text
        if size == 2:
            self._text.used = text
            size = 0
        key = self._key_of(0, 0, 0, 0, 0, 0, 0)
        if key < 0 or not self._row(key, -1, -1, self._last_ts) or not reserve(&self._slots, 16):
            return NO_MEMORY
        self._slot(text)
        self._slot(size)
        return FINE

    # A member that is not standard, added to `_members`; without a key, it is "args".
    cdef Scanned _member(self, int64_t key, int64_t key_end, int64_t value, int64_t* after) noexcept nogil:
        cdef int64_t used = self._members.used
        cdef Scanned result
        if not append(&self._members, b"," if used else b"{", 1) or not append(&self._members, b'"', 1):
            return NO_MEMORY
        if key < 0:
            if not append(&self._members, b"args", 4):
                return NO_MEMORY
        elif not append_cleaned(&self._members, self._data + key, key_end - key):
            return NO_MEMORY
        if not append(&self._members, b'":', 2):
            return NO_MEMORY
        return compact(self._data, value, self._end, &self._members, after)

    # {"local": text} or {"global": text}: `place` 2 or 3. Anything else has kind 0.
    cdef Scanned _id2(
        self, int64_t at, int64_t* after, int64_t* slot, uint8_t* kind, uint8_t* place
    ) noexcept nogil:
        cdef int64_t start = at
        cdef int64_t stop, key
        cdef bint escaped = False
        kind[0] = 0
        if self._data[at] != 123:
            return self._skip(start, after)
        at = skip_space(self._data, at + 1, self._end)
        if at >= self._end:
            return UNFINISHED
        if self._data[at] != 34:
            return self._skip(start, after)
        key = at + 1
        stop = string_end(self._data, key, self._end, &escaped)
        if stop < 0:
            return UNFINISHED
        if stop - key == 5 and memcmp(self._data + key, b"local", 5) == 0:
            place[0] = 2
        elif stop - key == 6 and memcmp(self._data + key, b"global", 6) == 0:
            place[0] = 3
        else:
            return self._skip(start, after)
        at = skip_space(self._data, stop + 1, self._end)
        if at >= self._end:
            return UNFINISHED
        if self._data[at] != 58:
            return MALFORMED
        at = skip_space(self._data, at + 1, self._end)
        if at >= self._end:
            return UNFINISHED
        if self._data[at] != 34:
            return self._skip(start, after)
        if self._identity(at, &at, slot, kind) != FINE:
            kind[0] = 0
            return self._skip(start, after)
        at = skip_space(self._data, at, self._end)
        if at >= self._end:
            return UNFINISHED
        if self._data[at] != 125:
            kind[0] = 0
            return self._skip(start, after)
        after[0] = at + 1
        return FINE

    cdef int32_t _key_of(
        self, uint8_t phase, uint8_t id_place, uint8_t id_kind, uint8_t bind_kind, int32_t present, int32_t types,
        int32_t shape,
    ) noexcept nogil:
        cdef uint8_t[16] key
        key[0] = phase
        key[1] = id_place
        key[2] = id_kind
        key[3] = bind_kind
        memcpy(&key[4], &present, 4)
        memcpy(&key[8], &types, 4)
        memcpy(&key[12], &shape, 4)
        if self._last_key_id < 0 or memcmp(&key[0], &self._last_key[0], 16) != 0:
            self._last_key_id = self._intern(self._keys, &key[0], 16)
            memcpy(&self._last_key[0], &key[0], 16)
        return self._last_key_id

    # The texts of pid and tid, a NUL between them, as an id. Missing ones are empty.
    cdef int32_t _thread_of(self, int64_t pid, int64_t pid_end, int64_t tid, int64_t tid_end) noexcept nogil:
        self._scratch.used = 0
        if not (
            append(&self._scratch, self._data + pid, pid_end - pid) and append(&self._scratch, b"\0", 1)
            and append(&self._scratch, self._data + tid, tid_end - tid)
        ):
            return -1
        return self._intern(self._threads, self._scratch.data, self._scratch.used)


cdef object _taken(Buffer* buffer, dtype):
    cdef int64_t size = buffer.used
    result = np.empty(size, np.uint8)
    cdef uint8_t[::1] view = result
    if size:
        memcpy(&view[0], buffer.data, <size_t>size)
    buffer.used = 0
    return result.view(dtype)
