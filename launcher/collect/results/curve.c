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
    const size_t most = 8; /* arrays */
    struct curve *c = n < SIZE_MAX / 64 ? malloc(sizeof *c + most * n * sizeof(double)) : NULL;

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
