/* SPDX-License-Identifier: BSD-3-Clause */
/* All replicas compute with the kernels that rank 0 finds fastest: chosen by each for itself they
 * would differ, and with them what an image's gradient is rounded to. */
#ifndef UNETCTL_TRAINER_STEP_KERNEL_CHOICE_H
#define UNETCTL_TRAINER_STEP_KERNEL_CHOICE_H

#include "trainer/comm/comm.h"
#include "trainer/core/network.h"
#include "trainer/data/set/shard.h"

/* Collective. For every number of images that a replica computes at a time: in steps of this plan
 * in so many parts, and one for validation. Nothing without a device or with a single replica. */
int kernel_choice_share(struct network *n, struct comm *c, const struct shard_plan *plan, int parts,
                        struct err *e);

#endif
