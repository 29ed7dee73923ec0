/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/step/exchange.h"

#define DEVICE_BUCKET (4 * EXCHANGE_MIB) /* a recorded step can't be tried with several sizes */

int exchange_begin(struct exchange *x, const struct exchange_config *c, const struct weights *w,
                   struct err *e)
{
    size_t bucket = c->bucket   ? c->bucket
                    : c->fixed  ? EXCHANGE_MIB
                    : w->device ? DEVICE_BUCKET
                                : c->chosen;

    *x = (struct exchange){0};
    if (c->by_tensor)
        return gradient_cuts_tensors(&x->cuts, w, e);
    if (bucket == 0) {
        bucket_tuner_begin(&x->tuner, w->nparams);
        x->tuning = !x->tuner.done;
        bucket = bucket_tuner_size(&x->tuner);
    }
    return gradient_cuts_buckets(&x->cuts, w->nparams, bucket, e);
}

void exchange_end(struct exchange *x)
{
    gradient_cuts_destroy(&x->cuts);
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
    return gradient_cuts_buckets(&x->cuts, w->nparams, bucket_tuner_size(&x->tuner), e);
}
