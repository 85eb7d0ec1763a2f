# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Events, stacks and numbers as elements of JSON arrays, with a comma after each."""

# Stub:
# from converter.kernels.io.output import Block

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport free, realloc

from converter.kernels.io.output cimport Blocks, Output, ensure, put8, put_bytes
from converter.kernels.text.decimal cimport MOST_DIGITS, write_digits, write_integer, write_last_digits

cdef enum:
    BEGIN = 1
    MOST_POWER = 18
    # Of an event, with all but its numbers.
    MOST_OF_EVENT = 64

cdef int64_t[MOST_POWER + 1] POWERS
cdef int _i
POWERS[0] = 1
for _i in range(MOST_POWER):
    POWERS[_i + 1] = POWERS[_i] * 10


cdef class Elements:
    """Prints elements; of one thread at a time."""

    cdef Output _out
    cdef Blocks _blocks

    def __cinit__(self):
        self._blocks = Blocks()

    def __dealloc__(self):
        free(self._out.data)

    def numbers(self, const int64_t[::1] values, int power) -> Block:
        """Return numbers, divided by a power of ten."""
        cdef int64_t i
        cdef bint good = True
        check_power(power)
        self._out = self._blocks.take()
        with nogil:
            for i in range(values.shape[0]):
                good = put_number(&self._out, values[i], power)
                if not good:
                    break
        if not good:
            raise MemoryError
        return self._blocks.hand_over(&self._out)

    def stacks(self, const int64_t[::1] offsets, const int32_t[::1] frames) -> Block:
        """Return lists of frames, given n + 1 offsets, each in reverse: the outermost first."""
        cdef int64_t i, k
        cdef bint good = True
        cdef bint within = True
        self._out = self._blocks.take()
        with nogil:
            for i in range(offsets.shape[0] - 1):
                within = 0 <= offsets[i] <= offsets[i + 1] <= frames.shape[0]
                if not within:
                    break
                good = ensure(&self._out, (offsets[i + 1] - offsets[i]) * (MOST_DIGITS + 2) + 4)
                if not good:
                    break
                put8(&self._out, c'[')
                k = offsets[i + 1]
                while k > offsets[i]:
                    k -= 1
                    self._out.used += write_integer(
                        self._out.data + self._out.used, <uint64_t><int64_t>frames[k], True
                    )
                    if k > offsets[i]:
                        put8(&self._out, c',')
                put_bytes(&self._out, b"],", 2)
        if not within:
            raise ValueError("a stack that there is not")
        if not good:
            raise MemoryError
        return self._blocks.hand_over(&self._out)


cdef class Calls:
    """Prints the events of one profile, whose ends name the frames that they close."""

    cdef int32_t* _open
    cdef int64_t _depth
    cdef int64_t _room
    cdef Output _out
    cdef Blocks _blocks

    def __cinit__(self):
        self._blocks = Blocks()

    def __dealloc__(self):
        free(self._open)
        free(self._out.data)

    def events(
        self,
        const int32_t[::1] step,
        const int32_t[::1] frame,
        const int64_t[::1] at,
        int power,
    ) -> Block:
        """Return events: those of step 1 begin a slice of their frame, others end the innermost one.

        Args:
            step: of each event.
            frame: of each begin.
            at: their times.
            power: times are divided by this power of ten.

        Raises:
            ValueError: an end of nothing.

        """
        cdef int64_t count = step.shape[0]
        cdef int64_t i
        cdef int32_t number
        cdef bint good = True
        cdef bint sound = True
        check_power(power)
        if frame.shape[0] != count or at.shape[0] != count:
            raise ValueError("columns differ in length")
        self._out = self._blocks.take()
        with nogil:
            for i in range(count):
                good = ensure(&self._out, MOST_OF_EVENT + 2 * MOST_DIGITS)
                if not good:
                    break
                if step[i] == BEGIN:
                    number = frame[i]
                    good = self._push(number)
                    put_bytes(&self._out, b'{"type":"O","frame":', 20)
                else:
                    sound = self._depth > 0
                    if not sound:
                        break
                    self._depth -= 1
                    number = self._open[self._depth]
                    put_bytes(&self._out, b'{"type":"C","frame":', 20)
                if not good:
                    break
                self._out.used += write_integer(self._out.data + self._out.used, <uint64_t><int64_t>number, True)
                put_bytes(&self._out, b',"at":', 6)
                good = put_number(&self._out, at[i], power)
                if not good:
                    break
                # Before the comma.
                self._out.used -= 1
                put_bytes(&self._out, b"},", 2)
        if not sound:
            raise ValueError("an end of nothing")
        if not good:
            raise MemoryError
        return self._blocks.hand_over(&self._out)

    cdef bint _push(self, int32_t frame) noexcept nogil:
        cdef int64_t room
        cdef void* moved
        if self._depth == self._room:
            room = 2 * self._room + 64
            moved = realloc(self._open, room * sizeof(int32_t))
            if moved is NULL:
                return False
            self._open = <int32_t*>moved
            self._room = room
        self._open[self._depth] = frame
        self._depth += 1
        return True


cdef int check_power(int power) except -1:
    if not 0 <= power <= MOST_POWER:
        raise ValueError(f"10 to the {power}")
    return 0


# A number divided by a power of ten, without zeros at its end, and a comma; false without memory.
cdef bint put_number(Output* out, int64_t value, int power) noexcept nogil:
    cdef uint64_t magnitude = <uint64_t>0 - <uint64_t>value if value < 0 else <uint64_t>value
    cdef uint64_t rest
    if not ensure(out, 2 * MOST_DIGITS + 4):
        return False
    if value < 0:
        put8(out, c'-')
    out.used += write_digits(out.data + out.used, magnitude // <uint64_t>POWERS[power])
    rest = magnitude % <uint64_t>POWERS[power]
    if rest:
        while rest % 10 == 0:
            rest //= 10
            power -= 1
        put8(out, c'.')
        write_last_digits(out.data + out.used, rest, power)
        out.used += power
    put8(out, c',')
    return True
