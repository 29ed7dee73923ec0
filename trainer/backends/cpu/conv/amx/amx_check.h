/* SPDX-License-Identifier: BSD-3-Clause */
/* A kernel that computes by tiles, tried once before it is used: on the machines where it was
 * written there were none. */
#ifndef UNETCTL_TRAINER_BACKENDS_CPU_CONV_AMX_AMX_CHECK_H
#define UNETCTL_TRAINER_BACKENDS_CPU_CONV_AMX_AMX_CHECK_H

#include "trainer/core/kernel.h"

/* Runs the kernel on an image or two of few pixels with the op's channels, on small whole numbers,
 * whose sums are exact. false, with a warning: it failed, gave other bits than the reference or
 * wrote beside a result. Asked for the same channels again it answers from memory. Several threads
 * may ask at the same time. kernel: prepare, run and release. */
bool amx_check(const struct kernel *kernel, const struct op *op);

#endif
