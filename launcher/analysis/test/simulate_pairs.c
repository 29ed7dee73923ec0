/* SPDX-License-Identifier: BSD-3-Clause */
/* Two series that differ by a known factor of times and a known term of quality. */
#include "src/base.h"
#include "launcher/analysis/test/simulate.h"

struct law {
    const char *name;
    double run, seed;       /* noise of times */
    bool shared;            /* a seed has its factor and term in both series */
    double ratio, change;   /* of the second series */
};

static const struct law laws[] = {
    {"equal, 1 % a run", 0.01, 0, false, 1, 0},
    {"equal, 1 % a run, 3 % a seed of both", 0.01, 0.03, true, 1, 0},
    {"equal, 3 % a run and a seed", 0.03, 0.03, false, 1, 0},
    {"2 % slower, IoU 0.005 lower, 1 % a run, 3 % a seed of both", 0.01, 0.03, true, 1.02, 0.005},
};
static const long runs[] = {2, 3, 6, 12};
#define NRUNS (sizeof runs / sizeof *runs)

enum { RATIOS, FASTER, CHANGES, HIGHER, NSTATEMENTS };
static const struct simulate_statement statements[NSTATEMENTS] = {
    [RATIOS] = {"all intervals of ratios hold the truth", SIMULATE_AT_LEAST, 0.93},
    [FASTER] = {"some \"faster\" that is not so", SIMULATE_AT_MOST, 0.05},
    [CHANGES] = {"all intervals of IoU hold the truth", SIMULATE_AT_LEAST, 0.93},
    [HIGHER] = {"some \"higher\" or \"lower\" that is not so", SIMULATE_AT_MOST, 0.05},
};

static const struct law *law_of(size_t i)
{
    return &laws[i / NRUNS];
}

static double first_time(int gpus)
{
    return 20. / gpus;
}

static double second_time(int gpus)
{
    return 20.4 / gpus;
}

static void describe(size_t i, char *dst, size_t size)
{
    simulate_name_case(dst, size, law_of(i)->name, runs[i % NRUNS]);
}

/* Fills both series. */
static void fill(struct results *table, const struct law *l, long n, uint64_t number)
{
    struct simulate_design d = {.runs = n,
                                .time = first_time, .noise = l->run, .noise_seed = l->seed,
                                .quality = 0.9, .scatter = 0.003, .scatter_seed = 0.006,
                                .shared_seeds = l->shared};

    simulate_fill(table, &d, "x", number);
    d.time = l->ratio > 1 ? second_time : first_time;
    d.quality -= l->change;
    simulate_fill(table, &d, "y", number);
}

static void study(size_t i, uint64_t number, double *values)
{
    const struct law *l = law_of(i);
    struct simulate_study sim = {0};

    fill(&sim.source.results, l, runs[i % NRUNS], number);
    simulate_analyse(&sim, NULL);
    values[RATIOS] = values[CHANGES] = 1;
    values[FASTER] = values[HIGHER] = 0;
    for (size_t k = 0; k < sim.analysis.pairs[0].ndifferences; k++) {
        const struct analysis_difference *d = &sim.analysis.pairs[0].differences[k];
        bool time = d->quantity == QUANTITY_STEADY_EPOCH;
        const struct interval *in = time ? &d->ratio.interval : &d->compare.interval;
        double truth = time ? 1 / l->ratio : -l->change;
        bool covered = !interval_is_known(in) || (in->low <= truth && truth <= in->high);
        bool wrong = d->compare.significant &&
                     (time ? l->ratio == 1 || (d->ratio.value > 1) == (l->ratio > 1)
                           : l->change == 0 || (d->compare.difference > 0) == (l->change > 0));
        values[time ? RATIOS : CHANGES] *= covered;
        values[time ? FASTER : HIGHER] = fmax(values[time ? FASTER : HIGHER], wrong);
    }
    simulate_destroy(&sim);
}

const struct simulate_area simulate_pairs = {
    .name = "pairs",
    .what = "Two series at 1, 2, 4 and 8 GPUs, compared simultaneously over the counts.",
    .statements = statements, .nstatements = NSTATEMENTS,
    .ncases = sizeof laws / sizeof *laws * NRUNS, .quick = 5,
    .describe = describe, .study = study};
