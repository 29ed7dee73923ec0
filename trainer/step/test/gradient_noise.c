/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests that |G|^2 and tr(Sigma) follow from the norms of random gradients whose mean and variance
 * are known, for replicas with equal and with unequal batches. */
#include "src/base.h"
#include "trainer/step/step.h"

#include <math.h>

#include "src/rng.h"
#include "t/tap.h"

#define WEIGHTS 40
#define SIGMA 3.0 /* deviation of each weight's gradient between images: tr(Sigma) = 40 * 9 */
#define MEAN 0.5  /* |G|^2 = 40 / 4 */
#define STEPS 4000

static uint64_t image;

/* Adds to part the contribution of so many images to the mean gradient over `items` images. */
static void add_images(float *part, size_t images, size_t items)
{
    for (size_t i = 0; i < images; i++, image++)
        for (size_t k = 0; k < WEIGHTS; k++)
            part[k] += (float)((MEAN + SIGMA * rng_normal(7, k, image)) / (double)items);
}

/* A step of two replicas; the second may have another number of images, or none. */
static void step(struct gradient_noise *g, size_t first, size_t second)
{
    size_t images[] = {first, second};
    float sum[WEIGHTS] = {0};

    for (size_t r = 0; r < 2; r++) {
        float part[WEIGHTS] = {0};
        add_images(part, images[r], first + second);
        gradient_noise_add_batch(g, gradient_noise_square(part, WEIGHTS), images[r],
                                 first + second);
        for (size_t k = 0; k < WEIGHTS; k++)
            sum[k] += part[k];
    }
    gradient_noise_add_step(g, gradient_noise_square(sum, WEIGHTS), first + second);
}

static void check_estimate(const struct gradient_noise *g, const char *what)
{
    struct gradient_norms n = gradient_noise_norms(g);
    double b = n.batch_local, all = n.batch_global;
    double mean = (all * n.sq_global - b * n.sq_local) / (all - b);
    double trace = (n.sq_local - n.sq_global) / (1 / b - 1 / all);

    ok(fabs(mean / (WEIGHTS * MEAN * MEAN) - 1) < 0.03, "%s: |G|^2 is %g, 10 is right", what, mean);
    ok(fabs(trace / (WEIGHTS * SIGMA * SIGMA) - 1) < 0.03, "%s: tr(Sigma) is %g, 360 is right",
       what, trace);
}

int main(void)
{
    struct gradient_noise equal = {0}, mixed = {0}, none = {0};
    float values[1030];
    double want = 0;

    for (int i = 0; i < STEPS; i++) {
        step(&equal, 8, 8);
        step(&mixed, 8, i % 3 == 0 ? 0 : i % 3 == 1 ? 3 : 8);
    }
    check_estimate(&equal, "two batches of 8");
    is_int((int)gradient_noise_norms(&equal).batch_local, 8, "that is what the small batch is");
    is_int((int)gradient_noise_norms(&equal).batch_global, 16, "and the large one");
    check_estimate(&mixed, "a short or empty batch");
    ok(gradient_noise_norms(&none).batch_local == 0, "nothing of no step");

    for (size_t i = 0; i < 1030; i++) {
        values[i] = (float)(i % 7);
        want += (double)(i % 7) * (double)(i % 7);
    }
    ok(gradient_noise_square(values, 1030) == want, "the squared norm, whatever the length");
    return done_testing();
}
