# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The stacks of tasks as `uftrace replay` follows them (utils/fstack.c), and the lines that it has of their records.

A call waits for the next record that is shown: if that is its end, both are on one line. So does a task that leaves its
CPU for its return.
"""

# Stub:
# from typing import Final
#
# #: Kinds of records for the stacks: EVENT and the kinds after it are not shown where their task is in no function.
# NOTHING: Final[int]
# CALL: Final[int]
# RETURN: Final[int]
# LOST: Final[int]
# EVENT: Final[int]
# KERNEL_EVENT: Final[int]
# #: An event of the task that was at work last.
# EXTERNAL: Final[int]
# LEAVES_CPU: Final[int]
# PREEMPTED: Final[int]
# GETS_CPU: Final[int]
# #: Functions of the kernel: shown where their task is in none of its program, if the kernel is shown there.
# KERNEL_CALL: Final[int]
# KERNEL_RETURN: Final[int]
# #: Further effects of a function on the stack of its task.
# EXECUTES: Final[int]
# SETS_JUMP: Final[int]
# JUMPS: Final[int]
# FORKS: Final[int]
# #: The part of a record that is shown: all; a call as far as its arguments; its end, on the same line.
# WHOLE: Final[int]
# WITH_END: Final[int]
# END: Final[int]
# #: Which text a switch has.
# OUT: Final[int]
# OUT_PREEMPTED: Final[int]
# IN: Final[int]
# BOTH: Final[int]
# BOTH_PREEMPTED: Final[int]
# #: In place of names.
# NO_NAME: Final[int]
# SWITCHED: Final[int]
# SWITCHED_PREEMPTED: Final[int]

from libc.stdint cimport int32_t, int64_t, int8_t, uint64_t, uint8_t
from libc.stdlib cimport calloc, free, realloc

from converter.formats.uftrace.report.line_text cimport Line, show

cpdef enum:
    # Kinds of records for the stacks.
    NOTHING = 0
    CALL = 1
    RETURN = 2
    LOST = 3
    EVENT = 4
    KERNEL_EVENT = 5
    EXTERNAL = 6
    LEAVES_CPU = 7
    PREEMPTED = 8
    GETS_CPU = 9
    KERNEL_CALL = 10
    KERNEL_RETURN = 11

cpdef enum:
    # Further effects of a function on the stack of its task.
    EXECUTES = 1
    SETS_JUMP = 2
    JUMPS = 3
    FORKS = 4

cpdef enum:
    # The part of a record on a line: all, and it begins with its time; a call as far as its arguments; the rest of that
    # line.
    WHOLE = 1
    WITH_END = 2
    END = 3

cpdef enum:
    # The switches that are shown.
    OUT = 0
    OUT_PREEMPTED = 1
    IN = 2
    BOTH = 3
    BOTH_PREEMPTED = 4

cpdef enum:
    # Names of frames that are no functions.
    NO_NAME = -1
    SWITCHED = -2
    SWITCHED_PREEMPTED = -3

# A function that a task is in, or has been in: when it began, then how long it took.
cdef struct Frame:
    uint64_t time
    int32_t name
    int32_t levels
    bint has_begun
    bint is_hidden
    int32_t does


cdef struct Task:
    Frame* frames
    int64_t room
    int64_t depth
    int64_t functions
    int64_t indent
    # That of what it forks, 0 before.
    int64_t child_indent
    # The number of further functions that are shown inside.
    int64_t levels
    int32_t parent
    bint has_indent
    bint has_begun
    bint has_lost


cdef class CallStacks:
    """The stacks of all tasks.

    `parents` are the threads that forked them, or -1; no stack has more than `most_frames`, and functions more than
    `levels` deep are not shown.
    """

    # Stub:
    # #: Batches that were followed.
    # batches: int

    cdef Task* _tasks
    cdef int64_t _count
    cdef int64_t _most_frames
    cdef int64_t _levels
    cdef bint _events_outside
    cdef bint _kernel_outside
    cdef int64_t _jump_indent
    cdef int64_t _jump_depth
    cdef int32_t _last
    # The record that waits: what it is, of which batch and where its line is.
    cdef int _waiting
    cdef int32_t _task
    cdef int32_t _depth
    cdef Line* _line
    cdef object _lines
    cdef int64_t _batch
    cdef readonly int64_t batches

    def __cinit__(
        self, const int32_t[::1] parents not None, int64_t most_frames, int64_t levels, *, bint events_outside,
        bint kernel_outside,
    ):
        cdef int64_t i
        self._count = parents.shape[0]
        self._most_frames = most_frames
        self._levels = levels
        self._events_outside = events_outside
        self._kernel_outside = kernel_outside
        self._tasks = <Task*>calloc(self._count + 1, sizeof(Task))
        if self._tasks is NULL:
            raise MemoryError
        for i in range(self._count):
            self._tasks[i].parent = parents[i] if parents[i] < self._count else -1
            self._tasks[i].levels = levels
            self._tasks[i].has_indent = True

    def __dealloc__(self):
        cdef int64_t i
        if self._tasks is not NULL:
            for i in range(self._count):
                free(self._tasks[i].frames)
        free(self._tasks)

    @property
    def settled(self) -> int:
        """Return the number of batches, from the first, in which no record waits for another."""
        return self._batch if self._waiting else self.batches

    def follow(
        self,
        const int64_t[::1] ts,
        const int8_t[::1] kind,
        int32_t[::1] thread,
        const int32_t[::1] depth,
        const int32_t[::1] name,
        const int8_t[::1] does,
        uint8_t[:, ::1] lines,
    ) -> None:
        """Follow a batch: nanoseconds, what records are, their threads, depths and names, -1 where not known.

        Threads of EXTERNAL records are put in. `does` has what functions do by their names. `lines`, zeros of 16 bytes
        each, are filled: the part (u1); of the time, from 1 on, the unit (u1), how many (u2) and how many thousandths
        (u2); the text (i2); levels of indentation (i4); the name (i4).
        """
        cdef int64_t count = ts.shape[0]
        cdef int64_t i
        cdef int32_t number
        cdef int which
        if (
            kind.shape[0] != count or thread.shape[0] != count or depth.shape[0] != count or name.shape[0] != count
            or lines.shape[0] != count or lines.shape[1] != sizeof(Line)
        ):
            raise ValueError("the columns differ in length")
        with nogil:
            for i in range(count):
                which = kind[i]
                if which == NOTHING:
                    continue
                number = self._last if which == EXTERNAL else thread[i]
                if not 0 <= number < self._count:
                    continue
                if which == EXTERNAL:
                    thread[i] = number
                self._step(
                    which, number, <uint64_t>ts[i], depth[i], name[i],
                    does[name[i]] if which == CALL and 0 <= name[i] < does.shape[0] else 0,
                    <Line*>&lines[i, 0],
                )
                if self._waiting and self._line == <Line*>&lines[i, 0]:
                    self._batch = self.batches
        if self._waiting and self._batch == self.batches:
            # It is written to when the next record is known.
            self._lines = lines
        self.batches += 1

    def end(self) -> None:
        """Nothing follows."""
        self._settle()
        self._lines = None

    def remaining(self) -> list[tuple[int, list[int]]]:
        """The tasks that are still in functions, and the names of these from the outermost on."""
        cdef int64_t i, k, first
        cdef Task* task
        found = []
        for i in range(self._count):
            task = &self._tasks[i]
            if task.depth == 1 and task.room and task.frames[0].name <= SWITCHED:
                continue
            first = 0
            while first < min(task.depth, task.room) and task.frames[first].name == NO_NAME:
                first += 1
            if first < task.depth:
                found.append((i, [
                    task.frames[k].name if k < task.room else NO_NAME for k in range(first, min(task.depth, self._most_frames))
                ]))
        return found

    # One record.
    cdef void _step(
        self, int kind, int32_t number, uint64_t ts, int32_t depth, int32_t name, int does, Line* line
    ) noexcept nogil:
        cdef Task* task = &self._tasks[number]
        cdef Frame* frame
        cdef bint is_hidden
        cdef bint is_kernel = kind == KERNEL_CALL or kind == KERNEL_RETURN
        if is_kernel:
            # The kernel's functions are in those of the program that called it.
            if self._is_outside(task, kind) or (kind == KERNEL_RETURN and task.depth <= task.functions):
                return
            kind = CALL if kind == KERNEL_CALL else RETURN
            line.name = name
        if depth < 0:
            depth = <int32_t>(task.depth if kind == CALL else max(task.depth - 1, 0))
        if self._waiting:
            if self._ends_waiting(kind, number, depth):
                self._join(task, kind, ts, depth, name, line, is_kernel)
                return
            is_hidden = kind != LOST and self._is_outside(task, kind)
            if not is_hidden and kind == RETURN and task.depth:
                frame = self._frame(task, task.depth - 1)
                is_hidden = frame is NULL or frame.is_hidden
            elif not is_hidden and kind != RETURN and kind != LOST:
                is_hidden = task.levels <= 0
            if is_hidden:
                if kind == KERNEL_EVENT and number == self._task:
                    # It has no depth, so that nothing says that it is inside of what waits.
                    self._settle()
                self._account(task, kind, ts, depth, name, is_kernel)
                if kind == CALL:
                    self._enter(task, does)
                elif kind == RETURN:
                    self._leave(task)
                return
            self._settle()
        self._account(task, kind, ts, depth, name, is_kernel)
        self._last = number
        if kind == LOST:
            if task.functions or self._kernel_outside:
                show(line, WHOLE, task.indent + 1, 0)
        elif self._is_outside(task, kind):
            return
        elif kind == CALL:
            if not self._enter(task, does):
                return
            show(line, WHOLE, task.indent, 0)
            self._wait(kind, number, depth, line)
            frame = self._frame(task, task.depth - 1)
            if frame.does == EXECUTES or frame.does == JUMPS:
                self._settle()
        elif kind == RETURN:
            frame = self._frame(task, task.depth)
            if frame is not NULL and not frame.is_hidden:
                if not task.has_indent:
                    task.indent = task.depth + 1
                    task.has_indent = True
                if task.indent > 0:
                    task.indent -= 1
                show(line, WHOLE, task.indent, frame.time)
                line.name = name if name >= 0 else frame.name
            self._leave(task)
        elif task.levels > 0:
            if kind == LEAVES_CPU or kind == PREEMPTED:
                show(line, 0, task.indent, 0)
                self._wait(kind, number, 0, line)
            else:
                self._show_event(task, kind, line)

    # Return True if a record is that which another waits for.
    cdef bint _ends_waiting(self, int kind, int32_t number, int32_t depth) noexcept nogil:
        if number != self._task:
            return False
        if self._waiting == CALL:
            return kind == RETURN and depth == self._depth
        return kind == GETS_CPU

    # The record that waits and its end, on one line.
    cdef void _join(
        self, Task* task, int kind, uint64_t ts, int32_t depth, int32_t name, Line* line, bint is_kernel
    ) noexcept nogil:
        cdef Line* first = self._line
        cdef int waiting = self._waiting
        cdef Frame* frame
        self._waiting = NOTHING
        self._account(task, kind, ts, depth, name, is_kernel)
        frame = self._frame(task, task.depth)
        if frame is NULL or (waiting != CALL and frame.is_hidden):
            first.part = 0
        elif waiting == CALL:
            show(first, WITH_END, first.indent, frame.time)
            line.part = END
            self._leave(task)
        else:
            show(first, WHOLE, first.indent, frame.time)
            first.text = BOTH if waiting == LEAVES_CPU else BOTH_PREEMPTED

    cdef void _wait(self, int kind, int32_t number, int32_t depth, Line* line) noexcept nogil:
        self._waiting = kind
        self._task = number
        self._depth = depth
        self._line = line

    # Nothing ends the record that waits.
    cdef void _settle(self) noexcept nogil:
        cdef int kind = self._waiting
        cdef Task* task = &self._tasks[self._task]
        cdef Frame* frame
        if kind == NOTHING:
            return
        self._waiting = NOTHING
        if kind != CALL:
            frame = self._frame(task, task.depth)
            self._line.text = OUT if kind == LEAVES_CPU else OUT_PREEMPTED
            self._line.part = 0 if frame is NULL or frame.is_hidden else WHOLE
            return
        frame = self._frame(task, task.depth - 1)
        if frame is not NULL and frame.does == EXECUTES:
            task.indent = task.depth = task.functions = 0
        elif frame is not NULL and frame.does == JUMPS:
            task.indent = self._jump_indent
            task.depth = task.functions = self._jump_depth
        else:
            task.indent += 1
        if frame is not NULL:
            frame.does = 0

    cdef void _show_event(self, Task* task, int kind, Line* line) noexcept nogil:
        cdef Frame* frame = self._frame(task, task.depth)
        if frame is NULL or frame.is_hidden:
            return
        show(line, WHOLE, 0 if kind == EXTERNAL else task.indent, frame.time if kind == GETS_CPU else 0)
        line.text = IN

    # Return True if a record is not shown since its task is in no function.
    cdef bint _is_outside(self, const Task* task, int kind) noexcept nogil:
        if task.functions or kind < EVENT:
            return False
        if kind == KERNEL_CALL or kind == KERNEL_RETURN:
            return not self._kernel_outside
        if kind == KERNEL_EVENT and not self._kernel_outside:
            return True
        return not self._events_outside

    # The stack

    # A frame, NULL where there is none so deep.
    cdef Frame* _frame(self, Task* task, int64_t depth) noexcept nogil:
        cdef Frame* frames
        cdef int64_t room
        if not 0 <= depth < self._most_frames:
            return NULL
        if depth >= task.room:
            room = min(depth + 1 + (depth >> 1) + 16, self._most_frames)
            frames = <Frame*>realloc(task.frames, room * sizeof(Frame))
            if frames is NULL:
                return NULL
            while task.room < room:
                frames[task.room] = Frame(0, NO_NAME, <int32_t>self._levels, False, False, 0)
                task.room += 1
            task.frames = frames
        return &task.frames[depth]

    # The times of a record's task, and its stack's depth.
    cdef void _account(
        self, Task* task, int kind, uint64_t ts, int32_t depth, int32_t name, bint is_kernel
    ) noexcept nogil:
        cdef bint is_call = kind == CALL or kind == LEAVES_CPU or kind == PREEMPTED
        cdef bint is_return = kind == RETURN or kind == GETS_CPU
        cdef int64_t i
        cdef uint64_t lost = 0
        cdef Frame* frame
        if not (is_call or is_return or kind == LOST):
            return
        if kind != CALL and kind != RETURN:
            depth = 0
        if not task.has_begun:
            self._begin(task, is_return, ts, depth)
        if task.has_lost:
            if kind == LOST:
                return
            task.has_lost = False
            task.depth = depth + is_return
            for i in range(depth + 1):
                frame = self._frame(task, i + task.functions)
                if frame is not NULL:
                    frame.time = ts - 1
        if is_call:
            frame = self._frame(task, task.depth)
            if frame is not NULL:
                frame.name = name if kind == CALL else SWITCHED if kind == LEAVES_CPU else SWITCHED_PREEMPTED
                frame.time = ts
                frame.has_begun = True
            task.depth += 1
            task.functions += kind == CALL and not is_kernel
        elif is_return:
            frame = self._frame(task, task.depth - 1)
            if frame is not NULL:
                frame.time = ts - frame.time if frame.has_begun else 0
                frame.has_begun = False
            if task.depth > 0:
                task.depth -= 1
            if kind == RETURN and not is_kernel and task.functions > 0:
                task.functions -= 1
        else:
            task.has_lost = True
            task.has_indent = False
            for i in range(task.depth, task.functions - 1, -1):
                frame = self._frame(task, i)
                if frame is not NULL:
                    if lost == 0:
                        lost = frame.time + 1
                    frame.time = lost - frame.time

    # The first record of a task, which may be in functions of the one that forked it.
    cdef void _begin(self, Task* task, bint is_return, uint64_t ts, int32_t depth) noexcept nogil:
        cdef int64_t i
        cdef Frame* frame
        task.has_begun = True
        task.depth = depth + is_return
        if task.parent >= 0 and self._tasks[task.parent].child_indent:
            task.indent = self._tasks[task.parent].child_indent
            task.has_indent = True
        for i in range(task.depth):
            frame = self._frame(task, i)
            if frame is not NULL:
                frame.time = ts
                frame.has_begun = True
        task.levels = self._levels

    # The function that a task has entered: whether it is shown.
    cdef bint _enter(self, Task* task, int does) noexcept nogil:
        cdef Frame* frame = self._frame(task, task.depth - 1)
        if frame is NULL:
            return False
        frame.levels = <int32_t>task.levels
        frame.is_hidden = False
        frame.does = does
        if does == SETS_JUMP:
            self._jump_indent = task.indent + 1
            self._jump_depth = task.depth
        elif does == FORKS:
            task.child_indent = task.indent + 1
        if task.levels <= 0:
            frame.is_hidden = True
            return False
        task.levels -= 1
        if not task.has_indent:
            task.indent = max(task.depth - 1, 0)
            task.has_indent = True
        return True

    # The function that a task has left.
    cdef void _leave(self, Task* task) noexcept nogil:
        cdef Frame* frame = self._frame(task, task.depth)
        if frame is NULL:
            return
        frame.does = 0
        frame.is_hidden = False
        task.levels = frame.levels
