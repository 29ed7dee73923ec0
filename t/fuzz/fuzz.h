/* SPDX-License-Identifier: BSD-3-Clause */
/* What every fuzz target shares. A target feeds bytes to readers of outside input and checks
 * what must hold whatever they are; t/fuzz/run gives it libFuzzer's bytes, t/fuzz/replay.c those
 * kept. */
#pragma once

#include "src/base.h"
#include <sys/mman.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* Ends the process by a trap if the condition does not hold. */
#define FUZZ_REQUIRE(condition)                                                                    \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition);         \
            __builtin_trap();                                                                      \
        }                                                                                          \
    } while (0)

/* Returns the bytes up to the first NUL as a text; the caller frees it. */
static inline char *fuzz_text(const uint8_t *data, size_t n)
{
    char *text = malloc(n + 1);

    FUZZ_REQUIRE(text);
    if (n > 0)
        memcpy(text, data, n);
    text[n] = 0;
    return text;
}

/* Returns the path of a file with these bytes, for readers that take a path; valid until the next
 * call. */
static inline const char *fuzz_file(const uint8_t *data, size_t n)
{
    static char path[64];
    static int fd = -1;

    if (fd < 0)
        fd = memfd_create("fuzz", MFD_CLOEXEC);
    FUZZ_REQUIRE(fd >= 0 && ftruncate(fd, 0) == 0);
    FUZZ_REQUIRE(pwrite(fd, data, n, 0) == (ssize_t)n);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return path;
}
