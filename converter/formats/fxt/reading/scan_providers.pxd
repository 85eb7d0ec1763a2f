# The trace providers of an FXT file: each has string slots, thread slots and a clock of its own.

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free

from converter.formats.fxt.words cimport MAX_PROVIDERS, NANOSECONDS, STRING_SLOTS, THREAD_SLOTS
from converter.kernels.tables.numbers cimport FAILED, Numbers, find_or_add_key, free_numbers

cdef extern from *:
    """
    #define FXT_LATEST ((1ULL << 63) - 1)
    /* An id that no provider has: ids are of 32 bits. */
    #define FXT_NO_PROVIDER (1ULL << 32)
    typedef unsigned __int128 fxt_u128;
    /* The last tick of a clock whose time fits 63 bits of nanoseconds. */
    static inline unsigned long long fxt_last_tick(unsigned long long rate) {
        fxt_u128 last = (fxt_u128)FXT_LATEST * rate / 1000000000;
        return last >> 64 ? ~0ULL : (unsigned long long)last;
    }
    static inline unsigned long long fxt_scaled(unsigned long long a, unsigned long long b, unsigned long long c,
                                                int *over) {
        fxt_u128 product = (fxt_u128)a * b / c;
        if (product >> 63) { *over = 1; return FXT_LATEST; }
        return (unsigned long long)product;
    }
    """
    const uint64_t LATEST "FXT_LATEST"
    const uint64_t NO_PROVIDER "FXT_NO_PROVIDER"
    uint64_t fxt_last_tick(uint64_t) noexcept nogil
    uint64_t fxt_scaled(uint64_t, uint64_t, uint64_t, int*) noexcept nogil

cdef enum:
    TOO_MANY = -4


cdef struct Provider:
    # From 1 on in the order of the file, 0 for none.
    int32_t number
    # Both hold what is registered plus one, 0 where nothing is. Strings come with the first string record.
    int32_t* strings
    int32_t threads[THREAD_SLOTS]
    # The trace's ticks for the provider's; `divisor` is never 0.
    uint64_t multiplier
    uint64_t divisor
    # The last of the provider's ticks that is a time.
    uint64_t last


cdef struct Providers:
    Numbers ids
    Provider** held
    Provider* current
    # Ticks per second of the trace.
    uint64_t rate


# Go to the tables of a provider: 0, FAILED without memory, TOO_MANY.
cdef inline int providers_enter(Providers* providers, uint64_t id) noexcept nogil:
    cdef int32_t number = find_or_add_key(&providers.ids, id)
    if number == FAILED:
        return FAILED
    # Number 0 is that of no provider.
    if number > MAX_PROVIDERS:
        return TOO_MANY
    if providers.held is NULL:
        providers.held = <Provider**>calloc(MAX_PROVIDERS + 1, sizeof(Provider*))
        if providers.held is NULL:
            return FAILED
    if providers.held[number] is NULL:
        providers.held[number] = <Provider*>calloc(1, sizeof(Provider))
        if providers.held[number] is NULL:
            return FAILED
        providers.held[number].number = number
        providers.current = providers.held[number]
        providers_set_rate(providers, NANOSECONDS)
    providers.current = providers.held[number]
    return 0


# The current provider's clock; `rate` is in ticks per second, not 0.
cdef inline void providers_set_rate(Providers* providers, uint64_t rate) noexcept nogil:
    cdef uint64_t a = providers.rate
    cdef uint64_t b = rate
    cdef uint64_t rest
    while b:
        rest = a % b
        a = b
        b = rest
    providers.current.multiplier = providers.rate // a
    providers.current.divisor = rate // a
    providers.current.last = fxt_last_tick(rate)
    if rate == providers.rate and providers.current.last > LATEST:
        providers.current.last = LATEST


# Put a string's id into a slot of the current provider; false without memory.
cdef inline bint providers_set_string(Providers* providers, uint32_t slot, int32_t id) noexcept nogil:
    cdef Provider* current = providers.current
    if current.strings is NULL:
        current.strings = <int32_t*>calloc(STRING_SLOTS, sizeof(int32_t))
        if current.strings is NULL:
            return False
    current.strings[slot & (STRING_SLOTS - 1)] = id + 1
    return True


# Ticks of the trace's clock for those of the current provider's; -1 beyond 63 bits, also of nanoseconds, as in viewers.
cdef inline int64_t providers_time(Providers* providers, uint64_t ticks) noexcept nogil:
    cdef int over = 0
    cdef uint64_t time
    if ticks > providers.current.last:
        return -1
    if providers.current.multiplier != 1 or providers.current.divisor != 1:
        time = fxt_scaled(ticks, providers.current.multiplier, providers.current.divisor, &over)
        return -1 if over else <int64_t>time
    return <int64_t>ticks


cdef inline void providers_free(Providers* providers) noexcept nogil:
    cdef int64_t i
    if providers.held is not NULL:
        for i in range(MAX_PROVIDERS + 1):
            if providers.held[i] is not NULL:
                free(providers.held[i].strings)
                free(providers.held[i])
        free(providers.held)
    free_numbers(&providers.ids)
