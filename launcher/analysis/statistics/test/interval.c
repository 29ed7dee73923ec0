/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/analysis/statistics/interval.h"

#include "launcher/analysis/test/near.h"

int main(void)
{
    struct interval a = {8, 12, 0.96, INTERVAL_ORDER}, b = {2, 4, 0.97, INTERVAL_ORDER}, none, r;

    none = interval_none();
    ok(!interval_is_known(&none) && isnan(none.low) && isnan(none.high), "none is not known");
    r = interval_ratio(&a, &b);
    near(r.low, 2, 1e-15, "the least ratio is least over most");
    near(r.high, 6, 1e-15, "the largest the other way round");
    near(r.level, 0.93, 1e-12, "levels join as Bonferroni has it");
    r = interval_ratio(&a, &none);
    ok(!interval_is_known(&r), "with something unknown nothing is known");
    b.low = 0;
    r = interval_ratio(&a, &b);
    ok(!interval_is_known(&r), "nor with a denominator that may be 0");
    for (int i = INTERVAL_NONE; i <= INTERVAL_EPOCHS; i++)
        ok(interval_method_name((enum interval_method)i) != NULL, "method %d has a name", i);
    return done_testing();
}
