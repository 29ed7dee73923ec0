/* SPDX-License-Identifier: BSD-3-Clause */
/* The learning rate of a step: the base rate, scaled with the number of GPUs, times a factor that
 * depends on how much of the training is done; at first a warm-up from the base rate to the scaled
 * one. */
#ifndef UNETCTL_SRC_RUN_SCHEDULE_H
#define UNETCTL_SRC_RUN_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>

#include "src/err.h"

enum schedule_scaling { /* with K GPUs: 1, K, K^1/2, K^2/3 */
    SCHEDULE_SCALE_NONE, SCHEDULE_SCALE_LINEAR, SCHEDULE_SCALE_SQRT, SCHEDULE_SCALE_TWO_THIRDS
};

enum schedule_shape {
    SCHEDULE_STEP,    /* 1, 1/2 from 40 %, 1/4 from 60 %, 1/8 from 75 % of the epochs: the PyTorch
                       * reference's 80, 120, 150 of 200 */
    SCHEDULE_STEP_TF, /* the TensorFlow reference's: 1/8 after 75 %, from epoch 151 of 200 */
    SCHEDULE_CONSTANT,
    SCHEDULE_LIST     /* factors from epochs on */
};

#define SCHEDULE_MAX_STEPS 32

struct schedule {
    double base;
    enum schedule_scaling scaling;
    enum schedule_shape shape;
    int epochs, gpus;
    /* The first epochs. By batch, at step b of B in epoch i: base (1 + (i + (b + 1) / B)
     * (scale - 1) / warmup_epochs), Horovod's; by epoch: base (1 + i (scale - 1) / warmup_epochs),
     * the TensorFlow reference's. */
    int warmup_epochs;
    bool warmup_by_epoch;
    size_t nsteps; /* of SCHEDULE_LIST */
    struct { int epoch; double factor; } steps[SCHEDULE_MAX_STEPS];
};

/* "30:0.1,60:0.01": factor 0.1 from epoch 30 on. ERR_CONFIG with the step that is
 * wrong and why. */
int schedule_parse(struct schedule *s, const char *text, struct err *e);

double schedule_rate(const struct schedule *s, int epoch, size_t step, size_t steps);

#endif
