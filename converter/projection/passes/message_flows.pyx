# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Which message each call handles: that which its thread has received last."""

import numpy as np
import os

from libc.stdint cimport int32_t, int64_t, uint64_t

from converter.kernels.tables.numbers cimport Numbers, find_or_add_pair, find_pair, free_numbers

cdef enum:
    SEND = 1
    RECEIVE = 2
    CALL = 3
    # Messages of a generation: at least this number of later ones are sent before one is forgotten.
    MOST = 1 << 20


cdef struct Message:
    int64_t flow
    int64_t receivers


cdef class MessageFlows:
    """The flows of messages by their ids, numbered from 1 on as they are sent. Old messages are forgotten."""

    cdef Numbers _sent
    cdef Numbers _earlier
    cdef int64_t _count

    def __cinit__(self):
        self._sent.item_size = self._earlier.item_size = sizeof(Message)
        self._sent.seed = self._earlier.seed = int.from_bytes(os.urandom(8), "little")

    def __dealloc__(self):
        free_numbers(&self._sent)
        free_numbers(&self._earlier)

    def match(
        self,
        const int32_t[::1] step,
        const int32_t[:] thread,
        const uint64_t[::1] scope,
        const uint64_t[::1] id,
        int64_t[::1] received,
    ) -> NDArray[int64]:
        """Go on with a batch: of each event, in the order of time, the flow that begins or ends there, else 0.

        `step` is 1 where a message of this scope and id is sent (its flow begins), 2 where one is received, 3 where a
        call begins, which handles what its thread has received last (its flow ends: below 0, where it is not the
        first who receives it); else 0. `received` has by thread the flow that no call has handled yet, and is kept up
        to date. Raises MemoryError. Releases the GIL.
        """
        cdef int64_t count = step.shape[0]
        cdef int64_t i, number
        cdef bint failed = False
        if thread.shape[0] != count or scope.shape[0] != count or id.shape[0] != count:
            raise ValueError("columns differ in length")
        result = np.zeros(count, np.int64)
        cdef int64_t[::1] flow = result
        with nogil:
            for i in range(count):
                if step[i] == SEND:
                    if self._sent.count >= MOST:
                        self._forget()
                    number = find_or_add_pair(&self._sent, scope[i], id[i])
                    if number < 0:
                        failed = True
                        break
                    self._count += 1
                    flow[i] = self._count
                    (<Message*>self._sent.items)[number] = Message(flow=self._count, receivers=0)
                elif not 0 <= thread[i] < received.shape[0]:
                    continue
                elif step[i] == RECEIVE:
                    received[thread[i]] = self._flow_of(scope[i], id[i])
                elif step[i] == CALL:
                    flow[i] = received[thread[i]]
                    received[thread[i]] = 0
        if failed:
            raise MemoryError("no room for more messages")
        return result

    # The flow of a message that is received, below 0 where it is not for the first time; 0 where none is known.
    cdef int64_t _flow_of(self, uint64_t scope, uint64_t id) noexcept nogil:
        cdef Numbers* sent = &self._sent
        cdef int64_t number = find_pair(sent, scope, id)
        cdef Message* message
        if number < 0:
            sent = &self._earlier
            number = find_pair(sent, scope, id)
        if number < 0:
            return 0
        message = &(<Message*>sent.items)[number]
        message.receivers += 1
        return message.flow if message.receivers == 1 else -message.flow

    # Make the messages sent so far those sent earlier.
    cdef void _forget(self) noexcept nogil:
        cdef uint64_t seed = self._sent.seed
        free_numbers(&self._earlier)
        self._earlier = self._sent
        self._sent = Numbers(
            keys=NULL, items=NULL, item_size=sizeof(Message), count=0, slots=NULL, mask=0, shift=0, seed=seed
        )
