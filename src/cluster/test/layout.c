/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "src/cluster/cluster_spec.h"

#include "t/tap.h"

/* Columns: gpus, GPUs per node, strategy; then nodes, tasks, tasks per node, GPUs per task,
 * strategy. */
static const int table[][8] = {
    {1, 2, LAYOUT_AUTO, 1, 1, 1, 1, LAYOUT_MIRRORED},
    {2, 2, LAYOUT_AUTO, 1, 1, 1, 2, LAYOUT_MIRRORED},
    {3, 2, LAYOUT_AUTO, 2, 3, 2, 1, LAYOUT_MULTI_WORKER},
    {4, 2, LAYOUT_AUTO, 2, 4, 2, 1, LAYOUT_MULTI_WORKER},
    {5, 2, LAYOUT_AUTO, 3, 5, 2, 1, LAYOUT_MULTI_WORKER},
    {6, 2, LAYOUT_AUTO, 3, 6, 2, 1, LAYOUT_MULTI_WORKER},
    {7, 2, LAYOUT_AUTO, 4, 7, 2, 1, LAYOUT_MULTI_WORKER},
    {8, 2, LAYOUT_AUTO, 4, 8, 2, 1, LAYOUT_MULTI_WORKER},
    {9, 2, LAYOUT_AUTO, 5, 9, 2, 1, LAYOUT_MULTI_WORKER},
    {10, 2, LAYOUT_AUTO, 5, 10, 2, 1, LAYOUT_MULTI_WORKER},
    {11, 2, LAYOUT_AUTO, 6, 11, 2, 1, LAYOUT_MULTI_WORKER},
    {12, 2, LAYOUT_AUTO, 6, 12, 2, 1, LAYOUT_MULTI_WORKER},
    {13, 2, LAYOUT_AUTO, 7, 13, 2, 1, LAYOUT_MULTI_WORKER},
    {14, 2, LAYOUT_AUTO, 7, 14, 2, 1, LAYOUT_MULTI_WORKER},
    {1, 2, LAYOUT_MULTI_WORKER, 1, 1, 1, 1, LAYOUT_MULTI_WORKER},
    {2, 2, LAYOUT_MULTI_WORKER, 1, 2, 2, 1, LAYOUT_MULTI_WORKER},
    {3, 4, LAYOUT_MIRRORED, 1, 1, 1, 3, LAYOUT_MIRRORED},
    {3, 1, LAYOUT_AUTO, 3, 3, 1, 1, LAYOUT_MULTI_WORKER},
    {4, 4, LAYOUT_AUTO, 1, 1, 1, 4, LAYOUT_MIRRORED},
    {16, 8, LAYOUT_AUTO, 2, 16, 8, 1, LAYOUT_MULTI_WORKER},
    {INT_MAX, INT_MAX - 1, LAYOUT_AUTO, 2, INT_MAX, INT_MAX - 1, 1, LAYOUT_MULTI_WORKER},
};

static void refuses(int gpus, int per_node, enum layout_strategy strategy, const char *word)
{
    struct layout l;
    struct err e = {0};

    ok(layout_compute(gpus, per_node, strategy, &l, &e) == -1 && e.code == ERR_CONFIG &&
           strstr(e.text, word), "refused: %s", e.text);
}

int main(void)
{
    struct layout l;
    struct err e;
    enum layout_strategy s;

    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const int *r = table[i];
        bool good = layout_compute(r[0], r[1], (enum layout_strategy)r[2], &l, &e) == 0;
        ok(good && l.gpus == r[0] && l.nodes == r[3] && l.tasks == r[4] &&
               l.tasks_per_node == r[5] && l.gpus_per_task == r[6] && (int)l.strategy == r[7],
           "%d GPUs on nodes of %d, %s", r[0], r[1],
           layout_strategy_encode((enum layout_strategy)r[2]));
    }
    refuses(0, 2, LAYOUT_AUTO, "at least 1");
    refuses(-3, 2, LAYOUT_AUTO, "-3 GPUs");
    refuses(1, 0, LAYOUT_AUTO, "per node");
    refuses(3, 2, LAYOUT_MIRRORED, "multi-worker");

    for (int i = LAYOUT_AUTO; i <= LAYOUT_MULTI_WORKER; i++)
        ok(layout_strategy_decode(layout_strategy_encode((enum layout_strategy)i), &s, &e) == 0 &&
               (int)s == i,
           "%s is encoded and decoded", layout_strategy_encode((enum layout_strategy)i));
    ok(layout_strategy_decode("mirror", &s, &e) == -1 && e.code == ERR_CONFIG, "%s", e.text);
    return done_testing();
}
