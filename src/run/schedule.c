/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "src/run/schedule.h"

#include <math.h>

static int set_bad_step(const char *text, const char *at, const char *why, struct err *e)
{
    return err_set(e, ERR_CONFIG, "train.lr_steps: '%.*s' in '%s': %s; it takes up to %d "
                   "EPOCH:FACTOR, such as 30:0.1,60:0.01", (int)strcspn(at, ","), at, text, why,
                   SCHEDULE_MAX_STEPS);
}

int schedule_parse(struct schedule *s, const char *text, struct err *e)
{
    const char *at = text;
    char *colon, *end;
    int last = -1;

    s->shape = SCHEDULE_LIST;
    for (s->nsteps = 0; s->nsteps < SCHEDULE_MAX_STEPS; at = end + 1) {
        long epoch = strtol(at, &colon, 10);
        if (colon == at || *colon != ':')
            return set_bad_step(text, at, "it is not EPOCH:FACTOR", e);
        if (epoch < 0 || epoch > 1000000)
            return set_bad_step(text, at, "the epoch must be from 0 to 1000000", e);
        if (epoch <= last)
            return set_bad_step(text, at, "epochs must increase", e);
        double factor = strtod(colon + 1, &end);
        if (end == colon + 1 || (*end && *end != ','))
            return set_bad_step(text, at, "the factor is not a number", e);
        if (!(factor > 0 && factor <= 1e6))
            return set_bad_step(text, at, "the factor must be above 0 and at most 1e6", e);
        s->steps[s->nsteps].epoch = last = (int)epoch;
        s->steps[s->nsteps++].factor = factor;
        if (!*end)
            return 0;
    }
    return set_bad_step(text, at, "there are too many steps", e);
}

static double rate_scale(const struct schedule *s)
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

static double rate_factor(const struct schedule *s, int epoch)
{
    long long percent = 100LL * epoch, epochs = s->epochs;

    if (s->shape == SCHEDULE_LIST)
        return factor_of_list(s, epoch);
    if (s->shape == SCHEDULE_COSINE)
        return (1 + cos(M_PI * epoch / s->epochs)) / 2;
    if (s->shape == SCHEDULE_POLY)
        return pow(1 - (double)epoch / s->epochs, 0.9);
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
    double scaled = rate_scale(s), done = epoch;
    double from = s->scaling == SCHEDULE_SCALE_NONE ? 0 : 1;

    if (epoch < s->warmup_epochs) {
        if (!s->warmup_by_epoch)
            done += (double)(step + 1) / (double)steps;
        else if (from == 0)
            done += 1;
        scaled = from + done * (scaled - from) / s->warmup_epochs;
    }
    return s->base * scaled * rate_factor(s, epoch);
}

/* ---- goals ---- */

static const char *const metrics[] = {"iou", "dice", "precision", "recall", "accuracy", "acc"};
#define NMETRICS (sizeof metrics / sizeof *metrics)

int goal_text_parse(struct goal *g, const char *until, int patience, struct err *e)
{
    const char *sign = strstr(until, ">=");
    size_t length = sign ? (size_t)(sign - until) : 0;
    char *end = NULL;

    *g = (struct goal){.patience = patience};
    if (!*until)
        return 0;
    for (size_t i = 0; i < NMETRICS && sign; i++)
        if (strlen(metrics[i]) == length && strncmp(until, metrics[i], length) == 0)
            g->metric = metrics[i];
    g->value = sign ? strtod(sign + 2, &end) : 0;
    if (g->metric && end != sign + 2 && !*end && g->value > 0 && g->value <= 1)
        return 0;
    return err_set(e, ERR_CONFIG,
                   "train.until: '%s' is not METRIC>=VALUE, such as iou>=0.9; METRIC is iou, "
                   "dice, precision, recall or accuracy, VALUE is above 0 and at most 1",
                   until);
}

int goal_text_parse_plateau(struct goal *g, const char *text, struct err *e)
{
    char *end;
    long epochs = strtol(text, &end, 10);

    if (!*text)
        return 0;
    if (end != text && *end == ':' && epochs >= 1 && epochs <= 1000000) {
        const char *at = end + 1;
        g->plateau = (int)epochs;
        g->factor = strtod(at, &end);
        if (end != at && !*end && g->factor > 0 && g->factor < 1)
            return 0;
    }
    return err_set(e, ERR_CONFIG, "train.lr_plateau: '%s' is not EPOCHS:FACTOR, such as 10:0.5; "
                   "FACTOR is between 0 and 1", text);
}
