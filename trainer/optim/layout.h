/* SPDX-License-Identifier: BSD-3-Clause */
/* The tensors of the parameters as a device takes them one by one: cut into pieces of equal size,
 * so that a large tensor keeps all of it busy. */
#ifndef UNETCTL_TRAINER_OPTIM_LAYOUT_H
#define UNETCTL_TRAINER_OPTIM_LAYOUT_H

#include "src/err.h"
#include "trainer/core/weights.h"

/* Of weights that are on a device. decay: the weight decay of tensors of more than one dimension,
 * the only ones that adapt. On error *l can be closed. */
int layout_open(struct device_layout *l, const struct weights *w, double decay, struct err *e);
/* ops, device: of those weights. A zeroed layout is fine. */
void layout_close(struct device_layout *l, const struct device_ops *ops, struct device *device);

#endif
