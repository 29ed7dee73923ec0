/* SPDX-License-Identifier: BSD-3-Clause */
/* Sequential designs, and beside each the fixed design with the same runs: whole trainings of all
 * counts. */
#include "src/base.h"
#include "launcher/analysis/test/simulate.h"

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
 * 4); these parameters and `fall` are drawn up to what stands here. What follows is none of the
 * method's terms. */
struct law {
    const char *name;
    double serial, contention, step;
    double noise, scatter; /* 0: 0.01 and 0.3 */
    enum { EVENLY, FROM_ONE, AT_SOME } falls;
    double fall;       /* margins, which a count loses */
    uint64_t falls_at; /* a bit for each count that does; drawn */
    double slow;       /* one of 8 nodes of 2 GPUs is slower by this */
    double spread;     /* standard deviation of the speed of the 8 nodes; the slowest counts */
    double odd;        /* counts of 2, 6, 10 and 14, which are odd pairs, are slower by this */
    bool heavy;        /* Student's t with 3 degrees of freedom, as wide as the noise */
    double outliers;   /* this share of runs takes half as long again */
    double drift;      /* times grow by this from round to round */
    double lapses, lapse; /* this share of the runs on several GPUs loses so many margins */
    bool lapse_all;    /* those on one GPU, too */
    double start, evaluation; /* parts of a whole run on one GPU */
};
static const struct law laws[] = {
    {"Amdahl, 0 to 5 %", .serial = 0.05},
    {"USL, 0 to 3 % and 0 to 0.2 %", .serial = 0.03, .contention = 0.002},
    {"step of 0 to 40 % at 5 GPUs, Amdahl", .serial = 0.01, .step = 0.4},
    {"Amdahl, noise of 3 %, scatter of 0.6 margins", .serial = 0.05, .noise = 0.03,
     .scatter = 0.6},
    {"Amdahl, one of 8 nodes slower by 20 %", .serial = 0.05, .slow = 0.2},
    {"Amdahl, quality falls by up to 6 margins in proportion to the GPUs", .serial = 0.05,
     .fall = 6},
    {"Amdahl, quality falls by up to 4 margins from some count on", .serial = 0.05,
     .falls = FROM_ONE, .fall = 4},
    {"Amdahl, quality falls by 1 margin at some counts", .serial = 0.05, .falls = AT_SOME,
     .fall = 1},
    {"Amdahl, speeds of nodes scatter by 5 %", .serial = 0.05, .spread = 0.05},
    {"Amdahl, 2, 6, 10 and 14 slower by 10 %", .serial = 0.05, .odd = 0.1},
    {"Amdahl, noise of 2 %, t with 3 degrees", .serial = 0.05, .noise = 0.02, .heavy = true},
    {"Amdahl, 5 % of runs take 1.5x", .serial = 0.05, .outliers = 0.05},
    {"Amdahl, drift of 4 % a round", .serial = 0.05, .drift = 0.04},
    {"Amdahl, 15 % of runs lose 8 margins", .serial = 0.05, .lapses = 0.15, .lapse = 8},
    {"Amdahl, 25 % of runs lose 4.5 margins", .serial = 0.05, .lapses = 0.25, .lapse = 4.5},
    {"Amdahl, 10 % of all runs collapse", .serial = 0.05, .lapses = 0.1, .lapse = 60,
     .lapse_all = true},
    {"Amdahl, start-up and evaluation of 10 % each", .serial = 0.05, .start = 0.1,
     .evaluation = 0.1},
};
#define NCASES (sizeof laws / sizeof *laws)

enum { WRONG, COVERED, BIAS, BAD, FIXED_BAD, LAPSED, FIXED_LAPSED, RIGHT, FIXED, LESS, REGRET,
       FIXED_REGRET, HOURS, ROUNDS, NSTATEMENTS };
static const struct simulate_statement statements[NSTATEMENTS] = {
    [WRONG] = {"wrong \"holds\" or \"falls\"", SIMULATE_AT_MOST, 0.05},
    [COVERED] = {"intervals hold the truth", SIMULATE_AT_LEAST, 0.95},
    [BIAS] = {"error of the first estimate, in margins", SIMULATE_MEDIAN_WITHIN, 0.1},
    [BAD] = {"the count advised is inefficient or loses quality", SIMULATE_AT_MOST, 0.05},
    [FIXED_BAD] = {"that of the fixed design", SIMULATE_AT_MOST, 0.05},
    [LAPSED] = {"of it more than 10 % of runs collapse", SIMULATE_SHOWN, 0},
    [FIXED_LAPSED] = {"that of the fixed design", SIMULATE_SHOWN, 0},
    [RIGHT] = {"right", SIMULATE_SHOWN, 0},
    [FIXED] = {"fixed design right", SIMULATE_SHOWN, 0},
    [LESS] = {"difference", SIMULATE_AT_LEAST, -0.03},
    [REGRET] = {"time lost", SIMULATE_SHOWN, 0},
    [FIXED_REGRET] = {"by the fixed design", SIMULATE_SHOWN, 0},
    [HOURS] = {"GPU-hours, of the fixed design's", SIMULATE_AT_MOST, 0.4},
    [ROUNDS] = {"rounds", SIMULATE_SHOWN_MEDIAN, 0},
};

static double seconds(const void *arg, int gpus)
{
    const struct law *l = arg;

    return ONE_GPU * (l->serial + (1 - l->serial + (gpus > 4 ? l->step : 0)) / gpus +
                      l->contention * (gpus - 1)) * (gpus % 4 == 2 ? 1 + l->odd : 1);
}

/* A run of a study. */
struct place {
    int gpus;
    uint64_t study, number; /* number: unique in a study */
};

/* Returns how much slower the slowest of the neighbouring nodes of a run is: the first of 8 is the
 * slow one, and the others differ from study to study. */
static double slowest_node(const struct law *l, const struct place *p)
{
    int width = (p->gpus + 1) / 2,
        first = (int)(rng_uniform(92, p->study, p->number) * (9 - width));
    double most = first == 0 ? l->slow : 0;

    for (int i = first; i < first + width; i++)
        most = fmax(most, l->spread * rng_normal(93, p->study, (uint64_t)i));
    return 1 + (l->spread > 0 || l->slow > 0 ? most : 0);
}

/* Student's t with 3 degrees of freedom, scaled to a standard deviation of 1. */
static double heavy_tail(const struct place *p)
{
    double squares = 0;

    for (int i = 0; i < 3; i++)
        squares += pow(rng_normal(94 + (uint64_t)i, p->study, p->number), 2);
    return rng_normal(97, p->study, p->number) / sqrt(squares);
}

static double disturb(const struct law *l, const struct place *p, size_t round)
{
    return slowest_node(l, p) * (1 + l->drift * (double)round) *
           (l->heavy ? fmax(0.1, 1 + l->noise * heavy_tail(p)) : 1) *
           (rng_uniform(98, p->study, p->number) < l->outliers ? 1.5 : 1);
}

static double lapse(const struct law *l, const struct place *p)
{
    return (p->gpus > 1 || l->lapse_all) && rng_uniform(99, p->study, p->number) < l->lapses
               ? l->lapse : 0;
}

static double efficiency(const struct law *l, int gpus)
{
    return seconds(l, 1) / seconds(l, gpus) / gpus;
}

static double loss(const struct law *l, int gpus)
{
    return l->fall * (l->falls == EVENLY ? (gpus - 1.) / (counts[NCOUNTS - 1] - 1)
                                         : (double)(l->falls_at >> gpus & 1));
}

/* Applies all of the law but the time to a run. */
static void change(const void *arg, size_t round, uint64_t study, struct result *r)
{
    const struct law *l = arg;
    const struct place p = {r->gpus, study, ((uint64_t)r->gpus << 32) + ((uint64_t)r->seed << 1) +
                                                (r->limited == 1)};

    r->median_epoch_s *= disturb(l, &p, round);
    r->startup_s = l->start > 0 ? l->start * EPOCHS * ONE_GPU : NAN;
    if (r->limited == 1)
        return;
    r->test_time = l->evaluation > 0 ? l->evaluation * EPOCHS * ONE_GPU : NAN;
    r->training_time = EPOCHS * r->median_epoch_s;
    r->quality.value += DESIGN_EXPECT_MARGIN *
                        (l->scatter * rng_normal(73, study, (uint64_t)r->seed) -
                         loss(l, r->gpus) - lapse(l, &p));
}

/* Returns the mean loss of the runs of a count that do not collapse. */
static double mean_loss(const struct law *l, int gpus)
{
    return loss(l, gpus) +
           (gpus > 1 && !l->lapse_all && l->lapse < QUALITY_COLLAPSE ? l->lapses * l->lapse : 0);
}

/* Returns whether runs of a count collapse more often than they may, which the limit beside "holds"
 * leaves open. */
static bool lapses(const struct law *l, int gpus)
{
    return l->lapse > QUALITY_COLLAPSE && l->lapses > QUALITY_COLLAPSE_SHARE &&
           (gpus > 1 || l->lapse_all);
}

/* Returns whether a larger count may be advised. */
static bool is_acceptable(const struct law *l, int gpus, double least, double most)
{
    return gpus == 1 || (efficiency(l, gpus) >= least && mean_loss(l, gpus) < most);
}

/* Returns the fastest count with this efficiency or more and a smaller loss, in margins. */
static int find_best(const struct law *l, double least, double most)
{
    int best = 1;

    for (size_t i = 1; i < NCOUNTS; i++)
        if (is_acceptable(l, counts[i], least, most) &&
            seconds(l, counts[i]) < seconds(l, best))
            best = counts[i];
    return best;
}

/* Returns how much slower a count is than the fastest that is acceptable, as a part of its time. */
static double regret(const struct law *l, int gpus)
{
    return seconds(l, gpus) / seconds(l, find_best(l, DECISION_EFFICIENCY, 1)) - 1;
}

/* Returns whether a count is acceptable and at most 5 % slower than the fastest that is. */
static bool is_right(const struct law *l, int gpus)
{
    return regret(l, gpus) <= 0.05 && is_acceptable(l, gpus, DECISION_EFFICIENCY, 1);
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
    l.noise = l.noise > 0 ? l.noise : 0.01;
    l.scatter = l.scatter > 0 ? l.scatter : 0.3;
    return l;
}

/* Returns the count that the fixed design advises, and its GPU-hours. */
static int study_fixed(const struct design_truth *t, const struct design *d, uint64_t number,
                       double *hours)
{
    struct simulate_study sim = {0};
    struct results *table = &sim.source.results;
    struct err e;

    for (size_t i = 0; i < NCOUNTS; i++)
        for (long seed = 1; seed <= FIXED_SEEDS; seed++) {
            const struct design_run run = {counts[i], seed, false, 0};
            if (design_expect_run(t, d, &run, 0, number, table, &e))
                bail_out("%s", e.text);
        }
    *hours = 0;
    for (size_t i = 0; i < table->count; i++)
        *hours += table->rows[i].gpus * quantity_of(&table->rows[i], QUANTITY_WHOLE) / 3600;
    simulate_analyse(&sim, NULL);
    int use = sim.analysis.series[0].decision.use->gpus;
    simulate_destroy(&sim);
    return use;
}

static bool is_wrong(const struct law *l, const struct design_test *t)
{
    return (t->how == DESIGN_HOLDS && mean_loss(l, t->gpus) >= 1) ||
           (t->how == DESIGN_FALLS && mean_loss(l, t->gpus) <= 1 && l->lapses * l->lapse < 1);
}

static void judge_tests(const struct law *l, const struct design_outcome *outcome, double *values)
{
    values[WRONG] = 0;
    values[COVERED] = 1;
    for (size_t k = 0; k < outcome->ntests; k++) {
        const struct design_test *t = &outcome->tests[k];
        double change = -DESIGN_EXPECT_MARGIN * mean_loss(l, t->gpus);
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

    const struct design_truth t = {
        .time = seconds, .arg = &l, .epochs = EPOCHS, .noise = l.heavy ? 0 : l.noise,
        .scatter = l.scatter, .edit = change};
    for (d.ncounts = 0; d.ncounts < NCOUNTS; d.ncounts++)
        d.counts[d.ncounts] = counts[d.ncounts];
    for (d.nseeds = 0; d.nseeds < DESIGN_SEEDS; d.nseeds++)
        d.seeds[d.nseeds] = (long)d.nseeds + 1;
    d.whole_s = EPOCHS * ONE_GPU;
    int rounds = design_expect_study(&t, &d, number, &outcome, &e);
    if (rounds < 0)
        bail_out("%s", e.text);
    int fixed = study_fixed(&t, &d, number, &hours);
    judge_tests(&l, &outcome, values);
    values[BAD] = !is_acceptable(&l, outcome.gpus, DECISION_EFFICIENCY, 1);
    values[FIXED_BAD] = !is_acceptable(&l, fixed, DECISION_EFFICIENCY, 1);
    values[LAPSED] = lapses(&l, outcome.gpus);
    values[FIXED_LAPSED] = lapses(&l, fixed);
    values[REGRET] = regret(&l, outcome.gpus);
    values[FIXED_REGRET] = regret(&l, fixed);
    if (!is_near(&l)) {
        values[RIGHT] = is_right(&l, outcome.gpus);
        values[FIXED] = is_right(&l, fixed);
        values[LESS] = values[RIGHT] - values[FIXED];
    }
    values[HOURS] = outcome.gpu_hours / hours;
    values[ROUNDS] = rounds;
}

/* Means of runs that lapse have another distribution than the estimates assume. Where a run that
 * loses several margins does not count as collapsed, few runs do not show a mean that hangs on some
 * that were not drawn. */
static bool promised(size_t i, size_t k)
{
    bool few = laws[i].lapses > 0 && laws[i].lapse < QUALITY_COLLAPSE;

    return !(k == BIAS && laws[i].lapses > 0) &&
           !(few && (k == WRONG || k == COVERED || k == BAD || k == FIXED_BAD));
}

const struct simulate_area simulate_sequential = {
    .name = "sequential",
    .what = "Sequential designs of 1, 2, 4 .. 14 GPUs, beside fixed ones of 11 whole runs a count.",
    .quick = 6, .statements = statements, .nstatements = NSTATEMENTS, .ncases = NCASES,
    .describe = describe, .study = study, .promised = promised};
