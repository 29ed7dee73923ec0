/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/analysis/statistics/hypothesis.h"

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

static void check_signed(void)
{
    static const double d[] = {1.1, -0.3, 2.2, 0.7, -0.1, 1.9, 0.4},
        ties[] = {1, 1, -1, 2, 0, 3, -2, 4, 1};
    static const double zeros[] = {0, 0}, up[] = {1, 2, 3, 4, 5, 6};
    /* On paper the differences are 0.01, 0.01, 0.02, 0.01, 0.02, 0: all 2^5 signs of ranks 2, 2,
     * 4.5, 2, 4.5, of which two are as extreme. */
    static const double before[] = {0.95, 0.94, 0.96, 0.3, 0.07, 0.3},
        after[] = {0.94, 0.93, 0.94, 0.29, 0.05, 0.1 + 0.2};
    double many[80], rounded[6];

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
    near(rank_signed_test(many, 80), 0.012371704072114815, 1e-9,
         "the signed-rank test of many differences is corrected for ties");
    for (int i = 0; i < 6; i++)
        rounded[i] = before[i] - after[i];
    near(rank_signed_test(rounded, 6), 0.0625, 1e-12,
         "differences that are equal before rounding are ties, or 0");
    near(rank_signed_test(zeros, 2), 1, 0, "p is 1 if all differences are 0");
    near(rank_signed_test(d, 0), NAN, 0, "no pairs have no p-value");
}

int main(void)
{
    check_ranks();
    check_signed();
    return done_testing();
}
