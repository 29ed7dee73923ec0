/* SPDX-License-Identifier: BSD-3-Clause */
/* The learning rate of a step: the base rate, scaled by the number of GPUs, times a factor that
 * depends on how much of the training is done. A warm-up raises it from the base rate to the
 * scaled one. */
#ifndef UNETCTL_SRC_RUN_SCHEDULE_H
#define UNETCTL_SRC_RUN_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>

#include "src/err.h"

enum schedule_scaling { /* the scale with K GPUs: 1, K, K^1/2, K^2/3 */
    SCHEDULE_SCALE_NONE, SCHEDULE_SCALE_LINEAR, SCHEDULE_SCALE_SQRT, SCHEDULE_SCALE_TWO_THIRDS
};

enum schedule_shape {
    /* Factors 1, 1/2 from 40 %, 1/4 from 60 %, 1/8 from 75 % of the epochs: those of the PyTorch
     * reference at epochs 80, 120, 150 of 200. */
    SCHEDULE_STEP,
    /* The same with 1/8 one epoch later, from 151 of 200: that of the TensorFlow reference. */
    SCHEDULE_STEP_TF,
    SCHEDULE_CONSTANT,
    SCHEDULE_LIST     /* the factors of steps[] */
};

#define SCHEDULE_MAX_STEPS 32

struct schedule {
    double base;
    enum schedule_scaling scaling;
    enum schedule_shape shape;
    int epochs, gpus;
    /* The number of epochs of warm-up. By batch, as in Horovod, the rate at step b of B in epoch
     * i is base (1 + (i + (b + 1) / B) (scale - 1) / warmup_epochs). By epoch, as in the
     * TensorFlow reference, it is base (1 + i (scale - 1) / warmup_epochs). */
    int warmup_epochs;
    bool warmup_by_epoch;
    size_t nsteps; /* number of steps of SCHEDULE_LIST */
    struct { int epoch; double factor; } steps[SCHEDULE_MAX_STEPS];
};

/* Decodes "30:0.1,60:0.01", where the factor is 0.1 from epoch 30. Returns 0, or -1 with
 * ERR_CONFIG that names the step that is wrong and why. */
int schedule_parse(struct schedule *s, const char *text, struct err *e);

double schedule_rate(const struct schedule *s, int epoch, size_t step, size_t steps);

#endif
