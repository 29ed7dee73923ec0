/* SPDX-License-Identifier: BSD-3-Clause */
/* Studies of 8 counts and 3 or 5 seeds, submitted in blocks of seeds with the counts in random
 * order, with a drift, a slow node, or nothing that disturbs them. */
#include "src/base.h"
#include "launcher/analysis/analysis_internal.h"
#include "launcher/analysis/decision.h"

#include <math.h>

#include "launcher/analysis/test/near.h"
#include "launcher/analysis/test/table.h"
#include "src/rng.h"

#define STUDIES 100
#define NODES 7

static long seeds = 3;

static struct err e;

static void name_hosts(struct result *r, int nodes, size_t study, int n)
{
    size_t order[NODES];

    rng_permutation(study, 1000 + (uint64_t)n, NODES, order);
    for (int i = 0; i < nodes; i++)
        snprintf(r->hosts + strlen(r->hosts), sizeof r->hosts - strlen(r->hosts), "%sn%zu",
                 i ? "," : "", order[i] + 1);
}

/* A study with a noise of 1 %; a run with node n3 takes `slow` times as long, and the last run
 * `drift` times as long as the first. */
static struct disturbance simulate(size_t study, double drift, double slow)
{
    struct results table = {0};
    struct series s[SERIES_MAX];
    struct series_facts facts = {0};
    struct disturbance d;
    size_t n;
    int start = 0;

    for (long seed = 1; seed <= seeds; seed++) {
        size_t order[8];
        rng_permutation(study, (uint64_t)seed, 8, order);
        for (int i = 0; i < 8; i++, start++) {
            int gpus = (int)order[i] + 1;
            double noise = rng_normal(study, 100, (uint64_t)start);
            double drifted = 1 + (drift - 1) * start / (double)(8 * seeds - 1);
            double t = (30. / gpus + 1) * (1 + 0.01 * noise) * drifted;
            struct result *r = table_add(&table, "embedded", gpus, seed, t);
            snprintf(r->started, sizeof r->started, "2026-01-02T03:%02u:00Z", (unsigned)start % 60);
            name_hosts(r, (gpus + 1) / 2, study, start);
            if (strstr(r->hosts, "n3"))
                r->median_epoch_s *= slow;
        }
    }
    results_sort(&table);
    if (series_compute(s, &n, "test", &table, "embedded", &facts, NULL, &e) || n != 1 ||
        disturbance_compute(&d, &s[0], &e))
        bail_out("%s", e.text);
    series_destroy(&s[0]);
    results_destroy(&table);
    return d;
}

static void count(double drift, double slow, size_t *ndrift, size_t *nslow, size_t *right)
{
    *ndrift = *nslow = *right = 0;
    for (size_t i = 0; i < STUDIES; i++) {
        struct disturbance d = simulate(i, drift, slow);
        *ndrift += d.drift_p < DISTURBANCE_ALPHA;
        *nslow += d.slow_p < DISTURBANCE_ALPHA;
        *right += d.slow_p < DISTURBANCE_ALPHA && strcmp(d.node, "n3") == 0;
    }
}

int main(void)
{
    size_t ndrift, nslow, right;

    count(1, 1, &ndrift, &nslow, &right);
    ok(ndrift <= 4 && nslow <= 4, "undisturbed: drift %zu, slow node %zu of %d", ndrift, nslow,
       STUDIES);
    count(1.1, 1, &ndrift, &nslow, &right);
    ok(ndrift >= 97, "a drift of 10 %% is found in %zu of %d", ndrift, STUDIES);
    count(1, 1.1, &ndrift, &nslow, &right);
    ok(right >= 55, "a node that is 10 %% slower is found in %zu of %d", right, STUDIES);
    seeds = 5;
    count(1, 1.1, &ndrift, &nslow, &right);
    ok(right >= 95, "with 5 seeds in %zu of %d", right, STUDIES);
    seeds = 3;
    struct disturbance d = simulate(1, 1.1, 1);
    near(d.drift, 1.1, 0.03, "the drift is estimated");
    d = simulate(1, 1, 1.1);
    near(d.slow, 1.1, 0.03, "so is the slow node's effect");
    is_str(d.node, "n3", "which is named");
    done_testing();
}
