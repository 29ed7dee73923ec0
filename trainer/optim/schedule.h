/* SPDX-License-Identifier: BSD-3-Clause */
/* The learning rate of an epoch: the base rate, scaled with the number of GPUs, times a factor that
 * depends on how much of the training is done. */
#ifndef UNETCTL_TRAINER_OPTIM_SCHEDULE_H
#define UNETCTL_TRAINER_OPTIM_SCHEDULE_H

enum schedule_scaling { SCHEDULE_SCALE_NONE, SCHEDULE_SCALE_LINEAR, SCHEDULE_SCALE_SQRT };

enum schedule_shape {
    SCHEDULE_STEP, /* 1, 1/2 from 40 %, 1/4 from 60 %, 1/8 from 75 % of the epochs: the reference
                    * systems' 80, 120, 150 of 200 */
    SCHEDULE_CONSTANT
};

struct schedule {
    double base;
    enum schedule_scaling scaling;
    enum schedule_shape shape;
    int epochs, gpus;
};

double schedule_rate(const struct schedule *s, int epoch);

#endif
