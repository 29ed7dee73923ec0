/* SPDX-License-Identifier: BSD-3-Clause */
/* Cuts the gradients into slices, and cuts them anew while the size of buckets is tuned. */
#include "config.h"
#include "trainer/step/exchange.h"

#include <stdlib.h>

#include "src/mem.h"

#define DEVICE_BUCKET (4 * EXCHANGE_MIB) /* not tuned, as a device replays recorded steps */

static int alloc_cuts(struct exchange_cuts *c, size_t n, struct err *e)
{
    free(c->ends);
    c->n = 0;
    c->ends = mem_alloc(n, sizeof *c->ends, e);
    return c->ends ? 0 : -1;
}

int exchange_cut_buckets(struct exchange_cuts *c, size_t nparams, size_t bucket, struct err *e)
{
    if (alloc_cuts(c, (nparams + bucket - 1) / bucket, e))
        return -1;
    for (size_t end = 0; end < nparams;) {
        end = nparams - end < bucket ? nparams : end + bucket;
        c->ends[c->n++] = end;
    }
    return 0;
}

/* Entries are in the order in which their gradients are completed; padding belongs to the tensor
 * before it. */
int exchange_cut_tensors(struct exchange_cuts *c, const struct weights *w, struct err *e)
{
    if (alloc_cuts(c, w->nentries, e))
        return -1;
    for (size_t i = 0; i < w->nentries; i++)
        if (w->entries[i].role == WEIGHTS_PARAM && w->entries[i].offset > 0)
            c->ends[c->n++] = w->entries[i].offset;
    c->ends[c->n++] = w->nparams;
    return 0;
}

int exchange_begin(struct exchange *x, const struct exchange_config *c, const struct weights *w,
                   struct err *e)
{
    size_t bucket = c->bucket   ? c->bucket
                    : c->fixed  ? EXCHANGE_MIB
                    : w->device ? DEVICE_BUCKET
                                : c->chosen;

    *x = (struct exchange){0};
    if (c->by_tensor)
        return exchange_cut_tensors(&x->cuts, w, e);
    if (bucket == 0) {
        bucket_tuner_begin(&x->tuner, w->nparams);
        x->tuning = !x->tuner.done;
        bucket = bucket_tuner_size(&x->tuner);
    }
    return exchange_cut_buckets(&x->cuts, w->nparams, bucket, e);
}

void exchange_end(struct exchange *x)
{
    free(x->cuts.ends);
}

int exchange_add_step(struct exchange *x, struct comm *comm, const struct weights *w,
                      double seconds, struct err *e)
{
    x->chosen = false;
    if (!x->tuning)
        return 0;
    if (comm_max_double(comm, &seconds, 1, e))
        return -1;
    x->chosen = bucket_tuner_add(&x->tuner, seconds);
    x->tuning = !x->chosen;
    return exchange_cut_buckets(&x->cuts, w->nparams, bucket_tuner_size(&x->tuner), e);
}
