/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "src/stat.h"

#include <math.h>

#include "t/tap.h"

static bool near(double got, double want)
{
    return fabs(got - want) <= 1e-12 * fabs(want);
}

int main(void)
{
    const double a[] = {2, 4, 4, 4, 5, 5, 7, 9}, unsorted[] = {3, 1, 2, 10}, one[] = {5};
    const double bad[][3] = {{NAN, 1, 2}, {1, NAN, 2}, {1, 2, NAN}};
    const double large[] = {1e9 + 1, 1e9 + 2, 1e9 + 3}, open_end[] = {1, 2, INFINITY};

    ok(near(stat_mean(a, 8), 5), "the mean is right");
    ok(near(stat_stddev(a, 8), sqrt(32.0 / 7)), "the standard deviation divides by n - 1");
    ok(near(stat_stddev(large, 3), 1), "a large mean causes no cancellation");
    ok(stat_median(unsorted, 4) == 2.5 && stat_median(a, 7) == 4,
       "the median of even and odd numbers of values");
    ok(unsorted[0] == 3 && unsorted[3] == 10, "the sample is not changed");
    ok(stat_median(open_end, 3) == 2, "the median ignores an infinite neighbour");
    ok(stat_mean(one, 1) == 5 && stat_median(one, 1) == 5, "mean and median of one value");
    ok(isnan(stat_stddev(one, 1)), "one value has no deviation");
    ok(isnan(stat_mean(one, 0)) && isnan(stat_median(one, 0)) && isnan(stat_stddev(one, 0)),
       "statistics of no values are NaN");
    for (int i = 0; i < 3; i++)
        ok(isnan(stat_mean(bad[i], 3)) && isnan(stat_stddev(bad[i], 3)) &&
               isnan(stat_median(bad[i], 3)),
           "NaN at place %d makes everything NaN", i);
    for (size_t n = 0, i; n <= 200; n++) {
        double v[200], sum = 0;
        for (i = 0; i < n; i++)
            sum += v[i] = (double)(i * i * 7919 % 101);
        stat_sort(v, n);
        for (i = 1; i < n && v[i - 1] <= v[i];)
            i++;
        if ((n && i < n) || stat_mean(v, n) * (double)n - sum > 1e-9)
            ok(false, "%zu values are sorted", n);
    }
    ok(true, "0 to 200 values are sorted");
    return done_testing();
}
