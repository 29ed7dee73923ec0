/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/network/first_weights.h"

#include "src/rng.h"

/* Values that are not worth waking threads for. */
#define FEW 4096

static uint64_t stream_of(const char *name)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
    return hash;
}

static void fill(struct weights *w, const struct graph_param *p, uint64_t seed)
{
    const struct weights_entry *entry = weights_find(w, p->tensor->name);
    float *dst = (p->role == WEIGHTS_PARAM ? w->value : w->state) + entry->offset;
    uint64_t stream = stream_of(entry->name);

#pragma omp parallel for if (entry->count >= FEW)
    for (size_t i = 0; i < entry->count; i++)
        dst[i] = (float)(p->low == p->high
                             ? p->low
                             : p->low + (p->high - p->low) * rng_uniform(seed, stream, i));
}

static int lay_out(struct weights *w, const struct graph *g, struct err *e)
{
    for (size_t i = g->nparams; i-- > 0;) {
        const struct tensor *t = g->params[i].tensor;

        if (weights_add(w, t->name, g->params[i].role, t->shape.ndim, t->shape.dim, e) < 0)
            return -1;
        w->entries[w->nentries - 1].l2 = g->params[i].l2;
    }
    return weights_alloc(w, e);
}

struct weights *first_weights_create(const struct graph *g, uint64_t seed,
                                     const struct device_ops *ops, struct device *device,
                                     struct err *e)
{
    struct weights *w = weights_create(e);

    if (!w)
        return NULL;
    w->ops = ops;
    w->device = device;
    if (lay_out(w, g, e) < 0) {
        weights_destroy(w);
        return NULL;
    }
    for (size_t i = 0; i < g->nparams; i++)
        fill(w, &g->params[i], seed);
    return w;
}
