/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/analysis/statistics/ranks.h"

#include "t/tap.h"

int main(void)
{
    static const double v[] = {3, 1, 2, 3, 3, 0.5};
    static const size_t want[] = {10, 4, 6, 10, 10, 2}; /* ranks 5, 2, 3, 5, 5, 1 */
    size_t twice[6];
    double ties;

    ok(ranks_assign(v, 6, twice, &ties) == 0 && memcmp(twice, want, sizeof want) == 0,
       "equal values share the mean of their ranks");
    ok(ties == 24, "three equal values: 27 - 3");
    ok(ranks_assign(v, 0, twice, &ties) == 0 && ties == 0, "nothing to rank");
    return done_testing();
}
