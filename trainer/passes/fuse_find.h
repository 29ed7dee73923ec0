/* SPDX-License-Identifier: BSD-3-Clause */
/* Part of fusion (fuse.h): searches in a graph, some of whose ops may be NULL already. Functions
 * return NULL if there is no such op; an op is returned as a pointer to its entry of g->ops. */
#ifndef UNETCTL_TRAINER_PASSES_FUSE_FIND_H
#define UNETCTL_TRAINER_PASSES_FUSE_FIND_H

#include <stdlib.h>

#include "trainer/core/graph.h"

/* Returns the first op of the kind whose input k is t. */
struct op **fuse_find_reader(const struct graph *g, const struct op_kind *kind, int k,
                             const struct tensor *t);

/* Returns the first op of the kind, or of any kind if kind is NULL, whose first output is t. */
struct op **fuse_find_writer(const struct graph *g, const struct op_kind *kind,
                             const struct tensor *t);

/* Returns the number of inputs of all ops that are t. */
size_t fuse_find_nreaders(const struct graph *g, const struct tensor *t);

/* Frees an op and makes its entry NULL; graph_close_up removes such entries. */
static inline void fuse_drop(struct op **op)
{
    free(*op);
    *op = NULL;
}

#endif
