/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/step/step_input.h"

int step_input_load(struct step_input *in, struct loader *loader, struct err *e)
{
    if (loader_next(loader, &in->batch, e))
        return -1;
    return in->parts == 1 && in->batch.count ? network_place(in->network, true, &in->batch, e) : 0;
}

struct shard_range step_input_part(const struct step_input *in, size_t n, int i)
{
    return shard_eval(n, in->parts, i);
}

bool step_input_is_idle(const struct step_input *in, size_t items, int replicas, int i)
{
    size_t n = items / (size_t)replicas, rest = items % (size_t)replicas;
    struct shard_range least = step_input_part(in, n, i);
    struct shard_range most = step_input_part(in, n + (rest > 0), i);

    return least.begin == least.end && most.begin == most.end;
}

int step_input_place(const struct step_input *in, struct shard_range part, struct err *e)
{
    struct record_batch b = in->batch;

    if (in->parts == 1 || part.begin == part.end)
        return 0;
    b.records = record_at(&in->batch, part.begin);
    b.count = part.end - part.begin;
    return network_place(in->network, true, &b, e);
}
