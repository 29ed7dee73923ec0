/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/optim/schedule.h"

#include <math.h>

static double scale(const struct schedule *s)
{
    switch (s->scaling) {
    case SCHEDULE_SCALE_LINEAR: return s->gpus;
    case SCHEDULE_SCALE_SQRT: return sqrt(s->gpus);
    case SCHEDULE_SCALE_NONE: break;
    }
    return 1;
}

static double factor(const struct schedule *s, int epoch)
{
    long long percent = 100LL * epoch, epochs = s->epochs;

    if (s->shape == SCHEDULE_CONSTANT || percent < 40 * epochs)
        return 1;
    if (percent < 60 * epochs)
        return 0.5;
    return percent < 75 * epochs ? 0.25 : 0.125;
}

double schedule_rate(const struct schedule *s, int epoch)
{
    return s->base * scale(s) * factor(s, epoch);
}
