# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Which events of flows belong together: by an id that the end of the flow sets free, or by id, name and category."""

import os

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from converter.kernels.batches.places cimport are_within
from converter.kernels.tables.numbers cimport Numbers, find_key, find_or_add_key, find_or_add_pair, free_numbers

cdef enum:
    BEGIN = 1
    STEP = 2
    END = 3
    # What viewers that set an id free draw otherwise.
    ENDED_BEFORE = 1
    BEGINS_AGAIN = 2

cdef uint64_t FIRST_NEW_ID = 1 << 63


# A flow of one id, name and category.
cdef struct NamedFlow:
    uint64_t id
    bint has_id
    bint started
    bint ended


# The flows of one id.
cdef struct FlowOfId:
    # The number of flows that have started, and whether the last is under way.
    int32_t started
    bint active
    int32_t name
    int32_t category


cdef class FlowIdentities:
    """Flows by their identities; continues from batch to batch."""

    cdef Numbers _named
    cdef Numbers _used
    cdef Numbers _by_id
    cdef uint64_t _next

    def __cinit__(self):
        cdef uint64_t seed = int.from_bytes(os.urandom(8), "little")
        self._named.item_size = sizeof(NamedFlow)
        self._by_id.item_size = sizeof(FlowOfId)
        self._named.seed = self._used.seed = self._by_id.seed = seed
        self._next = FIRST_NEW_ID

    def __dealloc__(self):
        free_numbers(&self._named)
        free_numbers(&self._used)
        free_numbers(&self._by_id)

    def ids(
        self,
        const uint8_t[::1] step,
        const uint64_t[::1] id,
        const uint8_t[::1] is_text,
        const int32_t[::1] name,
        const int32_t[::1] category,
        const int64_t[::1] order,
    ) -> tuple[NDArray[uint64], NDArray[uint8]]:
        """Continue with events of flows that belong together by id, name and category, in an order of time.

        `step` is 1 for the begin of a flow, 2 for a step and 3 for the end. Ids of texts are not those of numbers.

        Returns:
            Ids that tell the flows apart, each its own where that is free, and what differs where an end sets an id
            free: 1 for an end or step after an end, 2 for a begin after an end; else 0.

        """
        cdef int64_t count = step.shape[0]
        cdef int64_t i, k
        cdef int32_t number = 0
        cdef uint64_t second
        cdef NamedFlow* flow
        self._check(count, order, min(id.shape[0], is_text.shape[0]), min(name.shape[0], category.shape[0]))
        new_ids, differences = np.empty(count, np.uint64), np.zeros(count, np.uint8)
        cdef uint64_t[::1] new_id = new_ids
        cdef uint8_t[::1] different = differences
        with nogil:
            for k in range(count):
                i = order[k]
                second = <uint64_t><uint32_t>name[i] << 32 | <uint32_t>category[i] | <uint64_t>(is_text[i] != 0) << 63
                number = find_or_add_pair(&self._named, id[i], second)
                if number < 0:
                    break
                flow = &(<NamedFlow*>self._named.items)[number]
                if not flow.has_id:
                    flow.has_id = True
                    flow.id = id[i]
                    if is_text[i] or find_key(&self._used, id[i]) >= 0:
                        while find_key(&self._used, self._next) >= 0:
                            self._next += 1
                        flow.id = self._next
                    number = find_or_add_key(&self._used, flow.id)
                    if number < 0:
                        break
                new_id[i] = flow.id
                if step[i] == BEGIN:
                    different[i] = BEGINS_AGAIN if flow.ended else 0
                    flow.started = True
                    flow.ended = False
                elif flow.started:
                    different[i] = ENDED_BEFORE if flow.ended else 0
                    flow.ended = flow.ended or step[i] == END
        if number < 0:
            raise MemoryError("too many flows")
        return new_ids, differences

    def names(
        self,
        const uint8_t[::1] step,
        const uint64_t[::1] id,
        int32_t[::1] name,
        int32_t[::1] category,
        const int64_t[::1] order,
    ) -> NDArray[int32]:
        """Continue with events of flows that belong together by id until the end, in an order of time.

        Names and categories become those of the begin of each flow.

        Returns:
            The number of earlier flows of the id, for names that tell them apart.

        """
        cdef int64_t count = step.shape[0]
        cdef int64_t i, k
        cdef int32_t number = 0
        cdef FlowOfId* flow
        self._check(count, order, id.shape[0], min(name.shape[0], category.shape[0]))
        earlier = np.zeros(count, np.int32)
        cdef int32_t[::1] before = earlier
        with nogil:
            for k in range(count):
                i = order[k]
                number = find_or_add_key(&self._by_id, id[i])
                if number < 0:
                    break
                flow = &(<FlowOfId*>self._by_id.items)[number]
                if step[i] == BEGIN and not flow.active:
                    flow.started += 1
                    flow.active = True
                    flow.name = name[i]
                    flow.category = category[i]
                if flow.active:
                    name[i] = flow.name
                    category[i] = flow.category
                    before[i] = flow.started - 1
                    flow.active = step[i] != END
                else:
                    before[i] = flow.started
        if number < 0:
            raise MemoryError("too many flows")
        return earlier

    cdef int _check(self, int64_t count, const int64_t[::1] order, int64_t ids, int64_t texts) except -1:
        if order.shape[0] != count or ids != count or texts != count:
            raise ValueError("columns differ in length")
        if count and not are_within(&order[0], count, count):
            raise ValueError("an event is outside of the columns")
        return 0
