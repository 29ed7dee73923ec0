/* SPDX-License-Identifier: BSD-3-Clause */
/* The judgement of efficiency. */
#include "src/base.h"
#include "launcher/analysis/test/simulate.h"

/* Laws of the efficiency of 2, 4 and 8 GPUs. */
static double just_enough(int gpus)
{
    return gpus == 8 ? 0.801 : 1;
}

static double just_too_little(int gpus)
{
    return gpus == 8 ? 0.798 : 1;
}

static double too_little(int gpus)
{
    return gpus > 1 ? 0.78 : 1;
}

static double hardly_too_little(int gpus)
{
    return gpus > 1 ? 0.798 : 1;
}

static double as_fast(int gpus) /* as 1 GPU, or hardly faster */
{
    return 1.02 / gpus;
}

struct law {
    const char *name;
    double (*efficiency)(int gpus);
    double noise;
    size_t epochs;
};

static const struct law laws[] = {
    {"0.801 with 8 GPUs, 1 % a run", just_enough, 0.01, 0},
    {"0.801 with 8 GPUs, 10 % a run", just_enough, 0.1, 0},
    {"0.798 with 8 GPUs, 1 % a run", just_too_little, 0.01, 0},
    {"0.798 with 8 GPUs, 10 % a run", just_too_little, 0.1, 0},
    {"0.78 everywhere, 3 % a run, 21 epochs", too_little, 0.03, 21},
    {"0.798 everywhere, 1 % a run", hardly_too_little, 0.01, 0},
    {"no gain from GPUs, 30 % a run", as_fast, 0.3, 0},
};
static const long runs[] = {1, 2, 3, 6};
#define NRUNS (sizeof runs / sizeof *runs)

enum { PASSES, FAILS, SLOWER, DECIDED, NSTATEMENTS };
static const struct simulate_statement statements[NSTATEMENTS] = {
    [PASSES] = {"a count passes whose efficiency is too small", SIMULATE_AT_MOST, 0.05},
    [FAILS] = {"\"drops\" where it suffices (a count)", SIMULATE_AT_MOST, 0.05},
    [SLOWER] = {"\"every larger count is slower\", which none is", SIMULATE_AT_MOST, 0.05},
    [DECIDED] = {"8 GPUs are decided", SIMULATE_SHOWN, 0},
};

/* The law of the case that is being simulated. */
static double (*efficiency)(int gpus);

static double time_of(int gpus)
{
    return 20. / gpus / efficiency(gpus);
}

static void describe(size_t i, char *dst, size_t size)
{
    simulate_name_case(dst, size, laws[i / NRUNS].name, runs[i % NRUNS]);
}

static void study(size_t i, uint64_t number, double *values)
{
    const struct law *l = &laws[i / NRUNS];
    struct simulate_design design = {.runs = runs[i % NRUNS],
                                     .time = time_of, .noise = l->noise, .epochs = l->epochs,
                                     .quality = 0.9,
                                     .scatter = 0.001};
    struct simulate_study sim;
    bool passes = false;
    double fails = 0;
    size_t slower = 0;

    efficiency = l->efficiency;
    simulate_create(&sim, &design, number);
    const struct decision *d = &sim.analysis.series[0].decision;
    const struct series *s = &sim.analysis.series[0].series;
    for (size_t k = 1; k < SIMULATE_NCOUNTS; k++) {
        bool enough = efficiency(simulate_counts[k]) >= 0.8;
        passes |= !enough && d->time[k] == DECISION_PASSES;
        fails += enough && d->time[k] == DECISION_FAILS;
        slower += series_speedup(s, &s->points[k])->interval.high < 1;
    }
    values[PASSES] = passes;
    values[FAILS] = fails / (SIMULATE_NCOUNTS - 1);
    values[SLOWER] = slower == SIMULATE_NCOUNTS - 1;
    values[DECIDED] = d->time[SIMULATE_NCOUNTS - 1] != DECISION_UNDECIDED;
    simulate_destroy(&sim);
}

const struct simulate_area simulate_efficiency = {
    .name = "efficiency",
    .what = "The efficiency of 2, 4 and 8 GPUs, judged against 0.80; ideal where nothing is said.",
    .statements = statements, .nstatements = NSTATEMENTS,
    .ncases = sizeof laws / sizeof *laws * NRUNS, .quick = 5,
    .describe = describe, .study = study};
