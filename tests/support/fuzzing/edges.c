/*
 * Counts what is executed, for tests/fuzz.py: the blocks of kernels that are compiled with -fsanitize-coverage=trace-pc,
 * the lines of Python, and, when asked, what numbers are compared with (trace-cmp). Preloaded by tests/instrumented.py.
 */
#include <Python.h>
#include <frameobject.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#define BITS 20
#define PAIRS 4096

/* How often a place was met since edges_begin, and the places that were met at all. */
static uint8_t now[1 << BITS];
static uint32_t met[1 << BITS];
static uint32_t count;
/* How often, in powers of two, it was met by any input before; child processes share it. */
static uint8_t *seen;
static int counting, comparing;

struct pair {
    uint64_t left, right;
};
static struct pair pairs[PAIRS];

__attribute__((constructor)) static void share(void) {
    seen = mmap(NULL, 1 << BITS, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (seen == MAP_FAILED) abort();
}

static uint32_t place(uint64_t value, int bits) { return value * 0x9E3779B97F4A7C15u >> (64 - bits); }

static void meet(uintptr_t where) {
    if (!counting) return;
    uint32_t at = place(where, BITS);
    if (now[at] == 0) met[__atomic_fetch_add(&count, 1, __ATOMIC_RELAXED) & ((1 << BITS) - 1)] = at;
    if (now[at] < 255) now[at]++;
}

void __sanitizer_cov_trace_pc(void) { meet((uintptr_t)__builtin_return_address(0)); }

/* Numbers that both are small are everywhere in an input. */
static void compare(uint64_t left, uint64_t right) {
    if (!comparing || left == right || (left < 32 && right < 32)) return;
    struct pair *pair = &pairs[place(left ^ right * 3, 12)];
    pair->left = left;
    pair->right = right;
}

void __sanitizer_cov_trace_cmp1(uint8_t a, uint8_t b) { compare(a, b); }
void __sanitizer_cov_trace_cmp2(uint16_t a, uint16_t b) { compare(a, b); }
void __sanitizer_cov_trace_cmp4(uint32_t a, uint32_t b) { compare(a, b); }
void __sanitizer_cov_trace_cmp8(uint64_t a, uint64_t b) { compare(a, b); }
void __sanitizer_cov_trace_const_cmp1(uint8_t a, uint8_t b) { compare(b, a); }
void __sanitizer_cov_trace_const_cmp2(uint16_t a, uint16_t b) { compare(b, a); }
void __sanitizer_cov_trace_const_cmp4(uint32_t a, uint32_t b) { compare(b, a); }
void __sanitizer_cov_trace_const_cmp8(uint64_t a, uint64_t b) { compare(b, a); }
void __sanitizer_cov_trace_cmpf(float a, float b) { (void)a, (void)b; }
void __sanitizer_cov_trace_cmpd(double a, double b) { (void)a, (void)b; }

void __sanitizer_cov_trace_switch(uint64_t value, const uint64_t *cases) {
    if (!comparing) return;
    for (uint64_t i = 0; i < cases[0]; i++) compare(value, cases[2 + i]);
}

static int trace(PyObject *nothing, PyFrameObject *frame, int what, PyObject *argument) {
    (void)nothing, (void)argument;
    if (what == PyTrace_LINE) {
        PyCodeObject *code = PyFrame_GetCode(frame);
        meet((uintptr_t)code + (uintptr_t)PyFrame_GetLasti(frame));
        Py_DECREF(code);
    }
    return 0;
}

/* Count from here on, also what numbers are compared with, and the lines of Python. */
void edges_begin(int compares, int lines) {
    for (uint32_t i = 0; i < count && i < 1 << BITS; i++) now[met[i]] = 0;
    count = 0;
    memset(pairs, 0, compares ? sizeof pairs : 0);
    PyEval_SetTrace(lines ? trace : NULL, NULL);
    counting = 1;
    comparing = compares;
}

/* End counting; how many places were met that no input met before, or met as often. */
int edges_end(void) {
    int fresh = 0;
    counting = comparing = 0;
    PyEval_SetTrace(NULL, NULL);
    for (uint32_t i = 0; i < count && i < 1 << BITS; i++) {
        uint32_t at = met[i];
        if (now[at] == 0) continue;
        uint8_t often = 1 << (31 - __builtin_clz(now[at]));
        fresh += (seen[at] & often) == 0;
        seen[at] |= often;
        now[at] = 0;
    }
    count = 0;
    return fresh;
}

/* How many places were met by any input. */
int edges_known(void) {
    int known = 0;
    for (int i = 0; i < 1 << BITS; i++) known += seen[i] != 0;
    return known;
}

const struct pair *edges_pairs(void) { return pairs; }
