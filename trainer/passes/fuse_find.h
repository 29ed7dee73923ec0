/* SPDX-License-Identifier: BSD-3-Clause */
/* Part of fusion (fuse.h): ops of a graph in which some have become NULL already. What is not
 * found is NULL. */
#ifndef UNETCTL_TRAINER_PASSES_FUSE_FIND_H
#define UNETCTL_TRAINER_PASSES_FUSE_FIND_H

#include <stdlib.h>

#include "trainer/core/graph.h"

/* The first op of that kind that reads t through input k. */
struct op **fuse_find_reader(const struct graph *g, const struct op_kind *kind, int k,
                             const struct tensor *t);

/* The first op of that kind whose first output is t. */
struct op **fuse_find_writer(const struct graph *g, const struct op_kind *kind,
                             const struct tensor *t);

/* How often t is read. */
size_t fuse_find_nreaders(const struct graph *g, const struct tensor *t);

/* The op is no longer needed; graph_close_up() when all is done. */
static inline void fuse_drop(struct op **op)
{
    free(*op);
    *op = NULL;
}

#endif
