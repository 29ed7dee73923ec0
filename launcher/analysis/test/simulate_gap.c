/* SPDX-License-Identifier: BSD-3-Clause */
/* How often one interval of a run is said to be far longer than the others (caveats.c), and how
 * often slow intervals that medians do not show mislead a verdict (series.c). */
#include "src/base.h"
#include "launcher/analysis/test/simulate.h"

#include "launcher/analysis/test/table.h"
#include "src/rng.h"

#define RUNS 3 /* on each of 4 counts */

enum { LENGTH = 81, NOISE, PAUSE = NOISE + 4 };

/* Times of intervals scatter by `noise` (lognormal, or Student's t with 3 degrees of freedom);
 * the first takes `first` times as long, every `every`th `longer` times and `stall` seconds. One
 * interval of one run takes `pause` times as long. With N GPUs a typical one takes 8 (1 / N +
 * serial) s. */
static const struct {
    const char *name;
    double noise;
    bool heavy;
    double first;
    size_t every;
    double longer, pause, stall, serial;
} laws[] = {
    {"1 %", 0.01, false, 1, 0, 1, 1, 0, 0},
    {"5 %", 0.05, false, 1, 0, 1, 1, 0, 0},
    {"1 %, t", 0.01, true, 1, 0, 1, 1, 0, 0},
    {"5 %, t", 0.05, true, 1, 0, 1, 1, 0, 0},
    {"5 %, first 20x", 0.05, false, 20, 0, 1, 1, 0, 0},
    {"5 %, t, first 100x", 0.05, true, 100, 0, 1, 1, 0, 0},
    {"30 %", 0.3, false, 1, 0, 1, 1, 0, 0},
    {"5 %, every 10th 5x", 0.05, false, 1, 10, 5, 1, 0, 0},
    {"5 %, every 5th 25x", 0.05, false, 1, 5, 25, 1, 0, 0},
    {"5 %, every 5th 2 s more", 0.05, false, 1, 5, 1, 1, 2, 0},
    {"5 %, t, every 10th 9 s more", 0.05, true, 1, 10, 1, 1, 9, 0},
    {"2 %, Amdahl 3 %, every 5th 0.7 s more", 0.02, false, 1, 5, 1, 1, 0.7, 0.03},
    {"2 %, t, Amdahl 2 %, every 5th 1 s more", 0.02, true, 1, 5, 1, 1, 1, 0.02},
    {"5 %, pause of 100", 0.05, false, 5, 0, 1, 100, 0, 0},
    {"5 %, t, pause of 30", 0.05, true, 5, 0, 1, 30, 0, 0},
};
#define NLAWS (sizeof laws / sizeof *laws)
#define FIRST_PAUSE (NLAWS - 2)

static const size_t lengths[] = {10, 15, 30, 60, 100};

enum { SAID, MISSED, MEANS, MISLED, NSTATEMENTS };
static const struct simulate_statement statements[NSTATEMENTS] = {
    [SAID] = {"one is said to be longer, but none is", SIMULATE_AT_MOST, 0.05},
    [MISSED] = {"none is said to be, but one is", SIMULATE_AT_MOST, 0.05},
    [MEANS] = {"means are taken, but medians are as good", SIMULATE_AT_MOST, 0.05},
    [MISLED] = {"0.80 is said to be reached, but less than 0.78 is", SIMULATE_AT_MOST, 0.05},
};

static void describe(size_t i, char *dst, size_t size)
{
    snprintf(dst, size, "%s", laws[i].name);
}

static void study(size_t i, uint64_t number, double *values)
{
    struct simulate_study s = {0};
    size_t n = lengths[rng_u64(LENGTH, number, 0) % (sizeof lengths / sizeof *lengths)];
    bool said = false, misled = false;
    double expected[SIMULATE_NCOUNTS] = {0};

    for (int k = 0; k < SIMULATE_NCOUNTS * RUNS; k++) {
        int gpus = simulate_counts[k / RUNS];
        struct result *r = table_add(&s.source.results, "x", gpus, k % RUNS + 1, 8. / gpus);
        table_add_curve(r, n, 8. / gpus);
        for (size_t e = 0; e < n; e++) {
            double z[4];
            for (size_t j = 0; j < 4; j++)
                z[j] = rng_normal(NOISE + j, number, (uint64_t)k * 1000 + e);
            if (laws[i].heavy)
                z[0] /= sqrt((z[1] * z[1] + z[2] * z[2] + z[3] * z[3]) / 3);
            bool slow = laws[i].every && e % laws[i].every == 4;
            double typical = 8 * (1. / gpus + laws[i].serial) * (slow ? laws[i].longer : 1);
            r->curve->seconds[e] = typical * exp(laws[i].noise * z[0]) * (e ? 1 : laws[i].first) +
                                   (slow ? laws[i].stall : 0);
            expected[k / RUNS] += e ? typical + (slow ? laws[i].stall : 0) : 0;
        }
        if (k == 4)
            r->curve->seconds[n / 2] *= laws[i].pause;
        curve_measure(r->curve, r);
        r->training_time = 0;
        for (size_t e = 0; e < n; e++)
            r->training_time += r->curve->seconds[e];
    }
    simulate_analyse(&s, NULL);
    const struct decision *d = &s.analysis.series[0].decision;
    for (size_t k = 0; k < d->ncaveats; k++)
        said |= d->caveats[k].kind == CAVEAT_GAP;
    values[i < FIRST_PAUSE ? SAID : MISSED] = i < FIRST_PAUSE ? said : !said;
    for (int k = 1; k < SIMULATE_NCOUNTS; k++)
        misled |= d->time[k] == DECISION_PASSES &&
                  expected[0] / expected[k] / simulate_counts[k] < 0.78;
    values[MISLED] = misled;
    if (laws[i].stall == 0)
        values[MEANS] = s.analysis.series[0].series.means.gpus > 0;
    simulate_destroy(&s);
}

const struct simulate_area simulate_gap = {
    .name = "gap",
    .what = "Studies of 12 runs with 10 to 100 intervals each; the noise of their times.",
    .statements = statements, .nstatements = NSTATEMENTS, .ncases = NLAWS, .quick = 30,
    .describe = describe, .study = study};
