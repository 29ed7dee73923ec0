/* SPDX-License-Identifier: BSD-3-Clause */
/* Tries a kernel that computes by AMX tiles before it is used: most machines that the program is
 * tested on do not have the instructions. */
#ifndef UNETCTL_TRAINER_BACKENDS_CPU_CONV_AMX_AMX_CHECK_H
#define UNETCTL_TRAINER_BACKENDS_CPU_CONV_AMX_AMX_CHECK_H

#include "trainer/core/kernel.h"

/* Runs the kernel (prepare, run and release) on two small images with the op's channels, on whole
 * numbers whose sums are exact (trial/trial.h). Returns false if it failed, gave other numbers than
 * the reference, or wrote beside a result; true otherwise, also if it could not be tried. The
 * verdict is remembered for each problem, and a fault logged as a warning once. Several threads may
 * call this at the same time. */
bool amx_check(const struct kernel *kernel, const struct op *op);

#endif
