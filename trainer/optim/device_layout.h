/* SPDX-License-Identifier: BSD-3-Clause */
/* The tensors of the parameters on a device, for updates that treat tensors separately (LARS, LAMB,
 * penalties), cut into pieces of at most 8192 numbers, each of which a thread block processes. */
#ifndef UNETCTL_TRAINER_OPTIM_DEVICE_LAYOUT_H
#define UNETCTL_TRAINER_OPTIM_DEVICE_LAYOUT_H

#include "src/err.h"
#include "trainer/core/graph.h"

/* Sets *l for weights on a device; the mirrors, to be closed by the caller, have its arrays. decay:
 * the weight decay of tensors with more than one dimension, which are the only ones whose steps
 * LARS and LAMB scale. */
int device_layout_open(struct device_layout *l, struct mirror *tensors, struct mirror *pieces,
                       const struct weights *w, double decay, struct err *e);

#endif
