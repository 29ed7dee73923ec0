/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/analysis/statistics/rank_sum.h"

#include "launcher/analysis/test/near.h"

int main(void)
{
    static const double a[] = {1.2, 3.4, 2.2, 5.1, 4.4}, b[] = {2.9, 6.1, 5.5, 7.2, 4.9, 8.0};
    static const double ta[] = {1, 2, 2, 3}, tb[] = {2, 3, 4, 4, 5}, one[] = {1};
    double many_a[30], many_b[35];

    /* scipy 1.10.1: stats.mannwhitneyu, exact and asymptotic; with ties, all choices counted in
     * Python. */
    near(rank_sum_test(a, 5, b, 6), 0.05194805194805195, 1e-12, "exact");
    near(rank_sum_test(b, 6, a, 5), 0.05194805194805195, 1e-12, "either way round");
    near(rank_sum_test(ta, 4, tb, 5), 0.0873015873015873, 1e-12, "with ties, exact");
    for (int i = 0; i < 30; i++)
        many_a[i] = (i * 17 % 43) / 3.;
    for (int i = 0; i < 35; i++)
        many_b[i] = (i * 29 % 47) / 3. + 1;
    near(rank_sum_test(many_a, 30, many_b, 35), 0.20641379787077363, 1e-9, "many: normal");
    near(rank_sum_test(one, 1, one, 1), 1, 0, "two equal values");
    near(rank_sum_test(a, 5, b, 0), NAN, 0, "an empty sample");
    return done_testing();
}
