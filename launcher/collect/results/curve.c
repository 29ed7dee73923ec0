/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/collect/results/curve.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "launcher/collect/results/results.h"
#include "src/mem.h"
#include "src/stat.h"

#define MAD_SCALE 1.4826 /* makes the median absolute deviation of normal values their sd */

struct curve *curve_create(size_t n, int columns, struct err *e)
{
    const size_t most = 9; /* arrays */
    struct curve *c = n < SIZE_MAX / 128 ? malloc(sizeof *c + most * n * sizeof(double)) : NULL;

    if (!c) {
        mem_fail(e);
        return NULL;
    }
    double *values = (double *)(c + 1);
    for (size_t i = 0; i < most * n; i++)
        values[i] = NAN;
    *c = (struct curve){.n = n, .seconds = values, .loss = values + n};
    c->score = columns & CURVE_SCORE ? values + 2 * n : NULL;
    c->grad_sq = columns & CURVE_GRADIENT ? values + 3 * n : NULL;
    c->grad_var = columns & CURVE_GRADIENT ? values + 4 * n : NULL;
    c->val_loss = columns & CURVE_VAL_LOSS ? values + 5 * n : NULL;
    c->train_score = columns & CURVE_TRAIN_SCORE ? values + 6 * n : NULL;
    c->units = columns & CURVE_UNITS ? values + 7 * n : NULL;
    c->joules = values + 8 * n; /* NaN until they are set */
    return c;
}

void curve_destroy(struct curve *c)
{
    free(c);
}

int curve_check(const struct curve *c, const char *name, struct err *e)
{
    for (size_t i = 0; i < c->n; i++)
        if (c->seconds[i] <= 0 || c->seconds[i] > CURVE_LONGEST_S)
            return err_set(e, ERR_DATA, "%s: epoch %zu takes %g s: a time is wrong", name, i,
                           c->seconds[i]);
    return 0;
}

/* Returns whether the curve has the work of each interval. */
static bool has_units(const struct curve *c)
{
    for (size_t i = 0; c->units && i < c->n; i++)
        if (!(c->units[i] > 0))
            return false;
    return c->units;
}

/* Returns the first interval that is not slow, given the logarithms of the times of n intervals,
 * n at least 4. room is for n / 2 + 1 numbers. */
static size_t find_change(const double *pace, size_t n, double *room)
{
    size_t half = n / 2, rest = n - half, change = 1;
    double steady = stat_median(pace + half, rest), sum = 0, most = 0;

    for (size_t i = 0; i < rest; i++)
        room[i] = fabs(pace[half + i] - steady);
    double noise = fmax(MAD_SCALE * stat_median(room, rest), CURVE_NOISE);
    double slow = CURVE_SLOW * (1 + CURVE_FEW / (double)rest) * noise;

    for (size_t i = 1; i < half; i++) {
        sum += fmax(-slow, fmin(pace[i] - steady - slow, slow));
        if (sum > most) {
            most = sum;
            change = i + 1;
        }
    }
    return change;
}

size_t curve_warmup(const struct curve *c)
{
    double *pace = c->n >= 4 ? calloc(2 * c->n, sizeof *pace) : NULL;
    bool by_units = has_units(c), known = pace;
    size_t warmup = 1;

    for (size_t i = 0; known && i < c->n; i++) {
        pace[i] = log(c->seconds[i] / (by_units ? c->units[i] : 1));
        known = isfinite(pace[i]);
    }
    if (known)
        warmup = find_change(pace, c->n, pace + c->n);
    free(pace);
    return warmup;
}

size_t curve_steady(const struct curve *c, const double *values, double *dst)
{
    size_t warmup = curve_warmup(c), n = c->n - warmup;
    double typical = has_units(c) ? stat_median(c->units + warmup, n) : NAN;

    for (size_t i = 0; i < n; i++)
        dst[i] = values[warmup + i] *
                 (isnan(typical) ? 1 : typical / c->units[warmup + i]);
    return n;
}

void curve_measure(const struct curve *c, struct result *r)
{
    double *room = calloc(c->n, sizeof *room);
    size_t n = room ? curve_steady(c, c->seconds, room) : 0, warmup = c->n - n;

    r->epochs = (long)c->n;
    r->first_epoch_s = c->seconds[0];
    r->second_epoch_s = c->n > 1 ? c->seconds[1] : NAN;
    r->median_epoch_s = stat_median(room, n);
    r->loss = c->loss[c->n - 1];
    if (has_units(c)) {
        r->images = n ? stat_median(c->units + warmup, n) : c->units[0];
        for (size_t i = 0; i < n; i++)
            room[i] = c->units[warmup + i] / c->seconds[warmup + i];
        r->images_per_s = stat_median(room, n);
    }
    free(room);
}

long curve_reach(const double *values, size_t n, double target, int rising)
{
    for (size_t i = 0; i < n; i++)
        if (rising ? values[i] >= target : values[i] <= target)
            return (long)i;
    return -1;
}
