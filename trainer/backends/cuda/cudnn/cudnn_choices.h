/* SPDX-License-Identifier: BSD-3-Clause */
/* For each problem that was timed the fastest engine: kept in the file cudnn-choices for later runs
 * (core/memo.h). Any thread may call. */
#ifndef UNETCTL_TRAINER_BACKENDS_CUDA_CUDNN_CUDNN_CHOICES_H
#define UNETCTL_TRAINER_BACKENDS_CUDA_CUDNN_CUDNN_CHOICES_H

#include "trainer/backends/cuda/cudnn/cudnn_plan.h"

#define CUDNN_KEY_SIZE 256

struct cudnn_choice {
    struct cudnn_engine engine;
    double us; /* its time in microseconds */
};

/* Sets *c to the choice for a key and returns true, or returns false. A key has neither tabs nor
 * line ends. */
bool cudnn_choices_find(const char *key, struct cudnn_choice *c);

/* Adds or replaces a choice, and writes the file, so that a run that is killed keeps it. */
void cudnn_choices_add(const char *key, const struct cudnn_choice *c);

/* device_ops.choices and .learn */
char *cudnn_choices_encode(void);
int cudnn_choices_decode(const char *text);

#endif
