/* SPDX-License-Identifier: BSD-3-Clause */
/* Studies in which single runs collapse. */
#include "src/base.h"
#include "launcher/analysis/test/simulate.h"

struct law {
    const char *name;
    double collapse, fall;
    bool all, lower;
    double scatter; /* 0: 0.002 */
};

static const struct law laws[] = {
    {"2 % collapse", .collapse = 0.02},
    {"10 % collapse", .collapse = 0.1},
    {"30 % collapse", .collapse = 0.3},
    {"10 % collapse, the others fall by 0.01", .collapse = 0.1, .fall = 0.01},
    {"5 % collapse, on 1 GPU, too", .collapse = 0.05, .all = true},
    {"10 % collapse, on 1 GPU, too", .collapse = 0.1, .all = true},
    {"15 % collapse, on 1 GPU, too", .collapse = 0.15, .all = true},
    {"a loss with spikes in 10 %", .collapse = 0.1, .lower = true},
    {"none collapse, runs scatter by 0.05", .scatter = 0.05}};
static const long runs[] = {1, 3, 5, 10, 20};
#define NRUNS (sizeof runs / sizeof *runs)

enum { HOLDS, LOWER, COLLAPSES, SOME, SHOWN, LIMIT, NONE, NSTATEMENTS };
static const struct simulate_statement statements[NSTATEMENTS] = {
    [HOLDS] = {"\"holds\" where a run collapsed", SIMULATE_AT_MOST, 0},
    [LOWER] = {"\"holds\" where the others fell", SIMULATE_AT_MOST, 0.05},
    [COLLAPSES] = {"\"collapses\" where at most 10 % do (a count)", SIMULATE_AT_MOST, 0.05},
    [SOME] = {"some count of three", SIMULATE_SHOWN, 0},
    [SHOWN] = {"some \"collapses\", and more do", SIMULATE_SHOWN, 0},
    [LIMIT] = {"the limit of the share of runs is right", SIMULATE_AT_LEAST, 0.95},
    [NONE] = {"all counts hold", SIMULATE_SHOWN, 0},
};

static void describe(size_t i, char *dst, size_t size)
{
    simulate_name_case(dst, size, laws[i / NRUNS].name, runs[i % NRUNS]);
}

static void study(size_t i, uint64_t number, double *values)
{
    const struct law *l = &laws[i / NRUNS];
    struct simulate_design design = {.runs = runs[i % NRUNS],
                                     .noise = 0.01, .quality = 0.9,
                                     .scatter = l->scatter > 0 ? l->scatter : 0.002,
                                     .scatter_seed = 0.002, .collapse = l->collapse,
                                     .collapse_all = l->all, .lower = l->lower, .fall = l->fall,
                                     .falls_from = 2};
    struct simulate_study sim;
    bool holds = false, lower = false, all = true;
    double limit = 0, collapses = 0;

    simulate_create(&sim, &design, number);
    for (size_t k = 1; k < SIMULATE_NCOUNTS; k++) {
        const struct quality *q = &sim.analysis.series[0].decision.quality[k];
        bool held = q->state == QUALITY_HOLDS;
        const struct series_point *p = &sim.analysis.series[0].series.points[k];
        for (size_t j = 0; j < p->nruns; j++)
            holds |= held && p->rows[j].quality.iou < 0.7;
        collapses += q->state == QUALITY_COLLAPSES;
        lower |= held && l->fall > 0;
        all &= held;
        limit += q->collapse_most >= l->collapse;
    }
    values[HOLDS] = holds;
    values[LOWER] = lower;
    if (l->collapse > QUALITY_COLLAPSE_SHARE) {
        values[SHOWN] = collapses > 0;
    } else {
        values[COLLAPSES] = collapses / (SIMULATE_NCOUNTS - 1);
        values[SOME] = collapses > 0;
    }
    values[LIMIT] = limit / (SIMULATE_NCOUNTS - 1);
    values[NONE] = all;
    simulate_destroy(&sim);
}

const struct simulate_area simulate_collapse = {
    .name = "collapse",
    .what = "IoU of 2, 4 and 8 GPUs, of which a share of runs drops from 0.9 to 0.3.",
    .statements = statements, .nstatements = NSTATEMENTS,
    .ncases = sizeof laws / sizeof *laws * NRUNS, .quick = 5,
    .describe = describe, .study = study};
