# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Events that describe themselves (GenericFtraceEvent): the class of each by its shape, and values by their index."""

# Stub:
# from converter.kernels.tables.strings import StringTable

from converter.formats.perfetto.protobuf.fields cimport (
    GENERIC_EVENT_NAME, GENERIC_FIELD, GENERIC_FIELD_INT_VALUE, GENERIC_FIELD_NAME,
    GENERIC_FIELD_STR_VALUE, GENERIC_FIELD_UINT_VALUE,
)
from converter.kernels.protobuf.wire cimport WIRE_BYTES, WIRE_VARINT, WireField, check_spans, next_field
from converter.kernels.io.output cimport Output, append
from converter.kernels.tables.strings cimport StringTable

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.stdlib cimport free
from libc.string cimport memchr


# The value field of a GenericFtraceEvent.Field, and where its name is; -1 when damaged.
cdef int read_generic_field(
    const uint8_t* data, int64_t at, int64_t end, int64_t* name, int64_t* name_size, uint8_t* kind, int64_t* value
) noexcept nogil:
    cdef WireField field
    name[0] = at
    name_size[0] = 0
    kind[0] = c'-'
    value[0] = 0
    value[1] = 0
    while at < end:
        at = next_field(data, at, end, &field)
        if at < 0:
            return -1
        if field.number == GENERIC_FIELD_NAME and field.wire == WIRE_BYTES:
            name[0] = field.start
            name_size[0] = field.size
        elif field.number == GENERIC_FIELD_STR_VALUE and field.wire == WIRE_BYTES:
            kind[0] = c's'
            value[0] = field.start
            value[1] = field.size
        elif field.wire == WIRE_VARINT and (
            field.number == GENERIC_FIELD_INT_VALUE or field.number == GENERIC_FIELD_UINT_VALUE
        ):
            kind[0] = c'i' if field.number == GENERIC_FIELD_INT_VALUE else c'u'
            value[0] = <int64_t>field.value
            value[1] = 0
    return 0


# Build the shape of one event; 1 when it is damaged or names hold a NUL, -1 when memory runs out.
cdef int shape_of(const uint8_t* data, int64_t at, int64_t end, Output* text) noexcept nogil:
    cdef WireField field
    cdef int64_t start = at
    cdef int64_t name = 0
    cdef int64_t name_size = 0
    cdef int64_t value[2]
    cdef uint8_t kind
    cdef uint8_t zero = 0
    text.used = 0
    while at < end:
        at = next_field(data, at, end, &field)
        if at < 0:
            return 1
        if field.number == GENERIC_EVENT_NAME and field.wire == WIRE_BYTES:
            name = field.start
            name_size = field.size
    if name_size and memchr(data + name, 0, name_size) is not NULL:
        return 1
    if not append(text, data + name, name_size) or not append(text, &zero, 1):
        return -1
    at = start
    while at < end:
        at = next_field(data, at, end, &field)
        if field.number == GENERIC_FIELD and field.wire == WIRE_BYTES:
            if read_generic_field(
                data, field.start, field.start + field.size, &name, &name_size, &kind, value
            ) < 0:
                return 1
            if name_size and memchr(data + name, 0, name_size) is not NULL:
                return 1
            if (
                not append(text, &kind, 1)
                or not append(text, data + name, name_size)
                or not append(text, &zero, 1)
            ):
                return -1
    return 0


def generic_signatures(
    const uint8_t[::1] data, const int64_t[:] starts, const int64_t[:] sizes, StringTable signatures, int32_t[::1] ids
) -> None:
    """Which class each GenericFtraceEvent (generic.proto) is of: the id in `signatures` of its shape.

    A shape is the event's name, then for each field a byte "s", "i", "u" or "-" (no value) and its name, all
    NUL-terminated. Messages that are damaged, or whose names hold a NUL, have the id of "". Releases the GIL.
    """
    cdef int64_t count = starts.shape[0]
    cdef int64_t i
    cdef Output text
    cdef int state = 0
    check_spans(data.shape[0], starts, sizes)
    if ids.shape[0] != count:
        raise ValueError("starts and ids differ in length")
    if data.shape[0] == 0:
        return
    text.data = NULL
    text.used = text.room = 0
    with nogil:
        signatures.lock()
        for i in range(count):
            state = shape_of(&data[0], starts[i], starts[i] + sizes[i], &text)
            if state < 0:
                break
            ids[i] = 0 if state else signatures.find_or_add(text.data, <uint32_t>text.used)
            if ids[i] < 0:
                state = -1
                break
        signatures.unlock()
    free(text.data)
    if state < 0:
        raise MemoryError("no room for more event classes")


def generic_values(
    const uint8_t[::1] data, const int64_t[:] starts, const int64_t[:] sizes, int64_t index, int64_t[:, ::1] values
) -> None:
    """Value of field `index` of each GenericFtraceEvent: (number, 0), or a string's (start, size); shape (n, 2)."""
    cdef int64_t count = starts.shape[0]
    cdef int64_t i, at, end, seen
    cdef int64_t name, name_size
    cdef uint8_t kind
    cdef WireField field
    check_spans(data.shape[0], starts, sizes)
    if values.shape[0] != count or values.shape[1] != 2:
        raise ValueError("values do not fit")
    if data.shape[0] == 0:
        return
    with nogil:
        for i in range(count):
            at = starts[i]
            end = at + sizes[i]
            seen = 0
            values[i, 0] = 0
            values[i, 1] = 0
            while at < end:
                at = next_field(&data[0], at, end, &field)
                if at < 0:
                    break
                if field.number == GENERIC_FIELD and field.wire == WIRE_BYTES:
                    if seen == index:
                        read_generic_field(
                            &data[0], field.start, field.start + field.size, &name, &name_size, &kind, &values[i, 0]
                        )
                        break
                    seen += 1
