/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/analysis/statistics/interval.h"

#include "launcher/analysis/test/near.h"

int main(void)
{
    struct interval a = {8, 12, 0.96, INTERVAL_ORDER}, b = {2, 4, 0.97, INTERVAL_ORDER}, none, r;

    none = interval_none();
    ok(!interval_is_known(&none) && isnan(none.low) && isnan(none.high),
       "an empty interval is not known");
    r = interval_ratio(&a, &b);
    near(r.low, 2, 1e-15,
         "the smallest ratio is the smallest numerator over the largest denominator");
    near(r.high, 6, 1e-15,
         "the largest ratio is the largest numerator over the smallest denominator");
    near(r.level, 0.93, 1e-12, "the levels are combined by Bonferroni's inequality");
    r = interval_ratio(&a, &none);
    ok(!interval_is_known(&r), "the ratio to an unknown interval is unknown");
    b.low = 0;
    r = interval_ratio(&a, &b);
    ok(!interval_is_known(&r), "the ratio to an interval that contains 0 is unknown");
    for (int i = INTERVAL_NONE; i <= INTERVAL_EPOCHS; i++)
        ok(interval_method_names[i] != NULL, "method %d has a name", i);
    return done_testing();
}
