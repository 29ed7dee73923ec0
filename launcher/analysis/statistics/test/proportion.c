/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/analysis/statistics/interval.h"

#include "launcher/analysis/test/near.h"

int main(void)
{
    /* From scipy 1.17.1: stats.beta.ppf(0.95, k + 1, n - k). */
    near(proportion_upper(0, 10, 0.95), 0.2588655508930522, 1e-9, "none of 10");
    near(proportion_upper(2, 10, 0.95), 0.5069013010632024, 1e-9, "2 of 10");
    near(proportion_upper(10, 11, 0.95), 0.9953478282678027, 1e-9, "10 of 11");
    near(proportion_upper(1, 1, 0.95), 1, 0, "all of 1");
    ok(isnan(proportion_upper(0, 0, 0.95)), "of none, nothing is known");
    return done_testing();
}
