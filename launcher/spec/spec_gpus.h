/* SPDX-License-Identifier: BSD-3-Clause */
/* The GPUs of a node as TensorFlow's resolver for Slurm counts and deals them. */
#ifndef UNETCTL_LAUNCHER_SPEC_SPEC_GPUS_H
#define UNETCTL_LAUNCHER_SPEC_SPEC_GPUS_H

#include "src/buf.h"

/* The devices that CUDA sees by CUDA_VISIBLE_DEVICES (none if it is empty, where TensorFlow counts
 * one); without that variable what nvidia-smi lists; -1 when neither is there. */
int spec_gpus_count(void);

/* The devices of the task in a slot as CUDA_VISIBLE_DEVICES: "2,3". per_task > 0. */
void spec_gpus_encode(int slot, int per_task, struct buf *dst);

#endif
