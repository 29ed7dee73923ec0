/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/analysis/statistics/outlier.h"

#include "launcher/analysis/test/near.h"

int main(void)
{
    /* Median 10, distances 0 0.1 0.1 0.2 0.3 0.4 5: MAD 0.2, fence at 3.5 * 0.2 / 0.6745. */
    static const double v[] = {9.7, 9.9, 10, 10.1, 10.2, 10.4, 15};
    static const double w[] = {9.7, 9.8, 9.9, 10, 10.1, 10.4, 15}, flat[] = {1, 1, 1, 1, 9};
    double room[7];
    struct outlier_fence f = outlier_fence(w, 7, room);

    near(f.low, 10 - 3.5 * 0.2 / 0.6745, 1e-9, "the lower fence");
    near(f.high, 10 + 3.5 * 0.2 / 0.6745, 1e-9, "the upper fence");
    is_int(outlier_count(w, 7, &f), 1, "one value lies outside");
    is_int(outlier_count(v, 6, &f), 0, "these do not");
    f = outlier_fence(flat, 5, room);
    is_int(outlier_count(flat, 5, &f), 0, "without distances nothing is called an outlier");
    f = outlier_fence(w, 4, room);
    ok(isinf(f.low) && isinf(f.high), "nor among four values");
    return done_testing();
}
