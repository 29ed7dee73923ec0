/* SPDX-License-Identifier: BSD-3-Clause */
/* Linear searches: graphs have some hundred ops and are fused once. */
#include "config.h"
#include "trainer/passes/fuse_find.h"

struct op **fuse_find_reader(const struct graph *g, const struct op_kind *kind, int k,
                             const struct tensor *t)
{
    for (size_t i = 0; i < g->nops; i++)
        if (g->ops[i] && g->ops[i]->kind == kind && g->ops[i]->in[k] == t)
            return &g->ops[i];
    return NULL;
}

size_t fuse_find_nreaders(const struct graph *g, const struct tensor *t)
{
    size_t n = 0;

    for (size_t i = 0; i < g->nops; i++)
        if (g->ops[i])
            for (int k = -1; op_next_in(g->ops[i], &k);)
                n += g->ops[i]->in[k] == t;
    return n;
}

struct op **fuse_find_writer(const struct graph *g, const struct op_kind *kind,
                             const struct tensor *t)
{
    for (size_t i = 0; i < g->nops; i++)
        if (g->ops[i] && (!kind || g->ops[i]->kind == kind) && g->ops[i]->out[0] == t)
            return &g->ops[i];
    return NULL;
}
