/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/data/set/shard.h"

#include <stdbool.h>

#include "src/rng.h"

/* Streams of rng.h, one per epoch; other modules use other streams. */
#define STREAM_SHARD (UINT64_C(0x53484152) << 32)

/* Returns floor(i * n / parts) without the overflow of i * n. */
static size_t share_begin(size_t n, size_t i, size_t parts)
{
    return n / parts * i + n % parts * i / parts;
}

int shard_plan(size_t images, size_t repeat, int parts, size_t full, enum shard_remainder remainder,
               struct shard_plan *plan, struct err *e)
{
    size_t items;

    if (images == 0 || repeat == 0)
        return err_set(e, ERR_DATA, "no training images");
    if (__builtin_mul_overflow(images, repeat, &items) || items > UINT32_MAX)
        return err_set(e, ERR_DATA, "%zu images x repeat %zu is more than an epoch can have",
                       images, repeat);
    if (remainder == SHARD_DROP && items < full)
        return err_set(e, ERR_DATA,
                       "%zu training images do not fill one step of %zu images on %d devices, and "
                       "remainder: drop uses only full steps; use remainder: keep, a smaller batch "
                       "or fewer devices", items, full, parts);
    *plan = (struct shard_plan){.items = items, .parts = parts, .remainder = remainder};
    shard_continue(plan, 0, full);
    return 0;
}

void shard_continue(struct shard_plan *plan, size_t begin, size_t full)
{
    size_t left = begin < plan->items ? plan->items - begin : 0;
    bool drop = plan->remainder == SHARD_DROP;

    plan->begin = begin;
    plan->steps = drop ? left / full : (left + full - 1) / full;
    plan->used = begin + (drop ? plan->steps * full : left);
}

struct shard_range shard_train(const struct shard_plan *plan, size_t step, int part)
{
    size_t left = plan->used - plan->begin;
    size_t begin = plan->begin + share_begin(left, step, plan->steps);
    size_t end = plan->begin + share_begin(left, step + 1, plan->steps);
    struct shard_range within = shard_eval(end - begin, plan->parts, part);

    return (struct shard_range){begin + within.begin, begin + within.end};
}

struct shard_range shard_eval(size_t images, int parts, int part)
{
    return (struct shard_range){share_begin(images, (size_t)part, (size_t)parts),
                                share_begin(images, (size_t)part + 1, (size_t)parts)};
}

void shard_order(uint64_t seed, size_t epoch, size_t images, size_t repeat, size_t *order)
{
    rng_permutation(seed, STREAM_SHARD + epoch, images * repeat, order);
}
