/* SPDX-License-Identifier: BSD-3-Clause */
/* The noise of gradients, from norms that a step of several batches has anyway (McCandlish, Kaplan,
 * Amodei, arXiv 1812.06162, appendix A.1). With G the true gradient and Sigma the covariance of an
 * image's gradient, the mean gradient over b images has the expectation
 *     E |g_b|^2 = |G|^2 + tr(Sigma) / b.
 * A step of B images in batches of b_i (one per replica, or per replica and train.accumulate) gives
 *     E (sum_i b_i / B |g_i|^2) = |G|^2 + tr(Sigma) K / B   with K batches that are not empty,
 *     E |g|^2                   = |G|^2 + tr(Sigma) / B     of their sum,
 * so means over steps belong to batches of steps / sum(K / B) and steps / sum(1 / B) images, for
 * steps of any sizes. */
#ifndef UNETCTL_TRAINER_STEP_GRADIENT_NOISE_H
#define UNETCTL_TRAINER_STEP_GRADIENT_NOISE_H

#include <stddef.h>

/* Sums over steps. The caller sums those of shares over the replicas; global is equal on all. */
struct gradient_noise {
    struct {
        double square, inverse_batch;
    } shares, global;
    double steps;
};

/* Means over steps: squared norms of the gradients of a batch and of a step, and the harmonic means
 * of their sizes in images. All are 0 without steps or without batches. */
struct gradient_norms {
    double sq_local, batch_local, sq_global, batch_global;
};

/* Returns the squared norm, with the same bits for the same values. */
double gradient_noise_square(const float *grad, size_t n);

/* Adds a batch of this replica: `images` of the `items` images of the step, and the squared norm of
 * its contribution to the gradient (the sum over its images, divided by items). */
void gradient_noise_add_batch(struct gradient_noise *g, double square, size_t images, size_t items);

/* Adds a step of so many images: the squared norm of its gradient. */
void gradient_noise_add_step(struct gradient_noise *g, double square, size_t items);

struct gradient_norms gradient_noise_norms(const struct gradient_noise *g);

#endif
