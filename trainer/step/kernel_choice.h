/* SPDX-License-Identifier: BSD-3-Clause */
/* All replicas use the kernels that are fastest on rank 0. Different kernels would round the
 * gradient of an image differently on each replica. */
#ifndef UNETCTL_TRAINER_STEP_KERNEL_CHOICE_H
#define UNETCTL_TRAINER_STEP_KERNEL_CHOICE_H

#include "trainer/comm/comm.h"
#include "trainer/data/set/shard.h"
#include "trainer/network/network.h"

/* Collective. Chooses kernels on rank 0 and broadcasts the choice, for the batch sizes that occur:
 * those of the plan's steps, each divided into `parts` batches, at most 16 different ones, and 1
 * for validation. Does nothing without a device or with one replica. */
int kernel_choice_share(struct network *n, struct comm *c, const struct shard_plan *plan, int parts,
                        struct err *e);

#endif
