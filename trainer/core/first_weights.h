/* SPDX-License-Identifier: BSD-3-Clause */
/* The weights that a training begins with. */
#ifndef UNETCTL_TRAINER_CORE_FIRST_WEIGHTS_H
#define UNETCTL_TRAINER_CORE_FIRST_WEIGHTS_H

#include <stdint.h>

#include "trainer/core/graph.h"
#include "trainer/core/weights.h"

/* Of a training's graph, which tells the parameters that there are: laid out last use first, they are in
 * the order in which backward finishes them. The values of each depend on the seed and on its name only.
 * ops, device: where they are, as in struct weights. */
struct weights *first_weights_create(const struct graph *g, uint64_t seed, const struct device_ops *ops,
                                     struct device *device, struct err *e);

#endif
