/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/analysis/statistics/hypothesis.h"

#include "launcher/analysis/statistics/distribution.h"
#include "launcher/analysis/test/near.h"
#include "src/rng.h"

/* Bounds C sqrt(K / k) of O'Brien and Fleming for K looks, two-sided level 0.05: Jennison and
 * Turnbull, Group Sequential Methods with Applications to Clinical Trials (2000), table 2.3. */
static void check_published(void)
{
    static const struct { size_t looks; double constant; } table[] = {
        {1, 1.960}, {2, 1.977}, {3, 2.004}, {4, 2.024}, {5, 2.040}, {10, 2.087}};

    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct sequential s = {.nlooks = table[i].looks};
        for (size_t k = 0; k < s.nlooks; k++) {
            s.information[k] = (double)(k + 1) / (double)s.nlooks;
            s.bound[k] = table[i].constant / sqrt(s.information[k]);
        }
        near(2 * sequential_crossing(&s, 0), 0.05, 2e-3,
             "the published bounds for %zu looks have the level 0.05", s.nlooks);
    }
}

/* Lan and DeMets, Biometrika 70 (1983), for five equal looks at a one-sided level of 0.025. */
static void check_plan(void)
{
    static const double bound[] = {4.8769, 3.3569, 2.6803, 2.2898, 2.0310};
    static const size_t pairs[] = {2, 4, 6, 8, 10};
    struct sequential s;

    sequential_plan(&s, 0.025, pairs, 5);
    for (size_t k = 0; k < 5; k++) {
        near(s.bound[k], bound[k], 1e-4, "the bound of look %zu is the published one", k + 1);
        near(s.level[k], distribution_normal_cdf(-s.bound[k]), 1e-12, "and its level");
    }
    near(sequential_crossing(&s, 0), 0.025, 1e-4, "all looks together have the level");
    sequential_plan(&s, 0.025, pairs, 1);
    near(s.bound[0], 1.959963984540054, 1e-9, "one look is a fixed sample");
}

/* Tests differences of normal values, whose mean is delta, for means below 0 by Student's t. */
enum { TRIALS = 4000, ESTIMATED = 600 };
struct outcome { size_t crossed, futile, below; double pairs; };

static struct outcome simulate(double delta)
{
    static const size_t pairs[] = {5, 7, 10};
    struct outcome o = {0};
    struct sequential s;
    double x[10];

    sequential_plan(&s, 0.025, pairs, 3);
    for (size_t trial = 0; trial < TRIALS; trial++) {
        bool ended = false, futile = false;
        for (size_t i = 0; i < 10; i++)
            x[i] = delta + rng_normal(42, trial, i);
        for (size_t k = 0; k < 3 && !ended; k++) {
            struct student t = student_paired(x, pairs[k], 0.95);
            double z = sequential_normal(t.mean / t.error, t.df);
            bool crossed = distribution_t_cdf(-t.mean / t.error, t.df) < s.level[k];
            futile |= sequential_is_futile(&s, k, z);
            ended = k == 2 || fabs(z) > s.bound[k];
            o.crossed += crossed;
            o.futile += crossed && futile;
            o.pairs += ended ? (double)pairs[k] : 0;
            /* the estimate in units of the standard error, which the sample has */
            if (ended && trial < ESTIMATED)
                o.below += sequential_estimate(&s, k, t.mean / t.error, t.df) * t.error < delta;
        }
    }
    return o;
}

static void check_student(void)
{
    struct outcome o = simulate(0);

    /* The Monte Carlo standard error is 0.0025; that of a share of 1/2 is 0.02. */
    ok(o.crossed < TRIALS * 0.0325, "with Student's t the level is kept: %zu of %d", o.crossed,
       TRIALS);
    ok(o.crossed > TRIALS * 0.0175, "and used");
    for (double delta = 0; delta < 1.6; delta += 0.5) {
        o = simulate(delta);
        near((double)o.below / ESTIMATED, 0.5, 0.2, "about half of the estimates are below a mean of %g",
             delta);
    }
    ok(o.pairs < 8 * TRIALS, "a large difference ends the test early: %.2f pairs",
       o.pairs / TRIALS);
    ok(o.futile < 0.02 * TRIALS, "and is rarely called futile: %zu", o.futile);
}

int main(void)
{
    check_published();
    check_plan();
    check_student();
    near(sequential_normal(distribution_t_quantile(0.99, 4), 4), distribution_normal_quantile(0.99),
         1e-9, "t becomes the normal value of equal probability");
    ok(sequential_normal(-1e9, 9) < -15, "also far out");
    return done_testing();
}
