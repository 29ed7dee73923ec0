/* SPDX-License-Identifier: BSD-3-Clause */
/* The gradient noise scale: the global batch beyond which a larger one hardly helps (McCandlish,
 * Kaplan, Amodei: "An empirical model of large-batch training", arXiv 1812.06162).
 *
 * From the mean squared norms of gradients over b (one device) and B (all devices) images:
 *   |G|^2 = (B g_B - b g_b) / (B - b),  tr(Sigma) = (g_b - g_B) / (1/b - 1/B),
 *   B_simple = tr(Sigma) / |G|^2,
 * numerator and denominator averaged over steps, epochs and runs apart. The same progress with a
 * batch of B takes 1 + B / B_simple times the images that the smallest batches would take. */
#ifndef UNETCTL_LAUNCHER_ANALYSIS_NOISE_SCALE_H
#define UNETCTL_LAUNCHER_ANALYSIS_NOISE_SCALE_H

#include <stdbool.h>

#include "launcher/analysis/series.h"

struct noise_scale {
    bool measured;
    double critical_batch;    /* B_simple, images */
    struct interval interval; /* over runs; with fewer than three over blocks of their epochs */
    bool over_epochs;         /* the latter */
    double gpus;              /* critical_batch / batch per GPU; NaN: that is not known */
    size_t nruns;
    char why_not[160];        /* when it is not measured */
};

void noise_scale_compute(struct noise_scale *n, const struct series *s);

/* The images that the same progress takes with a batch of `to`, relative to a batch of `from`; NaN
 * where it is not measured or a batch is not known (0). */
double noise_scale_images(const struct noise_scale *n, long from, long to);

#endif
