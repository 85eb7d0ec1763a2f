# Hashes of bytes for tables of the process: of bytes chosen by a file, nobody can foresee those that share a slot.

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

cdef extern from *:
    """
    /* The two halves of the 128-bit product of a and b, folded into one. */
    static inline unsigned long long folded(unsigned long long a, unsigned long long b) {
        unsigned __int128 product = (unsigned __int128)a * b;
        return (unsigned long long)product ^ (unsigned long long)(product >> 64);
    }
    """
    uint64_t folded(uint64_t, uint64_t) noexcept nogil


# Each word meets the secret in a product, so that texts made to collide would have to be made for this process.
cdef inline uint64_t hash_bytes(const uint8_t* data, uint32_t size, uint64_t seed) noexcept nogil:
    cdef uint64_t secret = seed * <uint64_t>0x9E3779B97F4A7C15 | 1
    cdef uint64_t state = folded(seed ^ size, secret)
    cdef uint64_t word
    cdef uint32_t at = 0
    while size - at >= 8:
        memcpy(&word, data + at, 8)
        state = folded(state ^ secret, word ^ seed)
        at += 8
    if at < size:
        word = 0
        memcpy(&word, data + at, size - at)
        state = folded(state ^ secret, word ^ seed)
    return folded(state ^ seed, secret)
