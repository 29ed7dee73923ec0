/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/analysis/statistics/rank.h"

#include "launcher/analysis/test/near.h"

static void check_ranks(void)
{
    static const double v[] = {3, 1, 2, 3, 3, 0.5};
    static const size_t want[] = {10, 4, 6, 10, 10, 2}; /* doubled ranks 5, 2, 3, 5, 5, 1 */
    size_t twice[6];
    double ties;

    ok(rank_assign(v, 6, twice, &ties) == 0 && memcmp(twice, want, sizeof want) == 0,
       "equal values share the mean of their ranks");
    ok(ties == 24, "ties of three equal values are 3^3 - 3");
    ok(rank_assign(v, 0, twice, &ties) == 0 && ties == 0, "no values have no ranks");
}

static void check_sum(void)
{
    static const double a[] = {1.2, 3.4, 2.2, 5.1, 4.4}, b[] = {2.9, 6.1, 5.5, 7.2, 4.9, 8.0};
    static const double ta[] = {1, 2, 2, 3}, tb[] = {2, 3, 4, 4, 5}, one[] = {1};
    double many_a[30], many_b[35];

    /* From scipy 1.10.1's stats.mannwhitneyu, exact and asymptotic; with ties, from counting all
     * choices in Python. */
    near(rank_sum_test(a, 5, b, 6), 0.05194805194805195, 1e-12,
         "the rank-sum test of few values is exact");
    near(rank_sum_test(b, 6, a, 5), 0.05194805194805195, 1e-12, "the rank-sum test is symmetric");
    near(rank_sum_test(ta, 4, tb, 5), 0.0873015873015873, 1e-12,
         "the rank-sum test with ties is exact");
    for (int i = 0; i < 30; i++)
        many_a[i] = (i * 17 % 43) / 3.;
    for (int i = 0; i < 35; i++)
        many_b[i] = (i * 29 % 47) / 3. + 1;
    near(rank_sum_test(many_a, 30, many_b, 35), 0.20641379787077363, 1e-9,
         "the rank-sum test of many values uses the normal approximation");
    near(rank_sum_test(one, 1, one, 1), 1, 0, "two equal values do not differ");
    near(rank_sum_test(a, 5, b, 0), NAN, 0, "an empty sample has no p-value");
}

static void check_signed(void)
{
    static const double d[] = {1.1, -0.3, 2.2, 0.7, -0.1, 1.9, 0.4},
        ties[] = {1, 1, -1, 2, 0, 3, -2, 4, 1};
    static const double zeros[] = {0, 0}, up[] = {1, 2, 3, 4, 5, 6};
    double many[80];

    /* From scipy 1.10.1's stats.wilcoxon, exact and approximate; with ties, from counting all
     * signs in Python. */
    near(rank_signed_test(d, 7), 0.078125, 1e-12,
         "the signed-rank test of seven differences is exact");
    near(rank_signed_test(ties, 9), 0.2109375, 1e-12,
         "the signed-rank test with ties and a zero is exact");
    near(rank_signed_test(up, 6), 0.03125, 1e-12, "six differences of one sign are significant");
    near(rank_signed_test(up, 5), 0.0625, 1e-12,
         "five differences of one sign are not significant");
    for (int i = 0; i < 80; i++)
        many[i] = (i * 37 % 101) / 10. - 4.1;
    near(rank_signed_test(many, 80), 0.010358712759964849, 1e-9,
         "the signed-rank test of many differences is corrected for ties");
    near(rank_signed_test(zeros, 2), 1, 0, "p is 1 if all differences are 0");
    near(rank_signed_test(d, 0), NAN, 0, "no pairs have no p-value");
}

int main(void)
{
    check_ranks();
    check_sum();
    check_signed();
    return done_testing();
}
