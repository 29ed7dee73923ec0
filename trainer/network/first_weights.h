/* SPDX-License-Identifier: BSD-3-Clause */
/* The initial weights of a training. */
#ifndef UNETCTL_TRAINER_NETWORK_FIRST_WEIGHTS_H
#define UNETCTL_TRAINER_NETWORK_FIRST_WEIGHTS_H

#include <stdint.h>

#include "trainer/core/graph.h"

/* Creates the parameters of a training graph, in the reverse order of their first use, which is the
 * order in which backward finishes their gradients. The values of each depend only on the seed and
 * its name. ops, device: as in struct weights. The caller destroys the result; NULL on error. */
struct weights *first_weights_create(const struct graph *g, uint64_t seed,
                                     const struct device_ops *ops, struct device *device,
                                     struct err *e);

#endif
