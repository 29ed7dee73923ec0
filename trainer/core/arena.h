/* SPDX-License-Identifier: BSD-3-Clause */
/* One growing piece of zeroed memory in huge pages where the system has them. */
#ifndef UNETCTL_TRAINER_CORE_ARENA_H
#define UNETCTL_TRAINER_CORE_ARENA_H

#include <stdbool.h>
#include <stddef.h>

#include "src/err.h"

struct arena {
    void *base; /* aligned to a huge page; NULL while size is 0 */
    size_t size;
    void *mapping;
    size_t mapping_size;
};

/* At least nbytes; what was in it is lost when base changes. *moved says whether it did. */
int arena_reserve(struct arena *a, size_t nbytes, bool *moved, struct err *e);
void arena_release(struct arena *a);

#endif
