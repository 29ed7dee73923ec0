/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/optim/schedule.h"

#include <math.h>
#include <stdlib.h>

int schedule_parse(struct schedule *s, const char *text, struct err *e)
{
    const char *at = text;
    char *end;

    s->shape = SCHEDULE_LIST;
    for (s->nsteps = 0; s->nsteps < SCHEDULE_MAX_STEPS; at = end + 1) {
        long epoch = strtol(at, &end, 10);
        if (end == at || *end != ':' || epoch < 0 || epoch > 1000000)
            break;
        if (s->nsteps > 0 && epoch <= s->steps[s->nsteps - 1].epoch)
            break;
        at = end + 1;
        double factor = strtod(at, &end);
        if (end == at || !(factor > 0 && factor <= 1e6) || (*end && *end != ','))
            break;
        s->steps[s->nsteps].epoch = (int)epoch;
        s->steps[s->nsteps++].factor = factor;
        if (!*end)
            return 0;
    }
    return err_set(e, ERR_CONFIG, "'%s' is no list of up to %d EPOCH:FACTOR with rising epochs, such "
                   "as 30:0.1,60:0.01", text, SCHEDULE_MAX_STEPS);
}

static double scale(const struct schedule *s)
{
    switch (s->scaling) {
    case SCHEDULE_SCALE_LINEAR: return s->gpus;
    case SCHEDULE_SCALE_SQRT: return sqrt(s->gpus);
    case SCHEDULE_SCALE_TWO_THIRDS: return cbrt((double)s->gpus * s->gpus);
    case SCHEDULE_SCALE_NONE: break;
    }
    return 1;
}

static double factor_of_list(const struct schedule *s, int epoch)
{
    double factor = 1;

    for (size_t i = 0; i < s->nsteps && epoch >= s->steps[i].epoch; i++)
        factor = s->steps[i].factor;
    return factor;
}

static double factor(const struct schedule *s, int epoch)
{
    long long percent = 100LL * epoch, epochs = s->epochs;

    if (s->shape == SCHEDULE_LIST)
        return factor_of_list(s, epoch);
    if (s->shape == SCHEDULE_CONSTANT || percent < 40 * epochs)
        return 1;
    if (percent < 60 * epochs)
        return 0.5;
    if (s->shape == SCHEDULE_STEP_TF)
        return percent <= 75 * epochs ? 0.25 : 0.125;
    return percent < 75 * epochs ? 0.25 : 0.125;
}

double schedule_rate(const struct schedule *s, int epoch, size_t step, size_t steps)
{
    double scaled = scale(s), done = epoch;

    if (epoch < s->warmup_epochs) {
        if (!s->warmup_by_epoch)
            done += (double)(step + 1) / (double)steps;
        scaled = 1 + done * (scaled - 1) / s->warmup_epochs;
    }
    return s->base * scaled * factor(s, epoch);
}
