# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The sampled events of a recording: which one a sample is of, and where its values are."""

# Stub:
# from converter.kernels.batches.gather import Segments
#
# #: The columns of `SampledEvents.parts`: the values of variable place in the order of a sample, and its end.
# PARTS_OF_SAMPLES: int

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memset

from converter.kernels.batches.gather cimport Segments
from converter.kernels.io.byte_order cimport HOST_IS_BIG, load64
from converter.kernels.tables.numbers cimport FAILED, find_key, find_or_add_key, free_numbers

PARTS_OF_SAMPLES = PARTS


cdef class SampledEvents:
    """The events of a recording by number, in the order of `add`; not changed while a scanner runs."""

    # Stub:
    # count: int
    # big_endian: bool

    def __cinit__(self, *, bint big_endian):
        self.big_endian = big_endian
        self.swap = big_endian != HOST_IS_BIG
        memset(&self._ids, 0, sizeof(self._ids))
        self._ids.item_size = sizeof(int32_t)
        self._ids.seed = <uint64_t>np.random.default_rng().integers(1 << 62)

    def __dealloc__(self):
        free(self.shapes)
        free_numbers(&self._ids)

    def add(
        self,
        uint64_t sample_type,
        uint64_t read_format,
        uint64_t branch_type,
        uint64_t user_mask,
        uint64_t other_mask,
        bint has_trailer,
    ) -> int:
        """Add an event with these parts of its attribute; its number."""
        cdef void* moved
        if self.count == self._room:
            self._room = 2 * self._room + 8
            moved = realloc(self.shapes, self._room * sizeof(Shape))
            if moved is NULL:
                raise MemoryError
            self.shapes = <Shape*>moved
        set_shape(
            &self.shapes[self.count], sample_type, read_format, branch_type, user_mask, other_mask, has_trailer
        )
        self.count += 1
        return self.count - 1

    def add_id(self, uint64_t id, int32_t event) -> None:
        """Say that samples with an id are of an event; of several events with one id the first counts."""
        cdef int32_t number = find_or_add_key(&self._ids, id)
        if number == FAILED:
            raise MemoryError
        if not 0 <= event < self.count:
            raise ValueError("there is no such event")
        if not (<int32_t*>self._ids.items)[number]:
            (<int32_t*>self._ids.items)[number] = event + 1

    cdef int64_t event_of(self, uint64_t id) noexcept nogil:
        cdef int32_t number = find_key(&self._ids, id)
        return -1 if number < 0 else (<int32_t*>self._ids.items)[number] - 1

    cdef int64_t event_of_sample(self, const uint8_t* record, int64_t size) noexcept nogil:
        cdef int64_t at
        cdef uint64_t id
        if self.count <= 1:
            return self.count - 1
        at = self.shapes[0].identifier if self.shapes[0].identifier >= 0 else self.shapes[0].id
        if at < 0:
            return 0
        if at + 8 > size:
            return -1
        id = load64(record + at, self.swap)
        # As perf does: what has no id is of the first event.
        return self.event_of(id) if id else 0

    cdef const Shape* shape_of_record(self, const uint8_t* record, int64_t size) noexcept nogil:
        cdef int64_t event = 0
        cdef const Shape* shape = self.shapes
        if not self.count:
            return NULL
        if shape.trailer_identifier > 0 and size >= HEADER + shape.trailer:
            event = self.event_of(load64(record + size - 8, self.swap))
        return &self.shapes[event] if event > 0 else shape

    def positions(self, int64_t event) -> dict[str, int]:
        """Return the offsets of the values of constant place in samples of an event, by name; -1 for none."""
        cdef Shape* shape
        if not 0 <= event < self.count:
            raise ValueError("there is no such event")
        shape = &self.shapes[event]
        return {
            "ip": shape.ip,
            "addr": shape.addr,
            "id": shape.id,
            "stream_id": shape.stream_id,
            "period": shape.period,
        }

    def parts(
        self, int64_t event, Segments segments not None, const int64_t[::1] location, const uint32_t[::1] size
    ) -> NDArray[uint32]:
        """Return the offsets of the parts of each sample (n x `PARTS_OF_SAMPLES`), 0 for one that there is not."""
        cdef int64_t count = location.shape[0]
        cdef int64_t i, segment, offset
        cdef uint32_t[:, ::1] out
        if not 0 <= event < self.count or size.shape[0] != count:
            raise ValueError("there is no such event, or columns differ in length")
        found = np.zeros((count, PARTS), np.uint32)
        out = found
        with nogil:
            for i in range(count):
                segment = location[i] >> 32
                offset = location[i] & <int64_t>0xffffffff
                if not 0 <= segment < segments.count or offset + size[i] > segments.sizes[segment]:
                    continue
                find_parts(
                    &self.shapes[event], segments.data[segment] + offset, size[i], self.swap, &out[i, 0]
                )
        return found

    def trailer_sizes(
        self, Segments segments not None, const int64_t[::1] location, const uint32_t[::1] size
    ) -> NDArray[int64]:
        """Return the size of what follows the values of each record that is no sample."""
        cdef int64_t count = location.shape[0]
        cdef int64_t i, segment, offset
        cdef const Shape* shape
        cdef int64_t[::1] out
        if size.shape[0] != count:
            raise ValueError("columns differ in length")
        found = np.zeros(count, np.int64)
        out = found
        with nogil:
            for i in range(count):
                segment = location[i] >> 32
                offset = location[i] & <int64_t>0xffffffff
                if not 0 <= segment < segments.count or offset + size[i] > segments.sizes[segment]:
                    continue
                shape = self.shape_of_record(segments.data[segment] + offset, size[i])
                out[i] = 0 if shape is NULL else shape.trailer
        return found
