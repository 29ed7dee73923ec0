/* SPDX-License-Identifier: BSD-3-Clause */
/* The gradient noise scale: the global batch beyond which a larger one brings little (McCandlish,
 * Kaplan, Amodei: "An empirical model of large-batch training", arXiv 1812.06162).
 *
 * It is computed from the mean squared norms of gradients, g_b over b images (one device) and g_B
 * over B images (all devices):
 *
 *   |G|^2 = (B g_B - b g_b) / (B - b),  tr(Sigma) = (g_b - g_B) / (1/b - 1/B),
 *   B_simple = tr(Sigma) / |G|^2,
 *
 * where numerator and denominator are averaged separately over steps, epochs (without the first),
 * and runs. With a batch of B, the same progress takes 1 + B / B_simple times the images that the
 * smallest batches would take. */
#ifndef UNETCTL_LAUNCHER_ANALYSIS_NOISE_SCALE_H
#define UNETCTL_LAUNCHER_ANALYSIS_NOISE_SCALE_H

#include <stdbool.h>

#include "launcher/analysis/series.h"

struct noise_scale {
    bool measured;
    double critical_batch;    /* B_simple, in images */
    /* over runs, or, with fewer than three, over blocks of their epochs */
    struct interval interval;
    bool over_epochs;         /* the interval is over blocks of epochs */
    /* critical_batch / batch per GPU of the base case; NaN if either is unknown */
    double gpus;
    size_t nruns;             /* runs whose gradients were recorded */
    char why_not[160];        /* if it is not measured */
};

void noise_scale_compute(struct noise_scale *n, const struct series *s);

/* Returns how many times as many images the same progress takes with a global batch of `to` images
 * as with one of `from` images, or NaN if the scale was not measured or a batch is unknown (0). */
double noise_scale_images(const struct noise_scale *n, long from, long to);

#endif
