# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Runs programs over the columns of a batch, event by event, into one growing text."""

# Stub:
# from collections.abc import Callable
# from converter.kernels.tables.strings import StringTable
# from converter.printing.program import Program

from cython cimport final
from libc.stdint cimport INT64_MAX, int16_t, int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

from converter.kernels.batches.column_view cimport ColumnView, elements_of, integer_of, option_of, span_of, text_of, value_at
from converter.kernels.text.doubles cimport put_fixed
from converter.kernels.io.output cimport Blocks, Output, append, ensure, put8
from converter.kernels.tables.strings cimport PADDING, StringTable
from converter.printing.arithmetic cimport resolve
from converter.printing.directory cimport Directory, Found
from converter.printing.forms cimport Form, fit
from converter.printing.names cimport put_choice, put_flags, put_label
from converter.printing.operations cimport calculate, put_numbers
from converter.printing.program cimport *
from converter.printing.record_bytes cimport Record
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


# Texts that a program has started: where its output begins, the text at hand, and where that must end (`limit`) and the
# program goes on then (`stop`); beginnings of the parts to be laid out.
cdef struct Texts:
    int64_t begin
    int64_t text
    int64_t limit
    int64_t stop
    int64_t marked
    int64_t[MARKS] marks


@final
cdef class Printer:
    """Prints events, with `escapes` control characters as Python escapes them, but for line ends and tabs."""

    cdef StringTable _strings
    cdef Output _out
    cdef Blocks _blocks
    cdef bint _escapes
    # The event at hand: the entry that a directory has found, and the layout of texts.
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

    def print(
        self,
        list programs: list[Program | None],
        const int32_t[:] class_id,
        const int32_t[:] row,
        write: Callable[[memoryview], object],
    ) -> None:
        """Print the events of a batch by the programs of their classes; those without one not at all.

        Blocks of text are written when they are full. Programs let go of the columns that they are bound to.
        """
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

    def flush(self, write: Callable[[memoryview], object]) -> None:
        """Write what has not been."""
        if self._out.used:
            with nogil:
                self._escape(0)
            write(self._blocks.hand_over(&self._out))

    def text(self, Program program not None, int64_t position, int64_t row) -> bytes:
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
        cdef Texts texts
        cdef int64_t depth = 0
        cdef int64_t count = (<Program>program)._count
        cdef int64_t at = 0
        cdef int64_t row = 0
        cdef int64_t code, size, first, last
        cdef int64_t repeats = 0
        cdef int16_t option = 0
        cdef int32_t chosen = 0
        cdef Record record = (<Program>program).record(self._rows[1])
        texts.begin = texts.text = out.used
        texts.limit = INT64_MAX
        texts.stop = texts.marked = 0
        while at < count:
            if out.used > texts.limit:
                at = texts.stop
                texts.limit = INT64_MAX
            operation = &operations[at]
            code = operation.code
            at += 1
            if code < COLUMN_OPERATIONS:
                view = &views[operation.a]
                row = self._rows[operation.b]
                if row < 0 or row >= view.length:
                    with gil:
                        raise ValueError("an event is outside of its class's columns")
            if code == LITERAL:
                size = operation.b
                if not ensure(out, size + PADDING):
                    self._fail()
                put_padded(out, (<Program>program)._literals + operation.a, size)
            elif CONSTANT <= code <= NOT or COPY == code or BITS <= code <= PLAIN:
                depth += calculate(program, operation, &record, &stack[depth])
            elif DECIMAL <= code <= ARRAY:
                size = put_numbers(out, program, operation, &record, &stack[depth])
                if size < 0:
                    self._fail()
                depth -= size
            elif code == COLUMN:
                stack[depth] = integer_of(view, row, <int>view.width, operation.c)
                depth += 1
            elif code == VALID:
                stack[depth] = value_at(view, row)[0] != 0
                depth += 1
            elif FLOAT <= code <= BYTES:
                self._put_column(program, operation, view, row)
            elif code == OPTION:
                if not option_of(view, row, &option, &chosen):
                    with gil:
                        raise ValueError("a value is none of its options")
                stack[depth] = option
                depth += 1
                self._rows[operation.b + 1] = chosen
            elif code == EACH or code == COUNT:
                if not elements_of(view, row, &first, &last):
                    with gil:
                        raise ValueError("a list lies outside its values")
                if code == COUNT:
                    stack[depth] = last - first
                    depth += 1
                elif first == last:
                    at = operation.c
                else:
                    self._rows[operation.b + 1] = first
                    self._firsts[operation.b + 1] = first
                    self._ends[operation.b + 1] = last
            elif code == BEFORE:
                stack[depth] = self._rows[operation.a] - self._firsts[operation.a]
                depth += 1
            elif code == NEXT:
                self._rows[operation.b] += 1
                if self._rows[operation.b] < self._ends[operation.b]:
                    at = operation.a
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
                    out.used = texts.begin
                    depth = texts.marked = 0
                    texts.limit = INT64_MAX
            elif FORM <= code <= STRIP:
                depth = self._shape_text(program, operation, &texts, stack, depth)
            elif code == STORE:
                depth -= 1
                self._registers[operation.a] = stack[depth]
            elif code == FETCH:
                stack[depth] = self._registers[operation.a]
                depth += 1
            elif code == PRINTED:
                stack[depth] = out.used - texts.begin
                depth += 1
            elif code == LAST:
                stack[depth] = out.data[out.used - 1] if out.used else 0
                depth += 1
            elif code != CALL:
                depth += self._look_up(program, operation, &stack[depth])
            else:
                depth -= operation.b
                self._call(program, operation, &record, &stack[depth])
        return 0

    cdef int _fail(self) except -1 nogil:
        with gil:
            raise MemoryError

    # The value of a column as text.
    cdef int _put_column(
        self, void* program, const Operation* operation, const ColumnView* view, int64_t row
    ) except -1 nogil:
        cdef int64_t code = operation.code
        cdef int64_t size = 0
        cdef const uint8_t* data = NULL
        cdef double floating
        cdef float short_floating
        cdef bint good = True
        if code == TEXT or code == QUOTED or code == JSON:
            if not text_of(view, self._strings, self._strings._count, row, &data, &size):
                with gil:
                    raise ValueError("a text is none of the trace's")
            if code == TEXT:
                good = append(&self._out, data, size)
            else:
                self._quoted(program, data, size, operation.c, code == QUOTED)
        elif code == BYTES:
            if not span_of(view, row, 1, &data, &size):
                with gil:
                    raise ValueError("a list lies outside its values")
            good = put_octets(&self._out, data, size, -1)
        else:
            if view.width == 4:
                memcpy(&short_floating, value_at(view, row), 4)
                floating = short_floating
            elif view.width == 8:
                memcpy(&floating, value_at(view, row), 8)
            else:
                with gil:
                    raise ValueError("a floating-point number has 32 or 64 bits")
            good = put_double(&self._out, floating, operation.c) if operation.c < 2 \
                else put_fixed(&self._out, floating, <int>(operation.c - 2))
        if not good:
            with gil:
                raise MemoryError
        return 0

    # FORM to STRIP: the layout of the texts that a program has started. Returns the depth of the stack.
    cdef int64_t _shape_text(
        self, void* program, const Operation* operation, Texts* texts, const uint64_t* stack, int64_t depth
    ) except -1 nogil:
        cdef int64_t code = operation.code
        cdef Output* out = &self._out
        if code == FORM:
            self._form = (<Program>program)._forms[operation.a]
            if operation.b:
                depth -= operation.b
                resolve(&self._form, operation.c, &stack[depth])
        elif code == MARK:
            texts.marks[texts.marked] = out.used
            texts.marked += 1
        elif code == FIT:
            texts.marked -= 1
            if not fit(out, texts.marks[texts.marked], &self._form):
                with gil:
                    raise MemoryError
        elif code == LIMIT:
            texts.text = out.used
            texts.limit = texts.text + operation.b
            texts.stop = operation.a
        else:
            depth = texts.marked = 0
            texts.limit = INT64_MAX
            if operation.a < out.used - texts.text:
                out.used = texts.text + operation.a
            while out.used > texts.text and out.data[out.used - 1] == c'\n':
                out.used -= 1
        return depth

    # CHOOSE to LEARN, and NAME: names of numbers, from the program or a directory. `top` is the stack's next free entry;
    # returns by how much the stack grows.
    cdef int _look_up(self, void* program, const Operation* operation, uint64_t* top) except? -2 nogil:
        cdef int64_t code = operation.code
        cdef Output* out = &self._out
        cdef const uint8_t* literals = (<Program>program)._literals
        cdef const Names* names
        cdef int64_t used = out.used
        cdef int grows = 0
        cdef bint good = True
        if code == CHOOSE or code == FLAGS or code == LABEL:
            names = &(<Program>program)._names[operation.a]
            if code == LABEL:
                good = put_label(out, literals, names, top[-1])
                top[0] = out.used > used
                grows = 1
            elif code == CHOOSE:
                good = put_choice(out, literals, names, top[-1], &self._form if operation.b else NULL)
                grows = -1
            else:
                good = put_flags(out, literals, names, top[-1], &self._form if operation.b else NULL)
                grows = -1
        elif code == FOUND_TEXT:
            good = self._put_found()
        elif code == FOUND_NUMBER:
            top[0] = self._found.number
            grows = 1
        else:
            (<Directory>(<Program>program)._directory[operation.a]).find(top[-1], &self._found)
            if code == FIND:
                top[-1] = self._found.data is not NULL
            elif code == NAME:
                good = self._put_found()
                grows = -1
            else:
                self._learn(program, operation, top[-1])
                grows = -1
        if not good:
            with gil:
                raise MemoryError
        return grows

    # Let a directory learn the text that the event has for a key, where that is not known or has no number.
    cdef int _learn(self, void* program, const Operation* operation, uint64_t key) except -1 nogil:
        cdef const ColumnView* view
        cdef int64_t row
        cdef int64_t size = 0
        cdef const uint8_t* data = NULL
        if self._found.data is NULL or not self._found.number:
            view = &(<Program>program)._columns.views[operation.b]
            row = self._rows[operation.c]
            if row < 0 or row >= view.length \
                    or not text_of(view, self._strings, self._strings._count, row, &data, &size):
                with gil:
                    raise ValueError("an event is outside of its class's columns")
            with gil:
                (<Directory>(<Program>program)._directory[operation.a]).learn(
                    key, (<const char*>data)[:size] if size else b""
                )
        self._found = Found(NULL, 0, 0)
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
