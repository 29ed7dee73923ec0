/* SPDX-License-Identifier: BSD-3-Clause */
/* Anonymous mappings, which the kernel zeroes and can back with huge pages. */
#include "config.h"
#include "trainer/core/arena.h"

#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>

#define HUGE_PAGE ((size_t)2 << 20)

static size_t round_up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

int arena_reserve(struct arena *a, size_t nbytes, bool *moved, struct err *e)
{
    struct arena grown = {.size = round_up(nbytes, HUGE_PAGE)};

    *moved = false;
    if (nbytes <= a->size)
        return 0;
    grown.mapping_size = grown.size + HUGE_PAGE;
    grown.mapping = mmap(NULL, grown.mapping_size, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (grown.mapping == MAP_FAILED)
        return err_errno(e, ERR_INTERNAL, errno,
                         "no memory for %.1f GiB of activations; a smaller batch needs less",
                         (double)nbytes / (1 << 30));
    grown.base = (void *)round_up((uintptr_t)grown.mapping, HUGE_PAGE);
    /* Only advice: it may fail where huge pages are disabled, and small pages are used. */
    (void)madvise(grown.base, grown.size, MADV_HUGEPAGE);
    arena_release(a);
    *a = grown;
    *moved = true;
    return 0;
}

void arena_release(struct arena *a)
{
    if (a->mapping)
        munmap(a->mapping, a->mapping_size);
    *a = (struct arena){0};
}
