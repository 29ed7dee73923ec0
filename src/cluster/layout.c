/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "src/cluster/layout.h"

#include <string.h>

static const char *const strategy_names[] = {
    [LAYOUT_AUTO] = "auto",
    [LAYOUT_MIRRORED] = "mirrored",
    [LAYOUT_MULTI_WORKER] = "multi-worker",
};

int layout_compute(int gpus, int gpus_per_node, enum layout_strategy strategy, struct layout *dst,
                   struct err *e)
{
    if (gpus < 1)
        return err_set(e, ERR_CONFIG, "%d GPUs: at least 1 is needed", gpus);
    if (gpus_per_node < 1)
        return err_set(e, ERR_CONFIG, "%d GPUs per node: at least 1 is needed", gpus_per_node);
    if (strategy == LAYOUT_MIRRORED && gpus > gpus_per_node)
        return err_set(e, ERR_CONFIG, "strategy mirrored: one task cannot have %d GPUs on nodes "
                       "that have %d; use multi-worker or auto", gpus, gpus_per_node);
    if (strategy == LAYOUT_AUTO)
        strategy = gpus <= gpus_per_node ? LAYOUT_MIRRORED : LAYOUT_MULTI_WORKER;
    if (strategy == LAYOUT_MIRRORED)
        *dst = (struct layout){.nodes = 1, .tasks = 1, .tasks_per_node = 1, .gpus_per_task = gpus};
    else
        *dst = (struct layout){.nodes = (gpus - 1) / gpus_per_node + 1,
                               .tasks = gpus,
                               .tasks_per_node = gpus < gpus_per_node ? gpus : gpus_per_node,
                               .gpus_per_task = 1};
    dst->gpus = gpus;
    dst->strategy = strategy;
    return 0;
}

const char *layout_strategy_encode(enum layout_strategy strategy)
{
    return strategy_names[strategy];
}

int layout_strategy_decode(const char *name, enum layout_strategy *dst, struct err *e)
{
    for (int i = 0; i < (int)(sizeof strategy_names / sizeof *strategy_names); i++)
        if (strcmp(name, strategy_names[i]) == 0) {
            *dst = (enum layout_strategy)i;
            return 0;
        }
    return err_set(e, ERR_CONFIG, "unknown strategy '%s'; there are auto, mirrored, multi-worker",
                   name);
}
