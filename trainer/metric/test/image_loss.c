/* SPDX-License-Identifier: BSD-3-Clause */
/* The loss of evaluated images is the loss that training on them reports. */
#include "src/base.h"
#include "trainer/metric/metric.h"

#include <math.h>

#include "src/rng.h"
#include "t/tap.h"
#include "trainer/network/network.h"

#define SIDE 16
#define PIXELS (SIDE * SIDE)

static float images[2 * PIXELS], targets[2 * PIXELS];

static void fill_images(int classes, bool ignored)
{
    for (size_t i = 0; i < 2 * PIXELS; i++) {
        double u = rng_uniform(2, 0, i);
        images[i] = (float)rng_uniform(1, 0, i);
        targets[i] = classes == 1 ? (float)u : (float)(int)(u * classes);
        if (ignored && i % 5 == 0)
            targets[i] = -1;
    }
}

static double gamma_of_all, tversky_of_all[2];

static void compare_losses(enum loss loss, int classes, const float *weights, bool ignored,
                           const char *what)
{
    struct network_config config = {
        .model = "unet", .backend = "ref", .base = 2, .depth = 1, .channels = 1,
        .classes = classes, .height = SIDE, .width = SIDE, .threads = 1, .seed = 3, .loss = loss,
        .class_weights = weights, .weighs_dice = true, .batch_norm = BATCH_NORM_NONE,
        .focal_gamma = gamma_of_all, .tversky = {tversky_of_all[0], tversky_of_all[1]}};
    const struct loss_terms terms = model_loss(&config);
    struct err e;
    struct network *n = network_create(&config, &e);
    struct image_loss l = {0}, one;
    const float *logits;
    double sum = 0;

    fill_images(classes, ignored);
    if (!n)
        bail_out("%s", e.text);
    for (size_t i = 0; i < 2; i++) { /* a step computes gradients but does not change the weights */
        memcpy(network_input(n, false, 1, &e), images + i * PIXELS, sizeof images / 2);
        if (network_infer(n, 1, &logits, &e))
            bail_out("%s", e.text);
        one = (struct image_loss){0};
        image_loss_add(&one, classes, &terms, logits, targets + i * PIXELS, PIXELS);
        image_loss_sum(&l, &one);
    }
    memcpy(network_input(n, true, 2, &e), images, sizeof images);
    memcpy(network_target(n, true, 2, &e), targets, sizeof targets);
    struct network_step step = {.images = 2};
    for (size_t i = 0; i < 2; i++) {
        static float bytes[8 + 2 * PIXELS]; /* a record */
        struct record *r = (void *)bytes;
        const struct record_batch batch = {r, sizeof bytes, sizeof bytes, 1};
        *r = (struct record){RECORD_NUMBERS, RECORD_NUMBERS, 1, 0};
        memcpy(record_target(r, PIXELS), targets + i * PIXELS, PIXELS * sizeof *targets);
        step.loss_divisor += network_loss_divisor(n, &batch);
    }
    if (network_train(n, 2, step, &sum, NULL, NULL, &e))
        bail_out("%s", e.text);
    double got = image_loss_mean(&l, loss != LOSS_DICE, loss != LOSS_CE), want = sum / (2 * PIXELS);
    ok(fabs(got - want) < 1e-5 * want, "%s, gamma %g, alpha %g: %.7g, training says %.7g", what,
       terms.gamma, terms.alpha, got, want);
    network_destroy(n);
}

static void compare_all(double gamma, double alpha, double beta)
{
    static const float two[] = {0.5F, 3}, three[] = {1, 2, 0.25F};

    gamma_of_all = gamma;
    tversky_of_all[0] = alpha;
    tversky_of_all[1] = beta;
    compare_losses(LOSS_CE, 1, NULL, false, "binary cross entropy of soft masks");
    compare_losses(LOSS_CE, 1, two, true, "with weights and pixels that do not count");
    compare_losses(LOSS_DICE, 1, NULL, true, "Dice");
    compare_losses(LOSS_DICE, 1, two, true, "Dice of one class, which has no weights");
    compare_losses(LOSS_DICE, 3, three, true, "Dice of three classes with weights");
    compare_losses(LOSS_CE_DICE, 3, NULL, false, "cross entropy and Dice of three classes");
    compare_losses(LOSS_CE_DICE, 3, three, true, "with weights and pixels that do not count");
}

int main(void)
{
    const struct image_loss none = {0};

    compare_all(0, 0, 0);
    compare_all(2, 0.3, 0.7);
    ok(isnan(image_loss_mean(&none, true, true)), "no image, no loss");
    return done_testing();
}
