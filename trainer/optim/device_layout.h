/* SPDX-License-Identifier: BSD-3-Clause */
/* The tensors of the parameters on a device, for updates that treat tensors separately (LARS, LAMB,
 * penalties), cut into pieces of at most 8192 numbers, each of which a thread block processes. */
#ifndef UNETCTL_TRAINER_OPTIM_DEVICE_LAYOUT_H
#define UNETCTL_TRAINER_OPTIM_DEVICE_LAYOUT_H

#include "src/err.h"
#include "trainer/core/weights.h"

/* Sets *l for weights on a device. decay: the weight decay of tensors with more than one dimension,
 * which are the only ones whose steps LARS and LAMB scale. After an error *l must be closed,
 * too. */
int device_layout_open(struct device_layout *l, const struct weights *w, double decay,
                       struct err *e);
/* Frees the layout, which may be all zeros. ops, device: those of the weights. */
void device_layout_close(struct device_layout *l, const struct device_ops *ops,
                         struct device *device);

#endif
