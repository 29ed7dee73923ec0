/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/analysis/statistics/interval.h"

#include "launcher/analysis/test/near.h"
#include "src/rng.h"

static struct err e;

static void check_known(void)
{
    static const double a[] = {2.913, 3.204, 2.904, 2.095, 3.258, 2.972, 2.441, 3.053, 2.924, 2.883,
                               2.734, 3.032, 2.346, 2.631, 2.468, 3.064, 2.74, 2.564, 2.325, 2.582};
    static const double b[] = {1.001, 0.973, 1.138, 1.106, 0.763, 0.828, 0.983, 0.959,
                               1.022, 1.022, 1.236, 0.895, 0.963, 1.227, 1.067};
    struct interval i, again, few;

    /* The expected values are scipy 1.10.1's stats.bootstrap of the ratio of np.median, BCa,
     * 200000 resamples: 2.4911, 3.0242. Medians of so few values take few different values, so
     * 999 resamples find nearly the same ends. */
    ok(bootstrap_median_ratio(&i, a, 20, b, 15, 7, 0.95, &e) == 0 && i.method == INTERVAL_BCA,
       "the interval of a ratio of medians is BCa");
    near(i.low, 2.491096532333646, 0.02, "the lower end of the interval agrees with scipy");
    near(i.high, 3.0241521068859196, 0.02, "the upper end of the interval agrees with scipy");
    bootstrap_median_ratio(&again, a, 20, b, 15, 7, 0.95, &e);
    ok(i.low == again.low && i.high == again.high, "the same seed gives the same interval");
    ok(bootstrap_median_ratio(&few, a, 2, b, 15, 7, 0.95, &e) == 0 && !interval_is_known(&few),
       "a sample of two values has no interval");
}

static void check_percentile(void)
{
    double v[999], holes[100];
    struct interval i;

    for (int k = 0; k < 999; k++)
        v[k] = (double)((k * 38) % 999 + 1);
    i = bootstrap_percentile(v, 999, 0.95);
    near(i.low, 25, 1e-9, "the percentile interval of 999 replicates begins at the 25th");
    near(i.high, 975, 1e-9, "it ends at the 975th");
    for (int k = 0; k < 100; k++)
        holes[k] = k % 5 ? k : NAN;
    i = bootstrap_percentile(holes, 100, 0.95);
    ok(!interval_is_known(&i), "there is no interval if a fifth of the replicates is unknown");
}

/* A few unknown replicates, at either end, do not count. */
static void check_unknown(void)
{
    static const double jackknife[] = {480, 490, 500, 505, 530};
    double whole[990], first[999], last[999];
    struct interval i, j;

    for (int k = 0; k < 999; k++) {
        first[k] = k < 9 ? NAN : (double)(((k - 9) * 37) % 990 + 1);
        last[k] = k < 990 ? (double)((k * 37) % 990 + 1) : NAN;
        if (k < 990)
            whole[k] = (double)((k * 37) % 990 + 1);
    }
    i = bootstrap_bca(whole, 990, 500, jackknife, 5, 0.95);
    ok(i.method == INTERVAL_BCA, "990 replicates have a BCa interval");
    j = bootstrap_bca(last, 999, 500, jackknife, 5, 0.95);
    ok(i.low == j.low && i.high == j.high, "unknown ones behind them do not change it");
    j = bootstrap_bca(first, 999, 500, jackknife, 5, 0.95);
    ok(i.low == j.low && i.high == j.high, "nor do unknown ones before them");
}

static void check_coverage(void)
{
    int covered = 0;
    enum { TRIALS = 400, N = 15 };

    for (uint64_t trial = 0; trial < TRIALS; trial++) {
        double a[N], b[N];
        struct interval i;
        for (size_t k = 0; k < N; k++) {
            a[k] = 8 * exp(0.1 * rng_normal(11, trial, k));
            b[k] = 2 * exp(0.1 * rng_normal(12, trial, k));
        }
        bootstrap_median_ratio(&i, a, N, b, N, trial, 0.95, &e);
        covered += i.low <= 4 && 4 <= i.high;
    }
    double share = (double)covered / TRIALS;
    ok(share > 0.91 && share < 0.99, "the intervals cover the true ratio (%.4f)", share);
}

int main(void)
{
    check_known();
    check_percentile();
    check_unknown();
    check_coverage();
    return done_testing();
}
