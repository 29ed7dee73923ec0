/* SPDX-License-Identifier: BSD-3-Clause */
/* The parameters' tensors on a device, cut into pieces of equal size, so that a large tensor keeps
 * the whole device busy. */
#ifndef UNETCTL_TRAINER_OPTIM_DEVICE_LAYOUT_H
#define UNETCTL_TRAINER_OPTIM_DEVICE_LAYOUT_H

#include "src/err.h"
#include "trainer/core/weights.h"

/* For weights on a device. decay: the weight decay of tensors of more than one dimension, which are
 * the only ones that adapt. On error *l can be closed. */
int device_layout_open(struct device_layout *l, const struct weights *w, double decay,
                       struct err *e);
/* ops, device: of those weights. A zeroed layout is fine. */
void device_layout_close(struct device_layout *l, const struct device_ops *ops,
                         struct device *device);

#endif
