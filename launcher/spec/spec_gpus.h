/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts and assigns the GPUs of a node in the same way as TensorFlow's resolver for Slurm, with
 * one exception. */
#ifndef UNETCTL_LAUNCHER_SPEC_SPEC_GPUS_H
#define UNETCTL_LAUNCHER_SPEC_SPEC_GPUS_H

#include "src/buf.h"

/* Returns the number of devices in CUDA_VISIBLE_DEVICES up to the first that is invalid (0 if the
 * variable is empty, where TensorFlow counts 1); without that variable the number that nvidia-smi
 * lists, or -1 if it does not run. */
int spec_gpus_count(void);

/* Adds the devices of the task in a slot (its number on the node, from 0), as
 * CUDA_VISIBLE_DEVICES: "2,3" for slot 1 with 2 per task. per_task must be positive. */
void spec_gpus_encode(int slot, int per_task, struct buf *dst);

#endif
