# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Runs programs over the columns of a batch, event by event, into one growing text."""

from libc.stdint cimport INT64_MAX, int16_t, int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memchr, memcpy, memset

from converter.kernels.batches.column_view cimport (
    ColumnView, elements_of, integer_of, option_of, span_of, text_of, value_at,
)
from converter.kernels.io.output cimport Blocks, Output, append, ensure, put8
from converter.kernels.tables.strings cimport PADDING, StringTable
from converter.kernels.text.doubles cimport put_fixed
from converter.printing.arithmetic cimport combined, resolve, split_time
from converter.printing.directory cimport Directory, Found
from converter.printing.forms cimport (
    Form, extended, fit, lowest, put_decimal, put_hexadecimal, put_number, put_seconds,
)
from converter.printing.names cimport put_choice, put_flags, put_label
from converter.printing.program cimport *
from converter.printing.record_bytes cimport Record, bits_at, clip, extent, number_at, plain, put_array, read, scaled_place
from converter.printing.values cimport (
    NEEDS_QUOTES, NOT_ASCII, UNPRINTABLE, classify_bytes, has_controls, is_control, put_bare, put_double, put_escape, put_json,
    put_octets, put_padded, traits,
)

cdef enum:
    #: Text is handed over in blocks that stay in the processor's cache.
    BLOCK = 1 << 18
    EVENTS_AHEAD = 10
    MOST_REPEATS = 1 << 20

classify_bytes()


cdef class Printer:
    cdef StringTable _strings
    cdef Output _out
    cdef Blocks _blocks
    cdef bint _escapes
    # Of the event at hand: what a directory has found, and the form of texts.
    cdef Found _found
    cdef Form _form
    cdef int64_t[LEVELS] _rows
    cdef int64_t[LEVELS] _firsts
    cdef int64_t[LEVELS] _ends
    cdef uint64_t[REGISTERS] _registers

    def __cinit__(self, StringTable strings not None, bint escapes=False):
        self._strings = strings
        self._blocks = Blocks()
        self._escapes = escapes
        memset(self._registers, 0, sizeof(self._registers))

    def __dealloc__(self):
        free(self._out.data)

    def print(self, list programs, const int32_t[:] class_id, const int32_t[:] row, write):
        """Print the events of a batch by the programs of their classes (None: not at all), which are released."""
        cdef int64_t count = class_id.shape[0]
        cdef int64_t classes = len(programs)
        cdef int64_t i, ahead
        cdef int32_t number
        cdef Program program
        cdef void** found
        if row.shape[0] != count:
            raise ValueError("an event has a class and a row")
        # Borrowed: the list keeps the programs.
        found = <void**>calloc(classes + 1, sizeof(void*))
        if found is NULL:
            raise MemoryError
        try:
            for i in range(classes):
                if programs[i] is not None:
                    program = programs[i]
                    found[i] = <void*>program
            if not ensure(&self._out, BLOCK + BLOCK // 8):
                raise MemoryError
            with nogil:
                for i in range(count):
                    ahead = i + EVENTS_AHEAD
                    if ahead < count and 0 <= class_id[ahead] < classes and found[class_id[ahead]] is not NULL:
                        (<Program>found[class_id[ahead]]).fetch(row[ahead])
                    number = class_id[i]
                    if not 0 <= number < classes or found[number] is NULL:
                        continue
                    self._event(found[number], i, row[i])
                    if self._out.used >= BLOCK:
                        self._escape(0)
                        with gil:
                            write(self._blocks.hand_over(&self._out))
                            if not ensure(&self._out, BLOCK + BLOCK // 8):
                                raise MemoryError
        finally:
            free(found)
            for program in programs:
                if program is not None:
                    program.release()

    def flush(self, write):
        """Hand over what is printed."""
        if self._out.used:
            with nogil:
                self._escape(0)
            write(self._blocks.hand_over(&self._out))

    def text(self, Program program not None, int64_t position, int64_t row):
        """Return the text that a program prints for one event."""
        cdef int64_t start = self._out.used
        with nogil:
            self._event(<void*>program, position, row)
            self._escape(start)
        text = (<const char*>self._out.data)[start:self._out.used] if self._out.used > start else b""
        self._out.used = start
        return text

    cdef int _event(self, void* program, int64_t position, int64_t row) except -1 nogil:
        self._rows[0] = position
        self._rows[1] = row
        self._found = Found(NULL, 0, 0)
        self._run(program)
        return 0

    # Control characters, which must not reach a terminal, as Python escapes them: all but line ends and tabs. Of whole
    # lines, so that no character is divided.
    cdef int _escape(self, int64_t start) except -1 nogil:
        """Escape the output from `start` on."""
        cdef Output* out = &self._out
        cdef int64_t size = out.used - start
        cdef const uint8_t* data
        cdef uint8_t* copy
        cdef int64_t i = 0
        if not self._escapes or not has_controls(out.data + start, size):
            return 0
        copy = <uint8_t*>malloc(size)
        if copy is NULL or not ensure(out, 3 * size):
            free(copy)
            with gil:
                raise MemoryError
        memcpy(copy, out.data + start, size)
        data = copy
        out.used = start
        while i < size:
            if is_control(data[i]):
                put_escape(out, data[i])
            elif data[i] == 0xC2 and i + 1 < size and 0x80 <= data[i + 1] <= 0x9F:
                i += 1
                put_escape(out, data[i])
            else:
                put8(out, data[i])
            i += 1
        free(copy)
        return 0

    cdef int _run(self, void* program) except -1 nogil:
        cdef const Operation* operations = (<Program>program)._operations
        cdef const Operation* operation
        cdef const ColumnView* views = (<Program>program)._columns.views
        cdef const ColumnView* view = NULL
        cdef Output* out = &self._out
        cdef uint64_t[DEPTH] stack
        cdef int64_t[MARKS] marks
        cdef int64_t depth = 0
        cdef int64_t marked = 0
        cdef int64_t count = (<Program>program)._count
        cdef int64_t at = 0
        cdef int64_t row = 0
        cdef int64_t code, size, first, last
        cdef int64_t repeats = 0
        cdef int64_t begin = out.used
        cdef int64_t text = begin
        cdef int64_t limit = INT64_MAX
        cdef int64_t stop = 0
        cdef const uint8_t* data = NULL
        cdef const uint8_t* literals = (<Program>program)._literals
        cdef uint64_t value, other
        cdef double floating
        cdef float short_floating
        cdef int16_t option = 0
        cdef int32_t chosen = 0
        cdef bint good
        cdef Record record = (<Program>program).record(self._rows[1])
        cdef Form form
        cdef void* directory
        while at < count:
            if out.used > limit:
                at = stop
                limit = INT64_MAX
            operation = &operations[at]
            code = operation.code
            at += 1
            good = True
            if code < COLUMN_OPERATIONS:
                view = &views[operation.a]
                row = self._rows[operation.b]
                if row < 0 or row >= view.length:
                    with gil:
                        raise ValueError("an event is outside of its class's columns")
            if code == LITERAL:
                size = operation.b
                good = ensure(out, size + PADDING)
                if good:
                    put_padded(out, literals + operation.a, size)
            elif code == CONSTANT:
                stack[depth] = <uint64_t>operation.a
                depth += 1
            elif code == COLUMN:
                stack[depth] = integer_of(view, row, <int>view.width, operation.c)
                depth += 1
            elif code == LOAD:
                stack[depth] = read(&record, operation.a, operation.b, (<Program>program)._swap)
                depth += 1
            elif code == RECORD_SIZE:
                stack[depth] = record.size
                depth += 1
            elif code == DYNAMIC:
                extent(&record, operation.a, operation.b, operation.c, (<Program>program)._swap, &stack[depth])
                depth += 2
            elif code == REST:
                stack[depth] = record.size - stack[depth - 1] if stack[depth - 1] <= <uint64_t>record.size else 0
                depth += 1
            elif code == READ:
                depth -= 1
                stack[depth - 1] = number_at(
                    &record, stack[depth - 1], stack[depth], (<Program>program)._big_endian and not operation.a, operation.a
                )
            elif code == ELEMENT:
                depth -= 1
                stack[depth - 1] = scaled_place(stack[depth - 1], stack[depth], operation.a)
            elif code == DROP:
                depth -= 1
            elif code == COPY:
                stack[depth] = stack[depth - 1]
                depth += 1
            elif code == LENGTH:
                depth -= 1
                stack[depth - 1] = stack[depth]
            elif code == KEEP:
                stack[depth - 1] &= <uint64_t>operation.a
            elif MULTIPLY <= code <= EITHER:
                depth -= 1
                stack[depth - 1] = combined(code, stack[depth - 1], stack[depth])
            elif code == NEGATE:
                stack[depth - 1] = <uint64_t>0 - stack[depth - 1]
            elif code == INVERT:
                stack[depth - 1] = ~stack[depth - 1]
            elif code == NOT:
                stack[depth - 1] = stack[depth - 1] == 0
            elif code == JUMP:
                at = operation.a
            elif code == JUMP_IF_ZERO:
                depth -= 1
                if stack[depth] == 0:
                    at = operation.a
            elif code == AGAIN:
                at = operation.a
                repeats += 1
                if repeats > MOST_REPEATS:
                    with gil:
                        raise ValueError("a loop does not end")
            elif code == GIVE_UP:
                depth -= 1
                if stack[depth] == 0:
                    at = operation.a
                    out.used = begin
                    depth = marked = 0
                    limit = INT64_MAX
            elif code == STORE:
                depth -= 1
                self._registers[operation.a] = stack[depth]
            elif code == FETCH:
                stack[depth] = self._registers[operation.a]
                depth += 1
            elif code == PRINTED:
                stack[depth] = out.used - begin
                depth += 1
            elif code == LAST:
                stack[depth] = out.data[out.used - 1] if out.used else 0
                depth += 1
            elif code == BITS:
                stack[depth - 1] = bits_at(&record, stack[depth - 1], operation.a)
            elif code == PLAIN:
                depth -= 1
                stack[depth - 1] = plain(&record, stack[depth - 1], stack[depth], operation.a)
            elif code == EACH:
                if not elements_of(view, row, &first, &last):
                    with gil:
                        raise ValueError("a list lies outside its values")
                if first == last:
                    at = operation.c
                else:
                    self._rows[operation.b + 1] = first
                    self._firsts[operation.b + 1] = first
                    self._ends[operation.b + 1] = last
            elif code == COUNT:
                if not elements_of(view, row, &first, &last):
                    with gil:
                        raise ValueError("a list lies outside its values")
                stack[depth] = last - first
                depth += 1
            elif code == BEFORE:
                stack[depth] = self._rows[operation.a] - self._firsts[operation.a]
                depth += 1
            elif code == NEXT:
                self._rows[operation.b] += 1
                if self._rows[operation.b] < self._ends[operation.b]:
                    at = operation.a
            elif code == VALID:
                stack[depth] = value_at(view, row)[0] != 0
                depth += 1
            elif code == OPTION:
                if not option_of(view, row, &option, &chosen):
                    with gil:
                        raise ValueError("a value is none of its options")
                stack[depth] = option
                depth += 1
                self._rows[operation.b + 1] = chosen
            elif code == DECIMAL:
                depth -= 1
                value = stack[depth]
                good = put_decimal(
                    out, extended(value, operation.a) if operation.b else lowest(value, operation.a), operation.b
                )
            elif code == HEXADECIMAL:
                depth -= 1
                good = put_hexadecimal(out, lowest(stack[depth], operation.a))
            elif code == NUMBER:
                depth -= 1
                value = stack[depth]
                form = (<Program>program)._forms[operation.a]
                if operation.b:
                    depth -= operation.b
                    resolve(&form, operation.c, &stack[depth])
                good = put_number(out, value, &form)
            elif code == TIME:
                depth -= 1
                value = stack[depth]
                good = not operation.c & 1 and value >> 63
                split_time(<uint64_t>0 - value if good else value, operation.a, operation.b, &value, &other)
                good = put_seconds(out, value, other, good, operation.c >> 1)
            elif code == LETTERS:
                depth -= 1
                size = operation.b
                good = ensure(out, size + PADDING)
                if good:
                    put_padded(out, literals + operation.a + size * (stack[depth] & <uint64_t>operation.c), size)
            elif code == BLANKS:
                depth -= 1
                size = stack[depth] * operation.a if stack[depth] < <uint64_t>operation.b else 0
                good = ensure(out, size)
                if good:
                    memset(out.data + out.used, c' ', size)
                    out.used += size
            elif code == TEXT or code == QUOTED or code == JSON:
                if not text_of(view, self._strings, self._strings._count, row, &data, &size):
                    with gil:
                        raise ValueError("a text is none of the trace's")
                if code == TEXT:
                    good = append(out, data, size)
                else:
                    self._quoted(program, data, size, operation.c, code == QUOTED)
            elif code == BYTES:
                if not span_of(view, row, 1, &data, &size):
                    with gil:
                        raise ValueError("a list lies outside its values")
                good = put_octets(out, data, size, -1)
            elif code == FLOAT:
                if view.width == 4:
                    memcpy(&short_floating, value_at(view, row), 4)
                    floating = short_floating
                elif view.width == 8:
                    memcpy(&floating, value_at(view, row), 8)
                else:
                    with gil:
                        raise ValueError("a floating-point number has 32 or 64 bits")
                good = put_double(out, floating, operation.c) if operation.c < 2 \
                    else put_fixed(out, floating, <int>(operation.c - 2))
            elif code == STRING:
                depth -= 2
                size = clip(&record, stack[depth], stack[depth + 1], &data)
                if size:
                    last = <int64_t>memchr(data, 0, size)
                    good = append(out, data, last - <int64_t>data if last else size)
            elif code == OCTETS:
                depth -= 3
                # A length of 2^31 and more is below 0.
                value = stack[depth + 2] & <uint64_t>0xFFFFFFFF
                if not value >> 31:
                    size = clip(&record, stack[depth], value, &data)
                    good = put_octets(out, data, size, <int>operation.a)
            elif code == ARRAY:
                depth -= 4 - operation.a
                good = put_array(out, &record, &stack[depth], operation.a, (<Program>program)._swap)
            elif code == FORM:
                self._form = (<Program>program)._forms[operation.a]
                if operation.b:
                    depth -= operation.b
                    resolve(&self._form, operation.c, &stack[depth])
            elif code == MARK:
                marks[marked] = out.used
                marked += 1
            elif code == FIT:
                marked -= 1
                good = fit(out, marks[marked], &self._form)
            elif code == LIMIT:
                text = out.used
                limit = text + operation.b
                stop = operation.a
            elif code == STRIP:
                depth = marked = 0
                limit = INT64_MAX
                if operation.a < out.used - text:
                    out.used = text + operation.a
                while out.used > text and out.data[out.used - 1] == c'\n':
                    out.used -= 1
            elif code == CHOOSE:
                depth -= 1
                good = put_choice(
                    out, literals, &(<Program>program)._names[operation.a], stack[depth],
                    &self._form if operation.b else NULL,
                )
            elif code == FLAGS:
                depth -= 1
                good = put_flags(
                    out, literals, &(<Program>program)._names[operation.a], stack[depth],
                    &self._form if operation.b else NULL,
                )
            elif code == LABEL:
                size = out.used
                good = put_label(out, literals, &(<Program>program)._names[operation.a], stack[depth - 1])
                stack[depth] = out.used > size
                depth += 1
            elif code == FIND:
                directory = (<Program>program)._directory[operation.a]
                (<Directory>directory).find(stack[depth - 1], &self._found)
                stack[depth - 1] = self._found.data is not NULL
            elif code == FOUND_TEXT:
                good = self._put_found()
            elif code == NAME:
                depth -= 1
                directory = (<Program>program)._directory[operation.a]
                (<Directory>directory).find(stack[depth], &self._found)
                good = self._put_found()
            elif code == FOUND_NUMBER:
                stack[depth] = self._found.number
                depth += 1
            elif code == LEARN:
                depth -= 1
                directory = (<Program>program)._directory[operation.a]
                (<Directory>directory).find(stack[depth], &self._found)
                if self._found.data is NULL or not self._found.number:
                    view = &views[operation.b]
                    row = self._rows[operation.c]
                    if row < 0 or row >= view.length \
                            or not text_of(view, self._strings, self._strings._count, row, &data, &size):
                        with gil:
                            raise ValueError("an event is outside of its class's columns")
                    with gil:
                        (<Directory>directory).learn(stack[depth], (<const char*>data)[:size] if size else b"")
                self._found = Found(NULL, 0, 0)
            else:
                depth -= operation.b
                self._call(program, operation, &record, &stack[depth])
            if not good:
                with gil:
                    raise MemoryError
        return 0

    cdef inline bint _put_found(self) noexcept nogil:
        if self._found.data is NULL:
            return True
        if not ensure(&self._out, self._found.size + PADDING):
            return False
        put_padded(&self._out, self._found.data, self._found.size)
        return True

    cdef int _quoted(
        self, void* program, const uint8_t* data, int64_t size, int64_t function, bint bare
    ) except -1 nogil:
        cdef int found = traits(data, size)
        cdef bint good
        if found & NOT_ASCII:
            with gil:
                result = (<Program>program)._functions[function]((<const char*>data)[:size])
                self._put(result)
            return 0
        if not bare or found & NEEDS_QUOTES or size == 0:
            good = put_json(&self._out, data, size)
        elif found & UNPRINTABLE:
            good = put_bare(&self._out, data, size)
        else:
            good = append(&self._out, data, size)
        if not good:
            with gil:
                raise MemoryError
        return 0

    cdef int _call(
        self, void* program, const Operation* operation, const Record* record, const uint64_t* numbers
    ) except -1 nogil:
        cdef int64_t i
        with gil:
            data = (<const char*>record.data)[:record.size] if record.size else b""
            given = [numbers[i] for i in range(operation.b)]
            self._put((<Program>program)._functions[operation.a](data, *given))
        return 0

    cdef int _put(self, bytes text) except -1:
        if not append(&self._out, <const uint8_t*><const char*>text, len(text)):
            raise MemoryError
        return 0
