/* SPDX-License-Identifier: BSD-3-Clause */
/* What a training is given besides its data: the learning rate of each step, and its goal. */
#pragma once

#include "src/base.h"

/* The learning rate of a step: the base rate, times a scale for the number of GPUs (1 without
 * scaling), times a factor that depends on the epoch. A warm-up raises it from the base rate to the
 * scaled one. */
enum schedule_scaling { /* the scale with K GPUs: 1, K, K^1/2, K^2/3 */
    SCHEDULE_SCALE_NONE, SCHEDULE_SCALE_LINEAR, SCHEDULE_SCALE_SQRT, SCHEDULE_SCALE_TWO_THIRDS
};

enum schedule_shape {
    /* Factors 1, 1/2 from 40 %, 1/4 from 60 %, 1/8 from 75 % of the epochs: from epochs 80, 120,
     * 150 of 200, as in the PyTorch program that results are compared with (the reference). */
    SCHEDULE_STEP,
    /* The same, but 1/8 only after 75 %: from epoch 151 of 200, as in the TensorFlow reference. */
    SCHEDULE_STEP_TF,
    SCHEDULE_CONSTANT,
    SCHEDULE_COSINE, /* (1 + cos(pi epoch / epochs)) / 2, as CosineAnnealingLR of PyTorch */
    SCHEDULE_POLY,   /* (1 - epoch / epochs)^0.9, as PolynomialLR, and as nnU-Net */
    SCHEDULE_LIST    /* the factors of steps[] */
};

#define SCHEDULE_MAX_STEPS 32

struct schedule {
    double base;
    enum schedule_scaling scaling;
    enum schedule_shape shape;
    int epochs, gpus;
    /* The number of epochs of warm-up. By batch, as in Horovod, the rate at step b of B in epoch i
     * (b and i from 0) is base (1 + (i + (b + 1) / B) (scale - 1) / warmup_epochs). By epoch, as
     * in the TensorFlow reference, it is base (1 + i (scale - 1) / warmup_epochs). Without scaling
     * it begins at 0: by batch base (i + (b + 1) / B) / warmup_epochs, by epoch base (i + 1) /
     * warmup_epochs. The factor of the shape applies, too. */
    int warmup_epochs;
    bool warmup_by_epoch;
    size_t nsteps; /* number of steps of SCHEDULE_LIST */
    struct { int epoch; double factor; } steps[SCHEDULE_MAX_STEPS];
};

/* Decodes "30:0.1,60:0.01", where the factor is 0.1 from epoch 30 (counted from 0), into steps and
 * sets the shape to SCHEDULE_LIST. Returns 0, or -1 with ERR_CONFIG that names the step that is
 * wrong and why. */
int schedule_parse(struct schedule *s, const char *text, struct err *e);

/* Returns the learning rate of one step of an epoch that has `steps` of them. epoch and step count
 * from 0. */
double schedule_rate(const struct schedule *s, int epoch, size_t step, size_t steps);

/* What a training aims at: train.until, train.patience and train.lr_plateau. */
struct goal {
    const char *metric; /* iou | dice | precision | recall | accuracy | acc; NULL: none */
    double value;       /* training ends when the metric is at least this */
    int patience;       /* stop after so many epochs without improvement; 0: never */
    int plateau;        /* lower the rate after so many such epochs; 0: never */
    double factor;      /* of the rate at each plateau */
    /* Set by the caller: */
    bool keep_best;     /* the result is the best weights instead of the last */
    bool by_accuracy;   /* the best weights have the best accuracy instead of the best IoU */
};

/* Sets *g from `until`, "" or METRIC>=VALUE such as iou>=0.9, and patience; the other members
 * become 0. -1 with ERR_CONFIG. */
int goal_text_parse(struct goal *g, const char *until, int patience, struct err *e);

/* Adds the plateau of text to *g: "" or EPOCHS:FACTOR such as 10:0.5. -1 with ERR_CONFIG. */
int goal_text_parse_plateau(struct goal *g, const char *text, struct err *e);
