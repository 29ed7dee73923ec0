/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/analysis/analysis.h"

#include "launcher/analysis/analysis_internal.h"
#include "launcher/analysis/test/near.h"
#include "launcher/analysis/test/table.h"

static struct results table;
static struct series s[SERIES_MAX];
static struct convergence c;
static const struct series_facts facts;

/* Adds a run of n epochs whose loss is multiplied by `factor` after each. With with_score, the
 * score of an epoch is 1 - loss. */
static void add(int gpus, long seed, size_t n, double seconds, double loss, double factor,
                int with_score)
{
    struct result *r = table_add(&table, "x", gpus, seed, seconds);

    r->curve = curve_create(n, with_score, &table_error);
    for (size_t i = 0; i < n; i++, loss *= factor) {
        r->curve->seconds[i] = seconds;
        r->curve->loss[i] = loss;
        if (with_score)
            r->curve->score[i] = 1 - loss;
    }
}

static void compute(double score, double loss)
{
    size_t n;

    convergence_destroy(&c);
    series_destroy(&s[0]);
    results_sort(&table);
    if (series_compute(s, &n, "study", &table, "x", &facts, NULL, &table_error) ||
        convergence_compute(&c, &s[0], score, loss, &table_error))
        bail_out("%s", table_error.text);
}

int main(void)
{
    /* 1 GPU halves the loss in each epoch of 8 s; with 4 GPUs an epoch takes 2 s, but divides
     * the loss by sqrt 2 only. */
    add(1, 1, 10, 8, 1, 0.5, 0);
    add(4, 1, 10, 2, 1, sqrt(0.5), 0);
    compute(NAN, 0.2);
    ok(c.metric == CONVERGENCE_LOSS && c.chosen && c.target == 0.2, "the user's target is used");
    near(c.points[0].epochs, 4, 0, "1 GPU reaches the target in four epochs");
    near(c.points[0].seconds, 32, 1e-12, "1 GPU takes 32 s for them");
    near(c.points[1].epochs, 6, 0, "4 GPUs need six epochs");
    near(c.points[1].epochs_ratio, 1.5, 1e-12, "the ratio of epochs is the cost of the batch");
    near(c.points[1].epoch_s_ratio, 4, 1e-12,
         "the ratio of times per epoch is the gain of the hardware");
    near(c.points[1].speedup, 4 / 1.5, 1e-12, "the speed-up is the gain over the cost");
    compute(NAN, NAN);
    near(c.target, 1. / 16 + 3 * 1.4826 * (pow(0.5, 4) - pow(0.5, 4.5)), 1e-9,
         "by default the target is the worst count's last quarter and three times its scatter");
    ok(!c.chosen && c.points[1].nreached == 1, "all counts reach the default target");
    compute(NAN, 0.01);
    ok(isnan(c.points[1].epochs) && c.points[1].nreached == 0 && isnan(c.points[1].speedup),
       "a count that never reaches the target has no time");
    near(c.points[0].epochs, 8, 0, "another count that reaches it has one");

    /* Two of three seeds reach the target, so the median does. */
    add(4, 2, 10, 2, 1, sqrt(0.5), 0);
    add(4, 3, 10, 2, 1, 1, 0);
    compute(NAN, 0.2);
    ok(c.points[1].nruns == 3 && c.points[1].nreached == 2, "two of three runs reach the target");
    near(c.points[1].epochs, 6, 0, "the median run is one of those");
    ok(isnan(c.points[1].speedup_least), "there is no range while one run never reaches it");
    add(1, 2, 10, 8, 1, sqrt(0.5), 0);
    compute(NAN, 1);
    ok(isnan(c.points[0].speedup_least) && c.points[1].speedup_least == 4 &&
           c.points[1].speedup_most == 4, "equal times to the target have a range of no width");
    compute(NAN, 0.75);
    ok(isnan(c.points[1].speedup_least), "nor with a target that one run misses");
    results_destroy(&table);
    for (long seed = 1; seed <= 2; seed++) {
        add(1, seed, 10, 8, 1, seed == 1 ? 0.5 : 0.25, 0);
        add(4, seed, 10, 2, 1, seed == 1 ? 0.5 : sqrt(0.5), 0);
    }
    compute(NAN, 0.26);
    near(c.points[1].speedup_least, 8. * 2 / (2 * 5), 1e-12,
         "the range begins with the fastest run of the base case over the slowest");
    near(c.points[1].speedup_most, 8. * 3 / (2 * 3), 1e-12, "and ends with the opposite");
    near(c.points[1].epochs_ratio_least, 2.5 / 3.5, 1e-12,
         "that of the epochs has half an epoch more");
    near(c.points[1].epochs_ratio_most, 5.5 / 1.5, 1e-12, "on both sides");
    table.rows[0].curve->loss[0] = 0.1;
    compute(NAN, 0.13);
    near(c.points[0].epochs, 3.5, 0, "one epoch that reaches it by luck does not count");
    for (long i = 0; i < 10; i += 2)
        table.rows[3].curve->loss[i] = NAN;
    compute(NAN, 0.26);
    ok(c.points[1].nreached == 2 && c.points[1].least == 3 && c.points[1].most == 6,
       "epochs without a value are passed over");
    table.rows[1].limited = table.rows[3].limited = 1;
    compute(NAN, 0.13);
    ok(c.points[0].nruns == 1 && c.points[0].epochs == 4, "a run that ended early has no epochs");
    results_destroy(&table);
    for (long seed = 1; seed <= 3; seed++) {
        add(1, seed, 10, 8, 1, 0.5, 0);
        add(4, seed, 10, 2, 1, seed == 2 ? 4 : 0.5, 0);
    }
    compute(NAN, NAN);
    ok(c.target < 0.05, "a run of three that diverged does not decide the target");
    results_destroy(&table);

    add(1, 1, 10, 8, 1, 0.5, 1);
    add(2, 1, 10, 4, 1, 0.5, 1);
    compute(0.8, NAN);
    ok(c.metric == CONVERGENCE_SCORE, "a score is preferred to the loss");
    near(c.points[1].epochs, 4, 0, "the score reaches the target in four epochs");
    near(c.points[1].speedup, 2, 1e-12,
         "the speed-up is 2 with the same epochs at twice the speed");
    results_destroy(&table);
    table_add(&table, "x", 1, 1, 1);
    table_add(&table, "x", 2, 1, 1);
    compute(NAN, NAN);
    ok(c.metric == CONVERGENCE_NONE && c.npoints == 0, "without curves there is no convergence");
    results_destroy(&table);
    convergence_destroy(&c);
    series_destroy(&s[0]);
    return done_testing();
}
