/* SPDX-License-Identifier: BSD-3-Clause */
/* The intervals of speed-ups and of the times of a count. */
#include "src/base.h"
#include "launcher/analysis/test/simulate.h"

#include "launcher/analysis/statistics/distribution.h"

static const int counts[] = {1, 2, 4, 8, 16};
#define NCOUNTS (sizeof counts / sizeof *counts)

struct noise {
    const char *name;
    double run, seed, skewed;
};

static const struct noise noises[] = {{"1 % a run", 0.01, 0, 0},
                                      {"3 % a run", 0.03, 0, 0},
                                      {"1 % a run, 3 % a seed", 0.01, 0.03, 0},
                                      {"1 % a run, one in 10 slower by 10 %", 0.01, 0, 0.1}};
static const long runs[] = {2, 3, 6, 12};
#define NRUNS (sizeof runs / sizeof *runs)

enum { COVERED, WIDTH, MEDIANS, NSTATEMENTS };
static const struct simulate_statement statements[NSTATEMENTS] = {
    [COVERED] = {"interval of the speed-up holds the truth", SIMULATE_AT_LEAST, 0.93},
    [WIDTH] = {"its relative width", SIMULATE_SHOWN_MEDIAN, 0},
    [MEDIANS] = {"interval of the median time holds the truth", SIMULATE_AT_LEAST, 0.95},
};

static void describe(size_t i, char *dst, size_t size)
{
    simulate_name_case(dst, size, noises[i / NRUNS].name, runs[i % NRUNS]);
}

static double amdahl(int gpus)
{
    return 20 * (0.97 / gpus + 0.03);
}

/* The median of the distribution of times: where one run in ten is slower, the 0.5 / 0.9 quantile
 * of the others. */
static double median_time(const struct noise *n, int gpus)
{
    double sd = hypot(n->run, n->seed);

    return amdahl(gpus) * (1 + sd * distribution_normal_quantile(0.5 / (1 - n->skewed)));
}

static void study(size_t i, uint64_t number, double *values)
{
    const struct noise *n = &noises[i / NRUNS];
    const struct simulate_design design = {.counts = counts, .ncounts = NCOUNTS,
                                           .runs = runs[i % NRUNS], .time = amdahl,
                                           .noise = n->run, .noise_seed = n->seed,
                                           .skewed = n->skewed, .quality = 0.9};
    struct simulate_study sim;
    double covered = 0, width = 0, medians = 0;
    size_t known = 0, nmedians = 0;

    simulate_create(&sim, &design, number);
    for (size_t k = 1; k < NCOUNTS; k++) {
        const struct series *s = &sim.analysis.series[0].series;
        const struct ratio *r = series_speedup(s, &s->points[k]);
        const struct interval *m = &s->points[k].q[QUANTITY_STEADY_EPOCH].interval;
        double truth = amdahl(1) / amdahl(counts[k]), median = median_time(n, counts[k]);
        nmedians += interval_is_known(m);
        medians += interval_is_known(m) && m->low <= median && median <= m->high;
        if (!interval_is_known(&r->interval))
            continue;
        covered += r->interval.low <= truth && truth <= r->interval.high;
        width += (r->interval.high - r->interval.low) / truth;
        known++;
    }
    if (known) {
        values[COVERED] = covered / (double)known;
        values[WIDTH] = width / (double)known;
    }
    if (nmedians)
        values[MEDIANS] = medians / (double)nmedians;
    simulate_destroy(&sim);
}

/* With few runs Fieller's interval assumes normal times. */
static bool promised(size_t i, size_t k)
{
    return k == MEDIANS || !(noises[i / NRUNS].skewed > 0);
}

const struct simulate_area simulate_speedup = {
    .name = "speedup",
    .what = "Speed-ups of 2, 4, 8 and 16 GPUs over 1, times by Amdahl's law with a serial part of "
            "3 %.",
    .statements = statements, .nstatements = NSTATEMENTS,
    .ncases = sizeof noises / sizeof *noises * NRUNS,
    .quick = 5, .describe = describe, .study = study, .promised = promised};
