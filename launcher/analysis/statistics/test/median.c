/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/analysis/statistics/interval.h"

#include "launcher/analysis/test/near.h"
#include "src/rng.h"
#include "src/stat.h"

/* The rank k of the lower end and the level, from scipy 1.10.1: the largest k with 1 - 2
 * stats.binom.cdf(k - 1, n, 0.5) >= 0.95. */
static const struct {
    size_t n, k;
    double level;
} known[] = {{6, 1, 0.96875}, {8, 1, 0.9921875}, {9, 2, 0.9609375},
             {10, 2, 0.978515625}, {25, 8, 0.9567147493362427}, {199, 86, 0.9531135323678285},
             {5000, 2431, 0.9506841418958285}};

static void check_places(void)
{
    static double places[5000];

    for (size_t i = 0; i < 5000; i++)
        places[i] = (double)i + 1;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        struct interval v = median_interval(places, known[i].n, 0.95);
        ok(v.low == (double)known[i].k && v.high == (double)(known[i].n + 1 - known[i].k),
           "the order statistics for %zu values", known[i].n);
        near(v.level, known[i].level, 1e-9, "the interval has its exact level");
    }
    for (size_t n = 0; n < 6; n++) {
        struct interval few = median_interval(places, n, 0.95);
        ok(!interval_is_known(&few), "%zu values have no interval of 95 %%", n);
    }
}

static void check_outliers(void)
{
    /* The median of w is 10, its distances are 0 0.1 0.1 0.2 0.3 0.4 5, MAD is 0.2, and the
     * fence is at 1.0378. */
    static const double v[] = {9.7, 9.9, 10, 10.1, 10.2, 10.4};
    static const double w[] = {9.7, 9.8, 9.9, 10, 10.1, 10.4, 15}, flat[] = {1, 1, 1, 1, 9};
    static const double in[] = {8.963, 9.8, 9.9, 10, 10.1, 10.2, 11.037},
        low[] = {8.962, 9.8, 9.9, 10, 10.1, 10.2, 11.037},
        high[] = {8.963, 9.8, 9.9, 10, 10.1, 10.2, 11.038};
    double room[7];

    is_int(median_count_outliers(in, 7, room), 0, "values within both fences are not outliers");
    is_int(median_count_outliers(low, 7, room), 1, "a value beyond the lower fence is an outlier");
    is_int(median_count_outliers(high, 7, room), 1, "a value beyond the upper fence is an outlier");
    is_int(median_count_outliers(w, 7, room), 1, "a distant value is an outlier");
    is_int(median_count_outliers(v, 6, room), 0, "close values are not outliers");
    is_int(median_count_outliers(flat, 5, room), 0,
           "nothing is an outlier if more than half of the values are equal");
    is_int(median_count_outliers(w, 4, room), 0, "four values have no outliers");
    ok(isnan(median_of_sorted(w, 0)), "the median of no values is NaN");
}

/* Checks how often the interval covers the median of skewed values (exponential, median ln 2). */
static void check_coverage(void)
{
    int covered = 0;
    enum { TRIALS = 4000, N = 12 };

    for (uint64_t trial = 0; trial < TRIALS; trial++) {
        double v[N];
        for (size_t i = 0; i < N; i++)
            v[i] = -log(1 - rng_uniform(2, trial, i));
        stat_sort(v, N);
        struct interval interval = median_interval(v, N, 0.95);
        covered += interval.low <= log(2) && log(2) <= interval.high;
    }
    /* The theoretical probability is 0.9614; 3 standard deviations are 0.009. */
    double share = (double)covered / TRIALS;
    ok(share > 0.952 && share < 0.971,
       "the interval of 12 values covers the median with its nominal probability (%.4f)", share);
}

int main(void)
{
    check_places();
    check_outliers();
    check_coverage();
    return done_testing();
}
