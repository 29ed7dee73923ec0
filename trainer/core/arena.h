/* SPDX-License-Identifier: BSD-3-Clause */
/* A growing block of host memory, in huge pages where the system has them: the activations of a
 * network. The owner calls arena_release. */
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

/* Grows a zeroed or reserved arena to at least nbytes. If *moved is set, base has changed, the old
 * contents are lost and the new memory is zeroed. 0, or -1 with ERR_INTERNAL; then nothing has
 * changed. */
int arena_reserve(struct arena *a, size_t nbytes, bool *moved, struct err *e);
void arena_release(struct arena *a);

#endif
