/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/submit/submit_internal.h"

#include "t/tap.h"

#define COUNTS 8
#define SEEDS 3

static struct err e;
static struct run runs[COUNTS * SEEDS];
static const struct plan plan = {.runs = runs, .count = COUNTS * SEEDS};

static void fill_plan(void)
{
    for (int i = 0; i < COUNTS * SEEDS; i++) {
        runs[i].layout.gpus = 1 + i / SEEDS;
        runs[i].seed = 1 + i % SEEDS;
    }
}

/* Writes the order as "GPUs:seed ", and returns whether each run stands there once. */
static bool order(const struct workspace *w, char dst[512])
{
    struct plan ordered;
    size_t n = 0;
    int seen[COUNTS + 1][SEEDS + 1] = {{0}};
    bool once = true;

    if (order_runs(w, &plan, &ordered, &e))
        bail_out("%s", e.text);
    for (size_t i = 0; i < ordered.count; i++) {
        const struct run *r = &ordered.runs[i];
        n += (size_t)snprintf(dst + n, 512 - n, "%d:%d ", r->layout.gpus, r->seed);
        once = once && seen[r->layout.gpus][r->seed]++ == 0;
    }
    plan_free_runs(&ordered);
    return once;
}

int main(void)
{
    struct workspace w = {.ledger.study_id = "0123456789abcdef"};
    char first[512], other[512], sizes[512];
    size_t n = 0;

    fill_plan();
    ok(order(&w, first), "each run is submitted once");
    for (int i = 0; i < COUNTS * SEEDS; i++) {
        int gpus, seed, skip;
        sscanf(first + n, "%d:%d %n", &gpus, &seed, &skip);
        n += (size_t)skip;
        if (seed != 1 + i / COUNTS)
            bail_out("run %d has seed %d", i, seed);
    }
    ok(n == strlen(first), "in blocks of seeds");
    ok(strncmp(first, "1:1 2:1 3:1 4:1 5:1 6:1 7:1 8:1", 31) != 0, "counts are in another order: %s",
       first);
    order(&w, other);
    is_str(other, first, "which is the same when the submission is repeated");
    strcpy(w.ledger.study_id, "fedcba9876543210");
    order(&w, other);
    ok(strcmp(other, first) != 0, "and another one in another study");
    w.plan.one_allocation = true;
    ok(order(&w, sizes), "each run once in one allocation");
    bool ascends = true;
    for (int gpus = 1, at = 0; gpus <= COUNTS; gpus++)
        for (int k = 0, g, skip; k < SEEDS; k++, at += skip) {
            sscanf(sizes + at, "%d:%*d %n", &g, &skip);
            ascends = ascends && g == gpus;
        }
    ok(ascends, "where only runs of equal size change places: %s", sizes);
    done_testing();
}
