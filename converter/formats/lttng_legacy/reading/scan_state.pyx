# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Facts that legacy LTTng events do not carry themselves: they follow from the events before on the same CPU or thread.

The thread of an event is the one that the CPU's last scheduling event has put there; the exit of an interrupt handler
is that of the interrupt entered last; a system call's exit is that of the call which its thread has entered.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport free, malloc, realloc

cdef enum:
    PLAIN = 0
    SWITCHES = 1
    ENTERS_IRQ = 2
    LEAVES_IRQ = 3
    ENTERS_CALL = 4
    LEAVES_CALL = 5
    FORKS = 6
    # Interrupts that can be nested; deeper ones are those of a damaged trace.
    DEPTH = 16


cdef struct Cpu:
    int32_t thread
    int32_t depth
    int32_t irq[DEPTH]


cdef class CpuState:
    """The state of each of `n` CPUs, while events are followed in the order of time."""

    cdef Cpu* _cpus
    cdef int64_t _cpu_count
    # By thread: the system call that it is in, -1 for none.
    cdef int32_t* _calls
    cdef int64_t _call_count

    def __init__(self, int64_t cpus):
        cdef int64_t i
        if self._cpus is not NULL:
            raise TypeError("a state cannot be set anew")
        if not 0 <= cpus <= 1 << 20:
            raise ValueError(f"{cpus} CPUs")
        self._cpus = <Cpu*>malloc((cpus + 1) * sizeof(Cpu))
        if self._cpus is NULL:
            raise MemoryError
        for i in range(cpus):
            self._cpus[i].thread = -1
            self._cpus[i].depth = 0
        self._cpu_count = cpus

    def __dealloc__(self):
        free(self._cpus)
        free(self._calls)

    def begin(self, int64_t cpu, int32_t thread) -> None:
        """A CPU begins with this thread, not with none."""
        if not 0 <= cpu < self._cpu_count:
            raise ValueError(f"CPU {cpu} of {self._cpu_count}")
        self._cpus[cpu].thread = thread

    def follow(
        self,
        const uint8_t[::1] roles,
        const int32_t[::1] class_id,
        const int32_t[::1] cpu,
        int32_t[::1] thread,
        int32_t[::1] value,
        int64_t threads,
    ) -> None:
        """Fill in `thread`, and `value` where it follows from events before.

        `roles` are those of the classes: 1 switches (`thread` is the thread that leaves, `value` the one that comes),
        2 enters and 3 leaves an interrupt (`value` its number), 4 enters and 5 leaves a system call (the same), 6 makes
        a thread (`value`), which begins in the call of the one that makes it.
        `threads` is how many there are. Numbers that nothing tells are -1. Releases the GIL.
        """
        cdef int64_t count = class_id.shape[0]
        cdef int64_t i
        cdef int64_t bad = -1
        cdef int32_t running, before
        cdef uint8_t role
        cdef Cpu* on
        cdef int32_t* calls
        if cpu.shape[0] != count or thread.shape[0] != count or value.shape[0] != count:
            raise ValueError("the columns differ in length")
        if threads > self._call_count:
            calls = <int32_t*>realloc(self._calls, 2 * threads * sizeof(int32_t))
            if calls is NULL:
                raise MemoryError
            for i in range(self._call_count, 2 * threads):
                calls[i] = -1
            self._calls = calls
            self._call_count = 2 * threads
        with nogil:
            for i in range(count):
                if not 0 <= class_id[i] < roles.shape[0] or not 0 <= cpu[i] < self._cpu_count:
                    bad = i
                    break
                on = &self._cpus[cpu[i]]
                role = roles[class_id[i]]
                running = on.thread
                if role == SWITCHES:
                    # The event is one of the thread that leaves the CPU, which it names.
                    before = thread[i]
                    on.thread = value[i] if value[i] < threads else -1
                    running = before if before < threads else -1
                elif role == ENTERS_IRQ:
                    if on.depth < DEPTH:
                        on.irq[on.depth] = value[i]
                        on.depth += 1
                elif role == LEAVES_IRQ:
                    value[i] = -1
                    if on.depth:
                        on.depth -= 1
                        value[i] = on.irq[on.depth]
                elif role == ENTERS_CALL:
                    if running >= 0:
                        self._calls[running] = value[i]
                elif role == FORKS:
                    # The child begins inside the call that makes it.
                    if running >= 0 and 0 <= value[i] < threads:
                        self._calls[value[i]] = self._calls[running]
                elif role == LEAVES_CALL:
                    value[i] = self._calls[running] if running >= 0 else -1
                thread[i] = running
        if bad >= 0:
            raise ValueError(f"event {bad} is of no class, or on no CPU")
