/* SPDX-License-Identifier: BSD-3-Clause */
/* A trained network from its checkpoint, for the verbs that use one. */
#ifndef UNETCTL_TRAINER_TRAINED_H
#define UNETCTL_TRAINER_TRAINED_H

#include "trainer/core/network.h"

/* path: weights.safetensors, its folder, or the run's folder. config: backend, dtype, threads (0: the
 * cores of this process) and, unless 0, height and width are given; the rest is filled in. NULL:
 * ERR_CHECKPOINT, or ERR_CONFIG for a size that the network cannot have. */
struct network *trained_open(const char *path, struct network_config *config, struct err *e);

#endif
