# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Which threads have a CPU, by the switches so far, and wakeups divided by that."""

# Stub:
# from collections.abc import Sequence

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
import numpy as np
import os

from converter.kernels.batches.column_view cimport TAKES_SCALAR, ColumnView, integer_of
from converter.kernels.batches.columns cimport BoundColumns
from converter.kernels.tables.numbers cimport Numbers, find_key, find_or_add_key, free_numbers

cdef enum:
    SWITCH = 1
    WAKEUP = 2
    # Properties that divide wakeups: bits of the number of a division.
    UNKNOWN_WAKER = 1
    RUNNING = 2
    DIVISIONS = 4

cdef enum:
    # What a thread does, to `ReadyThreads`; higher numbers are those of its CPU.
    UNKNOWN = 0
    SLEEPS = 1
    WAITS = 2
    RUNS = 3


cdef class RunningThreads:
    """For each thread that a switch named, whether it has a CPU: the item of its id."""

    cdef Numbers _numbers

    def __cinit__(self):
        self._numbers.item_size = sizeof(uint8_t)
        self._numbers.seed = int.from_bytes(os.urandom(8), "little")

    def __dealloc__(self):
        free_numbers(&self._numbers)

    def divided(
        self,
        const int32_t[:] class_id,
        const int32_t[:] row,
        const int32_t[:] thread,
        const uint8_t[::1] step,
        const int64_t[::1] first,
        list columns: Sequence[NDArray[Any] | None],
    ) -> tuple[NDArray[int32], NDArray[int32], dict[int, NDArray[int32] | None]]:
        """Go on with a batch: the part of each event, its row there, and the rows of parts of wakeups that have some.

        There are four parts a class: part 4 n + d has division d of class n. That is 2 for wakeups of threads that have
        a CPU, 1 more where nobody is known to have woken them, else 0. None means all rows of the class, in order.

        Args:
            class_id: the class of each event, in the order of time.
            row: the row of each event.
            thread: the thread of each event, -1 for none.
            step: the kind of each class: 1 for switches, 2 for wakeups, else 0.
            first: for each class the number of the rows before its own, and of all rows.
            columns: two of each class: for switches the thread that leaves the CPU and the one that gets it, for
                wakeups the thread that is woken.
        """
        cdef int64_t count = class_id.shape[0]
        cdef int64_t classes = step.shape[0]
        cdef int64_t i, of, at, known
        cdef int64_t failed = -1
        cdef bint full = False
        cdef uint8_t division
        cdef BoundColumns bound = BoundColumns(2 * classes)
        cdef const ColumnView* view
        if row.shape[0] != count or thread.shape[0] != count:
            raise ValueError("the columns of the batch differ in length")
        if first.shape[0] != classes + 1 or len(columns) != 2 * classes or (classes and first[0] != 0):
            raise ValueError("a class has a step, its first row, and two columns")
        signs = np.zeros(2 * classes + 1, np.uint8)
        cdef uint8_t[::1] signed = signs
        for i in range(2 * classes):
            if first[i // 2] > first[i // 2 + 1]:
                raise ValueError("rows of classes descend")
            if columns[i] is not None:
                bound.bind(i, TAKES_SCALAR, 0, columns[i], first[i // 2 + 1] - first[i // 2])
                signed[i] = columns[i].dtype.kind == "i"
            elif step[i // 2] == SWITCH or (step[i // 2] == WAKEUP and i % 2 == 0):
                raise ValueError("a scheduling event without its threads")
        parts, rows = np.empty(count, np.int32), np.empty(count, np.int32)
        counts, in_order = np.zeros(DIVISIONS * classes, np.int32), np.ones(DIVISIONS * classes, np.uint8)
        chosen = np.empty((DIVISIONS, first[classes]), np.int32)
        cdef int32_t[::1] part = parts
        cdef int32_t[::1] row_of = rows
        cdef int32_t[::1] filled = counts
        cdef uint8_t[::1] ordered = in_order
        cdef int32_t[:, ::1] row_in = chosen
        with nogil:
            for i in range(count):
                of = class_id[i]
                if of < 0 or of >= classes or row[i] < 0 or row[i] >= first[of + 1] - first[of]:
                    failed = i
                    break
                part[i] = <int32_t>(DIVISIONS * of)
                row_of[i] = row[i]
                if step[of] == WAKEUP:
                    division = UNKNOWN_WAKER if thread[i] < 0 else 0
                    view = &bound.views[2 * of]
                    known = find_key(&self._numbers, integer_of(view, row[i], <int>view.width, signed[2 * of]))
                    if known >= 0 and (<uint8_t*>self._numbers.items)[known]:
                        division |= RUNNING
                    part[i] += division
                    at = filled[part[i]]
                    if at == first[of + 1] - first[of]:
                        failed = i
                        break
                    row_of[i] = <int32_t>at
                    row_in[division, first[of] + at] = row[i]
                    ordered[part[i]] &= at == row[i]
                    filled[part[i]] += 1
                elif step[of] == SWITCH:
                    view = &bound.views[2 * of]
                    full = not self._set(integer_of(view, row[i], <int>view.width, signed[2 * of]), False)
                    view = &bound.views[2 * of + 1]
                    full |= not self._set(integer_of(view, row[i], <int>view.width, signed[2 * of + 1]), True)
                    if full:
                        break
        bound.release()
        if full:
            raise MemoryError("no room for more threads")
        if failed >= 0:
            raise ValueError(f"event {failed} is row {row[failed]} of class {class_id[failed]}, which does not exist")
        rows_of = {
            number: None if in_order[number] and counts[number] == first[number // DIVISIONS + 1] - first[number // DIVISIONS]
            else chosen[number % DIVISIONS, first[number // DIVISIONS]:][:counts[number]].copy()
            for number in np.flatnonzero(counts).tolist()
        }
        return parts, rows, rows_of

    cdef bint _set(self, uint64_t thread, bint runs) noexcept nogil:
        cdef int64_t number = find_or_add_key(&self._numbers, thread)
        if number < 0:
            return False
        (<uint8_t*>self._numbers.items)[number] = runs
        return True


cdef class ReadyThreads:
    """For each thread that a switch or a wakeup named, whether it sleeps, waits, or where it runs: the item of its id."""

    cdef Numbers _numbers
    # By CPU: the number of the thread that it runs, plus 1.
    cdef Numbers _cpus

    def __cinit__(self):
        self._numbers.item_size = self._cpus.item_size = sizeof(int64_t)
        self._numbers.seed = self._cpus.seed = int.from_bytes(os.urandom(8), "little")

    def __dealloc__(self):
        free_numbers(&self._numbers)
        free_numbers(&self._cpus)

    def inconsistent(
        self,
        const int32_t[:] class_id,
        const int32_t[:] row,
        const int32_t[:] cpu,
        const uint8_t[::1] step,
        const int64_t[::1] rows,
        list columns: Sequence[NDArray[Any] | None],
        int64_t last_ready,
        int64_t first_gone,
    ) -> tuple[int, int, int, int]:
        """Go on with a batch, and count what contradicts what was before.

        Returns:
            the number of wakeups of threads that do not sleep, and the position of the first, or -1; the same of
            switches from a thread that does not run on their CPU, or whose CPU runs another.

        Args:
            class_id: the class of each event.
            row: the row of each event.
            cpu: the CPU of each event.
            step: the kind of each class: 1 for switches, 2 for wakeups, else 0.
            rows: the number of rows of each class.
            columns: three of each class: for switches the thread that leaves the CPU, the one that gets it, and the
                state in which the first leaves it; for wakeups the thread that is woken. Thread 0 is the idle one of every CPU.
            last_ready: the highest state in which a thread waits to run.
            first_gone: the lowest state of threads that never run again.
        """
        cdef int64_t count = class_id.shape[0]
        cdef int64_t classes = step.shape[0]
        cdef int64_t i, k, of, thread, core
        cdef int64_t* runs
        cdef int64_t[2] found = [0, 0]
        cdef int64_t[2] first = [-1, -1]
        cdef int64_t* does
        cdef bint is_wrong
        cdef int64_t failed = -1
        cdef bint full = False
        cdef BoundColumns bound = BoundColumns(3 * classes)
        if row.shape[0] != count or cpu.shape[0] != count or rows.shape[0] != classes or len(columns) != 3 * classes:
            raise ValueError("the columns of the batch differ in length")
        signs = np.zeros(3 * classes + 1, np.uint8)
        cdef uint8_t[::1] signed = signs
        for i in range(3 * classes):
            k = 0 if not step[i // 3] else 3 if step[i // 3] == SWITCH else 1
            if i % 3 >= k:
                continue
            if columns[i] is None:
                raise ValueError("a scheduling event without its threads")
            bound.bind(i, TAKES_SCALAR, 0, columns[i], rows[i // 3])
            signed[i] = columns[i].dtype.kind == "i"
        with nogil:
            for i in range(count):
                of = class_id[i]
                if of < 0 or of >= classes or row[i] < 0 or row[i] >= rows[of]:
                    failed = i
                    break
                if not step[of]:
                    continue
                thread = self._thread(&bound.views[3 * of], row[i], signed[3 * of])
                full = thread < 0
                if full:
                    break
                does = &(<int64_t*>self._numbers.items)[thread]
                if step[of] == WAKEUP:
                    if does[0] >= WAITS:
                        found[0] += 1
                        first[0] = i if first[0] < 0 else first[0]
                    does[0] = max(does[0], WAITS)
                    continue
                k = <int64_t>integer_of(
                    &bound.views[3 * of + 2], row[i], <int>bound.views[3 * of + 2].width, signed[3 * of + 2]
                )
                core = find_or_add_key(&self._cpus, max(cpu[i], 0))
                full = core < 0
                if full:
                    break
                runs = &(<int64_t*>self._cpus.items)[core]
                is_wrong = does[0] != UNKNOWN and does[0] != RUNS + max(cpu[i], 0)
                is_wrong |= runs[0] != 0 and runs[0] != thread + 1 and not self._is_idle(runs[0] - 1)
                is_wrong &= not self._is_idle(thread)
                does[0] = WAITS if k <= last_ready or k >= first_gone else SLEEPS
                thread = self._thread(&bound.views[3 * of + 1], row[i], signed[3 * of + 1])
                full = thread < 0
                if full:
                    break
                does = &(<int64_t*>self._numbers.items)[thread]
                does[0] = RUNS + max(cpu[i], 0)
                runs[0] = thread + 1
                if is_wrong:
                    found[1] += 1
                    first[1] = i if first[1] < 0 else first[1]
        bound.release()
        if full:
            raise MemoryError("no room for more threads")
        if failed >= 0:
            raise ValueError(f"event {failed} is row {row[failed]} of class {class_id[failed]}, which does not exist")
        return found[0], first[0], found[1], first[1]

    cdef int64_t _thread(self, const ColumnView* view, int64_t row, bint signed) noexcept nogil:
        return find_or_add_key(&self._numbers, integer_of(view, row, <int>view.width, signed))

    cdef bint _is_idle(self, int64_t thread) noexcept nogil:
        return self._numbers.keys[thread] == 0
