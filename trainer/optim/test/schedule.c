/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/optim/schedule.h"

#include <math.h>

#include "t/tap.h"

/* First epochs of the four plateaus; -1 for one that has no epoch. */
static void find_plateaus(struct schedule *s, int first[4])
{
    static const double rates[4] = {1, 0.5, 0.25, 0.125};

    for (int p = 0; p < 4; p++) {
        first[p] = -1;
        for (int epoch = s->epochs - 1; epoch >= 0; epoch--)
            if (schedule_rate(s, epoch) == s->base * rates[p])
                first[p] = epoch;
    }
}

int main(void)
{
    struct schedule s = {.base = 0.001, .epochs = 200, .gpus = 4, .shape = SCHEDULE_STEP,
                         .scaling = SCHEDULE_SCALE_LINEAR};
    int bad = 0, first[4];

    for (int epoch = 0; epoch < 200; epoch++) {
        double want = epoch < 80 ? 0.004 : epoch < 120 ? 0.002 : epoch < 150 ? 0.001 : 0.0005;
        bad += fabs(schedule_rate(&s, epoch) - want) > 1e-18;
    }
    is_int(bad, 0, "200 epochs, 4 GPUs: the reference's rates in every epoch");

    s.scaling = SCHEDULE_SCALE_SQRT;
    ok(fabs(schedule_rate(&s, 0) - 0.002) < 1e-18, "sqrt scaling");
    s.scaling = SCHEDULE_SCALE_NONE;
    ok(schedule_rate(&s, 0) == 0.001, "no scaling");
    ok(schedule_rate(&s, 199) == 0.000125, "no scaling, last plateau");

    s.epochs = 20;
    find_plateaus(&s, first);
    ok(first[0] == 0 && first[1] == 8 && first[2] == 12 && first[3] == 15,
       "boundaries of 20 epochs");
    s.epochs = 7; /* 2.8, 4.2, 5.25 */
    find_plateaus(&s, first);
    ok(first[0] == 0 && first[1] == 3 && first[2] == 5 && first[3] == 6, "boundaries round up");
    s.epochs = 1;
    ok(schedule_rate(&s, 0) == 0.001, "one epoch has the full rate");
    s.epochs = 200;
    s.shape = SCHEDULE_CONSTANT;
    ok(schedule_rate(&s, 199) == 0.001, "constant");
    return done_testing();
}
