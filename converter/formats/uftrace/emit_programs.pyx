# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Programs that write the records of event classes: what a record's head is followed by, and the columns it is from."""


from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memcpy, memset

from converter.kernels.buffers cimport HeldColumn, HeldList
from converter.kernels.strings cimport Entry, StringTable
from converter.formats.uftrace.emit_tasks cimport RECORD_SIZE, Task, store_value
from converter.formats.uftrace.values cimport padded


cdef class Programs:
    def __cinit__(self, StringTable strings not None, *args):
        self._strings = strings
        self._held = []

    def __dealloc__(self):
        cdef int64_t i
        for i in range(self._program_count):
            free(self._programs[i].operations)
            free(self._programs[i].columns)
        free(self._programs)

    def add_program(self, int32_t record, bint named, operations, int64_t event=0):
        """A program for a class; its number."""
        cdef Program program
        cdef void* moved
        cdef int64_t i
        memset(&program, 0, sizeof(Program))
        if not P_ENTRY <= record <= P_VARIABLE or len(operations) > MAX_OPERATIONS or not 0 <= event < 1 << 48:
            raise ValueError("no record is like this")
        if record in (P_ENTRY, P_USER_EVENT, P_VARIABLE) and not named:
            raise ValueError("the record has a name")
        if record in (P_LOST, P_RAW, P_VARIABLE):
            if named != (record == P_VARIABLE) or len(operations) != 1:
                raise ValueError("the record has one value")
        for code, width in operations:
            if not O_VALUE <= code <= O_BYTES or not 0 <= width <= MAX_TEXT:
                raise ValueError(f"no operation {code} of width {width}")
            if code == O_VALUE and width not in (1, 2, 4, 8):
                raise ValueError(f"no value of {width} bytes")
            if code != (O_BYTES if record == P_RAW else O_VALUE) and record not in (P_ENTRY, P_EXIT):
                raise ValueError("only functions have texts")
        if record == P_LOST and operations[0][1] != 8:
            raise ValueError("a count has 8 bytes")
        moved = realloc(self._programs, (self._program_count + 1) * sizeof(Program))
        if moved is NULL:
            raise MemoryError
        self._programs = <Program*>moved
        program.record = record
        program.named = named
        program.event = event
        program.count = len(operations)
        program.operations = <Operation*>calloc(program.count + 1, sizeof(Operation))
        program.columns = <Column*>calloc(program.count + 2, sizeof(Column))
        self._programs[self._program_count] = program
        self._program_count += 1
        if program.operations is NULL or program.columns is NULL:
            raise MemoryError
        for i in range(program.count):
            program.operations[i].code, program.operations[i].width = operations[i]
        return self._program_count - 1

    def bind(self, int64_t number, int64_t rows, columns):
        """Columns for the next `emit`."""
        cdef Program* program
        cdef Column* column
        cdef int64_t i
        cdef int64_t leading
        cdef int32_t code
        cdef int64_t width
        cdef HeldColumn array
        cdef HeldList listed
        if not 0 <= number < self._program_count or not 0 <= rows < 1 << 62:
            raise ValueError(f"no program {number}, or {rows} rows")
        program = &self._programs[number]
        leading = 2 if program.named else 0
        if len(columns) != leading + program.count:
            raise ValueError(f"{len(columns)} columns for {leading + program.count} fields")
        program.rows = 0
        for i in range(leading + program.count):
            column = &program.columns[i]
            memset(column, 0, sizeof(Column))
            code = program.operations[i - leading].code if i >= leading else O_TEXT
            width = program.operations[i - leading].width if code == O_VALUE else 4
            given = columns[i]
            if isinstance(given, tuple):
                if code == O_VALUE or i < leading:
                    raise ValueError(f"column {i} is a list")
                offsets, values = given
                listed = HeldList(offsets, values, rows)
                self._held.append(listed)
                column.offsets = listed.offsets
                column.data = listed.data
                continue
            if code == O_BYTES:
                raise ValueError(f"column {i} is no list")
            array = HeldColumn(given, width)
            if array.length != rows:
                raise ValueError(f"column {i} has {array.length} values for {rows} rows")
            self._held.append(array)
            column.data = array.data
            column.stride = array.stride
        program.rows = rows

    def release(self):
        """Let go of the columns that were bound."""
        cdef int64_t i
        for i in range(self._program_count):
            self._programs[i].rows = 0
        self._held.clear()

    cdef int _measure(self, Program* program, int64_t row, int64_t* size) noexcept nogil:
        cdef const uint8_t* data
        cdef int64_t length = 0
        cdef int64_t sum = 0
        cdef int64_t i
        cdef int64_t leading = 2 if program.named else 0
        cdef Operation* operation
        cdef bint function = program.record == P_ENTRY or program.record == P_EXIT
        for i in range(program.count):
            operation = &program.operations[i]
            if operation.code == O_VALUE:
                sum += padded(operation.width, 4) if function else operation.width
                continue
            if not self._span(&program.columns[leading + i], row, &data, &length):
                return S_BAD_COLUMN
            if program.record == P_RAW:
                if length < RECORD_SIZE or length % 8:
                    return S_BAD_VALUE
                sum = length
            elif operation.code == O_TEXT:
                if length > MAX_TEXT:
                    return S_TEXT_TOO_LONG
                sum += padded(2 + length, 4)
            else:
                if length != operation.width:
                    return S_BAD_VALUE
                sum += padded(length, 4)
        if program.record == P_LOST:
            sum = 0
        elif program.record == P_EVENT:
            sum += 2
        elif program.record == P_VARIABLE:
            sum += 2 + ADDRESS_SIZE
        size[0] = padded(sum, 8)
        return S_OK

    cdef bint _span(
        self, Column* column, int64_t row, const uint8_t** data, int64_t* length
    ) noexcept nogil:
        cdef int32_t id
        cdef Entry* entry
        if column.offsets is not NULL:
            data[0] = column.data + column.offsets[row]
            length[0] = column.offsets[row + 1] - column.offsets[row]
            return True
        memcpy(&id, column.data + row * column.stride, 4)
        if id < 0 or id >= self._string_count:
            return False
        entry = self._strings.entry(id)
        data[0] = entry.data
        length[0] = entry.size
        return True

    cdef void _put_values(self, Task* task, Program* program, int64_t row, int64_t size) noexcept nogil:
        cdef uint8_t* to = task.data + task.used
        cdef const uint8_t* data
        cdef int64_t length = 0
        cdef int64_t i
        cdef int64_t leading = 2 if program.named else 0
        cdef Column* column
        if not size:
            return
        for i in range(program.count):
            column = &program.columns[leading + i]
            if program.operations[i].code == O_VALUE:
                length = program.operations[i].width
                if length < 4:
                    memset(to, 0, 4)
                store_value(to, column.data + row * column.stride, length)
                to += padded(length, 4)
                continue
            self._span(column, row, &data, &length)
            if program.operations[i].code == O_TEXT:
                to[0] = <uint8_t>length
                to[1] = <uint8_t>(length >> 8)
                to += 2
                memcpy(to, data, length)
                memset(to + length, 0, padded(2 + length, 4) - 2 - length)
                to += padded(2 + length, 4) - 2
            else:
                memcpy(to, data, length)
                memset(to + length, 0, padded(length, 4) - length)
                to += padded(length, 4)
        memset(to, 0, task.data + task.used + size - to)
        task.used += size

    cdef void _put_data(
        self, Task* task, Program* program, int64_t row, int64_t size, int64_t length
    ) noexcept nogil:
        cdef uint8_t* head = task.data + task.used
        cdef uint8_t* to = head + 2
        cdef int64_t i
        cdef int64_t leading = 2 if program.named else 0
        cdef Column* column
        if not size:
            return
        memset(to + length, 0, size - 2 - length)
        for i in range(program.count):
            column = &program.columns[leading + i]
            store_value(to + length, column.data + row * column.stride, program.operations[i].width)
            length += program.operations[i].width
        head[0] = <uint8_t>length
        head[1] = <uint8_t>(length >> 8)
        task.used += size
