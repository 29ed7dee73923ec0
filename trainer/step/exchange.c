/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/step/exchange.h"

#include <string.h>

#include "src/log.h"
#include "trainer/comm/comm_async.h"

#define MIB ((size_t)1 << 20)
/* Of a device: what is recorded once can't be tried with several sizes. */
#define DEVICE_BUCKET (4 * MIB)

static bool is_bucketed(const struct settings *c)
{
    return strcmp(c->train.allreduce, "bucketed") == 0;
}

struct comm *exchange_open_comm(const struct settings *c, struct comm *inner, struct err *e)
{
    struct comm_async_fusion fusion = {(size_t)c->train.fusion_mib * MIB, c->train.cycle_ms / 1e3};

    inner->wire = strcmp(c->train.compress, "bf16") == 0   ? DTYPE_BF16
                  : strcmp(c->train.compress, "fp16") == 0 ? DTYPE_F16
                                                           : DTYPE_F32;
    if (inner->ops->queue_sum) { /* sums on the devices go on by themselves */
        if (inner->wire == DTYPE_F32 && strcmp(c->train.allreduce, "horovod") != 0)
            return inner;
        err_set(e, ERR_CONFIG, "train.comm: nccl sums gradients as they are: train.compress and "
                "train.allreduce horovod are for mpi and thread");
        return NULL;
    }
    /* Between nodes sums take long enough to be worth a thread of their own. */
    if (inner->size == 1 || (is_bucketed(c) && c->layout.nodes == 1))
        return inner;
    return comm_async_open(inner, strcmp(c->train.allreduce, "horovod") == 0 ? &fusion : NULL, e);
}

int exchange_begin(struct exchange *x, const struct settings *c, const struct weights *w,
                   size_t bucket, struct err *e)
{
    *x = (struct exchange){0};
    if (!is_bucketed(c))
        return gradient_cuts_tensors(&x->cuts, w, e);
    if (c->train.bucket_mib > 0)
        bucket = (size_t)c->train.bucket_mib * MIB / sizeof *w->grad;
    else if (c->train.deterministic || c->layout.gpus == 1)
        bucket = MIB / sizeof *w->grad; /* MPI's order of adding up may depend on the size */
    else if (w->device)
        bucket = DEVICE_BUCKET / sizeof *w->grad;
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

static int tell(const struct bucket_tuner *t, struct record *record, struct err *e)
{
    struct record_bucket sizes[BUCKET_TUNER_SIZES] = {{0, 0}};
    int chosen = t->choice;

    for (int i = 0; i < t->nsizes; i++)
        sizes[i] = (struct record_bucket){t->sizes[i] * sizeof(float), t->medians[i]};
    log_info("gradients go in buckets of %.3g MiB: a step takes %.3g ms (%.3g ms all at once)",
             (double)sizes[chosen].nbytes / MIB, 1e3 * sizes[chosen].step_s,
             1e3 * sizes[t->nsizes - 1].step_s);
    return record_buckets(record, sizes, (size_t)t->nsizes, (size_t)chosen, e);
}

int exchange_add_step(struct exchange *x, struct comm *comm, const struct weights *w, double seconds,
                      struct record *record, size_t *bucket, struct err *e)
{
    if (!x->tuning)
        return 0;
    if (comm_max_double(comm, &seconds, 1, e))
        return -1;
    if (bucket_tuner_add(&x->tuner, seconds)) {
        x->tuning = false;
        *bucket = bucket_tuner_size(&x->tuner);
        if (record && tell(&x->tuner, record, e))
            return -1;
    }
    return gradient_cuts_buckets(&x->cuts, w->nparams, bucket_tuner_size(&x->tuner), e);
}
