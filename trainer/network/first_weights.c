/* SPDX-License-Identifier: BSD-3-Clause */
/* Values are drawn by a counter-based generator (rng.h), in any order and by any thread. */
#include "config.h"
#include "trainer/network/first_weights.h"

#include <string.h>

#include "src/map.h"
#include "src/rng.h"

#define PARALLEL_COUNT 4096 /* fewer values are set by one thread */


static void set_values(struct weights *w, const struct graph_param *p, uint64_t seed)
{
    const struct weights_entry *entry = weights_find(w, p->tensor->name);
    float *dst = (p->role == WEIGHTS_PARAM ? w->value : w->state) + entry->offset;
    uint64_t stream = hash_bytes(HASH_BEGIN, entry->name, strlen(entry->name));

#pragma omp parallel for if (entry->count >= PARALLEL_COUNT)
    for (size_t i = 0; i < entry->count; i++)
        dst[i] = (float)(p->low == p->high
                             ? p->low
                             : p->low + (p->high - p->low) * rng_uniform(seed, stream, i));
}

static int add_entries(struct weights *w, const struct graph *g, struct err *e)
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
    if (add_entries(w, g, e) < 0) {
        weights_destroy(w);
        return NULL;
    }
    for (size_t i = 0; i < g->nparams; i++)
        set_values(w, &g->params[i], seed);
    return w;
}
