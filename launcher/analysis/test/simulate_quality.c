/* SPDX-License-Identifier: BSD-3-Clause */
/* The judgement of quality, and the advice that follows from it. */
#include "src/base.h"
#include "launcher/analysis/test/simulate.h"

struct law {
    const char *name;
    struct simulate_design design;
};

static const struct law laws[] = {
    {"no change", {.scatter = 0.002, .scatter_seed = 0.004}},
    {"-0.01 from 2 GPUs", {.scatter = 0.002, .scatter_seed = 0.004, .fall = 0.01, .falls_from = 2}},
    {"-0.01 from 2 GPUs, scatter 0.01", {.scatter = 0.01, .fall = 0.01, .falls_from = 2}},
    {"-0.01 from 2 GPUs, scatter 0.003, 2 decimals",
     {.scatter = 0.003, .fall = 0.01, .falls_from = 2, .resolution = 0.01}},
    {"-0.01 from 2 GPUs, scatter 0.01, 2 decimals",
     {.scatter = 0.01, .fall = 0.01, .falls_from = 2, .resolution = 0.01}},
    {"-0.01 from 2 GPUs, scatter 0.0005, 3 decimals",
     {.scatter = 0.0005, .fall = 0.01, .falls_from = 2, .resolution = 0.001}},
    {"-0.01 from 2 GPUs, seeds ignored",
     {.scatter = 0.005, .fall = 0.01, .falls_from = 2, .one_seed = true}},
    {"-0.05 from 4 GPUs", {.scatter = 0.002, .scatter_seed = 0.004, .fall = 0.05, .falls_from = 4}},
};
static const long runs[] = {2, 3, 6, 12};
#define NRUNS (sizeof runs / sizeof *runs)

enum { HOLDS, FALLS, TOO_MANY, RIGHT, NSTATEMENTS };
static const struct simulate_statement statements[NSTATEMENTS] = {
    [HOLDS] = {"\"holds\", and it fell by the margin or more", SIMULATE_AT_MOST, 0.05},
    [FALLS] = {"\"falls\", and it did not by more than the margin", SIMULATE_AT_MOST, 0.05},
    [TOO_MANY] = {"a count is advised whose quality fell", SIMULATE_AT_MOST, 0.05},
    [RIGHT] = {"the right count is advised", SIMULATE_SHOWN, 0},
};

#define NCASES (sizeof laws / sizeof *laws * NRUNS)

/* After all cases of IoU come the same of a loss, of which less is better. */
static void describe(size_t i, char *dst, size_t size)
{
    char name[120];

    snprintf(name, sizeof name, "%s%s", i < NCASES ? "" : "loss, mirrored: ",
             laws[i % NCASES / NRUNS].name);
    simulate_name_case(dst, size, name, runs[i % NRUNS]);
}

static void study(size_t i, uint64_t number, double *values)
{
    struct simulate_design design = laws[i % NCASES / NRUNS].design;
    struct simulate_study sim;
    bool holds = false, falls = false;
    int best = 8;

    design.runs = runs[i % NRUNS];
    design.lower = i >= NCASES;
    design.quality = 0.9, design.noise = 0.01;
    simulate_create(&sim, &design, number);
    const struct decision *d = &sim.analysis.series[0].decision;
    for (size_t k = 0; k < SIMULATE_NCOUNTS; k++) {
        bool lower = design.falls_from && simulate_counts[k] >= design.falls_from;
        if (design.falls_from && simulate_counts[k] < design.falls_from)
            best = simulate_counts[k];
        if (k == 0)
            continue;
        holds |= lower && d->quality[k].state == QUALITY_HOLDS;
        falls |= !(lower && design.fall > DECISION_IOU_MARGIN) &&
                 d->quality[k].state == QUALITY_FALLS;
    }
    values[HOLDS] = holds;
    values[FALLS] = falls;
    values[TOO_MANY] = d->use->gpus > best;
    values[RIGHT] = d->use->gpus == best;
    simulate_destroy(&sim);
}

const struct simulate_area simulate_quality = {
    .name = "quality",
    .what = "IoU, or a loss, of 1, 2, 4 and 8 GPUs, which scale ideally; the margin is 0.01.",
    .statements = statements, .nstatements = NSTATEMENTS,
    .ncases = 2 * NCASES, .quick = 5,
    .describe = describe, .study = study};
