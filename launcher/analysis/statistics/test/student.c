/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/analysis/statistics/hypothesis.h"

#include "launcher/analysis/statistics/distribution.h"
#include "launcher/analysis/test/near.h"
#include "src/rng.h"

static void check_ratio(void)
{
    static const double a[] = {10.1, 10.4, 9.8, 10.2},
        c[] = {10.4, 10.9, 10.1, 10.3}, b[] = {2.1, 1.9, 2.05},
        near_zero[] = {-1, 1, 0.1};
    static const double same[] = {6, 6}, half[] = {3, 3};
    struct interval i = student_ratio(a, 4, b, 3, 0.95);

    /* From scipy 1.10.1: optimize.brentq on the definition, with t from stats.t.ppf. */
    near(i.low, 4.5171022442871624, 1e-9, "the lower end of Fieller's interval agrees with scipy");
    near(i.high, 5.628241610928624, 1e-9, "the upper end of Fieller's interval agrees with scipy");
    i = student_ratio(a, 4, near_zero, 3, 0.95);
    ok(!interval_is_known(&i), "there is no interval if the denominator may be 0");
    i = student_ratio(a, 1, b, 3, 0.95);
    ok(!interval_is_known(&i), "there is no interval for a single value");
    ok(isnan(student_ratio_p(a, 1, b, 3, 0)), "nor a p-value");
    /* The level at which an end of Fieller's interval is 1 is 1 - p. */
    double p = student_ratio_p(c, 4, a, 4, 0);
    i = student_ratio(c, 4, a, 4, 1 - p);
    near(fmin(fabs(i.low - 1), fabs(i.high - 1)), 0, 1e-9, "p belongs to the interval");
    near(student_ratio_p(same, 2, half, 2, 0.01), 2 * distribution_t_cdf(-300, 2), 1e-12,
         "p counts the rounding as scatter");
    i = student_ratio(same, 2, half, 2, 0.95);
    ok(i.low == 2 && i.high == 2, "without scatter the ratio is exact");
}

/* Compares 3 runs of 10 s with 3 runs of 2 s, with a scatter of 3 %. */
static void check_ratio_coverage(void)
{
    int covered = 0;
    enum { TRIALS = 4000, N = 3 };

    for (uint64_t trial = 0; trial < TRIALS; trial++) {
        double a[N], b[N];
        for (size_t i = 0; i < N; i++) {
            a[i] = 10 * (1 + 0.03 * rng_normal(3, trial, i));
            b[i] = 2 * (1 + 0.03 * rng_normal(4, trial, i));
        }
        struct interval i = student_ratio(a, N, b, N, 0.95);
        covered += i.low <= 5 && 5 <= i.high;
    }
    double share = (double)covered / TRIALS;
    ok(share > 0.94 && share < 0.985,
       "the intervals of 3 runs on each side cover the true ratio (%.4f)", share);
}

static void check_means(void)
{
    static const double d[] = {1.1, -0.3, 2.2, 0.7, -0.1, 1.9, 0.4}, flat[] = {2, 2, 2},
        zero[] = {0, 0};
    static const double a[] = {1.2, 3.4, 2.2, 5.1, 4.4}, b[] = {2.9, 6.1, 5.5, 7.2, 4.9, 8.0};
    struct student s = student_paired(d, 7, 0.95);

    /* From scipy 1.10.1: stats.ttest_1samp, stats.t.interval, stats.ttest_ind(equal_var=False). */
    near(student_p(&s, 0), 0.057640711624732284, 1e-9, "p of the paired test");
    near(s.mean, 0.8428571428571429, 1e-12, "mean of the paired differences");
    near(s.interval.low, -0.03754086410426494, 1e-6, "lower end of the paired interval");
    near(s.interval.high, 1.7232551498185507, 1e-8, "upper end of the paired interval");
    s = student_welch(a, 5, b, 6, 0.95);
    near(student_p(&s, 0), 0.03666463993547867, 1e-9, "p of Welch's test");
    near(s.mean, 2.5066666666666673, 1e-12, "difference of the means");
    near(s.interval.low, 0.1938812743220546, 1e-8, "lower end of Welch's interval");
    near(s.interval.high, 4.8194520590112795, 1e-8, "upper end of Welch's interval");
    s = student_paired(flat, 3, 0.95);
    ok(s.interval.low == 2 && s.interval.high == 2, "differences without scatter have no width");
    near(student_p(&s, 0.01), 2 * distribution_t_cdf(-200, 2), 1e-12,
         "their p counts the rounding as scatter");
    s = student_paired(zero, 2, 0.95);
    ok(student_p(&s, 0.01) == 1, "without scatter and difference, p is 1");
    s = student_paired(d, 1, 0.95);
    ok(isnan(student_p(&s, 0.01)) && !interval_is_known(&s.interval),
       "one difference has no p-value and no interval");
}

static void check_needed(void)
{
    /* From the formula in the header, with n increased step by step in Python and stats.t.ppf. */
    is_int(student_needed(0.02, 0.01, 0.05, 0.8, 1), 34, "pairs needed");
    is_int(student_needed(0.02, 0.01, 0.05, 0.8, 2), 64, "runs needed in each sample");
    is_int(student_needed(0.1, 0.01, 0.05, 0.8, 2), 1571,
           "values are needed in thousands for a small difference");
    is_int(student_needed(0.001, 0.01, 0.05, 0.8, 1), 2, "at least 2 pairs are needed");
    is_int(student_needed(NAN, 0.01, 0.05, 0.8, 1), 0,
           "an unknown scatter needs an unknown number");
    is_int(student_needed(1, 1e-6, 0.05, 0.8, 1), 0,
           "more than a million values are not practicable");
}

int main(void)
{
    check_ratio();
    check_ratio_coverage();
    check_means();
    check_needed();
    return done_testing();
}
