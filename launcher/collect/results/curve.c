/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/collect/results/curve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/collect/results/results.h"
#include "src/mem.h"
#include "src/stat.h"

struct curve *curve_create(size_t n, int columns, struct err *e)
{
    size_t width = 2 + (columns & CURVE_SCORE ? 1 : 0) + (columns & CURVE_GRADIENT ? 2 : 0);
    struct curve *c = n < SIZE_MAX / 64 ? malloc(sizeof *c + width * n * sizeof(double)) : NULL;

    if (!c) {
        mem_fail(e);
        return NULL;
    }
    double *values = (double *)(c + 1);
    for (size_t i = 0; i < width * n; i++)
        values[i] = NAN;
    *c = (struct curve){.n = n, .seconds = values, .loss = values + n};
    if (columns & CURVE_SCORE)
        c->score = values + 2 * n;
    if (columns & CURVE_GRADIENT) {
        c->grad_sq = values + (width - 2) * n;
        c->grad_var = c->grad_sq + n;
    }
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

void curve_measure(const struct curve *c, struct result *r)
{
    r->epochs = (long)c->n;
    r->first_epoch_s = c->seconds[0];
    r->second_epoch_s = c->n > 1 ? c->seconds[1] : NAN;
    r->median_epoch_s = stat_median(c->seconds + 1, c->n - 1);
    r->loss = c->loss[c->n - 1];
}

long curve_reach(const double *values, size_t n, double target, int rising)
{
    for (size_t i = 0; i < n; i++)
        if (rising ? values[i] >= target : values[i] <= target)
            return (long)i;
    return -1;
}
