# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Fields of many messages of one type into columns, by a program: which field number goes where, read how."""

# Stub:
# from collections.abc import Sequence
#
# #: The number of field numbers, from 0 on, for which `decode_messages` counts fields.
# COUNTED: int
# #: Ways to read a field. VARINT keeps as many low bytes as the column has; SPAN stores (start, size) in two int64.
# VARINT: int
# ZIGZAG: int
# BOOLEAN: int
# FIXED64: int
# FIXED32: int
# SPAN: int

import numpy as np

from converter.kernels.protobuf.wire cimport (
    WIRE_BYTES, WIRE_FIXED32, WIRE_FIXED64, WIRE_VARINT, WireField, skip_varint, check_spans, next_field, read_size,
    read_varint,
)

from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

cdef extern from *:
    void __builtin_prefetch(const void*) noexcept nogil

cdef enum:
    wVARINT = 0
    wZIGZAG = 1
    wBOOLEAN = 2
    wFIXED64 = 3
    wFIXED32 = 4
    wSPAN = 5
    # Field numbers below this are looked up in a table.
    TABLE = 256
    # There: a field that no column is of, and one that is read otherwise.
    UNDECLARED = -1
    SKIPPED = -2
    # A first byte from here on belongs to a tag of several bytes.
    TAGS = 128
    MAX_COLUMNS = 4096
    # Messages of a class lie between those of others: the one this many messages ahead is prefetched.
    AHEAD = 12

COUNTED = TABLE
VARINT, ZIGZAG, BOOLEAN, FIXED64, FIXED32, SPAN = wVARINT, wZIGZAG, wBOOLEAN, wFIXED64, wFIXED32, wSPAN


cdef struct Step:
    uint32_t number
    uint32_t wire
    int32_t way
    int32_t width
    uint8_t* column


cdef inline void store(Step* step, int64_t i, WireField* field) noexcept nogil:
    cdef uint64_t value = field.value
    cdef int64_t* span
    if step.way == wSPAN:
        span = <int64_t*>step.column + 2 * i
        span[0] = field.start
        span[1] = field.size
        return
    if step.way == wZIGZAG:
        value = (value >> 1) ^ (0 - (value & 1))
    elif step.way == wBOOLEAN:
        value = value != 0
    if step.width == 8:
        (<uint64_t*>step.column)[i] = value
    elif step.width == 4:
        (<uint32_t*>step.column)[i] = <uint32_t>value
    elif step.width == 2:
        (<uint16_t*>step.column)[i] = <uint16_t>value
    else:
        step.column[i] = <uint8_t>value


# The values of lists, one list after the other; grows as needed.
cdef class ListValues:
    cdef uint64_t[::1] _held
    cdef uint64_t* held
    cdef int64_t filled
    cdef int64_t room

    cdef int begin(self, const int64_t[:] sizes) except -1:
        """Make room for those of messages of these sizes."""
        cdef int64_t i
        cdef int64_t bytes = 0
        for i in range(sizes.shape[0]):
            bytes += sizes[i]
        # A value takes a byte at least, most of them more: memory for the least would be new memory in each batch.
        self._hold(np.empty(bytes // 4 + 64, np.uint64))
        return 0

    cdef int _hold(self, uint64_t[::1] held) except -1:
        if self.filled:
            held[:self.filled] = self._held[:self.filled]
        self._held = held
        self.held = &held[0]
        self.room = held.shape[0]
        return 0

    cdef int grow(self) except -1 nogil:
        with gil:
            self._hold(np.empty(2 * self.room, np.uint64))
        return 0

    cdef int add(self, const uint8_t* data, WireField* field) except -1 nogil:
        """The value of a field, or those that are packed in it."""
        cdef int64_t at, end
        if field.wire != WIRE_BYTES:
            if self.filled == self.room:
                self.grow()
            self.held[self.filled] = field.value
            self.filled += 1
            return 0
        at = field.start
        end = at + field.size
        while at < end:
            if self.filled == self.room:
                self.grow()
            at = read_varint(data, at, end, &self.held[self.filled])
            if at < 0:
                break
            self.filled += 1
        return 0

    cdef object taken(self):
        return np.asarray(self._held)[:self.filled] if self.room else np.empty(0, np.uint64)


cdef int wire_of(int way):
    if way == wSPAN:
        return WIRE_BYTES
    return WIRE_FIXED64 if way == wFIXED64 else WIRE_FIXED32 if way == wFIXED32 else WIRE_VARINT


# Read the value of a step after its tag of one byte; return the position after it, or -1.
cdef inline int64_t read_value(
    const Step* step, const uint8_t* data, int64_t at, int64_t end, WireField* field
) noexcept nogil:
    if step.wire == WIRE_VARINT:
        return read_varint(data, at + 1, end, &field.value)
    if step.wire != WIRE_BYTES:
        return next_field(data, at, end, field)
    at = read_size(data, at + 1, end, &field.size)
    field.start = at
    return at + field.size if at >= 0 else at


# Values of a list that is not packed, each after `tag`: the position after them, or -1.
cdef inline int64_t read_list(
    ListValues values, const uint8_t* data, int64_t at, int64_t end, uint8_t tag
) except -2 nogil:
    while at >= 0 and at < end and data[at] == tag:
        if values.filled == values.room:
            values.grow()
        at += 1
        if at < end and data[at] < 0x80:
            values.held[values.filled] = data[at]
            at += 1
        else:
            at = read_varint(data, at, end, &values.held[values.filled])
        values.filled += at >= 0
    return at


# A field whose tag has no step: to its column if it has one, or counted.
cdef inline void store_or_count(
    Step* program, int steps, const int16_t* table, int64_t* met, int64_t i, WireField* field
) noexcept nogil:
    cdef bint further = True
    cdef int k
    if field.number < TABLE:
        k = table[field.number]
        if k >= 0 and program[k].wire == field.wire:
            store(&program[k], i, field)
        else:
            met[field.number] += 1
        return
    for k in range(steps):
        if program[k].number == field.number and program[k].wire == field.wire:
            store(&program[k], i, field)
            further = False
    met[0] += further


def decode_messages(
    const uint8_t[::1] data,
    const int64_t[:] starts,
    const int64_t[:] sizes,
    fields: tuple[Sequence[int], Sequence[int], Sequence[NDArray[Any]]],
    skipped: Sequence[int] = (),
    int64_t[::1] undeclared=None,
    uint32_t listed=0,
    int64_t[::1] offsets=None,
) -> tuple[int, NDArray[uint64]]:
    """Read field ``numbers[k]`` of message i into ``columns[k][i]``, as ``ways[k]``; skip other fields.

    `fields` are `numbers`, `ways` and `columns`. Fields that are not among `skipped` either are counted in
    `undeclared`, by their numbers; those whose numbers are beyond it together, at 0.

    Columns hold the default values beforehand; of repeated occurrences the last counts (protobuf's rule). SPAN columns
    have shape (n, 2). Returns the number of damaged messages, whose fields after the damage keep their defaults, and
    the values of field `listed` of all messages: a repeated varint or 64-bit field, packed or not, whose `offsets` (n +
    1) are filled. Raises ValueError when a message lies outside the data or columns do not fit. Releases the GIL.
    """
    cdef int64_t count = starts.shape[0]
    cdef int64_t total = data.shape[0]
    cdef int64_t met[TABLE]
    cdef int steps
    cdef Step program[MAX_COLUMNS]
    cdef int16_t table[TABLE]
    # The steps of what has a tag of one byte, by that; UNDECLARED where it has none.
    cdef int16_t by_tag[TAGS]
    cdef Step* step
    # The tag of a value of the list that is not packed, where that tag has one byte.
    cdef int list_tag = -1
    cdef int k
    cdef int64_t i, at, end
    cdef int64_t damaged = 0
    cdef WireField field
    cdef uint8_t tag
    cdef uint8_t[::1] column
    cdef const uint8_t* bytes
    cdef ListValues values = ListValues()
    numbers, ways, columns = fields
    steps = len(numbers)
    if len(ways) != steps or len(columns) != steps or steps > MAX_COLUMNS:
        raise ValueError("numbers, ways and columns differ in length")
    check_spans(total, starts, sizes)
    if offsets is not None and offsets.shape[0] != count + 1:
        raise ValueError("offsets do not fit")
    if (offsets is not None) != (listed > 0):
        raise ValueError(f"there are offsets of field {listed}, or none")
    if offsets is not None:
        offsets[:] = 0
    if count == 0 or total == 0:
        return 0, values.taken()
    if undeclared is not None and undeclared.shape[0] != TABLE:
        raise ValueError("undeclared fields do not fit")
    for k in range(TABLE):
        table[k] = UNDECLARED
        met[k] = 0
    for k in skipped:
        if k < TABLE:
            table[k] = SKIPPED
    for k in range(steps):
        program[k].number = numbers[k]
        program[k].way = ways[k]
        program[k].width = 16 if ways[k] == wSPAN else columns[k].dtype.itemsize
        program[k].wire = wire_of(ways[k])
        column = columns[k].reshape(-1).view(np.uint8)
        if column.shape[0] != count * program[k].width or not columns[k].flags.c_contiguous:
            raise ValueError(f"column {k} does not fit")
        program[k].column = &column[0]
        if program[k].number < TABLE:
            table[program[k].number] = <int16_t>k
    for k in range(TAGS):
        by_tag[k] = UNDECLARED
        if k > 7 and table[k >> 3] >= 0 and program[table[k >> 3]].wire == k & 7:
            by_tag[k] = table[k >> 3]
    if listed:
        values.begin(sizes)
        if listed < TABLE:
            table[listed] = SKIPPED
        if listed < TAGS >> 3:
            list_tag = <int>(listed << 3)
    bytes = &data[0]
    with nogil:
        for i in range(count):
            if i + AHEAD < count:
                __builtin_prefetch(bytes + starts[i + AHEAD])
            at = starts[i]
            end = at + sizes[i]
            if listed:
                offsets[i] = values.filled
            while at < end:
                tag = bytes[at]
                if tag < TAGS and by_tag[tag] >= 0:
                    step = &program[by_tag[tag]]
                    at = read_value(step, bytes, at, end, &field)
                    if at < 0:
                        damaged += 1
                        break
                    store(step, i, &field)
                    continue
                if tag == list_tag:
                    at = read_list(values, bytes, at, end, tag)
                    if at < 0:
                        damaged += 1
                        break
                    continue
                if tag & 0x87 == WIRE_VARINT and tag > 7 and table[tag >> 3] < 0:
                    # Elements of lists, mostly, which are read by themselves, one after the other.
                    while at >= 0 and at < end and bytes[at] == tag:
                        met[tag >> 3] += 1
                        at = skip_varint(bytes, at + 1, end)
                    if at < 0:
                        damaged += 1
                        break
                    continue
                at = next_field(bytes, at, end, &field)
                if at < 0:
                    damaged += 1
                    break
                if listed and field.number == listed:
                    values.add(bytes, &field)
                else:
                    store_or_count(program, steps, table, met, i, &field)
    if undeclared is not None:
        # Lists among the fields of high numbers cannot be distinguished from undeclared fields.
        if any(number >= TABLE for number in skipped):
            met[0] = 0
        for k in range(TABLE):
            if table[k] == UNDECLARED:
                undeclared[k] += met[k]
    if listed:
        offsets[count] = values.filled
    return damaged, values.taken()


# The bits of `wanted` whose fields a message lacks: bit n is that of field n.
cdef inline uint64_t lacked(const uint8_t* data, int64_t at, int64_t end, uint64_t wanted) noexcept nogil:
    cdef WireField field
    cdef uint8_t tag
    while at < end:
        tag = data[at]
        # The usual case: a tag of one byte before a varint. Nothing is read after the last field that is wanted.
        if tag & 0x87 == WIRE_VARINT:
            wanted &= ~(<uint64_t>1 << (tag >> 3))
            if not wanted:
                break
            at = skip_varint(data, at + 1, end)
            if at < 0:
                break
        elif tag & 0x87 == WIRE_BYTES and end - at > 1 and data[at + 1] < 0x80 and data[at + 1] <= end - at - 2:
            wanted &= ~(<uint64_t>1 << (tag >> 3))
            if not wanted:
                break
            at += 2 + data[at + 1]
        else:
            at = next_field(data, at, end, &field)
            if at < 0:
                break
            if field.number < 64:
                wanted &= ~(<uint64_t>1 << field.number)
                if not wanted:
                    break
    return wanted


def lacking(
    const uint8_t[::1] data,
    const int64_t[::1] starts,
    const int64_t[::1] sizes,
    const int32_t[::1] keys,
    const uint64_t[::1] wanted,
) -> tuple[NDArray[int64], NDArray[int64], NDArray[int32], NDArray[uint64]]:
    """Which messages lack a field of ``wanted[keys[i]]``, and which pair each is of: keys and bits of all pairs.

    The bits say what is lacked: bit n is that of field n. A pair comes again where messages of its key were of another
    between. A message of which nothing is wanted is not looked at. Raises ValueError when another lies outside the
    data. Releases the GIL.
    """
    cdef int64_t count = starts.shape[0]
    cdef int64_t end = data.shape[0]
    cdef int64_t total = wanted.shape[0]
    cdef int64_t found = 0
    cdef int64_t pairs = 0
    cdef int64_t i = 0
    cdef int32_t key
    cdef uint64_t mask
    # Only the pages of this memory that are filled are ever touched.
    cdef int64_t[::1] places = np.empty(count, np.int64)
    cdef int64_t[::1] which = np.empty(count, np.int64)
    cdef int32_t[::1] pair_keys = np.empty(count, np.int32)
    cdef uint64_t[::1] masks = np.empty(count, np.uint64)
    # By key: the pair that its last message is of. Keys that lack nothing may be much larger than others.
    cdef int64_t largest = 0
    cdef int64_t[::1] last
    if sizes.shape[0] != count or keys.shape[0] != count:
        raise ValueError("starts, sizes and keys differ in length")
    with nogil:
        for i in range(count):
            key = keys[i]
            if 0 <= key < total and wanted[key] != 0:
                largest = max(largest, key)
    last = np.full(largest + 1, -1, np.int64)
    with nogil:
        for i in range(count):
            key = keys[i]
            if key < 0 or key >= total:
                found = -1
                break
            mask = wanted[key]
            if mask == 0:
                continue
            if starts[i] < 0 or sizes[i] < 0 or starts[i] > end or sizes[i] > end - starts[i]:
                found = -1
                break
            if sizes[i]:
                mask = lacked(&data[0], starts[i], starts[i] + sizes[i], mask)
            if mask:
                if last[key] < 0 or masks[last[key]] != mask:
                    last[key] = pairs
                    pair_keys[pairs] = key
                    masks[pairs] = mask
                    pairs += 1
                places[found] = i
                which[found] = last[key]
                found += 1
    if found < 0:
        raise ValueError(f"message {i} has no such key, or lies outside the data")
    return (
        np.asarray(places)[:found],
        np.asarray(which)[:found],
        np.asarray(pair_keys)[:pairs],
        np.asarray(masks)[:pairs],
    )


def decode_repeated(
    const uint8_t[::1] data, const int64_t[:] starts, const int64_t[:] sizes, uint32_t number, int64_t[::1] offsets
) -> NDArray[uint64]:
    """A repeated varint or 64-bit field, packed or not: the values of all messages; fills the offsets (n + 1)."""
    return decode_messages(data, starts, sizes, ((), (), ()), (), None, number, offsets)[1]


def repeated_spans(
    const uint8_t[::1] data, const int64_t[:] starts, const int64_t[:] sizes, uint32_t number, int64_t[::1] offsets
) -> NDArray[int64]:
    """(start, size) of each occurrence of a length-delimited field, shape (m, 2); fills the offsets (n + 1)."""
    cdef int64_t count = starts.shape[0]
    cdef int64_t i, at, end, found
    cdef int turn
    cdef WireField field
    cdef int64_t[:, ::1] spans = np.empty((0, 2), np.int64)
    check_spans(data.shape[0], starts, sizes)
    if offsets.shape[0] != count + 1:
        raise ValueError("offsets do not fit")
    for turn in range(2):
        found = 0
        offsets[0] = 0
        with nogil:
            for i in range(count):
                at = starts[i]
                end = at + sizes[i]
                while at < end:
                    at = next_field(&data[0], at, end, &field)
                    if at < 0:
                        break
                    if field.number == number and field.wire == WIRE_BYTES:
                        if turn == 1:
                            spans[found, 0] = field.start
                            spans[found, 1] = field.size
                        found += 1
                offsets[i + 1] = found
        if turn == 0:
            spans = np.empty((found, 2), np.int64)
    return np.asarray(spans)


def message_fields(
    const uint8_t[::1] data, int64_t start, int64_t size, int64_t most
) -> tuple[NDArray[int64], int]:
    """The fields of one message, `most` at most, and the offset after the last one: the end of a sound message.

    A row has the number and the wire type of a field, the start and the size of its contents (of a length-delimited
    field) or value, and where its tag starts.
    """
    cdef int64_t end = start + size
    cdef int64_t at = start
    cdef int64_t next_at = start
    cdef int64_t found = 0
    cdef int turn
    cdef WireField field
    cdef int64_t[:, ::1] rows = np.empty((0, 5), np.int64)
    if start < 0 or size < 0 or start > data.shape[0] or size > data.shape[0] - start:
        raise ValueError("the message lies outside the data")
    for turn in range(2):
        found = 0
        at = start
        with nogil:
            while at < end and found < most:
                next_at = next_field(&data[0], at, end, &field)
                if next_at < 0:
                    break
                if turn == 1:
                    rows[found, 0] = field.number
                    rows[found, 1] = field.wire
                    rows[found, 2] = field.start if field.wire == WIRE_BYTES else skip_varint(&data[0], at, end)
                    rows[found, 3] = next_at - rows[found, 2]
                    rows[found, 4] = at
                found += 1
                at = next_at
        if turn == 0:
            rows = np.empty((found, 5), np.int64)
    return np.asarray(rows), at
