/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/analysis/statistics/fieller.h"

#include "launcher/analysis/test/near.h"
#include "src/rng.h"

static void check_known(void)
{
    static const double a[] = {10.1, 10.4, 9.8, 10.2}, b[] = {2.1, 1.9, 2.05},
        near_zero[] = {-1, 1, 0.1};
    static const double same[] = {6, 6}, half[] = {3, 3};
    struct interval i = fieller_interval(a, 4, b, 3, 0.95);

    /* scipy 1.10.1: optimize.brentq on the definition, t from stats.t.ppf. */
    near(i.low, 4.5171022442871624, 1e-9, "the lower end");
    near(i.high, 5.628241610928624, 1e-9, "the upper end");
    i = fieller_interval(a, 4, near_zero, 3, 0.95);
    ok(!interval_is_known(&i), "a denominator that may be 0 gives none");
    i = fieller_interval(a, 1, b, 3, 0.95);
    ok(!interval_is_known(&i), "nor does a single value");
    i = fieller_interval(same, 2, half, 2, 0.95);
    ok(i.low == 2 && i.high == 2, "without scatter the ratio is exact");
}

/* 3 runs of 10 s against 3 runs of 2 s, 3 % scatter. */
static void check_coverage(void)
{
    int covered = 0;
    enum { TRIALS = 4000, N = 3 };

    for (uint64_t trial = 0; trial < TRIALS; trial++) {
        double a[N], b[N];
        for (size_t i = 0; i < N; i++) {
            a[i] = 10 * (1 + 0.03 * rng_normal(3, trial, i));
            b[i] = 2 * (1 + 0.03 * rng_normal(4, trial, i));
        }
        struct interval i = fieller_interval(a, N, b, N, 0.95);
        covered += i.low <= 5 && 5 <= i.high;
    }
    double share = (double)covered / TRIALS;
    ok(share > 0.94 && share < 0.985, "3 runs a side cover the true ratio (%.4f)", share);
}

int main(void)
{
    check_known();
    check_coverage();
    return done_testing();
}
