/* SPDX-License-Identifier: BSD-3-Clause */
/* Tries kernels of the CUDA backend, those of cuDNN among them but not those of losses, on each GPU
 * before they are used there, against the reference on the host (trial/trial.h). A kernel that
 * fails, writes beside its results or gives wrong ones is reported once, and a plainer one is used.
 * A kernel that was right is remembered (cuda_checked.h); UNET_CUDA_KERNELS=again tries it still.
 *
 * UNET_CUDA_KERNELS=untried skips all of this; =plain uses none of the kernels that are only for
 * bfloat16: those on tensor cores, and those that access 16 bytes at a time. */
#ifndef UNETCTL_TRAINER_BACKENDS_CUDA_CUDA_CHECK_H
#define UNETCTL_TRAINER_BACKENDS_CUDA_CUDA_CHECK_H

#include "trainer/core/backend.h"

/* backend.trusts: returns whether the kernel works on this thread's GPU. true as well where nothing
 * is tried: for losses, where the backend has no other kernel for the op, or if no small version of
 * the op can be tried. */
bool cuda_check(const struct backend *backend, const struct kernel *kernel, const struct op *op);

#endif
