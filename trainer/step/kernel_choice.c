/* SPDX-License-Identifier: BSD-3-Clause */
/* Rank 0 times its kernels (network_choose), and sends what it has chosen as text
 * (device_ops.choices). */
#include "config.h"
#include "trainer/step/kernel_choice.h"

#include <stdlib.h>
#include <string.h>

#include "src/log.h"
#include "src/mem.h"

#define MOST_BATCHES 16

/* Lists the different batch sizes of a plan, at most MOST_BATCHES, and returns their number. All
 * steps but the last have those of the first. */
static int list_batches(const struct shard_plan *plan, int parts, int *list)
{
    int n = 0;

    for (size_t step = 0; step < plan->steps; step += plan->steps > 1 ? plan->steps - 1 : 1)
        for (int i = 0; i < plan->parts * parts; i++) {
            struct shard_range all = shard_train(plan, step, i / parts);
            struct shard_range r = shard_eval(all.end - all.begin, parts, i % parts);
            int batch = (int)(r.end - r.begin), k = 0;
            while (k < n && list[k] != batch)
                k++;
            if (batch > 0 && k == n && n < MOST_BATCHES)
                list[n++] = batch;
        }
    return n;
}

static int broadcast_choices(const struct network *network, struct comm *c, struct err *e)
{
    struct device *d;
    const struct device_ops *ops = network_device_ops(network, &d);
    char *text = c->rank == 0 ? ops->choices() : NULL;
    uint64_t n = text ? strlen(text) + 1 : 0;
    int rc = c->ops->broadcast(c, &n, sizeof n, 0, e);

    if (rc == 0 && c->rank > 0 && n > 0)
        text = mem_alloc(n, 1, e);
    if (rc == 0 && n > 0 && !text)
        rc = -1;
    if (rc == 0 && n > 0)
        rc = c->ops->broadcast(c, text, n, 0, e);
    if (rc == 0 && c->rank > 0 && n > 0 && ops->learn(text))
        log_warn("cannot read rank 0's choice of kernels; this rank makes its own");
    free(text);
    return rc;
}

int kernel_choice_share(struct network *n, struct comm *c, const struct shard_plan *plan, int parts,
                        struct err *e)
{
    int batches[MOST_BATCHES + 1], count;

    if (!network_device(n) || c->size == 1)
        return 0;
    count = list_batches(plan, parts, batches);
    batches[count] = 1;
    for (int i = 0; i <= count; i++)
        if ((c->rank == 0 && network_choose(n, i < count, batches[i], e)) ||
            broadcast_choices(n, c, e))
            return -1;
    return 0;
}
