/* SPDX-License-Identifier: BSD-3-Clause */
/* Values that a rank brings to a collective: n elements in place, and how they are combined. */
#ifndef UNETCTL_TRAINER_COMM_SLICE_H
#define UNETCTL_TRAINER_COMM_SLICE_H

#include <stddef.h>

#include "src/err.h"
#include "trainer/comm/reduce.h"

struct slice {
    void *values;
    size_t n;
    enum reduce_op op;
};

/* Slices that were started and not waited for. Emptied by n = 0, it keeps its memory for the next
 * step; the owner frees items. Zero: empty. */
struct slice_list {
    struct slice *items;
    size_t n, capacity;
};

int slice_list_add(struct slice_list *list, struct slice slice, struct err *e);

#endif
