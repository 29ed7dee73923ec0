/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/collect/results/curve.h"

#include <math.h>

#include "launcher/collect/results/results.h"
#include "t/tap.h"

int main(void)
{
    static const double values[] = {0.9, NAN, 0.5, 0.2};
    struct result r;
    struct err e;
    struct curve *c = curve_create(4, 0, &e);

    ok(c && c->n == 4 && isnan(c->seconds[0]) && isnan(c->loss[3]) && !c->score,
       "all values of a new curve are unknown");
    for (int i = 0; i < 4; i++) {
        c->seconds[i] = i == 0 ? 9 : i;
        c->loss[i] = values[i];
    }
    result_init(&r);
    curve_measure(c, &r);
    ok(r.epochs == 4 && r.first_epoch_s == 9 && r.second_epoch_s == 1 && r.median_epoch_s == 2 &&
       r.loss == 0.2, "a run's values follow from its curve; the median excludes the first epoch");
    curve_destroy(c);
    c = curve_create(1, 1, &e);
    c->seconds[0] = 5;
    curve_measure(c, &r);
    ok(isnan(r.median_epoch_s) && isnan(r.second_epoch_s) && c->score,
       "a single epoch has no steady time");
    curve_destroy(c);
    curve_destroy(NULL);
    is_int(curve_reach(values, 4, 0.5, 0), 2,
           "the first epoch at a loss of 0.5 is found, past a NaN");
    is_int(curve_reach(values, 4, 0.1, 0), -1, "a target that is not reached is reported");
    is_int(curve_reach(values, 4, 0.8, 1), 0, "a rising target is found");
    return done_testing();
}
