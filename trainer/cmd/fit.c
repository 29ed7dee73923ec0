/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/cmd/fit.h"

#include <stdlib.h>

#include "trainer/data/image/resize.h"
#include "trainer/step/tiles.h"

/* Of the logits within fit: dst [fit.height][fit.width][classes]. */
static void cut_probabilities(const struct network_config *config, const float *logits,
                              struct resize_fit fit, float *dst)
{
    size_t classes = (size_t)config->classes, width = (size_t)config->width;

    for (int y = 0; y < fit.height; y++)
        for (int x = 0; x < fit.width; x++) {
            size_t at = (size_t)(fit.top + y) * width + (size_t)(fit.left + x);
            tiles_probabilities(logits + at * classes, config->classes, dst);
            dst += classes;
        }
}

float *fit_predict(struct network *n, const struct network_config *config, const float *image,
                   int height, int width, struct err *e)
{
    struct resize_fit fit = resize_fit(height, width, config->height, config->width);
    size_t classes = (size_t)config->classes;
    float *input = network_input(n, false, 1, e);
    const float *logits;

    if (!input)
        return NULL;
    resize_pad(image, height, width, input, config->height, config->width, config->channels);
    if (network_infer(n, 1, &logits, e))
        return NULL;
    float *small = malloc((size_t)fit.height * (size_t)fit.width * classes * sizeof *small);
    float *whole = malloc((size_t)height * (size_t)width * classes * sizeof *whole);
    if (small && whole) {
        cut_probabilities(config, logits, fit, small);
        resize_stretch(small, fit.height, fit.width, whole, height, width, config->classes);
    } else {
        err_set(e, ERR_INTERNAL, "out of memory for the probabilities of %d x %d pixels", width,
                height);
        free(whole);
        whole = NULL;
    }
    free(small);
    return whole;
}
