/* SPDX-License-Identifier: BSD-3-Clause */
/* A convolution of a library, tried once before it is used: libraries have had some that are wrong for
 * certain sizes, write beside their results, or leave part of them out. */
#ifndef UNETCTL_TRAINER_BACKENDS_DNNL_DNNL_CHECK_H
#define UNETCTL_TRAINER_BACKENDS_DNNL_DNNL_CHECK_H

#include "trainer/core/kernel.h"

/* Runs the kernel on the op's shapes, with as many images as the calling thread has threads at most,
 * on small whole numbers, whose sums are exact. false, with a warning: it failed, left a result out,
 * wrote beside one, or one of some that are computed again differs. Asked for the same shapes and
 * threads again it answers from memory. Several threads may ask at the same time. */
bool dnnl_check(const struct kernel *kernel, const struct op *op);

#endif
