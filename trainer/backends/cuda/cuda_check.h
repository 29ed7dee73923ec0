/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels of the CUDA backend, cuDNN's among them, are tried on each GPU before they are used
 * there: on a little work, against the reference on the host. One that fails, writes beside its
 * results or gives wrong ones is told once, and a plainer one is used.
 *
 * UNET_CUDA_KERNELS=untried leaves that out; =plain uses no kernels that are made for 16 bits. */
#ifndef UNETCTL_TRAINER_BACKENDS_CUDA_CUDA_CHECK_H
#define UNETCTL_TRAINER_BACKENDS_CUDA_CUDA_CHECK_H

#include "trainer/core/backend.h"

/* Does it work on this thread's GPU? Yes where there is no other kernel for the op, or none of its
 * size can be tried. backend.trusts. */
bool cuda_check(const struct backend *backend, const struct kernel *kernel, const struct op *op);

/* How many that were tried so far, on all GPUs of this process, do, and do not. */
void cuda_check_count(unsigned *nright, unsigned *nwrong);

#endif
