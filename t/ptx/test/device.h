/* SPDX-License-Identifier: BSD-3-Clause */
/* The emulated GPU's kernels, run from their PTX. In a build with EMULATE_PTX, the emulated queues
 * (trainer/backends/cuda/runtime/test/emulate.h) call this.
 *
 * PTX_DIR names the folder of *.ptx, with *.log of ptxas -v beside them, and EMULATE_CAPABILITY the
 * architecture. PTX_REPORT names a file for ptx_report, written when the program ends, PTX_LAUNCHES
 * one for ptx_report_launch, and PTX_SEED another order of warps and blocks. A fault ends the
 * program with 1. */
#ifndef UNETCTL_T_PTX_TEST_DEVICE_H
#define UNETCTL_T_PTX_TEST_DEVICE_H

#include "t/ptx/ptx.h"

/* seed is ignored. */
void ptx_device_run(struct ptx_launch launch);

#endif
