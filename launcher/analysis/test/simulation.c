/* SPDX-License-Identifier: BSD-3-Clause */
/* Whole studies with a known truth: times follow Amdahl's law with scatter; IoU varies with the
 * seed and the run, and either does not depend on the count or is lower from some count on. Checks
 * how often the analysis is right. */
#include "config.h"
#include "launcher/analysis/analysis.h"

#include "launcher/analysis/test/near.h"
#include "launcher/analysis/test/table.h"
#include "src/rng.h"

#define SERIAL 0.03
#define COUNTS 5 /* 1, 2, 4, 8, 16 */
#define BEST 3   /* the index of 8 GPUs, whose efficiency is 0.826; with 16 GPUs it is 0.69 */

static const int gpus[COUNTS] = {1, 2, 4, 8, 16};

static double truth(int i)
{
    return (1 - SERIAL) / gpus[i] + SERIAL;
}

struct outcome {
    int intervals, covered; /* of the speed-up by steady epochs */
    /* studies in which some IoU is reported as different, although none is */
    int false_alarms;
    /* studies in which some IoU is reported as lower by more than the margin */
    int falls;
    /* Studies that advise a count whose IoU is lower by the margin or more. */
    int too_many;
    int right;              /* studies that advise the best count */
    int reached;            /* studies that do not exclude the best count */
};

/* Simulates a study. The IoU of the counts from the index falls_from on is lower by `fall`; of none
 * if it is COUNTS. */
static void simulate(uint64_t study, long runs, int falls_from, double fall, struct outcome *o)
{
    struct analysis_source source = {.title = "study"};
    struct analysis_options options = ANALYSIS_OPTIONS_INIT;
    struct analysis a;
    struct err e;

    for (int i = 0; i < COUNTS; i++)
        for (long seed = 1; seed <= runs; seed++) {
            uint64_t place = (uint64_t)(i * 1000 + seed);
            double scatter = 1 + 0.01 * rng_normal(11, study, place);
            struct result *r = table_add(&source.results, "x", gpus[i], seed, 20 * truth(i) * scatter);
            r->iou = 0.9 + 0.004 * rng_normal(12, study, (uint64_t)seed) +
                     0.002 * rng_normal(13, study, place) - (i >= falls_from ? fall : 0);
        }
    if (analysis_create(&a, &source, 1, &options, &e))
        bail_out("%s", e.text);
    const struct series *s = &a.series[0].series;
    const struct decision *d = &a.series[0].decision;
    bool alarm = false, falls = false;
    for (int i = 1; i < COUNTS; i++) {
        const struct interval *known = &s->points[i].speedup[QUANTITY_STEADY_EPOCH].interval;
        o->intervals++;
        o->covered += known->low <= 1 / truth(i) && 1 / truth(i) <= known->high;
        alarm |= d->iou_change[i].significant;
        falls |= d->iou[i] == DECISION_IOU_FALLS;
    }
    o->false_alarms += alarm;
    o->falls += falls;
    o->too_many += falls_from < COUNTS && d->use->gpus >= gpus[falls_from];
    o->right += d->use->gpus == gpus[falls_from <= BEST ? falls_from - 1 : BEST];
    o->reached += d->reach->gpus >= gpus[BEST];
    analysis_destroy(&a);
    results_destroy(&source.results);
}

static struct outcome simulate_all(int studies, long runs, int falls_from, double fall)
{
    struct outcome o = {0};

    for (int i = 0; i < studies; i++)
        simulate((uint64_t)(runs * 10000 + i), runs, falls_from, fall, &o);
    return o;
}

/* Returns 0.05 of the studies, plus three standard deviations of that number. */
static double tolerance(int studies)
{
    return (0.05 + 3 * sqrt(0.05 * 0.95 / studies)) * studies;
}

/* power is that of finding that the IoU holds. */
static void check_equal(int studies, long runs, double power)
{
    struct outcome o = simulate_all(studies, runs, COUNTS, 0);

    ok(o.covered >= 0.93 * o.intervals,
       "%ld runs per count: %.1f %% of 95 %% intervals "
       "contain the true speed-up", runs, 100. * o.covered / o.intervals);
    ok(o.false_alarms <= tolerance(studies),
       "in %.1f %% of studies some IoU is reported as different, though none is",
       100. * o.false_alarms / studies);
    is_int(o.falls, 0, "in no study an IoU is reported to fall");
    ok(o.right >= power * studies,
       "%.1f %% of studies advise 8 GPUs, which is right", 100. * o.right / studies);
    ok(o.reached >= 0.97 * studies, "%.1f %% of studies leave 8 GPUs within reach",
       100. * o.reached / studies);
}

/* The quality of all larger counts is lower by exactly the margin and must not be reported to
 * hold. */
static void check_margin(int studies, long runs)
{
    struct outcome o = simulate_all(studies, runs, 1, DECISION_IOU_MARGIN);

    ok(o.too_many <= tolerance(studies),
       "%ld runs: %.1f %% of studies advise a count whose IoU "
       "is lower by the margin", runs, 100. * o.too_many / studies);
    ok(o.falls <= tolerance(studies), "%.1f %% of studies report that it falls by more",
       100. * o.falls / studies);
}

int main(void)
{
    check_equal(400, 3, 0.3);
    check_equal(400, 6, 0.97);
    check_equal(150, 12, 0.97);
    check_margin(200, 3);
    check_margin(100, 6);
    struct outcome o = simulate_all(200, 6, 2, 0.05);
    ok(o.right >= 0.97 * 200,
       "if IoU falls from 4 GPUs, %.1f %% of studies advise 2", 100. * o.right / 200);
    ok(o.false_alarms >= 0.97 * 200, "those studies report the fall as significant");
    return done_testing();
}
