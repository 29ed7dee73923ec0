/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/collect/results/results.h"

#include <math.h>

#include "t/tap.h"

/* Returns the warm-up that is found in n intervals of 1 s, of which the first are `slow` times as
 * long; with units, they have more work and not less speed. Every 16th of the others is a spike. */
static size_t warmup_of(size_t n, size_t first, double slow, bool units, bool spikes)
{
    struct err e;
    struct curve *c = curve_create(n, units ? CURVE_UNITS : 0, &e);

    for (size_t i = 0; i < n; i++) {
        double factor = i < first ? slow : 1;
        c->seconds[i] = factor * (1 + 0.01 * (double)(i * 7 % 5));
        c->seconds[i] *= spikes && i % 16 == 15 ? 3 : 1;
        if (units)
            c->units[i] = 64 * factor;
    }
    size_t found = curve_warmup(c);
    curve_destroy(c);
    return found;
}

static void test_warmup(void)
{
    is_int((long)warmup_of(1, 0, 1, false, false), 1, "a single interval is warm-up");
    is_int((long)warmup_of(2, 2, 9, false, false), 1, "and so is the first of two");
    is_int((long)warmup_of(40, 0, 1, false, false), 1, "without slow intervals, the first is");
    is_int((long)warmup_of(40, 1, 9, false, false), 1, "one slow interval");
    is_int((long)warmup_of(40, 3, 1.5, false, false), 3, "three slow intervals");
    is_int((long)warmup_of(40, 10, 1.3, false, false), 10, "ten that are slower by 30 %%");
    is_int((long)warmup_of(40, 3, 1.5, false, true), 3, "later slow intervals change nothing");
    is_int((long)warmup_of(40, 38, 2, false, false), 1, "those in the second half are not warm-up");
    is_int((long)warmup_of(40, 3, 1.5, true, false), 1, "nor is more work at the same speed");
}

static void test_units(void)
{
    struct result r;
    struct err e;
    struct curve *c = curve_create(5, CURVE_UNITS, &e);

    for (int i = 0; i < 5; i++) {
        c->units[i] = i == 4 ? 32 : 64; /* the last interval is cut off */
        c->seconds[i] = i == 0 ? 9 : c->units[i] / 32;
    }
    result_init(&r);
    curve_measure(c, &r);
    ok(r.units == 64 && r.median_epoch_s == 2 && r.units_per_s == 32,
       "times are those of a typical interval's work");
    c->units[2] = NAN;
    result_init(&r);
    curve_measure(c, &r);
    ok(isnan(r.units) && r.median_epoch_s == 2, "unless some interval's work is unknown");
    curve_destroy(c);
}

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
    is_int(curve_reach(values, 4, 0.5, 0, 1, 1), 2,
           "the first epoch at a loss of 0.5 is found, past a NaN");
    is_int(curve_reach(values, 4, 0.1, 0, 1, 1), -1, "a target that is not reached is reported");
    is_int(curve_reach(values, 4, 0.8, 1, 1, 1), 0, "a rising target is found");
    const double noisy[] = {0.1, 0.9, NAN, 0.2, 0.8, 0.3, NAN, 0.9, 0.8, 0.9};
    is_int(curve_reach(noisy, 10, 0.7, 1, 1, 1), 1, "the first epoch may do by luck");
    is_int(curve_reach(noisy, 6, 0.7, 1, 3, 2), 1, "so may two of three");
    is_int(curve_reach(noisy, 10, 0.7, 1, 3, 3), 7, "but not three");
    is_int(curve_reach(noisy, 9, 0.7, 1, 5, 5), 7, "the last one is repeated");
    is_int(curve_reach(noisy, 6, 0.7, 1, 3, 3), -1, "also if it misses");
    test_warmup();
    test_units();
    return done_testing();
}
