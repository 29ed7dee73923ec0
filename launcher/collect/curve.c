/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/collect/curve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/collect/results.h"
#include "src/stat.h"

struct curve *curve_create(size_t n, int with_score, struct err *e)
{
    size_t columns = with_score ? 3 : 2;
    struct curve *c = n < SIZE_MAX / 64 ? malloc(sizeof *c + columns * n * sizeof(double)) : NULL;

    if (!c) {
        err_set(e, ERR_INTERNAL, "out of memory for %zu epochs", n);
        return NULL;
    }
    double *values = (double *)(c + 1);
    for (size_t i = 0; i < columns * n; i++)
        values[i] = NAN;
    *c = (struct curve){n, values, values + n, with_score ? values + 2 * n : NULL};
    return c;
}

void curve_destroy(struct curve *c)
{
    free(c);
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
