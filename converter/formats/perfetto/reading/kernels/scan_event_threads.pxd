# The threads of track events: that of their sequence, or the one that a LegacyEvent names.

from libc.stdint cimport uint32_t, uint64_t, uint8_t

from converter.formats.perfetto.protobuf.fields cimport (
    LEGACY_INSTANT_EVENT_SCOPE, LEGACY_NAME_IID, LEGACY_PHASE, LEGACY_PID_OVERRIDE, LEGACY_TID_OVERRIDE,
)
from converter.formats.perfetto.reading.kernels.scan_sequences cimport Sequence
from converter.formats.perfetto.reading.kernels.scan_track_event cimport Parsed


cdef enum:
    # Which fields of LegacyEvent are present, as bits.
    HAS_NAME = 1 << LEGACY_NAME_IID
    HAS_PHASE = 1 << LEGACY_PHASE
    HAS_INSTANT_SCOPE = 1 << LEGACY_INSTANT_EVENT_SCOPE
    HAS_PID = 1 << LEGACY_PID_OVERRIDE
    HAS_TID = 1 << LEGACY_TID_OVERRIDE
    # InstantEventScope of a thread; those of a process and of all are below.
    SCOPE_THREAD = 3


# Return True if a legacy phase is of asynchronous slices: one of b n e S T p F.
cdef inline bint is_asynchronous(uint8_t phase) noexcept nogil:
    return phase in (c'b', c'n', c'e', c'S', c'T', c'p', c'F')


# Return True if an event is on a thread. Events without a track are on their sequence's thread, or on the one that they
# name: those that do not name a track, and old ones with "no track"
# (TrackEventEventImporter::ParseInitialTrackAssociation). Events on other tracks that this package wrote may name a
# thread as well.
cdef inline bint is_on_thread(
    const Parsed* event, const Sequence* sequence, const uint64_t* legacy, uint32_t present, uint8_t phase,
    uint64_t place,
) noexcept nogil:
    if place:
        return present & HAS_PID and present & HAS_TID and (
            is_asynchronous(phase)
            or present & HAS_INSTANT_SCOPE and legacy[LEGACY_INSTANT_EVENT_SCOPE] < SCOPE_THREAD
        )
    return present & HAS_PID or sequence.has_thread and (
        present & HAS_TID or not event.has_track or not event.type
    )


# The process and the thread of an event on a thread.
cdef inline uint64_t thread_of(
    const Sequence* sequence, const uint64_t* legacy, uint32_t present, uint64_t place
) noexcept nogil:
    cdef uint64_t pid = legacy[LEGACY_PID_OVERRIDE] if present & HAS_PID else sequence.thread >> 32
    cdef uint64_t tid = legacy[LEGACY_TID_OVERRIDE] if present & HAS_TID else sequence.thread
    # Either is 0 of the idle task alone, whatever the other is.
    if not place and (not <uint32_t>pid or not <uint32_t>tid):
        pid = tid = 0
    return <uint64_t>(<uint32_t>pid) << 32 | <uint32_t>tid
