/*
 * Fails, or ends the process, at the n-th call that changes something below a folder: preloaded by tests/faults.py.
 *
 * Calls are those by which outputs come to be: files and folders that are made, written, cut, renamed and linked.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static char folder[PATH_MAX];
static long calls, at;
static int error_number, signal_number;

/* From now on the n-th call (0: none) fails with an error, or a signal is sent in front of it. */
void faults_arm(const char *below, long n, int error, int signal) {
    snprintf(folder, sizeof folder, "%s", below);
    at = n;
    error_number = error;
    signal_number = signal;
    __atomic_store_n(&calls, 0, __ATOMIC_SEQ_CST);
}

long faults_calls(void) { return __atomic_load_n(&calls, __ATOMIC_SEQ_CST); }

static int is_below(const char *path) {
    return folder[0] && path && strncmp(path, folder, strlen(folder)) == 0;
}

static int is_file_below(int descriptor) {
    char link[64], path[PATH_MAX];
    if (!folder[0]) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return is_below(path);
}

/* Whether this call is to fail. */
static int fails(int counts) {
    if (!counts || __atomic_add_fetch(&calls, 1, __ATOMIC_SEQ_CST) != at) return 0;
    if (signal_number) {
        kill(getpid(), signal_number);
        return 0;
    }
    errno = error_number;
    return 1;
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

#define OPEN(name)                                                   \
    int name(const char *path, int flags, ...) {                     \
        va_list rest;                                                \
        va_start(rest, flags);                                       \
        mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;    \
        va_end(rest);                                                \
        if (fails((flags & O_CREAT) && is_below(path))) return -1;   \
        return NEXT(name)(path, flags, mode);                        \
    }
OPEN(open)
OPEN(open64)

ssize_t write(int descriptor, const void *data, size_t size) {
    if (fails(is_file_below(descriptor))) return -1;
    return NEXT(write)(descriptor, data, size);
}

ssize_t pwrite(int descriptor, const void *data, size_t size, off_t offset) {
    if (fails(is_file_below(descriptor))) return -1;
    return NEXT(pwrite)(descriptor, data, size, offset);
}

ssize_t pwrite64(int descriptor, const void *data, size_t size, off64_t offset) {
    if (fails(is_file_below(descriptor))) return -1;
    return NEXT(pwrite64)(descriptor, data, size, offset);
}

int ftruncate(int descriptor, off_t size) {
    if (fails(is_file_below(descriptor))) return -1;
    return NEXT(ftruncate)(descriptor, size);
}

int ftruncate64(int descriptor, off64_t size) {
    if (fails(is_file_below(descriptor))) return -1;
    return NEXT(ftruncate64)(descriptor, size);
}

/* Whether it is the folder itself, in which names are synced. */
static int is_folder(int descriptor) {
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, sizeof path - 2);
    if (!folder[0] || length < 0) return 0;
    strcpy(path + length, "/");
    return strcmp(path, folder) == 0;
}

int fsync(int descriptor) {
    if (fails(is_file_below(descriptor) || is_folder(descriptor))) return -1;
    return NEXT(fsync)(descriptor);
}

int mkdir(const char *path, mode_t mode) {
    if (fails(is_below(path))) return -1;
    return NEXT(mkdir)(path, mode);
}

int rename(const char *from, const char *to) {
    if (fails(is_below(to))) return -1;
    return NEXT(rename)(from, to);
}

int renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned flags) {
    if (fails(is_below(to))) return -1;
    return NEXT(renameat2)(from_folder, from, to_folder, to, flags);
}

int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags) {
    if (fails(is_below(to))) return -1;
    return NEXT(linkat)(from_folder, from, to_folder, to, flags);
}

int unlink(const char *path) {
    /* What cannot be removed stays, and is no half output: only the end of the process is tried here. */
    if (signal_number) fails(is_below(path));
    return NEXT(unlink)(path);
}
