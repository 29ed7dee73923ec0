/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/analysis/statistics/holm.h"

#include "launcher/analysis/test/near.h"

int main(void)
{
    /* By hand: sorted 0.01 0.02 0.03 0.04 times 4, 3, 2, 1, never
     * falling: 0.04, 0.06, 0.06, 0.06. */
    static const double p[] = {0.03, 0.01, NAN, 0.04, 0.02}, want[] = {0.06, 0.04, NAN, 0.06, 0.06};
    static const double big[] = {0.6, 0.5};
    double got[5];

    ok(holm_correct(p, 5, got) == 0, "corrected");
    for (int i = 0; i < 5; i++)
        near(got[i], want[i], 1e-12, "p-value %d", i);
    holm_correct(big, 2, got);
    near(got[0], 1, 0, "never above 1");
    near(got[1], 1, 0, "never above 1");
    return done_testing();
}
