/*
 * What kernels ask for memory with, in those that tests/instrumented.py compiles: a program that has preloaded
 * allocations.c has one request of its choice refused. It comes in front of all else that a kernel includes.
 */
#include <malloc.h>
#include <stdlib.h>

extern int allocation_granted(void) __attribute__((weak));

static inline int is_granted_(void) { return !allocation_granted || allocation_granted(); }

static inline void *granted_malloc_(size_t size) { return is_granted_() ? malloc(size) : NULL; }

static inline void *granted_calloc_(size_t count, size_t size) { return is_granted_() ? calloc(count, size) : NULL; }

static inline void *granted_realloc_(void *memory, size_t size) {
    return is_granted_() ? realloc(memory, size) : NULL;
}

#define malloc(size) granted_malloc_(size)
#define calloc(count, size) granted_calloc_(count, size)
#define realloc(memory, size) granted_realloc_(memory, size)
