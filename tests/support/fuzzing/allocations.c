/*
 * Refuses one request of a kernel for memory, for tests/fuzz.py (see allocations.h). Preloaded by
 * tests/instrumented.py.
 */
#include <stdint.h>

/* How many requests there were since allocations_begin, and which of them, from 0 on, is refused; none if negative. */
static int64_t requests, refused = -1;

void allocations_begin(int64_t which) {
    __atomic_store_n(&requests, 0, __ATOMIC_SEQ_CST);
    __atomic_store_n(&refused, which, __ATOMIC_SEQ_CST);
}

int allocation_granted(void) {
    int64_t number = __atomic_fetch_add(&requests, 1, __ATOMIC_SEQ_CST);
    return number != __atomic_load_n(&refused, __ATOMIC_SEQ_CST);
}

/* How many there were; all are granted from here on. */
int64_t allocations_end(void) {
    __atomic_store_n(&refused, -1, __ATOMIC_SEQ_CST);
    return __atomic_load_n(&requests, __ATOMIC_SEQ_CST);
}
