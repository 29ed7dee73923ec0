/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/submit/order.h"

#include <stdlib.h>

#include "src/mem.h"
#include "src/rng.h"

struct position {
    const struct run *run;
    int block;
    uint64_t draw;
};

static int compare_positions(const void *a, const void *b)
{
    const struct position *x = a, *y = b;

    if (x->block != y->block)
        return x->block < y->block ? -1 : 1;
    return (x->draw > y->draw) - (x->draw < y->draw);
}

int order_runs(const struct workspace *w, const struct plan *plan, struct plan *dst,
               struct err *e)
{
    const struct ledger *l = &w->ledger;
    uint64_t id = strtoull(l->study_id, NULL, 16);
    bool keeps_plan = l->count && l->entries[0].uid < 0;
    struct position *positions = mem_zero(plan->count + 1, sizeof *positions, e);

    *dst = *plan;
    dst->runs = mem_zero(plan->count + 1, sizeof *dst->runs, e);
    if (!positions || !dst->runs) {
        free(positions);
        plan_free_runs(dst);
        return -1;
    }
    for (size_t i = 0; i < plan->count; i++) {
        const struct run *run = &plan->runs[i];
        positions[i] = (struct position){run, w->plan.one_allocation ? run->layout.gpus : run->seed,
                                   rng_u64(id, (uint64_t)run->seed, (uint64_t)run->layout.gpus)};
    }
    if (!keeps_plan && plan->count)
        qsort(positions, plan->count, sizeof *positions, compare_positions);
    for (size_t i = 0; i < plan->count; i++)
        dst->runs[i] = *positions[i].run;
    free(positions);
    return 0;
}
