/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/analysis/statistics/signed_rank.h"

#include "launcher/analysis/test/near.h"

int main(void)
{
    static const double d[] = {1.1, -0.3, 2.2, 0.7, -0.1, 1.9, 0.4},
        ties[] = {1, 1, -1, 2, 0, 3, -2, 4, 1};
    static const double zeros[] = {0, 0}, up[] = {1, 2, 3, 4, 5, 6};
    double many[80];

    /* scipy 1.10.1: stats.wilcoxon, exact and approx; with ties, all signs counted in Python. */
    near(signed_rank_test(d, 7), 0.078125, 1e-12, "seven differences, exact");
    near(signed_rank_test(ties, 9), 0.2109375, 1e-12, "ties and a zero, exact");
    near(signed_rank_test(up, 6), 0.03125, 1e-12, "six of one sign are significant");
    near(signed_rank_test(up, 5), 0.0625, 1e-12, "five can't be");
    for (int i = 0; i < 80; i++)
        many[i] = (i * 37 % 101) / 10. - 4.1;
    near(signed_rank_test(many, 80), 0.010358712759964849, 1e-9,
         "many: normal, corrected for ties");
    near(signed_rank_test(zeros, 2), 1, 0, "no difference at all");
    near(signed_rank_test(d, 0), NAN, 0, "no pairs");
    return done_testing();
}
