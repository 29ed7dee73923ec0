/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/analysis/noise_scale.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "launcher/analysis/statistics/student.h"

#define UNITS_FEWEST 3 /* the fewest units that give an interval */

/* Values that are treated as independent: runs, or blocks of epochs. */
struct units {
    double *gradient, *noise; /* |G|^2 and tr(Sigma): a run's means, or the sums of a block */
    size_t n;
};

static void add_unit(struct units *u, double gradient, double noise)
{
    if (!isfinite(gradient) || !isfinite(noise))
        return;
    u->gradient[u->n] = gradient;
    u->noise[u->n++] = noise;
}

/* Adds blocks of the epochs after the first. Neighbouring epochs are correlated, so a block has
 * n^(1/3) of these n epochs, rounded up, a length that grows with n as in the block bootstrap of
 * time series (Kuensch 1989). A last, shorter block is left out. */
static void add_blocks(struct units *u, const struct curve *c)
{
    size_t length = c->n ? (size_t)ceil(cbrt((double)(c->n - 1))) : 0; /* 0: no such epoch */

    for (size_t from = 1; length && from + length <= c->n; from += length) {
        double gradient = 0, noise = 0;
        for (size_t i = from; i < from + length; i++) {
            gradient += c->grad_sq[i];
            noise += c->grad_var[i];
        }
        add_unit(u, gradient, noise);
    }
}

/* Returns the logarithm of noise / gradient, each summed over the units except unit `out` (over all
 * if out is u->n), or NaN if noise hides the gradient. */
static double log_ratio(const struct units *u, size_t out)
{
    double gradient = 0, noise = 0;

    for (size_t i = 0; i < u->n; i++) {
        gradient += i == out ? 0 : u->gradient[i];
        noise += i == out ? 0 : u->noise[i];
    }
    return noise > 0 && gradient > 0 ? log(noise / gradient) : NAN;
}

/* Jackknife interval (Tukey 1958) of the logarithm: its pseudovalues are treated like the values
 * of a mean, with Student's t. */
static struct interval jackknife_interval(const struct units *u, double *room)
{
    double all = log_ratio(u, u->n);

    if (u->n < UNITS_FEWEST)
        return interval_none();
    for (size_t i = 0; i < u->n; i++)
        room[i] = (double)u->n * all - (double)(u->n - 1) * log_ratio(u, i);
    struct interval found = student_paired(room, u->n, INTERVAL_LEVEL).interval;
    if (!isfinite(found.low) || !isfinite(found.high))
        return interval_none();
    return (struct interval){exp(found.low), exp(found.high), INTERVAL_LEVEL, INTERVAL_JACKKNIFE};
}

static bool knows_gradient(const struct result *r)
{
    return isfinite(r->grad_sq) && isfinite(r->grad_var);
}

static void estimate_noise(struct noise_scale *n, const struct series *s, double *room, size_t most)
{
    struct units units = {room, room + most, 0};

    for (size_t i = 0; i < s->nrows; i++)
        add_unit(&units, s->rows[i].grad_sq, s->rows[i].grad_var);
    n->critical_batch = exp(log_ratio(&units, units.n));
    if (n->over_epochs)
        units.n = 0;
    for (size_t i = 0; n->over_epochs && i < s->nrows; i++)
        if (s->rows[i].curve && s->rows[i].curve->grad_sq)
            add_blocks(&units, s->rows[i].curve);
    n->interval = jackknife_interval(&units, room + 2 * most);
}

void noise_scale_compute(struct noise_scale *n, const struct series *s)
{
    size_t most = s->nrows;

    *n = (struct noise_scale){.critical_batch = NAN, .gpus = NAN, .interval = interval_none(),
                              .why_not = "out of memory"};
    for (size_t i = 0; i < s->nrows; i++)
        n->nruns += knows_gradient(&s->rows[i]);
    n->over_epochs = n->nruns < UNITS_FEWEST;
    for (size_t i = 0; n->over_epochs && i < s->nrows; i++)
        most += s->rows[i].curve && s->rows[i].curve->grad_sq ? s->rows[i].curve->n : 0;
    double *room = calloc(3 * most + 1, sizeof *room);
    if (!room)
        return;
    estimate_noise(n, s, room, most);
    free(room);
    n->measured = !isnan(n->critical_batch);
    if (n->measured && s->points[0].batch_per_gpu)
        n->gpus = n->critical_batch / (double)s->points[0].batch_per_gpu;
    if (!n->measured)
        snprintf(n->why_not, sizeof n->why_not, "%s",
                 n->nruns ? "the gradient is lost in its noise: train longer or with a larger batch"
                          : "not measured: it takes runs on 2 GPUs or more whose record has the "
                            "norms of gradients before and after they are summed");
}

double noise_scale_images(const struct noise_scale *n, long from, long to)
{
    if (!n->measured || from < 1 || to < 1)
        return NAN;
    return (1 + (double)to / n->critical_batch) / (1 + (double)from / n->critical_batch);
}
