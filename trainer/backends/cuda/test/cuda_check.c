/* SPDX-License-Identifier: BSD-3-Clause */
/* On an emulated GPU whose tensor cores compute wrong products, the kernels that use them are
 * refused before they are used, and the gradients of a network are right. */
#include "config.h"
#include "trainer/backends/cuda/test/emulated.c"

#include "src/rng.h"
#include "t/tap.h"
#include "trainer/backends/trial/verdicts.h"
#include "trainer/network/network.h"

#define SIDE 24

static struct network_config config = {.model = "unet",
                                       .base = 8,
                                       .depth = 1,
                                       .channels = 3,
                                       .height = SIDE,
                                       .width = SIDE,
                                       .batch_norm = BATCH_NORM_LOCAL,
                                       .threads = 1,
                                       .seed = 7};

/* Returns the gradients of one step, to be freed by the caller. */
static float *gradients(const char *backend, enum dtype dtype, int gpu, size_t *n)
{
    struct network_step step = {.images = 2, .weight = 2 * SIDE * SIDE};
    struct err e;
    double loss = 0;

    config.backend = backend;
    config.dtype = dtype;
    config.device = gpu;
    struct network *net = network_create(&config, &e);
    float *x = net ? network_input(net, true, 2, &e) : NULL,
          *t = x ? network_target(net, true, 2, &e) : NULL;
    if (!t)
        bail_out("%s", e.text);
    for (size_t i = 0; i < (size_t)2 * SIDE * SIDE * 3; i++)
        x[i] = (float)rng_uniform(1, 0, i);
    for (size_t i = 0; i < (size_t)2 * SIDE * SIDE; i++)
        t[i] = (float)(rng_uniform(2, 0, i) < 0.5);
    if (network_train(net, 2, step, &loss, NULL, NULL, &e) || network_wait(net, &loss, &e))
        bail_out("%s", e.text);
    *n = network_weights(net)->nparams;
    float *copy = malloc(*n * sizeof *copy);
    if (!copy)
        bail_out("out of memory");
    memcpy(copy, network_weights(net)->grad, *n * sizeof *copy);
    network_destroy(net);
    return copy;
}

/* Returns the sum of the absolute differences divided by that of the absolute values of b. */
static double difference(const float *a, const float *b, size_t n)
{
    double sum = 0, all = 0;

    for (size_t i = 0; i < n; i++) {
        sum += fabs((double)a[i] - (double)b[i]);
        all += fabs((double)b[i]);
    }
    return sum / all;
}

static void check_gradients(const char *what, int gpu, const float *want, bool right)
{
    size_t n;
    float *got = gradients("cuda", DTYPE_BF16, gpu, &n);
    double d = difference(got, want, n);

    /* The rounding of bfloat16 alone makes a difference of this size. */
    ok((d < 0.2) == right, "%s: gradients differ by %.2g of their size", what, d);
    free(got);
}

int main(void)
{
    struct verdicts_tally tally;
    unsigned nbefore;
    size_t n;

    setenv("UNET_CUDNN", "off", 1);
    float *want = gradients("ref", DTYPE_F32, 0, &n);
    check_gradients("a GPU that works", 0, want, true);
    verdicts_tally(&tally);
    ok(tally.nright > 10 && tally.nwrong == 0, "all of %u kernels that were tried are right",
       tally.nright);

    emulate_spoiled = 0.5F;
    nbefore = tally.nright;
    check_gradients("one that multiplies wrongly", 1, want, true);
    verdicts_tally(&tally);
    ok(tally.nwrong > 3, "%u kernels were found out", tally.nwrong);
    ok(tally.nright > nbefore, "%u others serve", tally.nright - nbefore);

    setenv("UNET_CUDA_KERNELS", "untried", 1);
    check_gradients("if nobody tries", 1, want, false);
    setenv("UNET_CUDA_KERNELS", "plain", 1);
    check_gradients("with the plain ones", 1, want, true);
    free(want);
    return done_testing();
}
