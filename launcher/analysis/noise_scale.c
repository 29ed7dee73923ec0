/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/analysis/noise_scale.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "launcher/analysis/bootstrap.h"

#define REPLICATES 999
#define SEED 1812
#define RUNS_FEWEST 3 /* for an interval */

/* Numerator and denominator of one run; false when it does not know them. */
static bool parts_of(const struct result *r, double *sigma, double *gradient)
{
    double b = (double)r->batch_per_gpu, all = (double)r->global_batch;

    if (!isfinite(r->grad_local) || !isfinite(r->grad_global) || !(b > 0) || !(all > b))
        return false;
    *gradient = (all * r->grad_global - b * r->grad_local) / (all - b);
    *sigma = (r->grad_local - r->grad_global) / (1 / b - 1 / all);
    return true;
}

/* Over the runs that places[0..n) name; NaN where noise hides the gradient. */
static double ratio_of_sums(const double *sigma, const double *gradient, const double *places, size_t n)
{
    double numerator = 0, denominator = 0;

    for (size_t i = 0; i < n; i++) {
        numerator += sigma[(size_t)places[i]];
        denominator += gradient[(size_t)places[i]];
    }
    return numerator > 0 && denominator > 0 ? numerator / denominator : NAN;
}

/* sigma, gradient: of n runs; room: for 2 n and REPLICATES numbers. */
static void estimate(struct noise_scale *scale, const double *sigma, const double *gradient, size_t n,
                     double *room)
{
    double *places = room, *drawn = room + n, *replicates = drawn + n;

    for (size_t i = 0; i < n; i++)
        places[i] = (double)i;
    scale->critical_batch = ratio_of_sums(sigma, gradient, places, n);
    for (uint64_t r = 0; n >= RUNS_FEWEST && r < REPLICATES; r++) {
        bootstrap_resample(places, n, SEED, r, drawn);
        replicates[r] = ratio_of_sums(sigma, gradient, drawn, n);
    }
    if (n >= RUNS_FEWEST)
        scale->interval = bootstrap_percentile(replicates, REPLICATES, INTERVAL_LEVEL);
}

void noise_scale_compute(struct noise_scale *n, const struct series *s)
{
    double *room = calloc(4 * s->nrows + REPLICATES, sizeof *room);

    *n = (struct noise_scale){.critical_batch = NAN, .gpus = NAN, .interval = interval_none(),
                              .why_not = "out of memory"};
    if (!room)
        return;
    double *sigma = room, *gradient = room + s->nrows;
    for (size_t i = 0; i < s->nrows; i++)
        n->nruns += parts_of(&s->rows[i], &sigma[n->nruns], &gradient[n->nruns]);
    if (n->nruns)
        estimate(n, sigma, gradient, n->nruns, room + 2 * s->nrows);
    n->measured = !isnan(n->critical_batch);
    if (n->measured && s->points[0].batch_per_gpu)
        n->gpus = n->critical_batch / (double)s->points[0].batch_per_gpu;
    if (!n->measured)
        snprintf(n->why_not, sizeof n->why_not, "%s",
                 n->nruns ? "the gradient is lost in its noise: train longer or with a larger batch"
                          : "not measured: it takes runs on 2 GPUs or more whose record has the norms of "
                            "gradients before and after they are summed");
    free(room);
}
