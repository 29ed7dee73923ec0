/* SPDX-License-Identifier: BSD-3-Clause */
/* All replicas use the kernels that are fastest on rank 0: with other kernels on other replicas an
 * image's gradient would be rounded differently. */
#ifndef UNETCTL_TRAINER_STEP_KERNEL_CHOICE_H
#define UNETCTL_TRAINER_STEP_KERNEL_CHOICE_H

#include "trainer/comm/comm.h"
#include "trainer/data/set/shard.h"
#include "trainer/network/network.h"

/* Collective. For every number of images that a replica computes at a time: those of the plan's
 * steps in so many parts, and one for validation. Does nothing without a device or with one
 * replica. */
int kernel_choice_share(struct network *n, struct comm *c, const struct shard_plan *plan, int parts,
                        struct err *e);

#endif
