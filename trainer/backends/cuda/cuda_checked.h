/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels that a check has found right, kept for later processes in the file kernel-checks
 * (core/memo.h) for CHECKED_DAYS. A kernel is checked again on another GPU, with another driver,
 * cuDNN or build of this program, and where the build has no id (ld --build-id). */
#ifndef UNETCTL_TRAINER_BACKENDS_CUDA_CUDA_CHECKED_H
#define UNETCTL_TRAINER_BACKENDS_CUDA_CUDA_CHECKED_H

#include <stdbool.h>

#include "trainer/backends/trial/trial.h"

#define CHECKED_DAYS 30

/* Returns whether the kernel was found right for the problem on this GPU. */
bool cuda_checked_find(int gpu, const struct kernel *kernel, const struct trial_problem *p);

/* Adds that it was. Now and then, and in cuda_checked_save, the file is written. */
void cuda_checked_add(int gpu, const struct kernel *kernel, const struct trial_problem *p);
void cuda_checked_save(void);

#endif
