/* SPDX-License-Identifier: BSD-3-Clause */
/* The software and the processor that a run uses, for its record (doc/SCHEMAS.md, "versions"). */
#ifndef UNETCTL_TRAINER_RUN_SOFTWARE_H
#define UNETCTL_TRAINER_RUN_SOFTWARE_H

#include "trainer/json/cjson.h"
#include "trainer/run/compute.h"

/* Adds to the object "versions": compiler, MPI, kernel, processor, Slurm and, if c computes on a
 * GPU, CUDA, driver, cuDNN and NCCL. What is unknown is null. */
void software_encode(const struct compute *c, cJSON *to);

#endif
