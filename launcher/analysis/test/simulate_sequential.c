/* SPDX-License-Identifier: BSD-3-Clause */
/* Sequential designs, and beside each the fixed design with the same runs: whole trainings of all
 * counts. */
#include "config.h"
#include "launcher/analysis/test/simulate.h"

#include <stdio.h>

#include "launcher/analysis/design/design.h"
#include "src/rng.h"
#include "t/tap.h"

#define ONE_GPU 100. /* seconds of an epoch; a whole run has 72, which take 2 hours */
#define EPOCHS 72
#define FIXED_SEEDS 11 /* for the power that three looks at four counts have */
#define NEAR_EFFICIENCY 0.02
#define NEAR_MARGIN 0.2

static const int counts[] = {1, 2, 4, 6, 8, 10, 12, 14};
#define NCOUNTS (sizeof counts / sizeof *counts)

/* Seconds are ONE_GPU x (serial + (1 - serial) / N + contention (N - 1) + step / N beyond a node of
 * 4); these parameters and `fall` are drawn up to what stands here. */
static const struct law {
    const char *name;
    double serial, contention, step;
    struct design_truth truth;
    enum { EVENLY, FROM_ONE, AT_SOME } falls;
    double fall;       /* margins, which a count loses */
    uint64_t falls_at; /* a bit for each count that does; drawn */
} laws[] = {
    {"Amdahl, 0 to 5 %", .serial = 0.05, .truth = {.noise = 0.01, .scatter = 0.3}},
    {"USL, 0 to 3 % and 0 to 0.2 %", .serial = 0.03, .contention = 0.002,
     .truth = {.noise = 0.01, .scatter = 0.3}},
    {"step of 0 to 40 % at 5 GPUs, Amdahl", .serial = 0.01, .step = 0.4,
     .truth = {.noise = 0.01, .scatter = 0.3}},
    {"Amdahl, noise of 3 %, scatter of 0.6 margins", .serial = 0.05,
     .truth = {.noise = 0.03, .scatter = 0.6}},
    {"Amdahl, one of 8 nodes slower by 20 %", .serial = 0.05,
     .truth = {.noise = 0.01, .scatter = 0.3, .nodes = 8, .per_node = 2, .slow = 0.2}},
    {"Amdahl, quality falls by up to 6 margins in proportion to the GPUs", .serial = 0.05,
     .truth = {.noise = 0.01, .scatter = 0.3}, .fall = 6},
    {"Amdahl, quality falls by up to 4 margins from some count on", .serial = 0.05,
     .truth = {.noise = 0.01, .scatter = 0.3}, .falls = FROM_ONE, .fall = 4},
    {"Amdahl, quality falls by 1 margin at some counts", .serial = 0.05,
     .truth = {.noise = 0.01, .scatter = 0.3}, .falls = AT_SOME, .fall = 1},
};
#define NCASES (sizeof laws / sizeof *laws)

enum { WRONG, COVERED, BIAS, RIGHT, FIXED, LESS, NEAR, NEAR_FIXED, SLOW, HOURS, ROUNDS,
       NSTATEMENTS };
static const struct simulate_statement statements[NSTATEMENTS] = {
    [WRONG] = {"wrong \"holds\" or \"falls\"", SIMULATE_AT_MOST, 0.05},
    [COVERED] = {"intervals hold the truth", SIMULATE_AT_LEAST, 0.95},
    [BIAS] = {"error of the first estimate, in margins", SIMULATE_MEDIAN_WITHIN, 0.1},
    [RIGHT] = {"right", SIMULATE_SHOWN, 0},
    [FIXED] = {"fixed design right", SIMULATE_SHOWN, 0},
    [LESS] = {"difference", SIMULATE_AT_LEAST, -0.03},
    [NEAR] = {"near a threshold: right", SIMULATE_SHOWN, 0},
    [NEAR_FIXED] = {"fixed design right", SIMULATE_SHOWN, 0},
    [SLOW] = {"the count advised is not efficient", SIMULATE_AT_MOST, 0.05},
    [HOURS] = {"GPU-hours, of the fixed design's", SIMULATE_AT_MOST, 0.35},
    [ROUNDS] = {"rounds", SIMULATE_SHOWN_MEDIAN, 0},
};

static double seconds(const void *arg, int gpus)
{
    const struct law *l = arg;

    return ONE_GPU * (l->serial + (1 - l->serial + (gpus > 4 ? l->step : 0)) / gpus +
                      l->contention * (gpus - 1));
}

static double efficiency(const struct law *l, int gpus)
{
    return seconds(l, 1) / seconds(l, gpus) / gpus;
}

static double loss(const void *arg, int gpus)
{
    const struct law *l = arg;

    return l->fall * (l->falls == EVENLY ? (gpus - 1.) / (counts[NCOUNTS - 1] - 1)
                                         : (double)(l->falls_at >> gpus & 1));
}

/* Returns the fastest count with this efficiency or more and a smaller loss, in margins. */
static int find_best(const struct law *l, double least, double most)
{
    int best = 1;

    for (size_t i = 1; i < NCOUNTS; i++)
        if (efficiency(l, counts[i]) >= least && loss(l, counts[i]) < most &&
            seconds(l, counts[i]) < seconds(l, best))
            best = counts[i];
    return best;
}

/* Returns whether a count is acceptable and at most 5 % slower than the fastest that is. */
static bool is_right(const struct law *l, int gpus)
{
    int best = find_best(l, DECISION_EFFICIENCY, 1);

    return seconds(l, gpus) <= 1.05 * seconds(l, best) &&
           (gpus == 1 || (efficiency(l, gpus) >= DECISION_EFFICIENCY && loss(l, gpus) < 1));
}

/* Returns whether another count is the best if the thresholds move a little. */
static bool is_near(const struct law *l)
{
    return find_best(l, DECISION_EFFICIENCY - NEAR_EFFICIENCY, 1 + NEAR_MARGIN) !=
           find_best(l, DECISION_EFFICIENCY + NEAR_EFFICIENCY, 1 - NEAR_MARGIN);
}

/* Draws the parameters of a study. */
static struct law draw_law(size_t i, uint64_t number)
{
    struct law l = laws[i];

    l.serial *= rng_uniform(91, number, 0);
    l.contention *= rng_uniform(91, number, 1);
    l.step *= rng_uniform(91, number, 2);
    uint64_t drawn = rng_u64(91, number, 3);
    l.falls_at = l.falls == AT_SOME ? drawn & ~(UINT64_C(1) << counts[0])
                                    : ~UINT64_C(0) << counts[1 + drawn % (NCOUNTS - 1)];
    l.fall *= l.falls == AT_SOME ? 1 : rng_uniform(91, number, 4);
    l.truth.epochs = EPOCHS;
    l.truth.scatter_seed = l.truth.scatter;
    return l;
}

/* Returns the count that the fixed design advises, and its GPU-hours. */
static int study_fixed(const struct law *l, const struct design *d, uint64_t number, double *hours)
{
    struct simulate_study sim = {0};
    struct results *table = &sim.source.results;
    struct err e;

    for (size_t i = 0; i < NCOUNTS; i++)
        for (long seed = 1; seed <= FIXED_SEEDS; seed++)
            if (design_expect_run(&l->truth, d, counts[i], seed, false, number, table, &e))
                bail_out("%s", e.text);
    *hours = 0;
    for (size_t i = 0; i < table->count; i++)
        *hours += table->rows[i].gpus * table->rows[i].training_time / 3600;
    simulate_analyse(&sim, NULL);
    int use = sim.analysis.series[0].decision.use->gpus;
    simulate_destroy(&sim);
    return use;
}

static bool is_wrong(const struct law *l, const struct design_test *t)
{
    return (t->how == DESIGN_HOLDS && loss(l, t->gpus) >= 1) ||
           (t->how == DESIGN_FALLS && loss(l, t->gpus) <= 1);
}

static void judge_tests(const struct law *l, const struct design_outcome *outcome, double *values)
{
    values[WRONG] = 0;
    values[COVERED] = 1;
    for (size_t k = 0; k < outcome->ntests; k++) {
        const struct design_test *t = &outcome->tests[k];
        double change = -DESIGN_EXPECT_MARGIN * loss(l, t->gpus);
        values[WRONG] = fmax(values[WRONG], is_wrong(l, t));
        if (interval_is_known(&t->interval) &&
            !(t->interval.low <= change && change <= t->interval.high))
            values[COVERED] = 0;
        if (k == 0)
            values[BIAS] = (t->estimate - change) / DESIGN_EXPECT_MARGIN;
    }
}

static void describe(size_t i, char *dst, size_t size)
{
    snprintf(dst, size, "%s", laws[i].name);
}

static void study(size_t i, uint64_t number, double *values)
{
    struct design d = DESIGN_INIT;
    struct law l = draw_law(i, number);
    struct design_outcome outcome;
    struct err e;
    double hours;

    l.truth.time = seconds, l.truth.loss = loss, l.truth.arg = &l;
    for (d.ncounts = 0; d.ncounts < NCOUNTS; d.ncounts++)
        d.counts[d.ncounts] = counts[d.ncounts];
    for (d.nseeds = 0; d.nseeds < DESIGN_SPEED_MOST; d.nseeds++)
        d.seeds[d.nseeds] = (long)d.nseeds + 1;
    d.whole_s = EPOCHS * ONE_GPU;
    int rounds = design_expect_study(&l.truth, &d, number, &outcome, &e);
    if (rounds < 0)
        bail_out("%s", e.text);
    int fixed = study_fixed(&l, &d, number, &hours);
    bool near = is_near(&l);
    judge_tests(&l, &outcome, values);
    values[near ? NEAR : RIGHT] = is_right(&l, outcome.gpus);
    values[near ? NEAR_FIXED : FIXED] = is_right(&l, fixed);
    if (!near)
        values[LESS] = values[RIGHT] - values[FIXED];
    values[SLOW] = outcome.gpus > 1 && efficiency(&l, outcome.gpus) < DECISION_EFFICIENCY;
    values[HOURS] = outcome.gpu_hours / hours;
    values[ROUNDS] = rounds;
}

const struct simulate_area simulate_sequential = {
    .name = "sequential",
    .what = "Sequential designs of 1, 2, 4 .. 14 GPUs, beside fixed ones of 11 whole runs a count.",
    .times = 2, .quick = 10, .statements = statements, .nstatements = NSTATEMENTS, .ncases = NCASES,
    .describe = describe, .study = study};
